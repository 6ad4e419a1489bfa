"""Whole files in a folder of this machine; each root is a folder below it. A file's version is its inode, size and modification time.

Every open goes through a `Tree`, as in the disk backend, so no link leads outside.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from stepwell.backends import messages
from stepwell.backends.disk import write as disk_write
from stepwell.backends.disk.folder import ChangedError, InTheWayError, check_regular
from stepwell.backends.disk.open import Tree, tree_at
from stepwell.backends.disk.walk import Deadline, Walk
from stepwell.backends.whole_files import PIECE_BYTES, Base, FileFacts, check_folder, check_path, mapped
from stepwell.clock import Clock, SystemClock
from stepwell.errors import BackendError, InvalidRequestError, VersionConflictError
from stepwell.private_files import make_private_folder


@dataclass(frozen=True)
class FolderFiles:
    """`WholeFiles` in one folder."""

    folder: Path
    clock: Clock = field(default_factory=SystemClock)
    _locks: disk_write.FolderLocks = field(default_factory=disk_write.FolderLocks)

    async def list_page(self, root: str, folder: str, after: str | None, limit: int) -> list[FileFacts]:
        return await asyncio.to_thread(self._list, root, check_folder(folder), after or "", limit)

    async def look(self, root: str, path: str) -> FileFacts | None:
        return await asyncio.to_thread(self._look, root, check_path(path))

    async def read(self, root: str, file: FileFacts, start: int, end: int) -> AsyncGenerator[bytes, None]:
        descriptor = await asyncio.to_thread(self._open, root, file)
        try:
            while start < end:
                piece = await asyncio.to_thread(os.pread, descriptor, min(PIECE_BYTES, end - start), start)
                # If a writer changes the file in place, it may become shorter, or we may have read bytes of two versions.
                if not piece or _facts(os.fstat(descriptor), file.path).version != file.version:
                    raise VersionConflictError("The file was changed while it was read. Read it again.")
                start += len(piece)
                yield piece
        finally:
            os.close(descriptor)

    async def put(self, root: str, path: str, source: Path, base: Base) -> FileFacts:
        return await asyncio.to_thread(self._put, root, check_path(path), source, base)

    async def delete(self, root: str, path: str, base: Base) -> bool:
        return await asyncio.to_thread(self._delete, root, check_path(path), base)

    async def measure(self, root: str) -> int:
        return sum(each.size for each in await asyncio.to_thread(self._list, root, "/", "", None))

    def _list(self, root: str, folder: str, after: str, limit: int | None) -> list[FileFacts]:
        found: list[FileFacts] = []
        below = "" if folder == "/" else folder
        try:
            for held, relative, names in Walk(self._tree(root), folder.split("/")[1:] if below else (), Deadline()):
                for name in names:
                    path = f"{below}/{relative}{name}"
                    if path > after and (facts := _facts_in(held.stat(name), path)):
                        found.append(facts)
                    if limit is not None and len(found) >= limit:
                        return found
        except (FileNotFoundError, NotADirectoryError):
            return found  # a missing folder counts as a folder without files
        return found

    def _look(self, root: str, path: str) -> FileFacts | None:
        *above, name = path[1:].split("/")
        try:
            with self._tree(root).enter(above) as folder:
                status = folder.stat(name)
                check_regular(status)
                return _facts(status, path)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
            return None

    def _open(self, root: str, file: FileFacts) -> int:
        *above, name = file.path[1:].split("/")
        try:
            with self._tree(root).enter(above) as folder:
                check_regular(folder.stat(name))
                descriptor = folder.open(name)
        except OSError:
            raise VersionConflictError("The file is gone. List the folder again.") from None
        if _facts(os.fstat(descriptor), file.path).version != file.version:
            os.close(descriptor)
            raise VersionConflictError("The file was changed while it was read. Read it again.")
        return descriptor

    def _put(self, root: str, path: str, source: Path, base: Base) -> FileFacts:
        *above, name = path[1:].split("/")
        modified_ns = int(self.clock.now().timestamp() * 1_000_000) * 1000
        try:
            with self._tree(root).enter(above, create=True) as folder, self._locks.hold(folder), mapped(source) as content:
                before = disk_write.existing(folder, name)
                base.check(None if before is None else _facts(before, path))
                disk_write.put(
                    folder, name, content, before=before, replace=before is not None, modified_ns=modified_ns, fsync=False
                )
                return _facts(folder.stat(name), path)
        except (InTheWayError, IsADirectoryError):
            raise InvalidRequestError(f"'{path}' cannot be a file: it is a folder, or something above it is a file.") from None
        except (FileExistsError, ChangedError):
            raise VersionConflictError("Someone else changed the file first. Read it again, then decide.") from None
        except PermissionError:
            raise InvalidRequestError(messages.forbidden(path).removeprefix("Error: ")) from None
        except OSError as error:
            raise BackendError(f"the disk did not accept the file ({os.strerror(error.errno or 0).lower()})") from None

    def _delete(self, root: str, path: str, base: Base) -> bool:
        *above, name = path[1:].split("/")
        try:
            with self._tree(root).enter(above) as folder, self._locks.hold(folder):
                before = disk_write.existing(folder, name)
                base.check(None if before is None else _facts(before, path))
                if before is None:
                    return False
                folder.remove(name)
                return True
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
            base.check(None)
            return False

    def _tree(self, root: str) -> Tree:
        place = self.folder / root.strip("/")
        make_private_folder(place)
        return tree_at(os.path.realpath(place))


def _facts(status: os.stat_result, path: str) -> FileFacts:
    version = f"{status.st_mtime_ns:x}-{status.st_ino:x}-{status.st_size:x}"
    return FileFacts(path, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC), version)


def _facts_in(status: os.stat_result, path: str) -> FileFacts | None:
    try:
        check_regular(status)
    except OSError:
        return None
    return _facts(status, path)
