"""Uploads into a workspace: on disk, never completely in memory, and in parts if they are large.

```
begin ─> id ─> part 1, 2, ... (in any order, each may be sent again) ─> complete: joined, stored, and only then visible
```
An upload is a folder with a description and its parts. Only its owner, with access to its root, can use its id; for others it does not
exist. An upload that is not completed within a day is deleted. A completed upload is remembered for the same time, so that a client
that lost the response gets the same response again.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from stepwell.backends.whole_files import Base
from stepwell.clock import Clock
from stepwell.errors import InvalidRequestError, LimitReachedError, NotFoundError
from stepwell.private_files import make_private_folder, open_private
from stepwell.workspace.files.shares import Room

MAX_PART_BYTES = 32 * 1024 * 1024
MAX_PARTS = 1_000
MAX_OPEN = 10
"""Limit on a tenant's uploads that are not completed yet."""
LASTS = timedelta(days=1)

_IDLE_S = 30.0
_WRITTEN_AT_ONCE = 1 << 20
_ID = re.compile(r"[0-9a-f]{32}")
_ABOUT = "about.json"


@dataclass(frozen=True)
class Upload:
    """What is being uploaded, by whom and to where."""

    upload_id: str
    owner: str
    root: str
    tenant: str
    path: str
    version: str | None
    absent: bool
    begun_at: float
    result: dict[str, Any] | None = None
    """The response, once the upload is completed."""

    @property
    def base(self) -> Base:
        return Base(self.version, self.absent)


