"""The objects of the fake store, and its rules: generations, preconditions, listings in pages.

Changes happen one at a time, and each new version gets the next generation. `commits` lists all of them: it shows how a race really
ended, whatever the clients were told. Names are stored unchanged, even those that our clients would never write.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import md5
from types import MappingProxyType

PAGE = 1_000
"""The maximum number of rows per page, as in the real store."""


@dataclass(frozen=True)
class StoredObject:
    """One generation of an object."""

    bucket: str
    name: str
    data: bytes = field(repr=False)
    generation: int
    updated: datetime
    content_type: str = "application/octet-stream"
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def etag(self) -> str:
        return f'"{md5(self.data, usedforsecurity=False).hexdigest()}"'


@dataclass(frozen=True)
class Page:
    """A page of a listing; `next_token` leads to the next one."""

    objects: list[StoredObject]
    prefixes: list[str]
    next_token: str | None


class RequestRefusedError(Exception):
    """A request that the store rejects."""

    def __init__(self, status: int, code: str) -> None:
        self.status = status
        self.code = code
        super().__init__(code)


class Contents:
    """All objects of all buckets. Thread-safe."""

    def __init__(self, buckets: tuple[str, ...], forbidden: tuple[str, ...] = ()) -> None:
        self._guard = threading.Lock()
        self._buckets: dict[str, dict[str, StoredObject]] = {bucket: {} for bucket in buckets}
        self._forbidden = forbidden
        self._frozen: dict[str, dict[str, StoredObject]] | None = None
        self._generation = 1_700_000_000_000_000
        self.commits: list[StoredObject] = []

    def put(
        self,
        bucket: str,
        name: str,
        data: bytes,
        *,
        if_generation: int | None = None,
        content_type: str = "application/octet-stream",
        metadata: Mapping[str, str] | None = None,
    ) -> StoredObject:
        """Store a new generation; with `if_generation`, only if that is the current one (0: only if there is no such object)."""
        check_name(name)
        with self._guard:
            objects = self._objects(bucket)
            check_generation(objects.get(name), if_generation)
            self._generation += 1
            stored = StoredObject(
                bucket, name, data, self._generation, datetime.now(UTC), content_type, MappingProxyType(dict(metadata or {}))
            )
            objects[name] = stored
            self.commits.append(stored)
            return stored

    def get(self, bucket: str, name: str) -> StoredObject:
        with self._guard:
            found = self._objects(bucket).get(name)
        if found is None:
            raise RequestRefusedError(404, "NoSuchKey")
        return found

    def delete(self, bucket: str, name: str, *, if_generation: int | None = None) -> None:
        with self._guard:
            objects = self._objects(bucket)
            if name not in objects:
                raise RequestRefusedError(404, "NoSuchKey")
            check_generation(objects[name], if_generation)
            del objects[name]

    def list_page(self, bucket: str, prefix: str, delimiter: str, after: str, limit: int) -> Page:
        """The rows whose names (or common prefixes) come after `after`."""
        with self._guard:
            objects = dict(self._objects(bucket) if self._frozen is None else self._frozen.get(bucket, {}))
        found: list[StoredObject] = []
        prefixes: list[str] = []
        last = after
        for name in sorted(objects, key=str.encode):
            if not name.startswith(prefix) or name.encode() <= after.encode() or _is_listed(name, last, prefix, delimiter):
                continue
            if len(found) + len(prefixes) == min(limit, PAGE):
                return Page(found, prefixes, last)
            cut = name.find(delimiter, len(prefix)) if delimiter else -1
            if cut < 0:
                found.append(objects[name])
                last = name
            else:
                last = name[: cut + 1]
                prefixes.append(last)
        return Page(found, prefixes, None)

    def names(self, bucket: str) -> list[str]:
        """All current names in a bucket."""
        with self._guard:
            return sorted(self._objects(bucket))

    def freeze_listings(self) -> None:
        """From now on, listings show the objects as they are at this moment, whatever is written or deleted later."""
        with self._guard:
            self._frozen = {bucket: dict(objects) for bucket, objects in self._buckets.items()}

    def thaw_listings(self) -> None:
        with self._guard:
            self._frozen = None

    def _objects(self, bucket: str) -> dict[str, StoredObject]:
        if bucket in self._forbidden:
            raise RequestRefusedError(403, "AccessDenied")
        if bucket not in self._buckets:
            raise RequestRefusedError(404, "NoSuchBucket")
        return self._buckets[bucket]


def check_name(name: str) -> None:
    """Google Cloud Storage's rules for names."""
    too_long = not 1 <= len(name.encode()) <= 1_024
    if too_long or name in (".", "..") or "\r" in name or "\n" in name or name.startswith(".well-known/acme-challenge/"):
        raise RequestRefusedError(400, "InvalidObjectName")


def check_generation(found: StoredObject | None, wanted: int | None) -> None:
    if wanted is not None and wanted != (found.generation if found else 0):
        raise RequestRefusedError(412, "PreconditionFailed")


def _is_listed(name: str, last: str, prefix: str, delimiter: str) -> bool:
    """Whether a name is part of a common prefix that was already listed."""
    return bool(delimiter) and last != prefix and last.endswith(delimiter) and name.startswith(last)
