"""What the database of a chaos run holds when all is quiet."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.integration.postgres.chaos.book import Heard

from stepwell.database.events.reading import BEGINNING, events_after
from stepwell.database.postgres.connection import PostgresConnection, connect
from stepwell.middleware.effects import decode

_TABLES = {
    "runs": "SELECT run_id, thread_id, status, attempt, error, cancel_action FROM runs ORDER BY number",
    "threads": "SELECT thread_id, status, interrupts, lease_run, last_seq FROM threads",
    "checkpoints": "SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM checkpoints",
    "times": "SELECT run_id, seq, event, data, created_at FROM events ORDER BY run_id, seq",
    "effects": "SELECT thread_id, key, tool, state, result FROM effects",
    "sessions": "SELECT session_id, credits, spent, refunded, fees, reserved FROM payment_sessions",
    "entries": "SELECT session_id, kind, amount, key FROM payment_entries ORDER BY seq",
}
_UNDER_WAY = {
    "now": "SELECT clock_timestamp() AS now",
    "runs": "SELECT run_id, thread_id, assistant_id, status, attempt, crashes, cancel_action, updated_at FROM runs"
    " WHERE status IN ('pending', 'running') ORDER BY number",
    "threads": "SELECT thread_id, status, fence, lease_holder, lease_run, next_run FROM threads WHERE status = 'busy'",
    "workers": "SELECT * FROM workers",
}
Rows = list[dict[str, Any]]


@dataclass
class Snapshot:
    """So that each check can be shown a broken one."""

    tables: dict[str, Rows]
    events: dict[str, list[Heard]]
    """Run -> what it said."""


def take_snapshot(url: str) -> Snapshot:
    connection = connect(url)
    try:
        tables = {name: _rows(connection, sql) for name, sql in _TABLES.items()}
        events = {row["run_id"]: _events(connection, row["thread_id"], row["run_id"]) for row in tables["runs"]}
    finally:
        connection.close()
    for row in tables["effects"]:
        result = row.pop("result")
        row["result"] = None if result is None else decode(bytes(result)).content
    return Snapshot(tables, events)


def under_way(url: str) -> dict[str, Rows]:
    """What has not ended yet, for whoever looks for the reason."""
    connection = connect(url)
    try:
        return {name: _rows(connection, sql) for name, sql in _UNDER_WAY.items()}
    finally:
        connection.close()


def _rows(connection: PostgresConnection, sql: str) -> Rows:
    return [{name: row[name] for name in row.keys()} for row in connection.execute(sql)]  # noqa: SIM118 - of a row, not a dict


def _events(connection: PostgresConnection, thread_id: str, run_id: str) -> list[Heard]:
    told = events_after(connection, thread_id, run_id, BEGINNING, 1_000_000)
    return [Heard(event.seq, event.event, json.loads(event.data)) for event in told]


def recoveries(snapshot: Snapshot) -> list[float]:
    """Seconds between the last word of an attempt and the first of the next one, by the database's clock, in order."""
    found, run_id, last = [], None, 0.0
    for row in snapshot.tables["times"]:
        if row["run_id"] == run_id and row["event"] == "metadata":
            found.append(row["created_at"] - last)
        run_id, last = row["run_id"], row["created_at"]
    return sorted(found)
