"""The third way to write a verb once: as steps. It is for backends that can work in sync and in async code, so that neither needs a thread.

A verb is a generator. It yields what it needs done (a *request*: store operations, a call to another backend, a lock) and receives the
answer; its return value is the verb's result. `perform` and `aperform` carry out a request, so sync code makes sync calls and async code
awaits async ones. If a request fails, the error is thrown into the generator at the `yield`, so `try`, `finally` and `with` work as
in plain code.

With `sync_async`, in contrast, a backend has only one form, and calling the other form costs a thread or a portal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

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

T = TypeVar("T")
R = TypeVar("R")

Steps = Generator[R, Any, T]


def run_steps(steps: Steps[R, T], perform: Callable[[R], Any]) -> T:
    """Run the steps in sync code."""
    try:
        request = next(steps)
        while True:
            try:
                answer = perform(request)
            except BaseException as error:  # thrown into the steps, which raise it again unless they handle it
                request = steps.throw(error)
            else:
                request = steps.send(answer)
    except StopIteration as done:
        result: T = done.value
        return result


async def arun_steps(steps: Steps[R, T], perform: Callable[[R], Awaitable[Any]]) -> T:
    """Run the steps in async code."""
    try:
        request = next(steps)
        while True:
            try:
                answer = await perform(request)
            except BaseException as error:  # cancellation too, so that the steps release what they hold
                request = steps.throw(error)
            else:
                request = steps.send(answer)
    except StopIteration as done:
        result: T = done.value
        return result


class SteppedBackend(Transfers, ABC):
    """Base of backends that write their verbs as steps."""

    remote: bool = False
    """Whether files are far away or owned by a person. If so, searches from the root skip them, and nothing is written automatically."""

    @abstractmethod
    def perform(self, request: Any) -> Any:
        """Do what a step asks for, in sync code."""

    @abstractmethod
    async def aperform(self, request: Any) -> Any:
        """Do what a step asks for, in async code."""

    @abstractmethod
    def ls_steps(self, path: str) -> Steps[Any, list[FileInfo]]: ...

    @abstractmethod
    def read_steps(self, file_path: str, offset: int, limit: int) -> Steps[Any, str]: ...

    @abstractmethod
    def grep_steps(self, pattern: str, path: str | None, glob: str | None) -> Steps[Any, list[GrepMatch] | str]: ...

    @abstractmethod
    def glob_steps(self, pattern: str, path: str) -> Steps[Any, list[FileInfo]]: ...

    @abstractmethod
    def write_steps(
        self, file_path: str, content: str, overwrite: bool, expected_version: str | None
    ) -> Steps[Any, WriteResult]: ...

    @abstractmethod
    def edit_steps(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool, expected_version: str | None
    ) -> Steps[Any, EditResult]: ...

    def delete_steps(self, file_path: str, expected_version: str | None) -> Steps[Any, DeleteResult]:
        yield from ()
        return DeleteResult(error=messages.cannot("delete", file_path))

    def move_steps(
        self, source: str, destination: str, overwrite: bool, expected_version: str | None
    ) -> Steps[Any, MoveResult]:
        yield from ()
        return MoveResult(error=messages.cannot("move", source))

    def offers(self, verb: str) -> bool:
        """Whether the backend has an optional verb, `delete` or `move`."""
        return getattr(type(self), f"{verb}_steps") is not getattr(SteppedBackend, f"{verb}_steps")

    def ls_info(self, path: str) -> list[FileInfo]:
        return run_steps(self.ls_steps(path), self.perform)

    def read(self, file_path: str, offset: int = 0, limit: int = DEFAULT_READ_LIMIT) -> str:
        return run_steps(self.read_steps(file_path, offset, limit), self.perform)

    def grep_raw(self, pattern: str, path: str | None = None, glob: str | None = None) -> list[GrepMatch] | str:
        return run_steps(self.grep_steps(pattern, path, glob), self.perform)

    def glob_info(self, pattern: str, path: str = "/") -> list[FileInfo]:
        return run_steps(self.glob_steps(pattern, path), self.perform)

    def write(
        self, file_path: str, content: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> WriteResult:
        return run_steps(self.write_steps(file_path, content, overwrite, expected_version), self.perform)

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        expected_version: str | None = None,
    ) -> EditResult:
        steps = self.edit_steps(file_path, old_string, new_string, replace_all, expected_version)
        return run_steps(steps, self.perform)

    def delete(self, file_path: str, *, expected_version: str | None = None) -> DeleteResult:
        return run_steps(self.delete_steps(file_path, expected_version), self.perform)

    def move(
        self, source: str, destination: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> MoveResult:
        return run_steps(self.move_steps(source, destination, overwrite, expected_version), self.perform)

    async def als_info(self, path: str) -> list[FileInfo]:
        return await arun_steps(self.ls_steps(path), self.aperform)

    async def aread(self, file_path: str, offset: int = 0, limit: int = DEFAULT_READ_LIMIT) -> str:
        return await arun_steps(self.read_steps(file_path, offset, limit), self.aperform)

    async def agrep_raw(self, pattern: str, path: str | None = None, glob: str | None = None) -> list[GrepMatch] | str:
        return await arun_steps(self.grep_steps(pattern, path, glob), self.aperform)

    async def aglob_info(self, pattern: str, path: str = "/") -> list[FileInfo]:
        return await arun_steps(self.glob_steps(pattern, path), self.aperform)

    async def awrite(
        self, file_path: str, content: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> WriteResult:
        return await arun_steps(self.write_steps(file_path, content, overwrite, expected_version), self.aperform)

    async def aedit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        expected_version: str | None = None,
    ) -> EditResult:
        steps = self.edit_steps(file_path, old_string, new_string, replace_all, expected_version)
        return await arun_steps(steps, self.aperform)

    async def adelete(self, file_path: str, *, expected_version: str | None = None) -> DeleteResult:
        return await arun_steps(self.delete_steps(file_path, expected_version), self.aperform)

    async def amove(
        self, source: str, destination: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> MoveResult:
        return await arun_steps(self.move_steps(source, destination, overwrite, expected_version), self.aperform)
