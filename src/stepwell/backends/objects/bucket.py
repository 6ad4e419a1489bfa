"""One bucket: sends our requests to an object store, limits their number and time, and raises errors that leak nothing.

obstore retries reads, with a growing, jittered pause. Writes are not retried here, because after a failed write only `changes` can find
out whether it happened. So every write here is one request with a precondition.

obstore's own messages quote URLs, which may contain an account or a signature. They are neither shown nor logged: the log gets the
status and the store's code.
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
import secrets
import threading
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from stepwell.backends.locks import LockTable
from stepwell.backends.objects.names import StoreKind
from stepwell.errors import BackendError, needs_extra

if TYPE_CHECKING:
    from datetime import datetime

    from obstore import Attributes, ObjectMeta, UpdateVersion
    from obstore.store import ObjectStore

_log = logging.getLogger(__name__)

LINEAGE = "stepwellwrites"
"""The metadata field with the ids of the last writes. Its name has only letters, because Azure accepts nothing else."""

_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound")
_MAY_PASS = ("408", "429")
_ENCODING = "Content-Encoding"


@dataclass(frozen=True)
class Patience:
    """How long to wait for a store, and how often to retry."""

    at_once: int = 32
    """Concurrent requests per event loop."""
    request_s: float = 30.0
    connect_s: float = 5.0
    retries: int = 4
    first_pause_s: float = 0.1
    longest_pause_s: float = 2.0
    total_s: float = 60.0
    """The time for one request including all its retries."""


@dataclass(frozen=True)
class Row:
    """An object in a listing."""

    key: str
    size: int
    modified: datetime
    mark: str = ""
    """The store's own mark of this version (ETag)."""


@dataclass(frozen=True)
class Held:
    """An object's content and what is needed to overwrite exactly this version."""

    size: int
    modified: datetime
    mark: UpdateVersion
    attributes: Mapping[str, str] = field(hash=False)
    data: bytes | None = field(default=None, repr=False)
    """The content; None if it was not requested, or is larger than the limit."""

    @property
    def lineage(self) -> tuple[str, ...]:
        """The ids of the last writes, oldest first. A write by another program gets an id derived from its ETag and generation."""
        ids = tuple(part for part in self.attributes.get(LINEAGE, "").split(",") if part)
        return ids or (f"o{blake2b(repr(sorted(self.mark.items())).encode(), digest_size=5).hexdigest()}",)


class ObjectsUnavailableError(BackendError):
    """The store gave no usable answer. The text is for the model, so it names only the kind of failure.

    `refused` means that the store rejected the request, so nothing was done, and a retry does not help.
    """

    retryable = True

    def __init__(self, why: str, *, refused: bool = False) -> None:
        self.refused = refused
        super().__init__(why)


class InvalidNameError(ObjectsUnavailableError):
    """Another program has stored an invalid name in this folder, and obstore fails the whole listing because of it."""

    def __init__(self) -> None:
        super().__init__(
            "another program has stored a name there that is no path; rename that object with the storage's own tools"
        )


class ObjectChangedError(Exception):
    """The object is not the version that the write was meant for. Nothing was written."""


