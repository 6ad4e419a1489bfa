"""Deletes and moves objects, one by one or all below a prefix.

An object store cannot rename, and most cannot delete on a condition. So a move copies the content and then deletes the old object, if
that is still the version that was copied; a process killed in between leaves both. Within a process, changes of one object wait for one
another; another process may write between the last look and the deletion.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice

from stepwell.backends import messages, paths, text, tree
from stepwell.backends.objects.bucket import Bucket, Held
from stepwell.backends.objects.changes import change_object
from stepwell.backends.objects.names import folder_key, object_key, path_of
from stepwell.backends.protocol import ErrorText, FileData

AT_ONCE = 200
"""How many deletions or copies are started together; the bucket itself limits how many are sent at a time."""

_BLANK: FileData = {"content": [], "created_at": "", "modified_at": ""}


class ChangeRefusedError(Exception):
    """Ends a deletion or a move with an error for the model."""

    def __init__(self, error: ErrorText) -> None:
        self.error = error
        super().__init__(error)


@dataclass(frozen=True)
class Entries:
    """The files and folders below one root."""

    bucket: Bucket
    root: str
    max_bytes: int

    async def delete(self, path: str, expected_version: str | None) -> int:
        """Delete a file or a folder, and return the number of files."""
        doomed = await self._files_at(path)
        if not doomed:
            raise ChangeRefusedError(messages.nothing_there(path))
        if expected_version is not None and path not in doomed:
            raise ChangeRefusedError(messages.conflict(path))
        await _all(self._delete_one(each, expected_version) for each in doomed)
        return len(doomed)

    async def move(self, old: str, new: str, overwrite: bool, expected_version: str | None) -> int:
        """Move a file or a folder, and return the number of files."""
        planned = tree.plan_move(dict.fromkeys(await self._around(old, new), _BLANK), old, new, overwrite)
        if isinstance(planned, ErrorText):
            raise ChangeRefusedError(planned)
        if expected_version is not None and planned[0][0] != old:
            raise ChangeRefusedError(messages.conflict(old))
        copied: dict[str, Held] = {}

        async def copy(before: str, after: str) -> None:
            copied[before] = await self._copy(before, after, overwrite, expected_version)

        try:
            await _all(copy(before, after) for before, after in planned)
            await _all(self._delete_one(before, seen=copied[before]) for before, _ in planned)
        except Exception:
            if not overwrite:  # nothing was there before, so the copies can go again, except those that are the only ones left
                await _all(self._undo(before, after) for before, after in planned if before in copied)
            raise
        return len(planned)

    async def _around(self, old: str, new: str) -> list[str]:
        """The files that matter for a move: those that move, and those at, above or directly below the destination."""
        above = [path for path in (new, *paths.parents(new)) if path != old]
        looks = asyncio.gather(*(self._look(path) for path in above))
        moving, below, found = await asyncio.gather(self._files_at(old), self._first_below(new), looks)
        return [*moving, *below, *(path for path, held in zip(above, found, strict=True) if held is not None)]

    async def _files_at(self, path: str) -> list[str]:
        if await self._look(path) is not None:
            return [path]
        pages = self.bucket.list_below(folder_key(self.root, path))
        return [found async for rows in pages for row in rows if (found := path_of(self.root, row.key))]

    async def _first_below(self, path: str) -> list[str]:
        async for rows in self.bucket.list_below(folder_key(self.root, path), page=1):
            return [found for row in rows[:1] if (found := path_of(self.root, row.key))]
        return []

    async def _look(self, path: str) -> Held | None:
        key = object_key(self.bucket.kind, self.root, path)
        return None if isinstance(key, ErrorText) else await self.bucket.look(key)

    async def _delete_one(self, path: str, expected_version: str | None = None, seen: Held | None = None) -> None:
        """Delete an object, unless it is no longer at the version that is expected or was seen."""
        key = self._key(path)
        async with self._hold(key):
            if (
                expected_version is not None
                and version_of_text(await self.bucket.fetch(key, self.max_bytes)) != expected_version
            ):
                raise ChangeRefusedError(messages.conflict(path))
            if seen is not None:
                held = await self.bucket.look(key)
                if held is not None and held.mark != seen.mark:
                    raise ChangeRefusedError(messages.conflict(path))
            await self.bucket.delete(key)

    async def _copy(self, old: str, new: str, overwrite: bool, expected_version: str | None) -> Held:
        key, target = self._key(old), self._key(new)
        held = await self.bucket.fetch(key, self.max_bytes)
        if held is None:
            raise ChangeRefusedError(messages.nothing_there(old))
        if held.data is None:
            raise ChangeRefusedError(messages.too_large(old, held.size, self.max_bytes))
        if expected_version is not None and version_of_text(held) != expected_version:
            raise ChangeRefusedError(messages.conflict(old))
        data = held.data

        async def make(there: Held | None) -> bytes:
            if there is not None and not overwrite:
                raise ChangeRefusedError(messages.taken(new))
            return data

        async with self._hold(target):
            await change_object(self.bucket, target, lambda: self.bucket.look(target), make)
        return held

    async def _undo(self, old: str, new: str) -> None:
        if await self._look(old) is not None:
            await self._delete_one(new)

    def _key(self, path: str) -> str:
        key = object_key(self.bucket.kind, self.root, path)
        if isinstance(key, ErrorText):
            raise ChangeRefusedError(key)
        return key

    @asynccontextmanager
    async def _hold(self, key: str) -> AsyncIterator[None]:
        lock = self.bucket.locks.at(key)
        await lock.aacquire()
        try:
            yield
        finally:
            lock.release()


async def _all(jobs: Iterable[Awaitable[None]]) -> None:
    """Do all of them, some at a time; raises the first error after those that were started have ended."""
    waiting = iter(jobs)
    while some := list(islice(waiting, AT_ONCE)):
        done = await asyncio.gather(*some, return_exceptions=True)
        for each in done:
            if isinstance(each, BaseException):
                raise each


def version_of_text(held: Held | None) -> str | None:
    """The version of a file's text; None if it is not text."""
    if held is None or held.data is None:
        return None
    try:
        return text.version_of(held.data.decode())
    except UnicodeDecodeError:
        return None
