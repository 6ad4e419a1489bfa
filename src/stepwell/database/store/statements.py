"""The SQL of the store. Every statement names the owner. Expired items are never found, whether already deleted or not.

A namespace is stored as its labels, each followed by U+001F, so that everything below a prefix is one range of the key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

import orjson
from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp

from stepwell.clock import Clock
from stepwell.database.database import SqlDatabase
from stepwell.database.rows import from_time, loads
from stepwell.errors import InvalidRequestError
from stepwell.sql import Connection

_END = "\x1f"
_AFTER_END = "\x20"
_AFTER_ALL = "\U0010ffff" * 16
"""Sorts after every valid text: the last code point, which is not a character."""

_LIVE = "(expires_at IS NULL OR expires_at > :now)"
_GET = f"""
SELECT namespace, key, value, created_at, updated_at, ttl_minutes FROM store_items
WHERE owner = :owner AND namespace = :namespace AND key = :key AND {_LIVE}
"""  # noqa: S608  fixed text
_BELOW = f"""
SELECT namespace, key, value, created_at, updated_at, ttl_minutes FROM store_items
WHERE owner = :owner AND namespace >= :first AND namespace < :last AND {_LIVE}
ORDER BY updated_at DESC, namespace, key
"""  # noqa: S608  fixed text
_BELOW_WITH_VECTORS = f"""
SELECT namespace, key, value, created_at, updated_at, ttl_minutes, vectors FROM store_items
WHERE owner = :owner AND namespace >= :first AND namespace < :last AND {_LIVE} AND embedder = :index
"""  # noqa: S608  fixed text
_NAMESPACES = f"""
SELECT DISTINCT namespace FROM store_items
WHERE owner = :owner AND namespace >= :first AND namespace < :last AND {_LIVE}
"""  # noqa: S608  fixed text
_PUT = """
INSERT INTO store_items (
  owner, namespace, key, value, created_at, updated_at, ttl_minutes, expires_at, index_fields, embedder, vectors)
VALUES (
  :owner, :namespace, :key, :value, :now, :now, CAST(:ttl AS DOUBLE PRECISION), :now + CAST(:ttl AS DOUBLE PRECISION) * 60,
  :index_fields, :embedder, :vectors)
ON CONFLICT (owner, namespace, key) DO UPDATE SET
  created_at = CASE WHEN store_items.expires_at <= :now THEN :now ELSE store_items.created_at END,
  value = excluded.value, updated_at = :now, ttl_minutes = excluded.ttl_minutes, expires_at = excluded.expires_at,
  index_fields = excluded.index_fields, embedder = excluded.embedder, vectors = excluded.vectors
"""
_DELETE = "DELETE FROM store_items WHERE owner = :owner AND namespace = :namespace AND key = :key"
_REFRESH = """
UPDATE store_items SET expires_at = :now + ttl_minutes * 60
WHERE owner = :owner AND namespace = :namespace AND key = :key AND expires_at > :now
"""
_SWEEP = """
DELETE FROM store_items WHERE (owner, namespace, key) IN (
  SELECT owner, namespace, key FROM store_items WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
"""
_SWEPT_AT_ONCE = 100


class ItemRow(NamedTuple):
    namespace: str
    key: str
    value: str
    created: float
    updated: float
    ttl_minutes: float | None
    vectors: bytes | None = None
    """Only read for a search by meaning."""

    @property
    def labels(self) -> tuple[str, ...]:
        return labels_of(self.namespace)

    @property
    def created_at(self) -> datetime:
        return from_time(self.created)

    @property
    def updated_at(self) -> datetime:
        return from_time(self.updated)

    def parse(self) -> dict[str, object]:
        value: dict[str, object] = loads(self.value)
        return value


class Shelf(NamedTuple):
    """The owner of the items, and the current time."""

    owner: str
    now: float


def namespace_text(labels: Sequence[str]) -> str:
    for label in labels:
        if _END in label:
            raise InvalidNamespaceError(
                f"Invalid namespace label {label!r} in {tuple(labels)}: U+001F is reserved for the store."
            )
    return "".join(label + _END for label in labels)


def labels_of(namespace: str) -> tuple[str, ...]:
    return tuple(namespace.split(_END)[:-1])


def get(connection: Connection, shelf: Shelf, op: GetOp) -> ItemRow | None:
    place = {**shelf._asdict(), "namespace": namespace_text(op.namespace), "key": op.key}
    row = connection.execute(_GET, place).fetchone()
    return None if row is None else ItemRow(*row)


def below(connection: Connection, shelf: Shelf, prefix: Sequence[str]) -> Iterator[ItemRow]:
    """Items at and below a namespace, most recently changed first."""
    for row in connection.execute(_BELOW, {**shelf._asdict(), **_range(prefix)}):
        yield ItemRow(*row)


def below_with_vectors(connection: Connection, shelf: Shelf, prefix: Sequence[str], index_id: str) -> Iterator[ItemRow]:
    """Items at and below a namespace that this index has embedded, in any order: sorting them would take longer than comparing them."""
    for row in connection.execute(_BELOW_WITH_VECTORS, {**shelf._asdict(), **_range(prefix), "index": index_id}):
        yield ItemRow(*row)


def namespaces(connection: Connection, shelf: Shelf, prefix: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for (namespace,) in connection.execute(_NAMESPACES, {**shelf._asdict(), **_range(prefix)}):
        yield labels_of(namespace)


def put_parameters(op: PutOp) -> dict[str, object]:
    """An item as stored in its row. This is called before the writer's thread gets the item, so that an invalid value fails early."""
    try:
        value = None if op.value is None else orjson.dumps(op.value, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError as error:
        raise InvalidRequestError(f"The item '{op.key}' cannot be stored: its value is not JSON ({error}).") from error
    fields = None if op.index is None else orjson.dumps(op.index).decode()
    place = {"namespace": namespace_text(op.namespace), "key": op.key}
    return {**place, "value": value, "ttl": op.ttl, "index_fields": fields, "embedder": None, "vectors": None}


def put(connection: Connection, shelf: Shelf, item: dict[str, object]) -> None:
    """Store an item; one without a value is deleted."""
    connection.execute(_DELETE if item["value"] is None else _PUT, {**shelf._asdict(), **item})


def refresh(connection: Connection, shelf: Shelf, rows: Sequence[ItemRow]) -> None:
    """Restart the time to live of items that were read."""
    places = [{**shelf._asdict(), "namespace": row.namespace, "key": row.key} for row in rows]
    connection.executemany(_REFRESH, places)


async def sweep_expired(database: SqlDatabase, clock: Clock) -> int:
    """Delete expired items of all owners, to free their space; they are no longer found anyway. Returns how many."""
    now, gone = clock.now().timestamp(), 0
    while some := await database.write(
        lambda connection: connection.execute(_SWEEP, (now, _SWEPT_AT_ONCE)).rowcount, frees=True
    ):
        gone += some
    return gone


def _range(prefix: Sequence[str]) -> dict[str, object]:
    first = namespace_text(prefix)
    return {"first": first, "last": first[:-1] + _AFTER_END if first else _AFTER_ALL}
