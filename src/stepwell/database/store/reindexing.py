"""Embeds items that the current index has not embedded: those of an earlier index, and those stored without one.

An item is changed only if it is still the one that was read: a put meanwhile has embedded its own value. So this can be stopped at any
moment, run twice, and run in several processes; what is left is found again.

An item whose text the embedding refuses (too long for it, say) is left out, so that it keeps nobody else's items from being found; the
next call tries it again. An embedding that refuses everything is away, which is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from stepwell.clock import Clock
from stepwell.database.database import SqlDatabase
from stepwell.database.rows import loads
from stepwell.database.store.index import StoreIndex
from stepwell.errors import ModelCallError
from stepwell.sql import Connection

_STALE = "(embedder IS NULL OR embedder <> :index) AND (index_fields IS NULL OR index_fields <> 'false')"
_NEXT = f"""
SELECT owner, namespace, key, value, index_fields FROM store_items
WHERE (owner, namespace, key) > (:owner, :namespace, :key) AND {_STALE} AND (expires_at IS NULL OR expires_at > :now)
ORDER BY owner, namespace, key LIMIT :limit
"""  # noqa: S608  fixed text
_SET = f"""
UPDATE store_items SET embedder = :index, vectors = :vectors
WHERE owner = :owner AND namespace = :namespace AND key = :key AND value = :value AND {_STALE}
"""  # noqa: S608  fixed text
_AT_ONCE = 32


class _Item(NamedTuple):
    owner: str
    namespace: str
    key: str
    value: str
    index_fields: str | None

    def texts(self, index: StoreIndex) -> list[str]:
        return index.texts(loads(self.value), None if self.index_fields is None else loads(self.index_fields))


class Reindexed(NamedTuple):
    """How many items were embedded, and how many the embedding refused."""

    embedded: int
    left_out: int


async def reindex(database: SqlDatabase, clock: Clock, index: StoreIndex) -> Reindexed:
    """Embed the items of all owners that need it."""
    after, embedded, left_out = _Item("", "", "", "", None), 0, 0
    while some := await _read_next(database, clock.now().timestamp(), index, after):
        rows = await _embed(some, index)

        def store(connection: Connection, rows: Sequence[dict[str, object]] = rows) -> None:
            connection.executemany(_SET, rows)

        await database.write(store)
        after, embedded, left_out = some[-1], embedded + len(rows), left_out + len(some) - len(rows)
    return Reindexed(embedded, left_out)


async def _embed(items: Sequence[_Item], index: StoreIndex) -> list[dict[str, object]]:
    """The rows of these items, all in one call; if that is refused, of those that are not refused one by one."""
    try:
        return await _embed_together(items, index)
    except ModelCallError:
        await index.aembed(["well"])  # raises if the embedding is away
    rows: list[dict[str, object]] = []
    for item in items:
        with suppress(ModelCallError):
            rows += await _embed_together([item], index)
    return rows


async def _embed_together(items: Sequence[_Item], index: StoreIndex) -> list[dict[str, object]]:
    texts = list(dict.fromkeys(text for item in items for text in item.texts(index)))
    vectors = dict(zip(texts, await index.aembed(texts) if texts else (), strict=True))
    return [_row(item, index, b"".join(vectors[text] for text in item.texts(index))) for item in items]


async def _read_next(database: SqlDatabase, now: float, index: StoreIndex, after: _Item) -> list[_Item]:
    place = {"owner": after.owner, "namespace": after.namespace, "key": after.key}
    asked = {**place, "index": index.id, "now": now, "limit": _AT_ONCE}
    return await database.read(lambda connection: [_Item(*row) for row in connection.execute(_NEXT, asked)], patient=True)


def _row(item: _Item, index: StoreIndex, vectors: bytes) -> dict[str, object]:
    place = {"owner": item.owner, "namespace": item.namespace, "key": item.key, "value": item.value}
    return {**place, "index": index.id, "vectors": vectors or None}
