"""The base of every test in the backend suite: a fresh backend, and its verbs, sync or async.

The suite runs each test twice, once through the sync verbs and once through the async ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from stepwell.backends.protocol import BackendProtocol, DeleteResult, EditResult, FileInfo, GrepMatch, MoveResult, WriteResult


class BackendCase:
    """Override `make_backend`, and the hooks below it if the defaults do not fit."""

    base: str = ""
    """The folder that the suite works in, without a trailing slash. Set it to a mount's path to run the suite behind that mount."""

    never_shown: tuple[str, ...] = ()
    """Text that no answer may contain, such as the real path of a root folder. Set it in `make_backend` if it is known only there."""

    creates_are_exclusive: bool = True
    """Whether all but one of several writers that create a file at once get an error. False if the other texts are stored beside it."""

    def make_backend(self) -> BackendProtocol:
        """An empty backend."""
        raise NotImplementedError

    def run(self, backend: BackendProtocol, verb: str, *args: Any, **kwargs: Any) -> Any:
        """Call a verb. Override this for a backend that only works in certain surroundings, such as a running graph."""
        return getattr(backend, verb)(*args, **kwargs)

    async def arun(self, backend: BackendProtocol, verb: str, *args: Any, **kwargs: Any) -> Any:
        """Await the async form of a verb; `verb` is its name without the leading `a`."""
        return await getattr(backend, f"a{verb}")(*args, **kwargs)

    @pytest.fixture
    def runner(self) -> Iterator[asyncio.Runner]:
        with asyncio.Runner() as runner:
            yield runner

    @pytest.fixture
    def backend(self, runner: asyncio.Runner, request: pytest.FixtureRequest) -> BackendProtocol:
        return self.make_backend()

    @pytest.fixture(params=["sync", "async"])
    def files(self, backend: BackendProtocol, runner: asyncio.Runner, request: pytest.FixtureRequest) -> Verbs:
        return Verbs(self, backend, runner, form=request.param)


class Verbs:
    """The verbs of a backend, sync or async, on paths below the suite's folder."""

    def __init__(self, case: BackendCase, backend: BackendProtocol, runner: asyncio.Runner, form: str) -> None:
        self.case = case
        self.backend = backend
        self.runner = runner
        self.form = form

    def at(self, path: str) -> str:
        """A path as passed to the backend."""
        return self.case.base + path

    def call(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        """Call the sync or the async verb, with the arguments unchanged."""
        if self.form == "sync":
            answer = self.case.run(self.backend, verb, *args, **kwargs)
        else:
            answer = self.runner.run(self.case.arun(self.backend, verb, *args, **kwargs))
        self._check_secrets(answer)
        return answer

    def ls(self, path: str = "/") -> list[FileInfo]:
        rows: list[FileInfo] = self.call("ls_info", self.at(path))
        return rows

    def read(self, path: str, *window: int) -> str:
        shown: str = self.call("read", self.at(path), *window)
        return shown

    def grep(self, pattern: str, path: str = "/", glob: str | None = None) -> list[GrepMatch] | str:
        found: list[GrepMatch] | str = self.call("grep_raw", pattern, self.at(path), glob)
        return found

    def glob(self, pattern: str, path: str = "/") -> list[FileInfo]:
        rows: list[FileInfo] = self.call("glob_info", pattern, self.at(path))
        return rows

    def write(self, path: str, content: str, **options: Any) -> WriteResult:
        result: WriteResult = self.call("write", self.at(path), content, **options)
        return result

    def edit(self, path: str, old: str, new: str, replace_all: bool = False, **options: Any) -> EditResult:
        result: EditResult = self.call("edit", self.at(path), old, new, replace_all, **options)
        return result

    def delete(self, path: str, **options: Any) -> DeleteResult:
        result: DeleteResult = self.call("delete", self.at(path), **options)
        return result

    def move(self, source: str, destination: str, **options: Any) -> MoveResult:
        result: MoveResult = self.call("move", self.at(source), self.at(destination), **options)
        return result

    def put(self, **contents: str) -> None:
        """Write files, by names in which a double underscore means a slash and a single one a full stop."""
        for name, content in contents.items():
            result = self.write("/" + name.replace("__", "/").replace("_", "."), content)
            assert result.error is None, result.error

    def holds(self, path: str, content: str) -> bool:
        """Whether a file contains exactly this text: it has as many bytes, and the whole text occurs in it once."""
        (row,) = self.ls(path)
        if row["size"] != len(content.encode()):
            return False
        if not content:
            return True
        probe = self.edit(path, content, content + "!")
        undone = probe.error is None and self.edit(path, content + "!", content).error is None
        return undone and probe.occurrences == 1

    def names(self, rows: list[FileInfo]) -> list[str]:
        """The paths of rows, as the suite writes them."""
        return [row["path"].removeprefix(self.case.base) for row in rows]

    def _check_secrets(self, answer: object) -> None:
        shown = f"{answer} {vars(answer) if hasattr(answer, '__dict__') else ''}"
        for secret in self.case.never_shown:
            assert secret not in shown, f"an answer shows {secret!r}: {shown[:300]}"