class Bucket:
    """A bucket of an object store, shared by all its tenants. `reader` retries by itself, `writer` must not."""

    def __init__(
        self,
        reader: ObjectStore,
        writer: ObjectStore,
        kind: StoreKind,
        patience: Patience | None = None,
        *,
        new_id: Callable[[], str] = lambda: secrets.token_hex(5),
        jitter: Callable[[float], float] = lambda longest_s: random.uniform(0, longest_s),
    ) -> None:
        with needs_extra("Files in object storage", "objects"):
            import obstore
            from obstore import exceptions
        self._api = obstore
        self._errors = exceptions
        self._reader, self._writer = reader, writer
        self.kind = kind
        self.patience = patience or Patience()
        self.new_id = new_id
        """Makes the id of a write, unique among the last writes of its object."""
        self.jitter = jitter
        """Takes the longest pause allowed, and returns the pause to make."""
        self.locks = LockTable(256)
        """Locks with which changes of one object within this process wait for one another instead of conflicting."""
        self._slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
        self._guard = threading.Lock()

    async def fetch(self, key: str, limit: int) -> Held | None:
        """An object, with its bytes unless there are more than `limit`; None if the object does not exist."""
        async with self._request():
            try:
                found = await self._api.get_async(self._reader, key)
                data = (await found.bytes_async()).to_bytes() if found.meta["size"] <= limit else None
            except FileNotFoundError as error:
                self._check_bucket(error)
                return None
            return _unzipped(_held(found.meta, found.attributes, data), limit)

    async def fetch_piece(self, key: str, start: int, end: int, mark: UpdateVersion) -> bytes:
        """Some bytes of exactly the version that `mark` names. Raises `ObjectChangedError` if there is another version by now."""
        options: dict[str, Any] = {"range": (start, end), **({"if_match": mark["e_tag"]} if "e_tag" in mark else {})}
        async with self._request():
            try:
                found = await self._api.get_async(self._reader, key, options=cast("Any", options))
                return (await found.bytes_async()).to_bytes()
            except (self._errors.PreconditionError, FileNotFoundError) as error:
                raise ObjectChangedError from error

    async def delete(self, key: str) -> None:
        """Delete an object, if it exists."""
        async with self._request():
            try:
                await self._api.delete_async(self._writer, key)
            except FileNotFoundError as error:
                self._check_bucket(error)

    async def look(self, key: str) -> Held | None:
        """An object without its bytes; None if it does not exist."""
        async with self._request():
            try:
                found = await self._api.get_async(self._reader, key, options=cast("Any", {"head": True}))
            except FileNotFoundError as error:
                self._check_bucket(error)
                return None
            return _held(found.meta, found.attributes, None)

    async def put(self, key: str, data: bytes, attributes: Mapping[str, str], over: Held | None) -> None:
        """Overwrite exactly the version in `over`, or create the object if `over` is None. If it raises `ObjectChangedError`,
        nothing was written."""
        mode: Any = "create" if over is None else over.mark
        async with self._request():
            try:
                await self._api.put_async(
                    self._writer, key, data, attributes=cast("Attributes", dict(attributes)), mode=mode, use_multipart=False
                )
            except (self._errors.AlreadyExistsError, self._errors.PreconditionError) as error:
                raise ObjectChangedError from error
            except FileNotFoundError as error:
                self._check_bucket(error)
                raise ObjectChangedError from error  # the object was deleted, and the store reports that before it checks the precondition
            except self._errors.BaseError as error:
                if _find(_STATUS, error) == "409":  # S3's answer to two conflicting writes; neither was made
                    raise ObjectChangedError from error
                raise

    async def list_folder(self, prefix: str) -> tuple[list[Row], list[str]]:
        """The objects directly below a prefix (which ends with a slash), and the prefixes below it."""
        async with self._request():
            try:
                found = await self._api.list_with_delimiter_async(self._reader, prefix.rstrip("/"))
            except FileNotFoundError as error:
                self._check_bucket(error)
                return [], []
        rows = [_row(meta) for meta in found["objects"] if meta["path"].startswith(prefix)]
        return rows, [f"{folder}/" for folder in found["common_prefixes"]]

    async def list_below(
        self, prefix: str, page: int = 1_000, after: str | None = None, unlisted: list[str] | None = None
    ) -> AsyncIterator[list[Row]]:
        """All objects below a prefix (which ends with a slash), in pages that are fetched on demand, beginning after the name `after`.

        obstore fails a whole page because of one invalid name, such as `a//b`. Then we list the rest folder by folder, and add folders with
        such a name to `unlisted`; if `unlisted` is None, the listing fails."""
        pages = self._api.list(self._reader, prefix.rstrip("/"), offset=after, chunk_size=page)
        while True:
            async with self._request():
                try:
                    found = await anext(pages, None)
                except FileNotFoundError as error:
                    self._check_bucket(error)
                    return
                except self._errors.InvalidPathError:
                    if unlisted is None:
                        raise
                    break
            if found is None:
                return
            rows = [_row(meta) for meta in found if meta["path"].startswith(prefix)]
            after = rows[-1].key if rows else after
            yield rows
        async for rows in self._list_by_folder(prefix, unlisted):
            yield [row for row in rows if after is None or row.key > after]

    async def _list_by_folder(self, prefix: str, unlisted: list[str]) -> AsyncIterator[list[Row]]:
        waiting = [prefix]
        while waiting:
            folder = waiting.pop()
            try:
                rows, folders = await self.list_folder(folder)
            except InvalidNameError:
                unlisted.append(folder)
                continue
            waiting.extend(reversed(folders))
            yield rows

    def _check_bucket(self, error: FileNotFoundError) -> None:
        """Raise an error if the bucket itself is missing. A missing object is a normal answer."""
        if _find(_CODE, error) in _NO_BUCKET:
            raise error

    @asynccontextmanager
    async def _request(self) -> AsyncIterator[None]:
        """Wraps one request: waits for its turn, limits its time, and explains its errors."""
        with self._explain():
            async with self._turns(), asyncio.timeout(self.patience.total_s):
                yield

    def _turns(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        with self._guard:
            return self._slots.setdefault(loop, asyncio.Semaphore(self.patience.at_once))

    @contextmanager
    def _explain(self) -> Iterator[None]:
        """Turn a failure into words for the model. The cause is not chained, because its text contains URLs."""
        try:
            yield
        except (self._errors.BaseError, OSError, ValueError) as error:
            raise (InvalidNameError() if isinstance(error, self._errors.InvalidPathError) else explain(error)) from None


def explain(error: Exception) -> ObjectsUnavailableError:
    """The error for the store's status and code; only those are logged."""
    status, code = _find(_STATUS, error), _find(_CODE, error)
    _log.warning("A request to the object store failed: %s, status %s, code %s", type(error).__name__, status, code)
    refused = status.startswith("4") and status not in _MAY_PASS
    if isinstance(error, TimeoutError):
        why = "the storage did not answer in time"
    elif status in ("401", "403"):  # stores use these two differently
        why = "the storage refuses access with these credentials"
    elif status == "404":
        why = "its bucket does not exist"
    else:
        why = "the storage gave no usable answer"
    return ObjectsUnavailableError(why, refused=refused)


def _find(what: re.Pattern[str], error: Exception) -> str:
    """A status or a code in obstore's message."""
    found = what.search(str(error))
    return found[1] if found else "none"


def _held(meta: ObjectMeta, attributes: Attributes, data: bytes | None) -> Held:
    # Only the fields that the store has: obstore does not accept None here.
    mark = cast("UpdateVersion", {name: value for name in ("e_tag", "version") if (value := meta.get(name))})
    return Held(meta["size"], meta["last_modified"], mark, dict(attributes), data)


def _unzipped(held: Held, limit: int) -> Held:
    """The object, decompressed if another program stored it compressed. If we write it back, it is stored uncompressed."""
    if held.data is None or held.attributes.get(_ENCODING) != "gzip":
        return held
    unzip = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        data = unzip.decompress(held.data, limit + 1)
    except zlib.error:
        return held  # the store has already decompressed it, or the header is wrong
    attributes = {name: value for name, value in held.attributes.items() if name != _ENCODING}
    return replace(held, attributes=attributes, data=data if len(data) <= limit else None)


def _row(meta: ObjectMeta) -> Row:
    return Row(meta["path"], meta["size"], meta["last_modified"], meta.get("e_tag") or "")
