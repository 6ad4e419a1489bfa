"""Creates, finds, changes, copies and erases threads as records. The queue writes their status and values when a run ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Literal

from stepwell.database.callers import stamped
from stepwell.database.marks import may_hold
from stepwell.database.records import copying, request_keys, thread_state, ttls
from stepwell.database.records.base import RecordsPart
from stepwell.database.records.erasing import begin_erasing, refuse_if_busy, refuse_if_erasing
from stepwell.database.records.searching import Clause, Leaf, Order, all_of, contains, holds, leaves_of, order_by, owned_by
from stepwell.database.records.thread_state import keep_values, read_values
from stepwell.database.records.types import Page, ThreadFilter
from stepwell.database.rows import dumps, interrupts_to_text, loads, thread_from_row, to_time
from stepwell.database.types import Document, Lease, PendingInterrupt, RequestKey, Thread, ThreadStatus, ThreadTtl
from stepwell.errors import AlreadyExistsError, NotFoundError
from stepwell.sql import Connection, Row

_FIRST_LOOK = 100
_ORDER: Order = {name: name for name in ("thread_id", "status", "created_at", "updated_at", "state_updated_at")}


def _made_before(connection: Connection, key: RequestKey | None) -> Thread | None:
    """The thread that a key has created, if it still exists. If it was deleted, the caller creates it again."""
    made = request_keys.recall(connection, key) if key else None
    row = _row(connection, None, made[0]) if made else None
    return None if row is None else _whole(connection, row)


class ThreadRecords(RecordsPart):
    """The part of the repository that is about threads."""

    async def create_thread(
        self,
        thread: Thread,
        *,
        if_exists: Literal["raise", "do_nothing"],
        key: RequestKey | None = None,
        caller: str | None = None,
    ) -> Thread:
        """`do_nothing` returns an existing thread of the caller (default: the thread's owner); another owner's thread with that id is an
        `AlreadyExistsError`. If the key has created a thread before, returns that one while it exists."""
        now = to_time(self._clock.now())

        def work(connection: Connection) -> Thread:
            if (before := _made_before(connection, key)) is not None:
                return before
            found = _row(connection, None, thread.thread_id)
            if found is None:
                refuse_if_erasing(connection, thread.thread_id)
                insert_thread(connection, thread)
                if thread.ttl:
                    ttls.set_ttl(connection, thread.thread_id, thread.ttl, now)
                if key:
                    request_keys.remember(connection, key, [thread.thread_id], now)
                return thread
            if if_exists == "do_nothing" and _row(connection, caller or thread.owner, thread.thread_id) is not None:
                return _whole(connection, found)
            raise _taken_error(thread.thread_id)

        return await self._database.write(work)

    async def get_thread(
        self, owner: str | None, thread_id: str, *, with_values: bool = True, with_ttl: bool = False
    ) -> Thread:
        """Values may be large and slow to read: leave them out if you don't need them (they are `None` then)."""

        def work(connection: Connection) -> Thread:
            row = owned_thread(connection, owner, thread_id)
            thread = _whole(connection, row) if with_values else thread_from_row(row, None)
            return replace(thread, ttl=ttls.read_ttl(connection, thread_id)) if with_ttl else thread

        return await self._database.read(work)

    async def merge_thread_metadata(self, owner: str | None, thread_id: str, metadata: Mapping[str, Any]) -> Thread:
        now = to_time(self._clock.now())

        def work(connection: Connection) -> Thread:
            owned_thread(connection, owner, thread_id)
            return _whole(connection, _merge_metadata(connection, thread_id, metadata, now))

        return await self._database.write(work)

    async def set_thread_ttl(self, owner: str | None, thread_id: str, ttl: ThreadTtl) -> None:
        """Let the thread expire some time after its last use, or no longer if the ttl has no minutes."""
        now = to_time(self._clock.now())

        def work(connection: Connection) -> None:
            owned_thread(connection, owner, thread_id)
            ttls.set_ttl(connection, thread_id, ttl, now)

        await self._database.write(work)

    async def save_thread_state(
        self, lease: Lease, *, values: bytes | Document, interrupts: Sequence[PendingInterrupt], status: ThreadStatus
    ) -> Thread:
        """Publish what a holder of the thread (`RunQueue.hold`) has written into its checkpoints, and end the hold.

        `values` is JSON. Interrupts not in `interrupts` are dropped, and an earlier error is cleared. What a hold wrote and did not
        save is lost after a crash. Refused with `LeaseLostError` like any write.
        """
        now = to_time(self._clock.now())
        return await self._database.write(
            lambda connection: thread_state.save_thread_state(connection, lease, values, interrupts, status, now)
        )

    async def search_threads(
        self, owner: str | None, wanted: ThreadFilter, page: Page, *, with_values: bool = True
    ) -> list[Thread]:
        where, leaves = self._matching(owner, wanted), leaves_of(wanted.values)

        def work(connection: Connection) -> list[Thread]:
            rows = _with_values(connection, where, page, leaves) if leaves else _page(connection, where, page)
            return [_whole(connection, row) if with_values else thread_from_row(row, None) for row in rows]

        return await self._database.read(work, patient=with_values or bool(leaves))

    async def count_threads(self, owner: str | None, wanted: ThreadFilter) -> int:
        where, leaves = self._matching(owner, wanted), leaves_of(wanted.values)
        if leaves:
            where = all_of(where, _possible(leaves))
        columns = "thread_id" if leaves else "COUNT(*)"
        sql = f"SELECT {columns} FROM threads WHERE {where.sql}"  # noqa: S608 - clauses of ours

        def work(connection: Connection) -> int:
            found = connection.execute(sql, where.bound)
            if leaves:
                return sum(_has_values(connection, row, leaves) for row in found.fetchall())
            return int(found.fetchone()[0])

        return await self._database.read(work, patient=bool(leaves))

    async def copy_thread(self, owner: str | None, thread_id: str, new_id: str, key: RequestKey | None = None) -> Thread:
        """A thread with the same checkpoints, values and metadata, and no runs. For `key` see `create_thread`."""
        now = to_time(self._clock.now())

        def work(connection: Connection) -> Thread:
            if (before := _made_before(connection, key)) is not None:
                return before
            owned_thread(connection, owner, thread_id)
            if _row(connection, None, new_id) is not None:
                raise _taken_error(new_id)
            refuse_if_erasing(connection, new_id)
            copying.copy_thread(connection, thread_id, new_id, now, None if owner is None else str(owner))
            if more := stamped(owner, None):
                _merge_metadata(connection, new_id, more, now)
            if key:
                request_keys.remember(connection, key, [new_id], now)
            return _whole(connection, owned_thread(connection, None, new_id))

        return await self._database.write(work)

    async def delete_thread(self, owner: str | None, thread_id: str) -> None:
        """Erase the thread and everything that belongs to it: runs, events, checkpoints, interrupts, files, usage detail.

        The journal of effects still shows that the thread acted: an effect's key, tool, time and outcome stay.
        A thread with a run under way is refused with `ThreadBusyError`: cancel the run first.
        """

        def work(connection: Connection) -> None:
            owned_thread(connection, owner, thread_id)
            refuse_if_busy(connection, thread_id)
            begin_erasing(connection, thread_id)

        await self._database.write(work, frees=True)
        await self._erase([thread_id])

    async def runs_in_the_way(self, owner: str | None, thread_id: str) -> list[str]:
        """The open runs of a thread and of its background tasks, newest first."""

        def work(connection: Connection) -> list[str]:
            owned_thread(connection, owner, thread_id)
            rows = connection.execute(
                "SELECT run_id FROM runs WHERE status IN ('pending', 'running') AND (thread_id = :thread OR thread_id IN"
                " (SELECT task_id FROM background_tasks WHERE parent_thread_id = :thread)) ORDER BY number DESC",
                {"thread": thread_id},
            )
            return [row["run_id"] for row in rows]

        return await self._database.read(work)

    async def delete_expired_threads(self, limit: int = 100) -> list[str]:
        """Erase threads that were only kept for a while, such as those of stateless runs. Returns their ids; if there are `limit` of them,
        call again."""
        now = to_time(self._clock.now())

        def work(connection: Connection) -> list[str]:
            rows = connection.execute(
                "SELECT thread_id FROM threads WHERE expires_at <= ? AND lease_run IS NULL AND NOT EXISTS (SELECT 1 FROM runs"
                " WHERE runs.thread_id = threads.thread_id AND status IN ('pending', 'running')) ORDER BY expires_at LIMIT ?",
                (now, limit),
            ).fetchall()
            for row in rows:
                begin_erasing(connection, row["thread_id"])
            return [row["thread_id"] for row in rows]

        gone = await self._database.write(work, frees=True)
        await self._erase(gone)
        return gone

    def _matching(self, owner: str | None, wanted: ThreadFilter) -> Clause:
        # The threads of background tasks are listed only for callers who name one, or ask for the tasks of a thread.
        is_named = bool(wanted.ids) or "parent_thread_id" in (wanted.metadata or {})
        listed = Clause("temporary <> 1" if is_named else "temporary = 0")
        clauses = [
            owned_by(self._database.dialect, owner),
            listed,
            contains(self._database.dialect, "metadata", wanted.metadata),
        ]
        if wanted.status is not None:
            clauses.append(Clause("status = ?", (wanted.status,)))
        if wanted.ids:
            clauses.append(Clause("thread_id IN (SELECT value FROM json_each(?))", (dumps(list(wanted.ids)),)))
        return all_of(*clauses)


def _page(connection: Connection, where: Clause, page: Page) -> list[Row]:
    tail = order_by(page, _ORDER)
    return connection.execute(f"SELECT * FROM threads WHERE {where.sql}{tail.sql}", where.bound + tail.bound).fetchall()  # noqa: S608 - clauses of ours


def _with_values(connection: Connection, where: Clause, page: Page, leaves: Sequence[Leaf]) -> list[Row]:
    """The requested page of threads that have these values.

    Values are put together thread by thread, so they are compared here and not in SQL. Marks find the threads that may match, usually just
    those that do: so we read as many as the page needs, and more only if some of them did not match.
    """
    where, first, last = all_of(where, _possible(leaves)), max(0, page.offset), max(0, page.offset + page.limit)
    limit = max(_FIRST_LOOK, last)
    while True:
        rows = _page(connection, where, replace(page, offset=0, limit=limit))
        found = list(islice((row for row in rows if _has_values(connection, row, leaves)), first, last))
        if len(found) >= last - first or len(rows) < limit:
            return found
        limit *= 10


def _possible(leaves: Sequence[Leaf]) -> Clause:
    marked = may_hold(leaves)
    return Clause(f"thread_id IN (SELECT thread_id FROM thread_values WHERE {marked.sql})", marked.bound)  # noqa: S608 - clauses of ours


def _has_values(connection: Connection, row: Row, leaves: Sequence[Leaf]) -> bool:
    return holds(loads(read_values(connection, row["thread_id"])), leaves)


def owned_thread(connection: Connection, owner: str | None, thread_id: str) -> Row:
    """The thread's row, if it belongs to this owner."""
    row = _row(connection, owner, thread_id)
    if row is None:
        raise NotFoundError("thread", thread_id, "Search the threads to see which there are, or create it.")
    return row


def _merge_metadata(connection: Connection, thread_id: str, metadata: Mapping[str, Any], now: float) -> Row:
    before = owned_thread(connection, None, thread_id)
    merged = dumps({**loads(before["metadata"]), **metadata})
    connection.execute("UPDATE threads SET metadata = ?, updated_at = ? WHERE thread_id = ?", (merged, now, thread_id))
    return owned_thread(connection, None, thread_id)


def threads_of_assistant(connection: Connection, owner: str | None, assistant_id: str) -> list[str]:
    """The owner's threads whose last run used this assistant."""
    where = all_of(
        owned_by(connection.dialect, owner), contains(connection.dialect, "metadata", {"assistant_id": assistant_id})
    )
    rows = connection.execute(f"SELECT thread_id FROM threads WHERE {where.sql}", where.bound)  # noqa: S608 - clauses of ours
    return [row["thread_id"] for row in rows]


def _row(connection: Connection, owner: str | None, thread_id: str) -> Row | None:
    where = all_of(Clause("thread_id = ?", (thread_id,)), owned_by(connection.dialect, owner, by_id=True))
    row: Row | None = connection.execute(
        f"SELECT * FROM threads WHERE {where.sql}",  # noqa: S608 - clauses of ours
        where.bound,
    ).fetchone()
    return row


def _whole(connection: Connection, row: Row) -> Thread:
    return thread_from_row(row, read_values(connection, row["thread_id"]))


def _taken_error(thread_id: str) -> AlreadyExistsError:
    return AlreadyExistsError(f"There is a thread '{thread_id}' already. Choose another id, or leave it out.")


def insert_thread(connection: Connection, thread: Thread) -> None:
    connection.execute(
        "INSERT INTO threads (thread_id, owner, status, metadata, config, interrupts, error, created_at, updated_at,"
        " state_updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            thread.thread_id,
            thread.owner,
            thread.status,
            dumps(thread.metadata),
            dumps(thread.config),
            interrupts_to_text(thread.interrupts),
            None if thread.error is None else dumps(thread.error),
            to_time(thread.created_at),
            to_time(thread.updated_at),
            None if thread.state_updated_at is None else to_time(thread.state_updated_at),
        ),
    )
    keep_values(connection, thread.thread_id, None if thread.values is None else dumps(thread.values).encode())
