"""What may be forgotten beside whole threads: old events, settled notes, sessions that are over. Functions of a connection, and
two that work thread by thread, so that no transaction is long."""

from __future__ import annotations

import sqlite3

from stepwell.runs.embedded.database import Database, Work

_AT_ONCE = 50

# Numbers below this one are older than the limit, of runs that have ended, and not of the thread's newest run: its values answer
# whoever asks for its result.
_FIRST_KEPT = """
SELECT MIN(e.seq) FROM events AS e LEFT JOIN runs AS r ON r.run_id = e.run_id
WHERE e.thread_id = :thread AND (e.created_at >= :before OR r.status IN ('pending', 'running')
  OR r.number = (SELECT MAX(number) FROM runs WHERE thread_id = :thread AND attempt > 0))
"""
_WITH_OLD_EVENTS = """
SELECT thread_id FROM threads WHERE thread_id > ? AND ? > (
  SELECT created_at FROM events WHERE events.thread_id = threads.thread_id ORDER BY seq LIMIT 1)
ORDER BY thread_id LIMIT ?
"""
# An effect that is older than the oldest checkpoint of its thread belongs to a step nobody can go back to. One whose outcome is
# unknown, or of which no thread tells, stays: it is a human's to settle. So does one that a copy of the thread may ask for.
_FOR_NOBODY = """
state <> 'begun' AND (settled_at IS NOT NULL OR NOT taken_back) AND created_at < :before AND NOT EXISTS (
  SELECT 1 FROM threads WHERE threads.origin = effects.origin AND threads.thread_id IS NOT effects.thread_id)
"""
_EFFECTS_OF_DELETED = f"FROM effects WHERE thread_id IS NULL AND {_FOR_NOBODY}"
_LOST_EFFECTS = f"""
FROM effects WHERE {_FOR_NOBODY} AND created_at < (SELECT MIN(created_at) FROM checkpoints
  WHERE checkpoints.thread_id = effects.thread_id AND checkpoint_ns = '')
  AND NOT EXISTS (SELECT 1 FROM checkpoints WHERE checkpoints.thread_id = effects.thread_id AND checkpoints.run_id = effects.run_id)
"""  # noqa: S608 - fixed text
_SETTLED_WEBHOOKS = """
FROM webhooks WHERE state <> 'due' AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.run_id = webhooks.run_id AND
  (runs.finished_at IS NULL OR runs.finished_at >= :before))
"""


def expired_sessions(connection: sqlite3.Connection, now: float) -> int:
    gone = 0
    for table in ("sessions", "sign_ins"):
        gone += connection.execute(f"DELETE FROM {table} WHERE expires_at <= ?", (now,)).rowcount  # noqa: S608 - fixed names
    return gone


async def trim_events(database: Database, before: float, *, dry_run: bool) -> int:
    """Thread by thread, from the front. Gives how many."""
    gone, after = 0, ""
    while threads := await database.read(_page(after, before)):
        for thread_id in threads:
            work = _trimming(thread_id, before, dry_run=dry_run)
            gone += await (database.read(work) if dry_run else database.write(work))
        after = threads[-1]
    return gone


async def forget_settled(database: Database, before: float, *, dry_run: bool) -> int:
    def work(connection: sqlite3.Connection) -> int:
        gone = 0
        for chosen in (_LOST_EFFECTS, _EFFECTS_OF_DELETED, _SETTLED_WEBHOOKS):
            if dry_run:
                gone += connection.execute(f"SELECT COUNT(*) {chosen}", {"before": before}).fetchone()[0]
            else:
                gone += connection.execute(f"DELETE {chosen}", {"before": before}).rowcount
        return gone

    return await (database.read(work) if dry_run else database.write(work))


def _page(after: str, before: float) -> Work[list[str]]:
    return lambda connection: [row[0] for row in connection.execute(_WITH_OLD_EVENTS, (after, before, _AT_ONCE))]


def _trimming(thread_id: str, before: float, *, dry_run: bool) -> Work[int]:
    def work(connection: sqlite3.Connection) -> int:
        first = connection.execute(_FIRST_KEPT, {"thread": thread_id, "before": before}).fetchone()[0]
        where = ("FROM events WHERE thread_id = ? AND seq < ?", (thread_id, first if first is not None else 2**63 - 1))
        if dry_run:
            return int(connection.execute(f"SELECT COUNT(*) {where[0]}", where[1]).fetchone()[0])
        return connection.execute(f"DELETE {where[0]}", where[1]).rowcount

    return work
