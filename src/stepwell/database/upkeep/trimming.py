"""Deletes old data other than whole threads: events, settled effects and webhooks, expired sessions. Also defines which threads are idle
(`AT_REST`) and may be tidied up.

A reader finds what to delete, thread by thread, and the writer deletes it a slice at a time; each slice checks again what may have changed
in between. So writers never wait, however much there is to look at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

from stepwell.database.database import SqlDatabase, Work
from stepwell.database.documents.rows import forget_unneeded
from stepwell.database.records import request_keys
from stepwell.database.records.erasing import EVENTS, SLICE_ROWS, delete_slice
from stepwell.database.tables import Kept
from stepwell.sql import Connection

_Lost = dict[str, str | float | None]
"""An effect that may be deleted, as parameters of the statements below."""

AT_REST = (
    "threads.status IN ('idle', 'error') AND threads.lease_run IS NULL"
    " AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.thread_id = threads.thread_id AND runs.status IN ('pending', 'running'))"
    " AND NOT EXISTS (SELECT 1 FROM interrupts WHERE interrupts.thread_id = threads.thread_id AND interrupts.state = 'pending')"
)
"""A condition on a row of `threads`: the thread is idle. It has no run waiting or under way and no open interrupt. A thread that stopped at
a breakpoint is `interrupted`, so it is not idle either."""

_AT_ONCE = 50

# Events below this number are older than the limit and belong to runs that have ended, but not to the newest run, whose last values are its
# result. New events only come at the end, so an event below this number stays below it.
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
_WITH_EFFECTS = "SELECT DISTINCT thread_id FROM effects WHERE thread_id > ? ORDER BY thread_id LIMIT ?"
# An effect older than the oldest checkpoint of its thread belongs to a step nobody can return to. One with an unknown outcome, or that no
# thread mentions, stays: a person has to settle it. So does one that a copy of the thread may ask for. The thread's oldest checkpoint is
# looked up once, not for each effect.
_FOR_NOBODY = """
state <> 'begun' AND (settled_at IS NOT NULL OR taken_back = 0) AND created_at < :before AND NOT EXISTS (
  SELECT 1 FROM threads WHERE threads.origin = effects.origin AND (effects.thread_id IS NULL OR threads.thread_id <> effects.thread_id))
"""
_LOST_EFFECTS = f"""
SELECT origin, key, run_id FROM effects WHERE thread_id = :thread AND {_FOR_NOBODY} AND created_at < (
  SELECT MIN(created_at) FROM checkpoints WHERE thread_id = :thread AND checkpoint_ns = '')
"""  # noqa: S608 - fixed text
_EFFECTS_OF_DELETED = f"SELECT origin, key, run_id FROM effects WHERE thread_id IS NULL AND {_FOR_NOBODY}"  # noqa: S608 - fixed text
_NO_CHECKPOINT = "NOT EXISTS (SELECT 1 FROM checkpoints WHERE thread_id = :thread AND run_id = :run)"
_SETTLED_WEBHOOKS = """
SELECT run_id FROM webhooks WHERE run_id > ? AND state <> 'due' AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.run_id = webhooks.run_id
  AND (runs.finished_at IS NULL OR runs.finished_at >= ?)) ORDER BY run_id LIMIT ?
