"""Whole files in a bucket. The version is the id of the last write (see `changes`), so that the writer knows it without asking again.

The stores have no common conditional delete, so a delete that names a version checks the version first, and another server may write
between the check and the delete.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path

from stepwell.backends.objects.bucket import Bucket, Held, ObjectChangedError
from stepwell.backends.objects.changes import change_object
from stepwell.backends.objects.names import folder_key, object_key, path_of
from stepwell.backends.protocol import ErrorText
from stepwell.backends.whole_files import PIECE_BYTES, Base, FileFacts, check_folder, check_path, mapped
from stepwell.clock import Clock, SystemClock
from stepwell.errors import InvalidRequestError, VersionConflictError

_PIECE = 4 * PIECE_BYTES
"""Bytes per request: large enough to need few requests, small enough to hold in memory."""


@dataclass(frozen=True)
class BucketFiles:
    """`WholeFiles` in one bucket."""

    bucket: Bucket
    clock: Clock = field(default_factory=SystemClock)

    async def list_page(self, root: str, folder: str, after: str | None, limit: int) -> list[FileFacts]:
        found: list[FileFacts] = []
        prefix = folder_key(root, check_folder(folder))
        async for rows in self.bucket.list_below(prefix, page=limit, after=after and root[1:] + after[1:]):
            found += [FileFacts(path, row.size, row.modified) for row in rows if (path := path_of(root, row.key))]
            if len(found) >= limit:
                break
        return found[:limit]

    async def look(self, root: str, path: str) -> FileFacts | None:
        held = await self.bucket.look(self._key(root, path))
        return None if held is None else _facts(path, held)

    async def read(self, root: str, file: FileFacts, start: int, end: int) -> AsyncGenerator[bytes, None]:
        key = self._key(root, file.path)
        held = await self.bucket.look(key)
        if held is None or _facts(file.path, held).version != file.version:
            raise VersionConflictError("The file was changed while it was read. Read it again.")
        for begin in range(start, end, _PIECE):
            try:
                yield await self.bucket.fetch_piece(key, begin, min(begin + _PIECE, end), held.mark)
            except ObjectChangedError:
                raise VersionConflictError("The file was changed while it was read. Read it again.") from None

    async def put(self, root: str, path: str, source: Path, base: Base) -> FileFacts:
        key, write_id, size = self._key(root, path), self.bucket.new_id(), 0
        lock = self.bucket.locks.at(key)
        await lock.aacquire()
        try:
            with mapped(source) as content:
                size = len(content)

                async def make(held: Held | None) -> bytes:
                    base.check(None if held is None else _facts(path, held))
                    return content

                await change_object(self.bucket, key, lambda: self.bucket.look(key), make, write_id)
        finally:
            lock.release()
        return FileFacts(check_path(path), size, self.clock.now(), f"{write_id}-{size:x}")

    async def delete(self, root: str, path: str, base: Base) -> bool:
        key = self._key(root, path)
        lock = self.bucket.locks.at(key)
        await lock.aacquire()
        try:
            held = await self.bucket.look(key)
            base.check(None if held is None else _facts(path, held))
            if held is not None:
                await self.bucket.delete(key)
            return held is not None
        finally:
            lock.release()

    async def measure(self, root: str) -> int:
        return sum([sum(row.size for row in rows) async for rows in self.bucket.list_below(root[1:])])

    def _key(self, root: str, path: str) -> str:
        key = object_key(self.bucket.kind, root, check_path(path))
        if isinstance(key, ErrorText):
            raise InvalidRequestError(key.removeprefix("Error: "))
        return key


def _facts(path: str, held: Held) -> FileFacts:
    # The version contains the size, because another program may have stored other bytes and kept our metadata.
    return FileFacts(check_path(path), held.size, held.modified, f"{held.lineage[-1]}-{held.size:x}")
