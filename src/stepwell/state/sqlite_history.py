"""A thread's history in the SQLite savers of `langgraph-checkpoint-sqlite`, sync and async.

Every request is one or two statements of SQL, written once; the two savers differ only in how a statement is executed. All of a
compaction is one transaction under the saver's own lock, so a process that dies at any instant leaves the old history or the new.

Deleting gives pages back to the database, not to the disk. When half of the file or more is free, it is rewritten without them
(`VACUUM`): that costs as much as what is left, so never more than what was freed.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from langgraph.checkpoint.serde.base import SerializerProtocol

from stepwell.backends.steps import Steps, arun_steps, run_steps
from stepwell.errors import ConfigurationError
from stepwell.state.history import (
    Delete,
    Key,
    ListKeys,
    ListWriters,
    Load,
    Loaded,
    Measure,
    ReadWrites,
    Request,
    Rewrite,
    Row,
    Stored,
)

if TYPE_CHECKING:
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

T = TypeVar("T")

_MEASURE = """
SELECT (SELECT COUNT(*) FROM checkpoints WHERE thread_id = :t),
       (SELECT COUNT(DISTINCT checkpoint_ns) FROM checkpoints WHERE thread_id = :t),
       (SELECT COUNT(*) FROM writes WHERE thread_id = :t),
       (SELECT COALESCE(SUM(LENGTH(checkpoint) + LENGTH(metadata)), 0) FROM checkpoints WHERE thread_id = :t)
       + (SELECT COALESCE(SUM(LENGTH(value)), 0) FROM writes WHERE thread_id = :t)
"""
_LIST_KEYS = """
SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, 1 FROM checkpoints WHERE thread_id = :t
UNION ALL
SELECT DISTINCT checkpoint_ns, checkpoint_id, NULL, 0 FROM writes AS w WHERE thread_id = :t AND NOT EXISTS (
  SELECT 1 FROM checkpoints AS c
  WHERE c.thread_id = w.thread_id AND c.checkpoint_ns = w.checkpoint_ns AND c.checkpoint_id = w.checkpoint_id)
