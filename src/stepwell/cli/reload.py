"""`stepwell serve --reload`: the server in a child process that is started again whenever the project's code changes.

```
bind the port, once -> start the child on it -> look at the files, twice a second
    changed      -> SIGTERM to the child: it hands its runs back -> the next child drives them on
    child failed -> wait for a change
    signal       -> passed on: the child ends as it would alone, and so do we
```
This process holds the port all the time: requests that arrive between two children wait for the next one. It imports no code of the
project, so that it outlives every mistake in it. If it is killed, the child ends too.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any

from stepwell.errors import ConfigurationError

_LOOK_S = 0.5
_SETTLED_S = 0.2
"""Editors and git write several files: we wait until none has changed for this long."""
_STOP_S = 20.0
"""After this, the child is killed. Nothing is lost by that: what was acknowledged is stored, and runs are driven on."""
_MAX_FILES = 10_000
_NOT_WATCHED = frozenset({"__pycache__", "node_modules", "site-packages", "dist-packages", "venv", "build", "dist"})
_WATCHED_NAMES = frozenset({"langgraph.json", ".env"})

Seen = Mapping[Path, tuple[int, int]]


def run(serve: Callable[..., int], folders: Iterable[Path], bound: socket.socket, options: dict[str, Any]) -> int:
    """Call `serve(bound=bound, **options)` in a child process until a signal ends it. Returns the exit code of the last child."""
    watched = tuple(dict.fromkeys(folder.resolve() for folder in folders))
    seen = look(watched)
    bound.listen(socket.SOMAXCONN)
    with _Signals() as signals:
        while True:
            child = signals.child = _start(serve, bound, options)
            changed = _watch(child, watched, seen, signals)
            if signals.received or not changed:
                child.join()  # a signal was passed on; runs may finish first, and a second signal ends that
                return child.exitcode or 0
            _say(f"Changed: {_in_words(changed)}. Starting again.")
            _stop(child)
            seen = _settle(watched)


def look(folders: Iterable[Path]) -> Seen:
    """The project's Python files, langgraph.json and .env: when each was changed, and its size."""
    found: dict[Path, tuple[int, int]] = {}
    for folder in folders:
        for entry in _walk(folder):
            found[entry[0]] = entry[1]
            if len(found) > _MAX_FILES:
                raise ConfigurationError(
                    f"There are more than {_MAX_FILES} Python files below '{folder.name}', too many to watch. Start the server in the "
                    "project's own folder, or without --reload."
                )
    return found


def _walk(folder: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
    try:
        entries = list(os.scandir(folder))
    except OSError:  # removed meanwhile, or not ours to read
        return
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                hidden = entry.name.startswith(".") or entry.name in _NOT_WATCHED
                if not hidden and not os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                    yield from _walk(Path(entry.path))
            elif entry.name.endswith(".py") or entry.name in _WATCHED_NAMES:
                facts = entry.stat()
                yield Path(entry.path), (facts.st_mtime_ns, facts.st_size)
        except OSError:
            continue


def _watch(child: BaseProcess, folders: tuple[Path, ...], seen: Seen, signals: _Signals) -> set[Path]:
    """Wait for a change, or for the end. A child that ends with an error is left alone until something changes."""
    told = False
    while not signals.received:
        if child.exitcode is None:
            wait([child.sentinel], timeout=_LOOK_S)
        else:
            if child.exitcode == 0:
                return set()
            if not told:
                _say("The server has stopped. It starts again when a file changes; Ctrl-C ends it.")
            told = True
            time.sleep(_LOOK_S)
        now = look(folders)
        if changed := {path for path in seen.keys() | now.keys() if seen.get(path) != now.get(path)}:
            return changed
    return set()


def _settle(folders: tuple[Path, ...]) -> Seen:
    """The files once they have stopped changing."""
    before = look(folders)
    while True:
        time.sleep(_SETTLED_S)
        if (now := look(folders)) == before:
            return now
        before = now


def _start(serve: Callable[..., int], bound: socket.socket, options: dict[str, Any]) -> BaseProcess:
    # A new interpreter: after a fork, the old modules would still be there.
    child = multiprocessing.get_context("spawn").Process(target=_serve_as_child, args=(serve, bound, options))
    child.start()
    return child


def _serve_as_child(serve: Callable[..., int], bound: socket.socket, options: dict[str, Any]) -> None:
    from stepwell.errors import StepwellError

    if hasattr(os, "setpgrp"):
        os.setpgrp()  # Ctrl-C reaches only the parent, which passes it on: it must not arrive twice
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    try:
        code = serve(bound=bound, **options)
    except StepwellError as error:
        print(error, file=sys.stderr)
        code = 2
    sys.exit(code)


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)


def _stop(child: BaseProcess) -> None:
    if child.exitcode is None:
        child.terminate()
        child.join(_STOP_S)
    if child.exitcode is None:
        child.kill()
        child.join()


def _in_words(changed: set[Path]) -> str:
    names = sorted({path.name for path in changed})
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _say(text: str) -> None:
    print(text, flush=True)


class _Signals:
    """Passes signals on to the child, and notes that one has come."""

    def __init__(self) -> None:
        self.received = False
        self.child: BaseProcess | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Signals:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._pass_on)
        return self

    def __exit__(self, *error: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        self.received = True
        if self.child and self.child.pid and self.child.exitcode is None and os.name == "posix":
            with suppress(ProcessLookupError):
                os.kill(self.child.pid, number)