"""


def is_at_rest(connection: Connection, thread_id: str, *, untouched_since: float | None = None) -> bool:
    """Checks `AT_REST` inside the transaction that is about to change something."""
    row = connection.execute(
        f"SELECT 1 FROM threads WHERE thread_id = :id AND (CAST(:since AS DOUBLE PRECISION) IS NULL OR updated_at < :since) AND {AT_REST}",  # noqa: S608 - fixed
        {"id": thread_id, "since": untouched_since},
    ).fetchone()
    return row is not None


async def forget_expired_sessions(database: SqlDatabase, now: float) -> int:
    gone = 0
    for kept in (Kept("sessions", "hash"), Kept("sign_ins", "hash")):
        while some := await database.write(_deleting(kept, "expires_at <= ?", (now,)), frees=True):
            gone += some
    return gone


async def forget_request_keys(database: SqlDatabase, now: float) -> int:
    gone = 0
    while some := await database.write(
        _deleting(Kept("request_keys"), "created_at <= ?", (now - request_keys.KEPT_S,)), frees=True
    ):
        gone += some
    return gone


async def trim_events(database: SqlDatabase, before: float, *, dry_run: bool) -> int:
    """Delete old events, thread by thread and oldest first. Returns how many."""
    gone, after = 0, ""
    while threads := await database.read(_page(_WITH_OLD_EVENTS, after, before, _AT_ONCE)):
        for thread_id in threads:
            where = "thread_id = ? AND seq < ?", (thread_id, await database.read(_find_first_kept(thread_id, before)))
            if dry_run:
                gone += await database.read(_counting(*where))
                continue
            while some := await database.write(_deleting(EVENTS, *where), frees=True):
                gone += some
            await database.write(partial(forget_unneeded, thread_id=thread_id), frees=True)
        after = threads[-1]
    return gone


async def forget_settled(database: SqlDatabase, before: float, *, dry_run: bool) -> int:
    return await _forget_effects(database, before, dry_run=dry_run) + await _forget_webhooks(database, before, dry_run=dry_run)


async def _forget_effects(database: SqlDatabase, before: float, *, dry_run: bool) -> int:
    gone = await _forget_found(database, await database.read(_lost_effects(None, before)), dry_run=dry_run)
    after = ""
    while threads := await database.read(_page(_WITH_EFFECTS, after, _AT_ONCE)):
        for thread_id in threads:
            gone += await _forget_found(database, await database.read(_lost_effects(thread_id, before)), dry_run=dry_run)
        after = threads[-1]
    return gone


async def _forget_found(database: SqlDatabase, lost: list[_Lost], *, dry_run: bool) -> int:
    if dry_run:
        return len(lost)
    return sum([await database.write(_deleting_effects(some), frees=True) for some in _slices(lost)])


async def _forget_webhooks(database: SqlDatabase, before: float, *, dry_run: bool) -> int:
    gone, after = 0, ""
    while runs := await database.read(_page(_SETTLED_WEBHOOKS, after, before, SLICE_ROWS)):
        gone += len(runs) if dry_run else await database.write(_deleting_webhooks(runs), frees=True)
        after = runs[-1]
    return gone


def _page(statement: str, *bound: object) -> Work[list[str]]:
    return lambda connection: [row[0] for row in connection.execute(statement, bound)]


def _find_first_kept(thread_id: str, before: float) -> Work[int]:
    def work(connection: Connection) -> int:
        first = connection.execute(_FIRST_KEPT, {"thread": thread_id, "before": before}).fetchone()[0]
        return 2**63 - 1 if first is None else int(first)

    return work


def _counting(where: str, bound: Sequence[object]) -> Work[int]:
    return lambda connection: int(connection.execute(f"SELECT COUNT(*) FROM events WHERE {where}", bound).fetchone()[0])  # noqa: S608


def _deleting(kept: Kept, where: str, bound: Sequence[object]) -> Work[int]:
    return lambda connection: len(delete_slice(connection, kept, where, bound))


def _lost_effects(thread_id: str | None, before: float) -> Work[list[_Lost]]:
    """The effects of a thread that may be deleted; with `None`, those of deleted threads."""
    statement = _EFFECTS_OF_DELETED if thread_id is None else _LOST_EFFECTS

    def work(connection: Connection) -> list[_Lost]:
        rows = connection.execute(statement, {"thread": thread_id, "before": before})
        names = {"thread": thread_id, "before": before}
        found = [{**names, "origin": row["origin"], "key": row["key"], "run": row["run_id"]} for row in rows]
        return [one for one in found if connection.execute(f"SELECT {_NO_CHECKPOINT}", one).fetchone()[0]]

    return work


def _deleting_effects(lost: Sequence[_Lost]) -> Work[int]:
    statement = f"DELETE FROM effects WHERE origin = :origin AND key = :key AND {_FOR_NOBODY} AND {_NO_CHECKPOINT}"  # noqa: S608
    return lambda connection: connection.executemany(statement, lost).rowcount


def _deleting_webhooks(runs: Sequence[str]) -> Work[int]:
    rows = [(run_id,) for run_id in runs]
    return lambda connection: connection.executemany("DELETE FROM webhooks WHERE run_id = ? AND state <> 'due'", rows).rowcount


def _slices(rows: Iterable[_Lost]) -> Iterator[list[_Lost]]:
    left = iter(rows)
    while some := list(islice(left, SLICE_ROWS)):
        yield some
