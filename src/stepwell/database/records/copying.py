"""Copying a thread: its checkpoints and everything that belongs to them, without its runs and their events.

A copy has its origin's effect keys, so a call that is in both threads takes effect in only one of them, and the other gets its result.

Open interrupts stay open on the copy, including one whose answer waits in a run that has not begun, since that run is not copied. The copy
has the checkpoints of a running run, but nobody to end it. So an interrupt that such a run has passed is not open on the copy, and neither
is one that the run has asked but LangGraph has not stored yet.
"""

from __future__ import annotations

from stepwell.database.records import interrupts
from stepwell.database.records.thread_state import keep_values, read_values
from stepwell.database.rows import interrupts_to_text
from stepwell.database.tables import installed_tables
from stepwell.sql import Connection

_AT_REST = """
INSERT INTO threads (thread_id, owner, status, metadata, config, error, created_at, updated_at, state_updated_at,
  origin)
SELECT :new, COALESCE(CAST(:owner AS TEXT), owner), status, metadata, config, error, :now, :now, state_updated_at, origin
FROM threads WHERE thread_id = :old
"""

_UNDER_WAY = """
(SELECT run_id FROM runs WHERE thread_id = :old AND status IN ('pending', 'running')
  UNION ALL SELECT lease_run FROM threads WHERE thread_id = :old AND lease_run IS NOT NULL)
"""
_OPEN_INTERRUPTS = f"""
INSERT INTO interrupts (thread_id, interrupt_id, ordinal, state, value, namespace, task_id, response_schema, asked_by,
  asker, created_at, owner)
SELECT :new, interrupt_id, ordinal, 'pending', value, namespace, task_id, response_schema, asked_by, asker, created_at,
  COALESCE(CAST(:owner AS TEXT), owner)
FROM interrupts
WHERE thread_id = :old AND (state = 'pending' OR (state = 'answered' AND answered_by IN
  (SELECT run_id FROM runs WHERE thread_id = :old AND status = 'pending' AND attempt = 0)))
  AND NOT EXISTS (SELECT 1 FROM checkpoints AS c WHERE c.thread_id = :old AND c.checkpoint_ns = '' AND c.run_id <> asked_by
    AND c.run_id IN {_UNDER_WAY})
  AND (asked_by NOT IN {_UNDER_WAY} OR task_id = '' OR EXISTS (SELECT 1 FROM writes AS w
    WHERE w.thread_id = :old AND w.task_id = interrupts.task_id AND w.channel = '__interrupt__'))
"""  # noqa: S608 - fixed text


def copy_thread(connection: Connection, thread_id: str, new_id: str, now: float, owner: str | None = None) -> None:
    """Make the thread `new_id` a copy of `thread_id`, for `owner` (default: the owner of `thread_id`). The caller has checked who may read
    `thread_id`, and that the new id is free."""
    names = {"old": thread_id, "new": new_id, "now": now, "owner": owner}
    connection.execute(_AT_REST, names)
    connection.execute(_OPEN_INTERRUPTS, names)
    for table in ("checkpoints", "writes", "file_journal", "file_images", "thread_ttls"):
        _copy_rows(connection, table, names)
    for tables in installed_tables():
        for table in tables.copied:
            _copy_rows(connection, table, names)
        if tables.copy is not None:
            tables.copy(connection, thread_id, new_id)
    keep_values(connection, new_id, read_values(connection, thread_id))  # in full, because documents are not copied
    _settle(connection, new_id)


def _copy_rows(connection: Connection, table: str, names: dict[str, object]) -> None:
    columns = [name for name, *_ in connection.execute(f"SELECT * FROM {table} LIMIT 0").description]  # noqa: S608 - names of ours
    listed = ", ".join(f'"{column}"' for column in columns)
    taken = ", ".join(":new" if column == "thread_id" else f'"{column}"' for column in columns)
    connection.execute(f"INSERT INTO {table} ({listed}) SELECT {taken} FROM {table} WHERE thread_id = :old", names)  # noqa: S608 - names of ours


def _settle(connection: Connection, thread_id: str) -> None:
    """A copy has no run, so it cannot be busy; and it shows its own interrupts."""
    waiting = interrupts.open_interrupts(connection, thread_id)
    connection.execute(
        "UPDATE threads SET interrupts = ?, status = CASE status WHEN 'busy' THEN ? ELSE status END WHERE thread_id = ?",
        (interrupts_to_text(waiting), "interrupted" if waiting else "idle", thread_id),
    )
