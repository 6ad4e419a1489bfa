"""How long a thread lives without being used, as its owner has said. `upkeep/expiry` finds those that have expired."""

from __future__ import annotations

from stepwell.database.rows import from_time
from stepwell.database.types import ThreadTtl
from stepwell.sql import Connection


def set_ttl(connection: Connection, thread_id: str, ttl: ThreadTtl, now: float) -> None:
    """Set a thread's own time to live, or remove it if it has no minutes."""
    if ttl.minutes is None:
        connection.execute("DELETE FROM thread_ttls WHERE thread_id = ?", (thread_id,))
        return
    connection.execute(
        "INSERT INTO thread_ttls (thread_id, strategy, minutes, set_at, look_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (thread_id)"
        " DO UPDATE SET strategy = excluded.strategy, minutes = excluded.minutes, set_at = excluded.set_at, look_at = excluded.look_at",
        (thread_id, ttl.strategy, ttl.minutes, now, now + ttl.minutes * 60),
    )


def read_ttl(connection: Connection, thread_id: str) -> ThreadTtl | None:
    """The thread's own time to live, and when it expires if it is not used before."""
    row = connection.execute(
        "SELECT ttl.strategy, ttl.minutes, max(threads.updated_at, ttl.set_at) AS used_at FROM thread_ttls AS ttl"
        " JOIN threads ON threads.thread_id = ttl.thread_id WHERE ttl.thread_id = ?",
        (thread_id,),
    ).fetchone()
    if row is None:
        return None
    return ThreadTtl(row["strategy"], row["minutes"], from_time(row["used_at"] + row["minutes"] * 60))