"""
_LOAD = "SELECT type, checkpoint, metadata FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
# The order is LangGraph's `writes_sort_key`, in which a step's writes were applied.
_READ_WRITES = """
SELECT type, value FROM writes WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? AND channel = ?
ORDER BY task_path, task_id, idx
"""
_LIST_WRITERS = "SELECT task_id, channel FROM writes WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
_REWRITE = "UPDATE checkpoints SET type = ?, checkpoint = ? WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
_DELETE_WRITES = "DELETE FROM writes WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
_DELETE_CHECKPOINTS = "DELETE FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
_FREE_SHARE_TO_REWRITE = 0.5


class Statement(NamedTuple):
    sql: str
    parameters: Any = ()
    many: bool = False


class _SqliteHistory:
    """What both savers share: requests as SQL, and rows as answers."""

    def __init__(self, thread_id: str, serde: SerializerProtocol) -> None:
        self._thread_id = thread_id
        self._serde = serde

    def _statements(self, request: Request) -> Steps[Statement, Any]:
        thread = {"t": self._thread_id}
        match request:
            case Measure():
                [row] = yield Statement(_MEASURE, thread)
                return Stored(*row)
            case ListKeys():
                rows = yield Statement(_LIST_KEYS, thread)
                return [Row(Key(namespace, id_), parent, bool(there)) for namespace, id_, parent, there in rows]
            case Load(key):
                [row] = yield Statement(_LOAD, self._at(key))
                type_, checkpoint, metadata = row
                return Loaded(self._serde.loads_typed((type_, checkpoint)), json.loads(metadata) if metadata else {})
            case ReadWrites(key, channel):
                rows = yield Statement(_READ_WRITES, (*self._at(key), channel))
                return [self._serde.loads_typed((type_, value)) for type_, value in rows]
            case ListWriters(key):
                rows = yield Statement(_LIST_WRITERS, self._at(key))
                return [(task_id, channel) for task_id, channel in rows]
            case Rewrite():
                yield from self._rewrite(request)
            case Delete(keys):
                places = [self._at(key) for key in keys]
                yield Statement(_DELETE_WRITES, places, many=True)
                yield Statement(_DELETE_CHECKPOINTS, places, many=True)
        return None

    def _rewrite(self, request: Rewrite) -> Steps[Statement, None]:
        checkpoint = (yield from self._statements(Load(request.key))).checkpoint
        whole = {**checkpoint, "channel_values": {**checkpoint["channel_values"], **request.values}}
        type_, blob = self._serde.dumps_typed(whole)
        yield Statement(_REWRITE, (type_, blob, *self._at(request.key)))

    def _at(self, key: Key) -> tuple[str, str, str]:
        return (self._thread_id, *key)

    def _give_back_pages(self) -> Steps[Statement, None]:
        [[free]] = yield Statement("PRAGMA freelist_count")
        [[total]] = yield Statement("PRAGMA page_count")
        if free < total * _FREE_SHARE_TO_REWRITE:
            return
        try:
            yield Statement("VACUUM")
            yield Statement("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError:
            return  # somebody else is using the file: the free pages stay in it and are used again


class SyncSqliteHistory(_SqliteHistory):
    """Runs compaction on a `SqliteSaver`."""

    def __init__(self, saver: SqliteSaver, thread_id: str, serde: SerializerProtocol) -> None:
        super().__init__(thread_id, serde)
        self._saver = saver

    def run(self, steps: Steps[Request, T]) -> T:
        connection = self._saver.conn
        with self._saver.cursor(transaction=False) as cursor:  # takes the saver's lock, and creates the tables if need be
            execute = _executor(cursor)
            try:
                if not connection.in_transaction:
                    cursor.execute("BEGIN IMMEDIATE")
                result = run_steps(steps, lambda request: run_steps(self._statements(request), execute))
                connection.commit()
            except BaseException:
                connection.rollback()
                raise
            run_steps(self._give_back_pages(), execute)
        return result

    async def arun(self, steps: Steps[Request, T]) -> T:
        return await asyncio.to_thread(self.run, steps)


def _executor(cursor: sqlite3.Cursor) -> Callable[[Statement], Sequence[Any]]:
    def execute(statement: Statement) -> Sequence[Any]:
        run: Callable[[str, Any], sqlite3.Cursor] = cursor.executemany if statement.many else cursor.execute
        return run(statement.sql, statement.parameters).fetchall()

    return execute


class AsyncSqliteHistory(_SqliteHistory):
    """Runs compaction on an `AsyncSqliteSaver`."""

    def __init__(self, saver: AsyncSqliteSaver, thread_id: str, serde: SerializerProtocol) -> None:
        super().__init__(thread_id, serde)
        self._saver = saver

    def run(self, steps: Steps[Request, T]) -> T:
        if not self._saver.loop.is_running() or _running_loop() is self._saver.loop:
            raise ConfigurationError("An AsyncSqliteSaver works in its own event loop. Use: await acompact(saver, thread_id).")
        return asyncio.run_coroutine_threadsafe(self.arun(steps), self._saver.loop).result()

    async def arun(self, steps: Steps[Request, T]) -> T:
        await self._saver.setup()
        connection = self._saver.conn
        async with self._saver.lock:
            try:
                if not connection.in_transaction:
                    await self._execute(Statement("BEGIN IMMEDIATE"))
                result = await arun_steps(steps, self._perform)
                await connection.commit()
            except BaseException:
                await asyncio.shield(connection.rollback())
                raise
            await arun_steps(self._give_back_pages(), self._execute)
        return result

    async def _perform(self, request: Request) -> Any:
        return await arun_steps(self._statements(request), self._execute)

    async def _execute(self, statement: Statement) -> Iterable[Any]:
        if statement.many:
            await (await self._saver.conn.executemany(statement.sql, statement.parameters)).close()
            return []
        return await self._saver.conn.execute_fetchall(statement.sql, statement.parameters)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
