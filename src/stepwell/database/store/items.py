"""What an agent remembers beyond a thread: a LangGraph store in the database, for one owner.

As in LangGraph's own stores, a batch first reads and then writes: its reads don't see its own puts, and of several puts of one key the
last wins. All puts of a batch are stored, or none.

An item may have a time to live, in minutes. A read restarts it unless told otherwise; expired items are no longer found, and
`statements.sweep_expired` deletes them.

`search` describes what a search finds. There are no vectors; a put's `index` is ignored, as LangGraph documents for stores without an
index.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

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
from stepwell.database.store import search as found
from stepwell.database.store import statements as sql
from stepwell.sql import Connection


@dataclass
class _Batch:
    """A batch in progress: its results, and what is left to write."""

    ops: Sequence[Op]
    puts: Sequence[dict[str, object]]
    results: list[Result]
    read: list[sql.ItemRow] = field(default_factory=list)
    """Items whose time to live restarts."""

    @property
    def reads(self) -> bool:
        return any(not isinstance(op, PutOp) for op in self.ops)

    @property
    def writes(self) -> bool:
        return bool(self.puts or self.read)


class SqlStore(BaseStore):
    """The items of one owner. It cannot reach other owners' items."""

    supports_ttl = True

    def __init__(self, database: SqlDatabase, owner: str, clock: Clock, *, ttl: TTLConfig | None = None) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        batch = _prepare(ops)
        if batch.reads:
            self._database.read_now(self._reading(batch))
        if batch.writes:
            self._database.write_now(self._writing(batch))
        return batch.results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        batch = _prepare(ops)
        if batch.reads:
            await self._database.read(self._reading(batch))
        if batch.writes:
            await self._database.write(self._writing(batch))
        return batch.results

    def _reading(self, batch: _Batch) -> Work[None]:
        shelf = self._shelf()

        def work(connection: Connection) -> None:
            for number, op in enumerate(batch.ops):
                batch.results[number], rows = _read(connection, shelf, op)
                batch.read.extend(row for row in rows if row.ttl_minutes is not None)

        return work

    def _writing(self, batch: _Batch) -> Work[None]:
        shelf = self._shelf()

        def work(connection: Connection) -> None:
            sql.refresh(connection, shelf, batch.read)
            for item in batch.puts:
                sql.put(connection, shelf, item)

        return work

    def _shelf(self) -> sql.Shelf:
        return sql.Shelf(self._owner, self._clock.now().timestamp())


def _prepare(ops: Iterable[Op]) -> _Batch:
    listed = list(ops)
    for op in listed:
        validate_op_namespace(op)
    last = {(tuple(op.namespace), op.key): op for op in listed if isinstance(op, PutOp)}
    return _Batch(listed, [sql.put_parameters(op) for op in last.values()], [None] * len(listed))


def _read(connection: Connection, shelf: sql.Shelf, op: Op) -> tuple[Result, Sequence[sql.ItemRow]]:
    """The result, and the items whose time to live it restarts."""
    match op:
        case GetOp():
            row = sql.get(connection, shelf, op)
            return (None, ()) if row is None else (_item(row), (row,) if op.refresh_ttl else ())
        case SearchOp():
            hits = found.search(sql.below(connection, shelf, op.namespace_prefix), op)
            items: list[SearchItem] = [item for _, item in hits]
            return items, [row for row, _ in hits] if op.refresh_ttl else ()
        case ListNamespacesOp():
            return found.page_of_namespaces(sql.namespaces(connection, shelf, found.known_prefix(op)), op), ()
        case _:
            return None, ()


def _item(row: sql.ItemRow) -> Item:
    return Item(value=row.parse(), key=row.key, namespace=row.labels, created_at=row.created_at, updated_at=row.updated_at)
