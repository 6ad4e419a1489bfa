"""Looks at what a rewind would do to the files outside of the thread, and does it. Written as steps, so that sync and async code share it.

Rules to keep: look at everything before anything is changed, and change only what is not as wanted. So a rewind that was killed in the
middle can be done again, and one that meets somebody else's change has done nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, TypeVar

from stepwell.backends.protocol import BackendProtocol, ErrorText
from stepwell.backends.steps import Steps, arun_steps, run_steps
from stepwell.errors import RewindError
from stepwell.middleware.rewind.planning import Step
from stepwell.tools.files.tools import VerbCall, acall
from stepwell.tools.rewind.journal import ABSENT, FileJournal, hash_of
from stepwell.tools.rewind.recorded import NOTHING_THERE, JournalCall, Request

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Restore:
    """One file as it is and as it will be; None is no file."""

    path: str
    now: bytes | None
    then: bytes | None
    conflict: bool
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class FileOutlook:
    """What a rewind would do to files."""

    restores: Sequence[Restore]
    problem: str | None = None

    @property
    def conflicts(self) -> list[str]:
        return [each.path for each in self.restores if each.conflict]


@dataclass(frozen=True, slots=True)
class Files:
    """The files of one thread, and their journal. `backend` journals its changes, so that a rewind can be undone too."""

    backend: BackendProtocol
    journal: FileJournal

    def run(self, steps: Steps[Request, T]) -> T:
        return run_steps(steps, self.perform)

    async def arun(self, steps: Steps[Request, T]) -> T:
        return await arun_steps(steps, self.aperform)

    def perform(self, request: Request) -> Any:
        if isinstance(request, JournalCall):
            return getattr(self.journal, request.method)(*request.arguments).result()
        return getattr(self.backend, request.verb)(*request.arguments, **request.options)

    async def aperform(self, request: Request) -> Any:
        if isinstance(request, JournalCall):
            return await asyncio.wrap_future(getattr(self.journal, request.method)(*request.arguments))
        return await acall(self.backend, request.verb, *request.arguments, **request.options)


def look(steps: Sequence[Step]) -> Steps[Request, FileOutlook]:
    """What has to change, and what stands in the way. Changes nothing."""
    restores = []
    for step in steps:
        (found,) = yield VerbCall("download_files", ([step.path],))
        if found.content is None and found.error not in NOTHING_THERE:
            return FileOutlook([], f"'{step.path}' cannot be read: {found.message or found.error}")
        current = hash_of(found.content)
        if current == step.wanted:
            continue
        wanted = None
        if step.wanted != ABSENT:
            wanted = yield JournalCall("image", (step.wanted,))
            if wanted is None:
                return FileOutlook([], f"The earlier content of '{step.path}' is not kept any more. Go back to a later turn.")
        restores.append(Restore(step.path, found.content, wanted, current not in step.left or not step.whole, step.mode))
    return FileOutlook(restores, (yield from _look_above(restores)))


def _look_above(restores: Sequence[Restore]) -> Steps[Request, str | None]:
    """What stands in the way of files that come back: a file where their folder was, unless the rewind deletes it."""
    free = {"/", *(each.path for each in restores if each.then is None)}
    for each in restores:
        if each.now is not None or each.then is None:
            continue
        for folder in map(str, PurePosixPath(each.path).parents):
            if folder in free:
                continue
            (found,) = yield VerbCall("download_files", ([folder],))
            if found.content is not None:
                return f"'{folder}' is a file now, and '{each.path}' needs a folder there. Move the file away and send the rewind again."
            free.add(folder)
    return None


def restore(restores: Sequence[Restore], rewind_id: str) -> Steps[Request, None]:
    """Make the files what they were. Files that must go are deleted first, because one may be where a folder has to be."""
    for each in sorted(restores, key=lambda each: each.then is not None):
        error = (yield from _remove(each.path)) if each.then is None else (yield from _write(each.path, each.then, each.mode))
        if error is not None:
            raise RewindError(
                f"The rewind stopped at '{each.path}': {str(error).removeprefix('Error: ')} Mend that and send the rewind again: it goes "
                f"on where it stopped. Or go back to '{rewind_id}', which brings back what it has changed."
            )


def _remove(path: str) -> Steps[Request, str | None]:
    result = yield VerbCall("delete", (path,))
    error: str | None = result.error
    return error


def _write(path: str, content: bytes, mode: int | None) -> Steps[Request, str | None]:
    error = yield from _write_once(path, content, mode)
    if error is None or not (yield from _is_empty_folder(path)):
        return error
    yield VerbCall("delete", (path,))  # a folder without files that the agent had made in the file's place
    return (yield from _write_once(path, content, mode))


def _write_once(path: str, content: bytes, mode: int | None) -> Steps[Request, str | None]:
    try:
        if mode is not None:
            result = yield VerbCall("write_whole", (path, content), {"mode": mode})
        else:
            result = yield VerbCall("write", (path, content.decode()), {"overwrite": True})
    except UnicodeDecodeError:
        try:
            result = yield VerbCall("write_whole", (path, content))
        except AttributeError:
            return "it is not text, and its backend stores only text."
    error: str | None = result.error
    return error


def _is_empty_folder(path: str) -> Steps[Request, bool]:
    (found,) = yield VerbCall("download_files", ([path],))
    if found.error != "is_directory":
        return False
    rows = yield VerbCall("glob_info", ("**/*", path))
    return not rows and not isinstance(getattr(rows, "error", None), ErrorText)
