"""What an agent remembers beyond a thread: a LangGraph store in the database, for one owner.

As in LangGraph's own stores, a batch first reads and then writes: its reads don't see its own puts, and of several puts of one key the
last wins. All puts of a batch are stored, or none.

An item may have a time to live, in minutes. A read restarts it unless told otherwise; expired items are no longer found, and
`statements.sweep_expired` deletes them.

`search` describes what a search finds. With an `index`, a put embeds the item before it is written, and a query is compared by meaning;
embedding happens before and outside the database's work. Without one, only a put's own `index` is remembered, for a later index.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from stepwell.clock import Clock
from stepwell.database.database import SqlDatabase, Work
from stepwell.database.rows import loads
from stepwell.database.store import search as found
from stepwell.database.store import statements as sql
from stepwell.database.store.index import StoreIndex
from stepwell.sql import Connection


@dataclass
class _Batch:
    """A batch in progress: its results, and what is left to write."""

    ops: Sequence[Op]
    puts: Sequence[dict[str, Any]]
    results: list[Result]
    read: list[sql.ItemRow] = field(default_factory=list)
    """Items whose time to live restarts."""
    queries: dict[str, array[float]] = field(default_factory=dict)
    """The query of a search -> its vector."""

    @property
    def reads(self) -> bool:
        return any(not isinstance(op, PutOp) for op in self.ops)

    @property
    def asked(self) -> set[str]:
        return {op.query for op in self.ops if isinstance(op, SearchOp) and op.query}

    @property
    def writes(self) -> bool:
        return bool(self.puts or self.read)


@dataclass(frozen=True)
class StoreRules:
    """What holds for the stores of all owners. Items have a time to live only if they are put with one, or `ttl` has a default."""

    index: StoreIndex | None = None
    ttl: TTLConfig | None = None


class SqlStore(BaseStore):
    """The items of one owner. It cannot reach other owners' items."""

    supports_ttl = True

    def __init__(
        self,
        database: SqlDatabase,
        owner: str,
        clock: Clock,
        *,
        ttl: TTLConfig | None = None,
        index: StoreIndex | None = None,
    ) -> None:
        self._database = database
        self._index = index
        self._owner = owner
        self._clock = clock
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        batch = _prepare(ops)
        if self._index:
            texts = _texts_to_embed(batch, self._index)
            _take_vectors(batch, self._index, texts, self._index.embed(list(texts)) if texts else [])
            batch.queries = {query: self._index.embed_query(query) for query in batch.asked}
        if batch.reads:
            self._database.read_now(self._reading(batch))
        if batch.writes:
            self._database.write_now(self._writing(batch))
        return batch.results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        batch = _prepare(ops)
        if self._index:
            texts = _texts_to_embed(batch, self._index)
            _take_vectors(batch, self._index, texts, await self._index.aembed(list(texts)) if texts else [])
            batch.queries = {query: await self._index.aembed_query(query) for query in batch.asked}
        if batch.reads:
            await self._database.read(self._reading(batch), patient=bool(batch.queries))
        if batch.writes:
            await self._database.write(self._writing(batch))
        return batch.results

    def _reading(self, batch: _Batch) -> Work[None]:
        shelf = self._shelf()

        def work(connection: Connection) -> None:
            for number, op in enumerate(batch.ops):
                batch.results[number], rows = self._read(connection, shelf, op, batch)
                batch.read.extend(row for row in rows if row.ttl_minutes is not None)

        return work

    def _writing(self, batch: _Batch) -> Work[None]:
        shelf = self._shelf()

        def work(connection: Connection) -> None:
            sql.refresh(connection, shelf, batch.read)
            for item in batch.puts:
                sql.put(connection, shelf, item)

        return work

    def _read(self, connection: Connection, shelf: sql.Shelf, op: Op, batch: _Batch) -> tuple[Result, Sequence[sql.ItemRow]]:
        """The result, and the items whose time to live it restarts."""
        match op:
            case GetOp():
                row = sql.get(connection, shelf, op)
                return (None, ()) if row is None else (_item(row), (row,) if op.refresh_ttl else ())
            case SearchOp():
                hits = self._search(connection, shelf, op, batch)
                items: list[SearchItem] = [item for _, item in hits]
                return items, [row for row, _ in hits] if op.refresh_ttl else ()
            case ListNamespacesOp():
                return found.page_of_namespaces(sql.namespaces(connection, shelf, found.known_prefix(op)), op), ()
            case _:
                return None, ()

    def _search(
        self, connection: Connection, shelf: sql.Shelf, op: SearchOp, batch: _Batch
    ) -> list[tuple[sql.ItemRow, SearchItem]]:
        if self._index is None or not op.query:
            return found.search(sql.below(connection, shelf, op.namespace_prefix), op)
        rows = sql.below_with_vectors(connection, shelf, op.namespace_prefix, self._index.id)
        return found.search_by_meaning(rows, op, self._index, batch.queries[op.query])

    def _shelf(self) -> sql.Shelf:
        return sql.Shelf(self._owner, self._clock.now().timestamp())


def _prepare(ops: Iterable[Op]) -> _Batch:
    listed = list(ops)
    for op in listed:
        validate_op_namespace(op)
    last = {(tuple(op.namespace), op.key): op for op in listed if isinstance(op, PutOp)}
    return _Batch(listed, [sql.put_parameters(op) for op in last.values()], [None] * len(listed))


def _texts_to_embed(batch: _Batch, index: StoreIndex) -> dict[str, None]:
    """The texts of all items to be stored, each once. Notes the texts of each item in its row, until `_take_vectors`."""
    wanted: dict[str, None] = {}
    for row in batch.puts:
        if row["value"] is not None and row["index_fields"] != "false":
            own = None if row["index_fields"] is None else loads(row["index_fields"])
            row["vectors"] = index.texts(loads(row["value"]), own)
            wanted.update(dict.fromkeys(row["vectors"]))
    return wanted


def _take_vectors(batch: _Batch, index: StoreIndex, texts: Iterable[str], vectors: Sequence[bytes]) -> None:
    vector_of = dict(zip(texts, vectors, strict=True))
    for row in batch.puts:
        if row["vectors"] is not None:
            row["embedder"] = index.id
            row["vectors"] = b"".join(vector_of[text] for text in row["vectors"]) or None


def _item(row: sql.ItemRow) -> Item:
    return Item(value=row.parse(), key=row.key, namespace=row.labels, created_at=row.created_at, updated_at=row.updated_at)
