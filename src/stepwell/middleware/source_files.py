"""Reads the files that a developer named for an agent (skills, memory files), from any backend, in sync and in async code.

What to read is written as steps (`backends.steps`); `perform` and `aperform` carry them out. One call reads all files if the backend can do
that. A backend with nothing but the six verbs is read line by line.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from langgraph.runtime import Runtime

from stepwell.backends import messages, paths
from stepwell.backends.protocol import BackendFactory, BackendProtocol, ErrorText
from stepwell.backends.steps import Steps
from stepwell.backends.transfers import has_whole_files
from stepwell.middleware.request import tool_runtime
from stepwell.tools.files.tools import acall, backend_for

_MOST_LINES = 100_000
_NUMBER = re.compile(r"^ {0,20}\d{1,20}\t", re.MULTILINE)


class Verb(NamedTuple):
    """A call of one of a backend's methods, by its sync name."""

    name: str
    arguments: tuple[Any, ...]


class Work(NamedTuple):
    """A function that takes a while: an event loop does other things meanwhile."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


Step = Verb | Work


class SourceFile(NamedTuple):
    """A file's text, or why there is none. A file that does not exist has neither."""

    path: str
    text: str | None = None
    problem: str | None = None


class Source:
    """A backend as a running step sees it."""

    def __init__(
        self, backend: BackendProtocol | BackendFactory, state: Mapping[str, Any], runtime: Runtime[Any] | None
    ) -> None:
        self._backend = _open(backend, state, runtime)

    def perform(self, step: Step) -> Any:
        if isinstance(step, Work):
            return step.function(*step.arguments)
        return getattr(self._backend, step.name)(*step.arguments)

    async def aperform(self, step: Step) -> Any:
        if isinstance(step, Work):
            return await asyncio.to_thread(step.function, *step.arguments)
        return await acall(self._backend, step.name, *step.arguments)

    def read(self, wanted: Sequence[str]) -> Steps[Step, list[SourceFile]]:
        """These files, in this order."""
        found: dict[str, SourceFile] = {}
        if wanted and has_whole_files(self._backend):
            answers = yield Verb("download_files", (list(wanted),))
            found = {path: _downloaded(path, answer) for path, answer in zip(wanted, answers, strict=True)}
        for path in wanted:
            if path not in found or _is_without_whole_files(found[path]):
                found[path] = _numbered(path, (yield Verb("read", (path, 0, _MOST_LINES))))
        return [found[path] for path in wanted]


def _open(backend: Any, state: Mapping[str, Any], runtime: Runtime[Any] | None) -> BackendProtocol:
    is_ready = not isinstance(backend, type) and hasattr(backend, "ls_info") and not hasattr(backend, "bind")
    if is_ready or runtime is None:  # without a runtime: outside of a graph
        return backend  # type: ignore[no-any-return]
    return backend_for(backend, tool_runtime(state, runtime))


def _is_without_whole_files(file: SourceFile) -> bool:
    """Whether a part of a composite backend, which has this file, reads only by lines."""
    return file.problem is not None and file.problem == _sentence(messages.no_whole_file(str(paths.resolve_file(file.path))))


def _sentence(said: object) -> str:
    return str(said).removeprefix("Error: ")


def _downloaded(path: str, answer: Any) -> SourceFile:
    if answer.error == "file_not_found":
        return SourceFile(path)
    if answer.error is not None or answer.content is None:
        said = getattr(answer, "message", None) or answer.error or "it has no content"
        return SourceFile(path, problem=_sentence(said))
    try:
        return SourceFile(path, answer.content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return SourceFile(path, problem="it is not UTF-8 text. Save it as UTF-8")


def _numbered(path: str, shown: str) -> SourceFile:
    if shown == messages.no_file(str(paths.resolve_file(path))):
        return SourceFile(path)
    if isinstance(shown, ErrorText) or shown.startswith("Error:"):
        return SourceFile(path, problem=_sentence(shown))
    return SourceFile(path, _NUMBER.sub("", shown))
