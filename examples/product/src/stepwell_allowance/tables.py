"""One row per user: the limit, and how many runs were started on the last day with one."""

from datetime import UTC, datetime

from stepwell.database.tables import ProductTables
from stepwell.sql import Connection

DEFAULT_LIMIT = 100

# Rows belong to users, not to threads: nothing to copy, to delete or to export with a thread.
TABLES = ProductTables("allowance", "stepwell_allowance.schema")


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def read_allowance(connection: Connection, owner: str, day: str) -> dict[str, str | int]:
    row = connection.execute("SELECT daily_limit, day, started FROM allowances WHERE owner = ?", (owner,)).fetchone()
    limit, started = (row["daily_limit"], row["started"] if row["day"] == day else 0) if row else (DEFAULT_LIMIT, 0)
    return {"user": owner, "day": day, "started": started, "limit": limit}


def set_limit(connection: Connection, owner: str, day: str, limit: int) -> dict[str, str | int]:
    connection.execute(
        "INSERT INTO allowances (owner, daily_limit, day, started) VALUES (?, ?, ?, 0)"
        " ON CONFLICT (owner) DO UPDATE SET daily_limit = excluded.daily_limit",
        (owner, limit, day),
    )
    return read_allowance(connection, owner, day)


def take_one(connection: Connection, owner: str, day: str) -> bool:
    """Count a run, unless the limit is reached. Check and count are one statement: no two runs can take the last place."""
    connection.execute(
        "INSERT INTO allowances (owner, daily_limit, day, started) VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING",
        (owner, DEFAULT_LIMIT, day),
    )
    counted = connection.execute(
        "UPDATE allowances SET started = CASE WHEN day = :day THEN started + 1 ELSE 1 END, day = :day"
        " WHERE owner = :owner AND daily_limit > CASE WHEN day = :day THEN started ELSE 0 END",
        {"owner": owner, "day": day},
    )
    return counted.rowcount == 1
