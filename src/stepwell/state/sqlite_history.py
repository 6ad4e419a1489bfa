"""A thread's history in the SQLite savers of `langgraph-checkpoint-sqlite`, sync and async.

The two savers differ only in how they execute a statement (the statements are in `history_sql`). A whole compaction is one transaction
under the saver's own lock, so a process that dies at any moment leaves either the old history or the new.

Deleting frees pages inside the database file, but does not shrink the file. If at least half of it is free, it is rewritten without the
free pages (`VACUUM`): that costs as much as what is left, so never more than what was freed.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph.checkpoint.serde.base import SerializerProtocol

from stepwell.backends.steps import Steps, arun_steps, run_steps
from stepwell.errors import ConfigurationError
from stepwell.state.history import Request
from stepwell.state.history_sql import SqlHistory, SqlStatement, executor

if TYPE_CHECKING:
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

T = TypeVar("T")

_FREE_SHARE_TO_REWRITE = 0.5


class _SqliteHistory(SqlHistory):
    """What both savers share."""

    def _give_back_pages(self) -> Steps[SqlStatement, None]:
        [[free]] = yield SqlStatement("PRAGMA freelist_count")
        [[total]] = yield SqlStatement("PRAGMA page_count")
        if free < total * _FREE_SHARE_TO_REWRITE:
            return
        try:
            yield SqlStatement("VACUUM")
            yield SqlStatement("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError:
            return  # another connection is using the file: the free pages stay in it and will be reused


class SyncSqliteHistory(_SqliteHistory):
    """Runs compaction on a `SqliteSaver`."""

    def __init__(self, saver: SqliteSaver, thread_id: str, serde: SerializerProtocol) -> None:
        super().__init__(thread_id, serde)
        self._saver = saver

    def run(self, steps: Steps[Request, T]) -> T:
        connection = self._saver.conn
        with self._saver.cursor(transaction=False) as cursor:  # takes the saver's lock, and creates the tables if necessary
            execute = executor(cursor)
            try:
                if not connection.in_transaction:
                    cursor.execute("BEGIN IMMEDIATE")
                result = run_steps(steps, lambda request: run_steps(self.statements(request), execute))
                connection.commit()
            except BaseException:
                connection.rollback()
                raise
            run_steps(self._give_back_pages(), execute)
        return result

    async def arun(self, steps: Steps[Request, T]) -> T:
        return await asyncio.to_thread(self.run, steps)


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
                    await self._execute(SqlStatement("BEGIN IMMEDIATE"))
                result = await arun_steps(steps, self._perform)
                await connection.commit()
            except BaseException:
                await asyncio.shield(connection.rollback())
                raise
            await arun_steps(self._give_back_pages(), self._execute)
        return result

    async def _perform(self, request: Request) -> Any:
        return await arun_steps(self.statements(request), self._execute)

    async def _execute(self, statement: SqlStatement) -> Iterable[Any]:
        if statement.many:
            await (await self._saver.conn.executemany(statement.sql, statement.parameters)).close()
            return []
        return await self._saver.conn.execute_fetchall(statement.sql, statement.parameters)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
