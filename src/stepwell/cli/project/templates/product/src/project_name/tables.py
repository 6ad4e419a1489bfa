"""One row per user: how many runs they have started, and how many they may start (NULL: any number)."""

from stepwell.database.tables import ProductTables

TABLES = ProductTables("project_name", "project_name.schema")


def read_count(connection, owner):
    row = connection.execute("SELECT started, most FROM project_name_counts WHERE owner = ?", (owner,)).fetchone()
    return {"user": owner, "started": row["started"] if row else 0, "most": row["most"] if row else None}


def set_most(connection, owner, most):
    connection.execute(
        "INSERT INTO project_name_counts (owner, started, most) VALUES (?, 0, ?)"
        " ON CONFLICT (owner) DO UPDATE SET most = excluded.most",
        (owner, most),
    )
    return read_count(connection, owner)


def take_one(connection, owner):
    """Count a run, unless the limit is reached. Check and count are one statement, so that no two runs can take the last place."""
    connection.execute(
        "INSERT INTO project_name_counts (owner, started) VALUES (?, 0) ON CONFLICT DO NOTHING",
        (owner,),
    )
    counted = connection.execute(
        "UPDATE project_name_counts SET started = started + 1 WHERE owner = ? AND (most IS NULL OR started < most)",
        (owner,),
    )
    return counted.rowcount == 1
