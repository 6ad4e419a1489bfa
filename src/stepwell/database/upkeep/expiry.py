"""Threads that have expired: by their own time to live, or by the server's rule for threads that have none.

A thread expires a number of minutes after it was last used. What has expired is *left alone* while it is needed (`_NEEDED`), and looked at
again later. A rule holds for threads that were created since the rule was first seen: switching it on deletes nothing that is there.

Functions of a connection. `records/ttls` stores what a thread's owner has said; `runs/upkeep/expiry` decides what happens to an expired
thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from stepwell.database.records.erasing import begin_erasing
from stepwell.database.rows import loads
from stepwell.database.tables import installed_tables
from stepwell.database.types import TtlStrategy
from stepwell.database.upkeep.trimming import AT_REST
from stepwell.sql import Connection, Row

RULE = "checkpointer.ttl"
LOOK_AGAIN_S = 3600.0
"""When to look again at a thread that has expired and is needed, at the latest: one that lives shorter is looked at sooner."""
_AT_ONCE = 100

_OWN = """
SELECT ttl.thread_id, ttl.strategy, ttl.minutes, max(threads.updated_at, ttl.set_at) AS used_at, threads.updated_at, threads.metadata
FROM thread_ttls AS ttl JOIN threads ON threads.thread_id = ttl.thread_id WHERE ttl.look_at <= ? ORDER BY ttl.look_at LIMIT ?
"""
_LONG = (
    "EXISTS (SELECT 1 FROM checkpoints WHERE checkpoints.thread_id = threads.thread_id AND checkpoint_ns = '' LIMIT 1 OFFSET 1)"
)
# Threads that are not listed belong to a run, or to the thread whose background task they are, and go with it.
_BY_RULE = """
SELECT thread_id, updated_at, metadata FROM threads WHERE thread_id > :after AND temporary = 0 AND created_at >= :since
  AND updated_at <= :before AND NOT EXISTS (SELECT 1 FROM thread_ttls WHERE thread_ttls.thread_id = threads.thread_id)
"""
_NEEDED = (
    f"NOT ({AT_REST})",
    # It has an effect that a person has to settle, or a background task under way, or runs on a schedule.
    "EXISTS (SELECT 1 FROM effects WHERE effects.thread_id = threads.thread_id AND effects.state = 'begun')",
    "EXISTS (SELECT 1 FROM background_tasks AS b JOIN runs AS r ON r.thread_id = b.task_id"
    " WHERE b.parent_thread_id = threads.thread_id AND r.status IN ('pending', 'running'))",
    "EXISTS (SELECT 1 FROM crons WHERE crons.thread_id = threads.thread_id AND crons.next_run IS NOT NULL)",
)


@dataclass(frozen=True)
class ThreadRule:
    """`checkpointer.ttl`: how long threads live that have no time of their own."""

    minutes: float
    strategy: TtlStrategy = "delete"
    sweep_s: float = 3600.0
    sweep_limit: int = 10_000


@dataclass(frozen=True)
class Expired:
    """A thread that has expired."""

    thread_id: str
    strategy: TtlStrategy
    updated_at: float
    """When it was last used. If that changes, it has not expired any more."""
    graph_id: str | None


@cache
def _is_needed(strategy: TtlStrategy) -> str:
    """A condition on a row of `threads`: automatic retention leaves it alone. What products need only matters if the thread goes."""
    spared = [tables.spared for tables in installed_tables() if tables.spared] if strategy == "delete" else []
    return " OR ".join(f"({each})" for each in (*_NEEDED, *spared))


def own_ttls_due(connection: Connection, now: float) -> list[Expired]:
    """Threads whose own time is over. Those that were used meanwhile, or are needed, are looked at again at another time, which is why this
    writes."""
    expired = []
    for row in connection.execute(_OWN, (now, _AT_ONCE)).fetchall():
        ends_at = row["used_at"] + row["minutes"] * 60
        if ends_at > now:
            _look_at(connection, row["thread_id"], ends_at)
        elif row["strategy"] == "keep_latest" and not _is_long(connection, row["thread_id"]):
            _look_at(
                connection, row["thread_id"], now + row["minutes"] * 60
            )  # however soon it is used, it does not expire before
        else:
            _look_at(connection, row["thread_id"], now + min(row["minutes"] * 60, LOOK_AGAIN_S))
            if not is_needed(connection, row["thread_id"], row["strategy"]):
                expired.append(_expired(row, row["strategy"]))
    return expired


def has_own_ttls_due(connection: Connection, now: float) -> bool:
    return connection.execute("SELECT 1 FROM thread_ttls WHERE look_at <= ? LIMIT 1", (now,)).fetchone() is not None


def _is_long(connection: Connection, thread_id: str) -> bool:
    sql = f"SELECT 1 FROM threads WHERE thread_id = ? AND {_LONG}"  # noqa: S608 - fixed text
    return connection.execute(sql, (thread_id,)).fetchone() is not None


def _look_at(connection: Connection, thread_id: str, moment: float) -> None:
    connection.execute("UPDATE thread_ttls SET look_at = ? WHERE thread_id = ?", (moment, thread_id))


def expired_by_rule(
    connection: Connection, strategy: TtlStrategy, *, since: float, before: float, after: str, limit: int
) -> list[Expired]:
    """Threads without a time of their own that were created since `since` and not used since `before`, in the order of their ids."""
    long = f" AND {_LONG}" if strategy == "keep_latest" else ""
    sql = f"{_BY_RULE}{long} AND NOT ({_is_needed(strategy)}) ORDER BY thread_id LIMIT :limit"
    rows = connection.execute(sql, {"after": after, "since": since, "before": before, "limit": limit}).fetchall()
    return [_expired(row, strategy) for row in rows]


def _expired(row: Row, strategy: TtlStrategy) -> Expired:
    return Expired(row["thread_id"], strategy, row["updated_at"], loads(row["metadata"]).get("graph_id"))


def is_needed(connection: Connection, thread_id: str, strategy: TtlStrategy) -> bool:
    sql = f"SELECT 1 FROM threads WHERE thread_id = ? AND ({_is_needed(strategy)})"  # noqa: S608 - fixed text, and of products
    return connection.execute(sql, (thread_id,)).fetchone() is not None


def begin_erasing_expired(connection: Connection, expired: Expired) -> bool:
    """Erase an expired thread, unless it was used meanwhile or is needed now."""
    row = connection.execute("SELECT updated_at FROM threads WHERE thread_id = ?", (expired.thread_id,)).fetchone()
    if row is None or row["updated_at"] != expired.updated_at or is_needed(connection, expired.thread_id, "delete"):
        return False
    begin_erasing(connection, expired.thread_id)
    return True


def rule_since(connection: Connection, now: float) -> float:
    """Since when the rule holds. The first caller sets it."""
    known = "SELECT since FROM retention_rules WHERE name = ?"
    row = connection.execute(known, (RULE,)).fetchone()
    if row is None:
        connection.execute("INSERT INTO retention_rules (name, since) VALUES (?, ?) ON CONFLICT DO NOTHING", (RULE, now))
        row = connection.execute(known, (RULE,)).fetchone()
    return float(row["since"])


def find_rule_since(connection: Connection) -> float | None:
    row = connection.execute("SELECT since FROM retention_rules WHERE name = ?", (RULE,)).fetchone()
    return None if row is None else float(row["since"])
