"""Files of one tenant in a bucket: the verbs below a root.

Reads and changes request the object itself, so a listing that lags behind does not matter to them. An object store cannot prevent two
processes from creating a file and a folder of the same name at the same moment; then both exist, and both can be read. Folders exist
because there are objects below them.

obstore collects the pages of one folder, and `ls` cuts the listing at its limit; `search` has `glob` and `grep`, and
`entries` has `delete` and `move`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from stepwell.backends import messages, paths, text, tree
from stepwell.backends.objects.bucket import Bucket, Held, ObjectsUnavailableError, Row
from stepwell.backends.objects.changes import WriteUnknownError, change_object
from stepwell.backends.objects.entries import ChangeRefusedError, Entries, version_of_text
from stepwell.backends.objects.names import folder_key, object_key, path_of
from stepwell.backends.objects.read_only import refuse_change
from stepwell.backends.objects.root import OpenedRoot, current_root, open_here
from stepwell.backends.objects.search import Search, decode, file_row
from stepwell.backends.paths import PathError, Place
from stepwell.backends.patterns import compile_glob, compile_text
from stepwell.backends.protocol import (
    DEFAULT_READ_LIMIT,
    DeleteResult,
    EditResult,
    ErrorText,
    FileInfo,
    GrepMatch,
    Listing,
    MoveResult,
    WriteResult,
)
from stepwell.backends.sync_async import AsyncBackend, run_in_portal
from stepwell.backends.transfers import FileDownloadResponse, code_of
from stepwell.errors import VersionConflictError

T = TypeVar("T")


class ObjectBackend(AsyncBackend):
    """Stores files in `bucket` below `root`. `root` is a tenant's own root (`/company/workspace/`), or a function that returns it for each
    call; by default, it is the root that is open to the running request. `max_file_bytes` is the maximum that is read or written at once.
    """

    remote = True

    def __init__(
        self,
        bucket: Bucket,
        root: str | OpenedRoot | Callable[[], str | OpenedRoot] = current_root,
        *,
        allowed_prefixes: Sequence[str] = (),
        max_file_bytes: int = 10_000_000,
    ) -> None:
        self._bucket = bucket
        self._given_root = root if callable(root) else open_here(root)
        self._allowed = tuple(allowed_prefixes)
        self._max_bytes = max_file_bytes

    async def als_info(self, path: str) -> list[FileInfo]:
        folder = self._check_prefix(paths.resolve(path))
        if isinstance(folder, ErrorText):
            return Listing(error=folder)
        try:
            return await self._list(folder)
        except ObjectsUnavailableError as failure:
            return Listing(error=messages.unavailable(folder, str(failure)))

    async def aread(self, file_path: str, offset: int = 0, limit: int = DEFAULT_READ_LIMIT) -> str:
        path = self._check_prefix(paths.resolve_file(file_path))
        data = path if isinstance(path, ErrorText) else await self._bytes_at(path)
        if isinstance(data, ErrorText):
            return data
        content = decode(path, data)
        if isinstance(content, ErrorText):
            return content
        return text.number_lines(path, text.split_lines(content), offset, limit)

    def read_whole(self, file_path: str) -> bytes | ErrorText:
        path = self._check_prefix(paths.resolve_file(file_path))
        return path if isinstance(path, ErrorText) else run_in_portal(self._bytes_at(path))

    def download_files(self, paths: Sequence[str]) -> list[FileDownloadResponse]:
        return run_in_portal(self.adownload_files(paths))

    async def adownload_files(self, paths: Sequence[str]) -> list[FileDownloadResponse]:
        """Files as they are stored, as many at once as the bucket allows."""
        return await asyncio.gather(*(self._download_one(path) for path in paths))

    async def _download_one(self, file_path: str) -> FileDownloadResponse:
        path = self._check_prefix(paths.resolve_file(file_path))
        found = path if isinstance(path, ErrorText) else await self._bytes_at(path)
        if isinstance(found, ErrorText):
            return FileDownloadResponse(file_path, None, code_of(found, file_path), found)
        return FileDownloadResponse(file_path, found)

    async def agrep_raw(self, pattern: str, path: str | None = None, glob: str | None = None) -> list[GrepMatch] | str:
        folder = self._check_prefix(paths.resolve("/" if path is None else path))
        if isinstance(folder, ErrorText):
            return folder
        wanted = compile_text(pattern)
        if isinstance(wanted, ErrorText):
            return wanted
        passes = None if glob is None else compile_glob(glob, anywhere=True)
        if isinstance(passes, ErrorText):
            return passes
        try:
            search = Search(self._bucket, self._root(), self._max_bytes)
            return await search.grep(folder, await self._lone(folder), wanted, passes)
        except ObjectsUnavailableError as failure:
            return messages.unavailable(folder, str(failure))

    async def aglob_info(self, pattern: str, path: str = "/") -> list[FileInfo]:
        folder = self._check_prefix(paths.resolve(path))
        if isinstance(folder, ErrorText):
            return Listing(error=folder)
        matches = compile_glob(pattern)
        if isinstance(matches, ErrorText):
            return Listing(error=matches)
        try:
            return await Search(self._bucket, self._root(), self._max_bytes).glob(folder, matches)
        except ObjectsUnavailableError as failure:
            return Listing(error=messages.unavailable(folder, str(failure)))

    async def awrite(
        self, file_path: str, content: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> WriteResult:
        path = self._check_prefix(paths.resolve_file(file_path))
        if isinstance(path, ErrorText):
            return WriteResult(error=path)
        if problem := self._content_complaint(path, content):
            return WriteResult(error=problem)
        data = content.encode()

        async def make(held: Held | None) -> bytes:
            await self._check_write(path, held, overwrite, expected_version)
            return data

        whole = expected_version is not None
        outcome = await self._change(path, make, whole=whole)
        if isinstance(outcome, ErrorText):
            return WriteResult(error=outcome)
        return WriteResult(path=path, version=text.version_of(content))

    async def awrite_whole(self, file_path: str, content: bytes) -> WriteResult:
        """Store bytes of any kind, overwriting what is there. For programs: a model writes text."""
        path = self._check_prefix(paths.resolve_file(file_path))
        if isinstance(path, ErrorText):
            return WriteResult(error=path)

        async def make(held: Held | None) -> bytes:
            await self._check_write(path, held, True, None)
            return content

        outcome = await self._change(path, make, whole=False)
        return WriteResult(error=outcome) if isinstance(outcome, ErrorText) else WriteResult(path=path)

    def write_whole(self, file_path: str, content: bytes) -> WriteResult:
        return run_in_portal(self.awrite_whole(file_path, content))

    async def aedit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        expected_version: str | None = None,
    ) -> EditResult:
        path = self._check_prefix(paths.resolve_file(file_path))
        if isinstance(path, ErrorText):
            return EditResult(error=path)
        for part in (old_string, new_string):
            if problem := text.content_complaint(path, part):
                return EditResult(error=problem)
        count = 0

        async def make(held: Held | None) -> bytes:
            nonlocal count
            current = await self._text_to_edit(path, held, expected_version)
            outcome = text.replace_exact(path, current, old_string, new_string, replace_all)
            if isinstance(outcome, ErrorText):
                raise ChangeRefusedError(outcome)
            edited, count = outcome
            if problem := self._content_complaint(path, edited):
                raise ChangeRefusedError(problem)
            return edited.encode()

        outcome = await self._change(path, make, whole=True)
        if isinstance(outcome, ErrorText):
            return EditResult(error=outcome)
        return EditResult(path=path, occurrences=count, version=text.version_of(outcome.decode()))

    async def adelete(self, file_path: str, *, expected_version: str | None = None) -> DeleteResult:
        path = self._check_prefix(paths.resolve_entry(file_path))
        if isinstance(path, ErrorText):
            return DeleteResult(error=path)
        count = await self._relocate(path, lambda entries: entries.delete(path, expected_version))
        return DeleteResult(error=count) if isinstance(count, ErrorText) else DeleteResult(path=path, count=count)

    async def amove(
        self, source: str, destination: str, *, overwrite: bool = False, expected_version: str | None = None
    ) -> MoveResult:
        old, new = self._check_prefix(paths.resolve_entry(source)), self._check_prefix(paths.resolve_entry(destination))
        if isinstance(old, ErrorText) or isinstance(new, ErrorText):
            return MoveResult(error=old if isinstance(old, ErrorText) else new)
        count = await self._relocate(old, lambda entries: entries.move(old, new, overwrite, expected_version))
        return MoveResult(error=count) if isinstance(count, ErrorText) else MoveResult(path=new, count=count)

    async def _relocate(self, path: str, work: Callable[[Entries], Awaitable[int]]) -> int | ErrorText:
        """Delete or move; returns the number of files, or why not."""
        if refused := refuse_change(self._opened(), path):
            return refused
        return await _in_words(path, lambda: work(Entries(self._bucket, self._root(), self._max_bytes)))

    async def _change(self, path: str, make: Callable[[Held | None], Awaitable[bytes]], *, whole: bool) -> bytes | ErrorText:
        """Change a file; `whole` means that its content must be read first."""
        if refused := refuse_change(self._opened(), path):
            return refused
        key = object_key(self._bucket.kind, self._root(), path)
        if isinstance(key, ErrorText):
            return key

        def read() -> Awaitable[Held | None]:
            return self._bucket.fetch(key, self._max_bytes) if whole else self._bucket.look(key)

        async def work() -> bytes:
            lock = self._bucket.locks.at(key)
            await lock.aacquire()
            try:
                return await change_object(self._bucket, key, read, make)
            finally:
                lock.release()

        return await _in_words(path, work)

    async def _check_write(self, path: str, held: Held | None, overwrite: bool, expected_version: str | None) -> None:
        """Raise an error if the current file must not be overwritten."""
        if held is not None and not overwrite:
            raise ChangeRefusedError(messages.exists(path))
        if held is None and (problem := await self._placement_problem(path)):
            raise ChangeRefusedError(problem)
        if expected_version is not None and version_of_text(held) != expected_version:
            raise ChangeRefusedError(messages.conflict(path))

    async def _text_to_edit(self, path: str, held: Held | None, expected_version: str | None) -> str:
        if held is None:
            raise ChangeRefusedError(await self._placement_problem(path) or messages.no_file(path))
        if held.data is None:
            raise ChangeRefusedError(messages.too_large(path, held.size, self._max_bytes))
        content = decode(path, held.data)
        if isinstance(content, ErrorText):
            raise ChangeRefusedError(content)
        if expected_version is not None and text.version_of(content) != expected_version:
            raise ChangeRefusedError(messages.conflict(path))
        return content

    async def _placement_problem(self, path: str) -> ErrorText | None:
        """Why a new file cannot be created at a path: something above the path is a file, or a folder is there."""
        above = list(paths.parents(path))
        keys = [self._root()[1:] + parent[1:] for parent in above]
        *found, below = await asyncio.gather(*(self._bucket.look(key) for key in keys), self._has_below(path))
        for parent, held in zip(above, found, strict=True):
            if held is not None:
                return messages.below_file(path, parent)
        return messages.is_folder(path) if below else None

    async def _has_below(self, path: str) -> bool:
        """Whether a path is a folder."""
        async for page in self._bucket.list_below(folder_key(self._root(), path), page=1):
            if page:
                return True
        return False

    async def _bytes_at(self, path: str) -> bytes | ErrorText:
        key = object_key(self._bucket.kind, self._root(), path)
        if isinstance(key, ErrorText):
            return messages.no_file(path)
        try:
            held = await self._bucket.fetch(key, self._max_bytes)
            if held is None:
                return messages.is_folder(path) if await self._has_below(path) else messages.no_file(path)
        except ObjectsUnavailableError as failure:
            return messages.unavailable(path, str(failure))
        return messages.too_large(path, held.size, self._max_bytes) if held.data is None else held.data

    async def _list(self, folder: str) -> Listing:
        root = self._root()
        rows, prefixes = await self._bucket.list_folder(folder_key(root, folder))
        found = [file_row(path, row) for row in rows if (path := path_of(root, row.key))]
        found += [tree.folder_row(f"{path}/") for prefix in prefixes if (path := path_of(root, prefix[:-1]))]
        if not found:
            return await self._list_lone(folder)
        found.sort(key=lambda row: row["path"])
        return Listing(found[: tree.MAX_FOUND], note=tree.found_note() if len(found) > tree.MAX_FOUND else None)

    async def _list_lone(self, path: str) -> Listing:
        """The listing of a path with nothing below it: a file is listed as itself."""
        row = await self._lone(path)
        if row is None and path != paths.ROOT:
            return Listing(error=messages.no_folder(path))
        return Listing([file_row(path, row)] if row else [])

    async def _lone(self, path: str) -> Row | None:
        if path == paths.ROOT:
            return None
        key = object_key(self._bucket.kind, self._root(), path)
        held = None if isinstance(key, ErrorText) else await self._bucket.look(key)
        return None if held is None else Row(str(key), held.size, held.modified)

    def _content_complaint(self, path: str, content: object) -> ErrorText | None:
        if problem := text.content_complaint(path, content):
            return problem
        size = len(str(content).encode())
        if size <= self._max_bytes:
            return None
        return PathError(
            "Error: the content for ",
            Place(path),
            f" has {size:,} bytes; at most {self._max_bytes:,} fit. Split it into several files.",
        )

    def _check_prefix(self, path: str | ErrorText) -> str | ErrorText:
        return path if isinstance(path, ErrorText) else paths.check_prefixes(path, self._allowed) or path

    def _root(self) -> str:
        return self._opened().root

    def _opened(self) -> OpenedRoot:
        return open_here(self._given_root()) if callable(self._given_root) else self._given_root


async def _in_words(path: str, work: Callable[[], Awaitable[T]]) -> T | ErrorText:
    """What the work returns, or its error in words for the model."""
    try:
        return await work()
    except TimeoutError:
        return messages.unavailable(path, "others keep changing it")
    except ChangeRefusedError as refusal:
        return refusal.error
    except WriteUnknownError:
        return outcome_unknown(path)
    except VersionConflictError:
        return messages.conflict(path)
    except ObjectsUnavailableError as failure:
        return messages.unavailable(path, str(failure))


def outcome_unknown(path: str) -> ErrorText:
    return PathError(
        "Error: conflict: the storage did not answer, so ",
        Place(path),
        " may or may not have been changed. Read it again before you repeat the change.",
    )
