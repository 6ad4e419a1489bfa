"""Finds, lists and deletes the stored records of runs. The queue admits, drives and ends them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from stepwell.database.database import Separate
from stepwell.database.documents.rows import DocumentReader, forget_unneeded, read_text
from stepwell.database.records.base import RecordsPart
from stepwell.database.records.erasing import EVENTS, delete_slice
from stepwell.database.records.searching import Clause, Order, all_of, order_by, owned_by
from stepwell.database.records.threads import owned_thread
from stepwell.database.records.types import Page
from stepwell.database.rows import run_from_row
from stepwell.database.types import Run, RunStatus
from stepwell.errors import NotFoundError, ThreadBusyError
from stepwell.sql import Connection, Row

# `number` is the order of admission, which also orders runs created at the same moment.
_ORDER: Order = {"created_at": "number", "updated_at": "updated_at", "status": "status", "run_id": "run_id"}


class RunRecords(RecordsPart):
    """The part of the repository that is about runs."""

    async def get_run(self, owner: str | None, thread_id: str, run_id: str) -> Run:
        return await self._database.read(Separate(lambda connection: _run(connection, owner, thread_id, run_id)))

    async def get_run_and_result(self, owner: str | None, thread_id: str, run_id: str) -> tuple[Run, bytes | None]:
        """The run, and its final values as JSON if it has ended and they are stored."""
        return await self._database.read(lambda connection: _run_and_result(connection, owner, thread_id, run_id))

    async def runs_named(self, owner: str | None, run_ids: Iterable[str]) -> list[Run]:
        """The runs with these ids that still exist, on any thread; newest first."""
        wanted = sorted(set(run_ids))
        where = all_of(
            Clause(f"run_id IN ({', '.join('?' * len(wanted))})", tuple(wanted)),
            owned_by(self._database.dialect, owner, "runs"),
        )
        sql = f"SELECT * FROM runs WHERE {where.sql} ORDER BY number DESC"  # noqa: S608 - clauses of ours
        return await self._database.read(lambda connection: [run_from_row(row) for row in connection.execute(sql, where.bound)])

    async def list_runs(self, owner: str | None, thread_id: str, status: RunStatus | None, page: Page) -> list[Run]:
        chosen = [Clause("thread_id = ?", (thread_id,))]
        if status is not None:
            chosen.append(Clause("status = ?", (status,)))
        where, tail = all_of(*chosen), order_by(page, _ORDER, then="number")
        sql = f"SELECT * FROM runs WHERE {where.sql}{tail.sql}"  # noqa: S608 - clauses of ours

        def work(connection: Connection) -> list[Run]:
            owned_thread(connection, owner, thread_id)
            return [run_from_row(row) for row in connection.execute(sql, where.bound + tail.bound)]

        return await self._database.read(work)

    async def delete_run(self, owner: str | None, thread_id: str, run_id: str) -> None:
        """Delete a finished run and its events. Its checkpoints stay, because the thread builds on them."""

        def work(connection: Connection) -> bool:
            """Delete one slice of the run's events; after the last slice, the run itself. Returns whether there may be more."""
            if not _run(connection, owner, thread_id, run_id).finished:
                raise ThreadBusyError(f"Run '{run_id}' has not ended. Cancel it, or wait for it, then delete it.")
            if delete_slice(connection, EVENTS, "run_id = ?", (run_id,)):
                return True
            for table in ("webhooks", "steps", "runs"):
                connection.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))  # noqa: S608 - names of ours
            forget_unneeded(connection, thread_id)
            return False

        while await self._database.write(work, frees=True):
            pass

    async def open_runs(
        self, owner: str | None, thread_id: str | None, status: Literal["pending", "running"] | None
    ) -> list[str]:
        """Ids of runs that have not ended: those of one thread or of all, and those that are pending, running or either."""
        chosen = [owned_by(self._database.dialect, owner, "runs"), Clause("status IN ('pending', 'running')")]
        if thread_id is not None:
            chosen.append(Clause("thread_id = ?", (thread_id,)))
        if status is not None:
            chosen.append(Clause("status = ?", (status,)))
        where = all_of(*chosen)
        sql = f"SELECT run_id FROM runs WHERE {where.sql} ORDER BY number"  # noqa: S608 - clauses of ours

        def work(connection: Connection) -> list[str]:
            if thread_id is not None:
                owned_thread(connection, owner, thread_id)
            return [row["run_id"] for row in connection.execute(sql, where.bound)]

        return await self._database.read(work)


_RUNS = "SELECT * FROM runs WHERE "
# The result is stored with the run. Otherwise it is what the last of the run's events with values says.
_RUNS_AND_VALUES = """
SELECT runs.*, e.data, e.document FROM runs LEFT JOIN events AS e
  ON runs.result IS NULL AND runs.result_document IS NULL AND runs.error IS NULL AND runs.status NOT IN ('pending', 'running')
    AND e.thread_id = runs.thread_id
    AND e.seq = (SELECT MAX(v.seq) FROM events AS v WHERE v.run_id = runs.run_id AND v.event = 'values')
WHERE """


def _run(connection: Connection, owner: str | None, thread_id: str, run_id: str) -> Run:
    return run_from_row(_row(connection, _RUNS, owner, thread_id, run_id))


def _row(connection: Connection, select: str, owner: str | None, thread_id: str, run_id: str) -> Row:
    # A thread that is being erased counts as deleted, even while some of its runs remain.
    there = Clause("EXISTS (SELECT 1 FROM threads WHERE threads.thread_id = runs.thread_id)")
    mine = owned_by(connection.dialect, owner, "runs", by_id=True)
    of_thread = Clause("runs.thread_id || '' = ?", (thread_id,))  # the run is found by its own id
    where = all_of(Clause("runs.run_id = ?", (run_id,)), of_thread, mine, there)
    row: Row | None = connection.execute(select + where.sql, where.bound).fetchone()
    if row is None:
        raise NotFoundError("run", run_id, "List the thread's runs to see which there are.")
    return row


def _run_and_result(connection: Connection, owner: str | None, thread_id: str, run_id: str) -> tuple[Run, bytes | None]:
    row = _row(connection, _RUNS_AND_VALUES, owner, thread_id, run_id)
    run = run_from_row(row)
    return run, _read_result(connection, row) if run.finished and not run.error else None


def _read_result(connection: Connection, row: Row) -> bytes | None:
    if row["result"] is not None:
        return bytes(row["result"])
    if row["result_document"] is not None:
        return read_text(connection, row["thread_id"], row["result_document"])
    if row["document"] is None:
        return None if row["data"] is None else bytes(row["data"])
    return DocumentReader(row["thread_id"]).event_text(connection, row["document"], row["data"])
