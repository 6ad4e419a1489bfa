"""Each backend implements each verb once, sync or async; this module adds the other form.

| base class | the backend has | how async code runs them | how sync code runs them |
|---|---|---|---|
| `SyncBackend`, `blocking = False` | sync verbs that never wait | as they are | as they are |
| `SyncBackend`, `blocking = True` | sync verbs that wait for a disk or a lock | in a worker thread | as they are |
| `AsyncBackend` | async verbs | as they are | through a portal: an event loop in its own thread |

A backend that can do its work in both forms, without another thread, writes its verbs as `steps` instead.

Worker threads and the portal see the caller's context variables, so a verb finds the running graph, and may interrupt it.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, ClassVar, ParamSpec, TypeVar

from stepwell.backends import messages
from stepwell.backends.protocol import (
    DEFAULT_READ_LIMIT,
    DeleteResult,
    EditResult,
    FileInfo,
    GrepMatch,
    MoveResult,
    WriteResult,
)
from stepwell.backends.transfers import Transfers
from stepwell.in_thread import in_thread

P = ParamSpec("P")
T = TypeVar("T")


class SyncBackend(Transfers, ABC):
    """Base of backends that implement the sync verbs."""

    blocking: ClassVar[bool] = True
    remote: bool = False
    """Whether files are far away or owned by a person. If so, searches from the root skip them, and nothing is written automatically."""

    @abstractmethod
    def ls_info(self, path: str) -> list[FileInfo]: ...

    @abstractmethod
    def read(self, file_path: str, offset: int = 0, limit: int = DEFAULT_READ_LIMIT) -> str: ...

    @abstractmethod
    def grep_raw(self, pattern: str, path: str | None = None, glob: str | None = None) -> list[GrepMatch] | str: ...

    @abstractmethod
    def glob_info(self, pattern: str, path: str = "/") -> list[FileInfo]: ...

    @abstractmethod
    def write(
        self, file_path: str, content: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> WriteResult: ...

    @abstractmethod
    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        expected_version: str | None = None,
    ) -> EditResult: ...

    def delete(self, file_path: str, *, expected_version: str | None = None) -> DeleteResult:
        return DeleteResult(error=messages.cannot("delete", file_path))

    def move(
        self, source: str, destination: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> MoveResult:
        return MoveResult(error=messages.cannot("move", source))

    @classmethod
    def offers(cls, verb: str) -> bool:
        """Whether the backend has an optional verb, `delete` or `move`."""
        return getattr(cls, verb) is not getattr(SyncBackend, verb)

    async def als_info(self, path: str) -> list[FileInfo]:
        return await self._call(self.ls_info, path)

    async def aread(self, file_path: str, offset: int = 0, limit: int = DEFAULT_READ_LIMIT) -> str:
        return await self._call(self.read, file_path, offset, limit)

    async def agrep_raw(self, pattern: str, path: str | None = None, glob: str | None = None) -> list[GrepMatch] | str:
        return await self._call(self.grep_raw, pattern, path, glob)

    async def aglob_info(self, pattern: str, path: str = "/") -> list[FileInfo]:
        return await self._call(self.glob_info, pattern, path)

    async def awrite(
        self, file_path: str, content: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> WriteResult:
        return await self._call(self.write, file_path, content, overwrite=overwrite, expected_version=expected_version)

    async def aedit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        expected_version: str | None = None,
    ) -> EditResult:
        return await self._call(self.edit, file_path, old_string, new_string, replace_all, expected_version=expected_version)

    async def adelete(self, file_path: str, *, expected_version: str | None = None) -> DeleteResult:
        return await self._call(self.delete, file_path, expected_version=expected_version)

    async def amove(
        self, source: str, destination: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> MoveResult:
        return await self._call(self.move, source, destination, overwrite=overwrite, expected_version=expected_version)

    async def _call(self, verb: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self.blocking:
            return await in_thread(verb, *args, **kwargs)
        return verb(*args, **kwargs)


class AsyncBackend(Transfers, ABC):
    """Base of backends that implement the async verbs."""

    remote: bool = False

    @abstractmethod
    async def als_info(self, path: str) -> list[FileInfo]: ...

    @abstractmethod
    async def aread(self, file_path: str, offset: int = 0, limit: int = DEFAULT_READ_LIMIT) -> str: ...

    @abstractmethod
    async def agrep_raw(self, pattern: str, path: str | None = None, glob: str | None = None) -> list[GrepMatch] | str: ...

    @abstractmethod
    async def aglob_info(self, pattern: str, path: str = "/") -> list[FileInfo]: ...

    @abstractmethod
    async def awrite(
        self, file_path: str, content: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> WriteResult: ...

    @abstractmethod
    async def aedit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        expected_version: str | None = None,
    ) -> EditResult: ...

    async def adelete(self, file_path: str, *, expected_version: str | None = None) -> DeleteResult:
        return DeleteResult(error=messages.cannot("delete", file_path))

    async def amove(
        self, source: str, destination: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> MoveResult:
        return MoveResult(error=messages.cannot("move", source))

    @classmethod
    def offers(cls, verb: str) -> bool:
        """Whether the backend has an optional verb, `delete` or `move`."""
        return getattr(cls, f"a{verb}") is not getattr(AsyncBackend, f"a{verb}")

    def ls_info(self, path: str) -> list[FileInfo]:
        return run_in_portal(self.als_info(path))

    def read(self, file_path: str, offset: int = 0, limit: int = DEFAULT_READ_LIMIT) -> str:
        return run_in_portal(self.aread(file_path, offset, limit))

    def grep_raw(self, pattern: str, path: str | None = None, glob: str | None = None) -> list[GrepMatch] | str:
        return run_in_portal(self.agrep_raw(pattern, path, glob))

    def glob_info(self, pattern: str, path: str = "/") -> list[FileInfo]:
        return run_in_portal(self.aglob_info(pattern, path))

    def write(
        self, file_path: str, content: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> WriteResult:
        return run_in_portal(self.awrite(file_path, content, overwrite=overwrite, expected_version=expected_version))

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        expected_version: str | None = None,
    ) -> EditResult:
        return run_in_portal(self.aedit(file_path, old_string, new_string, replace_all, expected_version=expected_version))

    def delete(self, file_path: str, *, expected_version: str | None = None) -> DeleteResult:
        return run_in_portal(self.adelete(file_path, expected_version=expected_version))

    def move(
        self, source: str, destination: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> MoveResult:
        return run_in_portal(self.amove(source, destination, overwrite=overwrite, expected_version=expected_version))


class _Portal:
    """An event loop in a daemon thread, started when first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="stepwell-portal", daemon=True).start()
            return self._loop


# One loop for the process, because an async client (an HTTP pool, for example) is bound to the loop where it was first used.
_PORTAL = _Portal()


def run_in_portal(coroutine: Coroutine[Any, Any, T]) -> T:
    """Wait for a coroutine from sync code, even if this thread runs its own event loop."""
    loop = _PORTAL.loop()
    context = contextvars.copy_context()
    outcome: Future[T] = Future()

    def start() -> None:
        task = loop.create_task(coroutine, context=context)
        task.add_done_callback(hand_over)

    def hand_over(task: asyncio.Task[T]) -> None:
        if task.cancelled():
            outcome.cancel()
        elif error := task.exception():
            outcome.set_exception(error)
        else:
            outcome.set_result(task.result())

    loop.call_soon_threadsafe(start)
    return outcome.result()
