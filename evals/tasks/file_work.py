"""File work: an exact edit, and a place found among fifty files; nothing else is touched."""

from __future__ import annotations

from collections.abc import Iterator

from evals.outcome import Outcome
from evals.task import Task

_SETTINGS = "/service/settings.ini"
_BEFORE = """[public]
host = 0.0.0.0
port = 8080   ; behind the proxy

[metrics]
host = 127.0.0.1
port = 8080   ; scraped every minute

[admin]
host = 127.0.0.1
port = 8081
"""
_AFTER = _BEFORE.replace("port = 8080   ; scraped", "port = 9090   ; scraped")

_HOME = "/src/module_37.py"


def _modules() -> dict[str, str]:
    """Fifty modules that all talk of retries; one of them sets the limit."""
    files = {}
    for number in range(50):
        path = f"/src/module_{number:02}.py"
        line = "RETRY_LIMIT = 3" if path == _HOME else f"attempts_{number} = RETRY_LIMIT - {number % 3}"
        source = "" if path == _HOME else "from src.module_37 import RETRY_LIMIT\n\n"
        files[path] = f'"""Module {number}: retries of step {number}."""\n\n{source}{line}\nDELAY_S = {number % 7 + 1}\n'
    return files


_MODULES = _modules()
_CHANGED = {_HOME: _MODULES[_HOME].replace("RETRY_LIMIT = 3", "RETRY_LIMIT = 5")}


def check_edit(outcome: Outcome) -> Iterator[str]:
    yield from outcome.wrong_files({_SETTINGS: _AFTER})
    if not outcome.named("edit_file"):
        yield "did not use edit_file"


def check_find(outcome: Outcome) -> Iterator[str]:
    yield from outcome.wrong_files(_CHANGED)
    if not outcome.named("grep"):
        yield "did not use grep"
    read = {call.args.get("file_path") for call in outcome.named("read_file")}
    if len(read) > 5:
        yield f"read {len(read)} files to find one"


EDIT = Task(
    "exact-edit",
    "changes one of two equal lines in a file, to the letter, and nothing else",
    f"In {_SETTINGS}, the metrics must be served on port 9090 from now on. Change that, and nothing else.",
    check_edit,
    {_SETTINGS: _BEFORE, "/service/README.md": "Settings are in settings.ini.\n"},
)
FIND = Task(
    "find-among-fifty",
    "finds the place by grep without reading everything, edits it, touches no other file",
    "Somewhere under /src/ the constant RETRY_LIMIT is set. Set it to 5 there. Leave everything else as it is.",
    check_find,
    _MODULES,
)
