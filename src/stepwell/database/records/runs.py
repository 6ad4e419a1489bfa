"""Finds, lists and deletes the stored records of runs. The queue admits, drives and ends them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from stepwell.database.database import Separate
from stepwell.database.documents.rows import DocumentReader, forget_unneeded, read_text
from stepwell.database.records.base import RecordsPart
from stepwell.database.records.erasing import delete_slice
from stepwell.database.records.searching import Clause, Order, all_of, order_by, owned_by
from stepwell.database.records.threads import owned_thread
from stepwell.database.records.types import Page
from stepwell.database.rows import run_from_row
from stepwell.database.tables import Kept
from stepwell.database.types import Run, RunStatus
from stepwell.errors import NotFoundError, ThreadBusyError
from stepwell.sql import Connection

_EVENTS = Kept("events", size="length(data)")
# `number` is the order of admission, which also orders runs created at the same moment.
_ORDER: Order = {"created_at": "number", "updated_at": "updated_at", "status": "status", "run_id": "run_id"}


class RunRecords(RecordsPart):
    """The part of the repository that is about runs."""

    async def get_run(self, owner: str | None, thread_id: str, run_id: str) -> Run:
        return await self._database.read(Separate(lambda connection: _run(connection, owner, thread_id, run_id)))

    async def runs_named(self, owner: str | None, run_ids: Iterable[str]) -> list[Run]:
        """Those of these runs that there still are, on whatever thread; the newest first."""
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
            if delete_slice(connection, _EVENTS, "run_id = ?", (run_id,)):
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

    async def count_active_runs(self, owner: str) -> int:
        """This owner's pending and running runs."""
        sql = "SELECT COUNT(*) FROM runs WHERE owner = ? AND status IN ('pending', 'running')"
        return int(await self._database.read(lambda connection: connection.execute(sql, (owner,)).fetchone()[0]))


_RESULT = """
SELECT r.thread_id, r.result, r.result_document, e.data, e.document FROM runs AS r LEFT JOIN events AS e
  ON r.result IS NULL AND r.result_document IS NULL AND e.thread_id = r.thread_id
    AND e.seq = (SELECT MAX(v.seq) FROM events AS v WHERE v.run_id = r.run_id AND v.event = 'values')
WHERE r.run_id = ?
"""


def _run(connection: Connection, owner: str | None, thread_id: str, run_id: str) -> Run:
    # A thread that is being erased counts as deleted, even while some of its runs remain.
    there = Clause("EXISTS (SELECT 1 FROM threads WHERE threads.thread_id = runs.thread_id)")
    mine = owned_by(connection.dialect, owner, "runs", by_id=True)
    of_thread = Clause("thread_id || '' = ?", (thread_id,))  # the run is found by its own id
    where = all_of(Clause("run_id = ?", (run_id,)), of_thread, mine, there)
    row = connection.execute(f"SELECT * FROM runs WHERE {where.sql}", where.bound).fetchone()  # noqa: S608 - clauses of ours
    if row is None:
        raise NotFoundError("run", run_id, "List the thread's runs to see which there are.")
    return run_from_row(row)


def read_result(connection: Connection, run_id: str) -> bytes | None:
    """A run's result as JSON: the one stored with the run, or otherwise the last values among its events."""
    found = connection.execute(_RESULT, (run_id,)).fetchone()
    if found is None or found["result"] is not None:
        return found and bytes(found["result"])
    if found["result_document"] is not None:
        return read_text(connection, found["thread_id"], found["result_document"])
    if found["document"] is None:
        return None if found["data"] is None else bytes(found["data"])
    return DocumentReader(found["thread_id"]).event_text(connection, found["document"], found["data"])