class Uploads:
    """The uploads of one server, in their own folder."""

    def __init__(self, folder: Path, clock: Clock, max_file_bytes: int) -> None:
        self._folder = folder
        self._clock = clock
        self.max_file_bytes = max_file_bytes

    async def begin(self, owner: str, root: str, tenant: str, path: str, base: Base) -> Upload:
        now = self._clock.now().timestamp()
        upload = Upload(secrets.token_hex(16), owner, root, tenant, path, base.version, base.absent, now)
        await asyncio.to_thread(self._begin, upload)
        return upload

    async def find(self, owner: str, upload_id: str) -> Upload:
        """One of the owner's uploads; `NotFoundError` also for another user's upload."""
        upload = await asyncio.to_thread(self._read, upload_id) if _ID.fullmatch(upload_id) else None
        if upload is None or upload.owner != owner or self._is_over(upload):
            raise NotFoundError("upload", upload_id, "Begin one with POST /api/workspace/uploads.")
        return upload

    async def measure(self, tenant: str) -> int:
        """The bytes of all parts that a tenant has sent and not completed."""
        return await asyncio.to_thread(self._measure, tenant)

    async def take_part(self, upload: Upload, number: int, request: Request, room: Room) -> int:
        """Store a part; returns its size once it is on disk."""
        if upload.result is not None:
            raise InvalidRequestError("This upload is completed. Begin another one.")
        target = self._folder / upload.upload_id / f"{number:05}"
        room.replaced = str(target), partial(asyncio.to_thread, _size_of, target)
        async with self.receive(request, room, MAX_PART_BYTES) as received:
            size = received.stat().st_size
            others = await asyncio.to_thread(self._size_without, upload, target.name)
            if others + size > self.max_file_bytes:
                raise _too_large(self.max_file_bytes)
            await room.look()  # the same part may be sent twice at the same time
            await asyncio.to_thread(os.replace, received, target)
            room.keep(size)
        return size

    @asynccontextmanager
    async def join(self, upload: Upload) -> AsyncIterator[Path]:
        """The parts as one file, deleted at the end of the block."""
        whole = self._folder / upload.upload_id / f"whole-{secrets.token_hex(8)}"
        try:
            await asyncio.to_thread(self._join, upload, whole)
            yield whole
        finally:
            whole.unlink(missing_ok=True)

    async def complete(self, upload: Upload, result: dict[str, Any]) -> None:
        """Keep only the response."""
        await asyncio.to_thread(self._complete, replace(upload, result=result))

    @asynccontextmanager
    async def receive(self, request: Request, room: Room, most_bytes: int | None = None) -> AsyncIterator[Path]:
        """A request's body as a file, deleted at the end of the block. Both its announced and its actual size must fit into `room`."""
        most_bytes = self.max_file_bytes if most_bytes is None else most_bytes
        announced = request.headers.get("content-length", "0")
        if not announced.isdigit() or int(announced[:20]) > most_bytes:
            raise _too_large(most_bytes)
        await room.look()
        await room.require(int(announced))
        await asyncio.to_thread(make_private_folder, self._folder)
        received = self._folder / f"receiving-{secrets.token_hex(16)}"
        try:
            size = await _spool(request, received, most_bytes, room)
            await room.look()
            await room.require(size)
            yield received
        finally:
            received.unlink(missing_ok=True)

    def _begin(self, upload: Upload) -> None:
        make_private_folder(self._folder)
        open_ones = self._sweep()
        if sum(each.tenant == upload.tenant for each in open_ones) >= MAX_OPEN:
            raise LimitReachedError(
                f"This workspace has {MAX_OPEN} uploads under way. Complete one, or wait until one is removed."
            )
        make_private_folder(self._folder / upload.upload_id)
        self._write(upload)

    def _sweep(self) -> list[Upload]:
        """Delete expired uploads; returns those still in progress."""
        under_way = []
        for entry in self._folder.iterdir():
            upload = self._read(entry.name)
            if upload is not None and self._is_over(upload):
                shutil.rmtree(entry, ignore_errors=True)
            elif upload is not None and upload.result is None:
                under_way.append(upload)
            elif (
                upload is None
                and entry.is_file()
                and entry.stat().st_mtime < self._clock.now().timestamp() - LASTS.total_seconds()
            ):
                entry.unlink(missing_ok=True)  # a body that a killed server was receiving
        return under_way

    def _is_over(self, upload: Upload) -> bool:
        return upload.begun_at + LASTS.total_seconds() <= self._clock.now().timestamp()

    def _read(self, upload_id: str) -> Upload | None:
        try:
            return Upload(**json.loads((self._folder / upload_id / _ABOUT).read_text(encoding="utf-8")))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _write(self, upload: Upload) -> None:
        about = self._folder / upload.upload_id / _ABOUT
        new = about.with_suffix(".new")
        new.unlink(missing_ok=True)  # left by a server that was killed while it wrote
        with open_private(new) as file:
            file.write(json.dumps(asdict(upload)).encode())
        os.replace(new, about)

    def _parts(self, upload: Upload) -> list[Path]:
        try:
            return sorted(each for each in (self._folder / upload.upload_id).iterdir() if each.name.isdigit())
        except FileNotFoundError:  # removed by another server meanwhile
            return []

    def _measure(self, tenant: str) -> int:
        if not self._folder.is_dir():
            return 0
        own = [upload for upload in self._sweep() if upload.tenant == tenant]
        return sum(self._size_without(upload, "") for upload in own)

    def _size_without(self, upload: Upload, name: str) -> int:
        return sum(_size_of(part) for part in self._parts(upload) if part.name != name)

    def _join(self, upload: Upload, whole: Path) -> None:
        parts = self._parts(upload)
        missing = next((number for number, part in enumerate(parts, 1) if int(part.name) != number), None)
        if missing is not None or not parts:
            raise InvalidRequestError(f"Part {missing or 1} is missing. Send it, then complete the upload.")
        with open_private(whole) as target:
            for part in parts:
                with part.open("rb") as source:
                    shutil.copyfileobj(source, target, _WRITTEN_AT_ONCE)

    def _complete(self, upload: Upload) -> None:
        self._write(upload)
        for part in self._parts(upload):
            part.unlink(missing_ok=True)


async def _spool(request: Request, target: Path, most_bytes: int, room: Room) -> int:
    """Write a body as it arrives; returns its size. A body that turns out longer than `most_bytes` is refused."""
    size, waiting = 0, bytearray()
    pieces = aiter(request.stream())
    with open_private(target) as file:
        while True:
            try:
                async with asyncio.timeout(_IDLE_S):
                    piece = await anext(pieces, None)
            except TimeoutError:
                raise HTTPException(408, f"Nothing of the body came for {_IDLE_S:.0f} s. Send it again.") from None
            size += len(piece or b"")
            if size > most_bytes:
                raise _too_large(most_bytes)
            await room.require(size)
            waiting += piece or b""
            if len(waiting) >= _WRITTEN_AT_ONCE or piece is None:
                await asyncio.to_thread(file.write, bytes(waiting))
                waiting.clear()
            if piece is None:
                return size


def _size_of(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _too_large(most_bytes: int) -> HTTPException:
    return HTTPException(
        413, f"The body is larger than {most_bytes:,} bytes. Send a large file in parts: POST /api/workspace/uploads."
    )
