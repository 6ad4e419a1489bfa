"""How much space a thread's checkpoints take, as stored."""

from __future__ import annotations

from typing import Any

from stepwell.sql import Connection

_CHECKPOINTS = "SELECT COUNT(*), COALESCE(SUM(LENGTH(checkpoint) + LENGTH(metadata)), 0) FROM checkpoints WHERE thread_id = ?"
_WRITES = """
SELECT channel, COUNT(*) AS versions, COALESCE(SUM(LENGTH(value)), 0) AS bytes FROM writes WHERE thread_id = ?
GROUP BY channel ORDER BY channel
"""


def measure_thread(connection: Connection, thread_id: str) -> dict[str, Any]:
    """Checkpoints; values of channels, which are stored as the changes that tasks made; and writes of tasks that are no values: questions,
    answers, errors."""
    count, size = connection.execute(_CHECKPOINTS, (thread_id,)).fetchone()
    writes = {row["channel"]: (int(row["versions"]), int(row["bytes"])) for row in connection.execute(_WRITES, (thread_id,))}
    values = {channel: found for channel, found in writes.items() if not channel.startswith("__")}
    pending = [found for channel, found in writes.items() if channel.startswith("__")]
    return {
        "total_bytes": int(size) + sum(found[1] for found in writes.values()),
        "checkpoints": {"count": int(count), "bytes": int(size)},
        "channel_values": {
            "count": sum(versions for versions, _ in values.values()),
            "bytes": sum(each for _, each in values.values()),
            "by_channel": {channel: {"versions": versions, "bytes": each} for channel, (versions, each) in values.items()},
        },
        "pending_writes": {"count": sum(versions for versions, _ in pending), "bytes": sum(each for _, each in pending)},
    }
