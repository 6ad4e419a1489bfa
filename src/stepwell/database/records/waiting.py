"""What waits for a person: the open questions of one thread, or of all threads of a user. The question that has waited longest comes
first."""

from __future__ import annotations

from stepwell.database.callers import filter_of
from stepwell.database.records.base import RecordsPart
from stepwell.database.records.interrupts import claim_in, question_from_row
from stepwell.database.records.searching import Clause, all_of, owned_by
from stepwell.database.records.threads import owned_thread
from stepwell.database.records.types import Waiting
from stepwell.database.rows import from_time, loads, to_time
from stepwell.errors import InvalidRequestError
from stepwell.sql import Connection, Dialect, Row

# Questions without a time were asked before times were stored: they are the oldest.
_FIND = """
SELECT i.*, t.metadata, r.assistant_id FROM interrupts AS i CROSS JOIN threads AS t LEFT JOIN runs AS r ON r.run_id = i.asked_by
WHERE {where} AND t.thread_id = i.thread_id ORDER BY {order} LIMIT ?
"""
# Leaves out stateless runs, whose threads are not listed, and threads that are being erased.
_LISTED = "EXISTS (SELECT 1 FROM threads AS l WHERE l.thread_id = i.thread_id AND l.temporary <> 1)"
_ORDER = "i.created_at NULLS FIRST, i.thread_id, i.ordinal"


class WaitingRecords(RecordsPart):
    """The part of the repository that is about open questions."""

    async def waiting(
        self, owner: str | None, *, thread_id: str | None = None, after: str | None = None, limit: int = 100
    ) -> list[Waiting]:
        """The open questions of a thread, or of all threads, that come after the cursor `after`; the one that has waited longest comes
        first."""
        chosen = [_of(self._database.dialect, owner, thread_id), *([_behind(after, thread_id)] if after else [])]
        where = all_of(*chosen)
        sql = _FIND.format(where=where.sql, order="i.ordinal" if thread_id else _ORDER)

        now = to_time(self._clock.now())

        def work(connection: Connection) -> list[Waiting]:
            if thread_id is not None:
                owned_thread(connection, owner, thread_id)
            return [_waiting(row, now) for row in connection.execute(sql, (*where.bound, limit))]

        return await self._database.read(work)

    async def count_waiting(self, owner: str | None, *, thread_id: str | None = None) -> int:
        where = _of(self._database.dialect, owner, thread_id)
        sql = f"SELECT COUNT(*) FROM interrupts AS i WHERE {where.sql}"  # noqa: S608 - clauses of ours
        return int(await self._database.read(lambda connection: connection.execute(sql, where.bound).fetchone()[0]))


def _of(dialect: Dialect, owner: str | None, thread_id: str | None) -> Clause:
    """The condition for a thread's questions (the thread's owner is checked elsewhere), or for all questions of a user."""
    if thread_id is not None:
        return Clause("i.thread_id = ? AND i.state = 'pending'", (thread_id,))
    if owner is None:
        return Clause(f"i.state = 'pending' AND {_LISTED}")
    if filter_of(owner, "threads") is None:
        return Clause(f"i.owner = ? AND i.state = 'pending' AND {_LISTED}", (str(owner),))
    mine = owned_by(dialect, owner)
    sql = f"i.state = 'pending' AND {_LISTED} AND i.thread_id IN (SELECT threads.thread_id FROM threads WHERE {mine.sql})"  # noqa: S608 - clauses of ours
    return Clause(sql, mine.bound)


def _behind(cursor: str, thread_id: str | None) -> Clause:
    time, _, rest = cursor.partition("~")
    thread, _, ordinal = rest.partition("~")
    try:
        place = (float(time), thread, int(ordinal))
    except ValueError as error:
        raise InvalidRequestError("'after' is not a valid cursor. Send the 'next' of the previous page.") from error
    if thread_id is not None:
        return Clause("i.ordinal > ?", place[2:])
    return Clause("(COALESCE(i.created_at, 0), i.thread_id, i.ordinal) > (?, ?, ?)", place)


def _waiting(row: Row, now: float) -> Waiting:
    return Waiting(
        question=question_from_row(row),
        thread_id=row["thread_id"],
        thread_metadata=loads(row["metadata"]),
        run_id=row["asked_by"],
        assistant_id=row["assistant_id"] or loads(row["metadata"]).get("assistant_id", ""),
        created_at=None if row["created_at"] is None else from_time(row["created_at"]),
        cursor=f"{row['created_at'] or 0!r}~{row['thread_id']}~{row['ordinal']}",
        claim=claim_in(row, now),
    )
