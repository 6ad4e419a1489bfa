"""Deletes a whole thread: for readers it is gone at once, while its rows are deleted a few at a time.

```
begin_erasing ─> the thread is gone: one short transaction deletes its row and notes that the rest must be deleted
   erase_some ─> repeatedly: its runs first, then everything else that belongs to it, a slice at a time
                 if the process dies in between: `list_unfinished` lists it, and housekeeping continues after the next start
```

Each slice is a transaction of limited size, so other writers get their turn in between, and on a full disk space for one slice is enough.
The id cannot be used again before the last row is gone.

The thread's cost stays in its owner's totals, without the ids of the thread and its runs. The journal of effects still shows that the
thread acted, but not the content. SQLite overwrites deleted data (`secure_delete`), and the write-ahead log is emptied soon after
(`write_ahead_log`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from stepwell.database import effect_journal
from stepwell.database.database import SqlDatabase
from stepwell.database.records.background import forget_tasks
from stepwell.database.tables import Kept, installed_tables
from stepwell.errors import ThreadBusyError
from stepwell.sql import Connection

SLICE_ROWS = 200
SLICE_BYTES = 128 * 1024

_RUNS = Kept("runs", "run_id", "length(request) + COALESCE(length(result), 0)")
EVENTS = Kept("events", size="length(data)")
_OF_THREAD = (
    EVENTS,
    Kept("documents", size="length(changes)"),
    Kept("writes", size="length(value)"),
    Kept("replaced_writes", size="length(value)"),
    Kept("checkpoints", size="length(checkpoint)"),
    Kept("thread_values", size='length("values")'),
    Kept("interrupts", "interrupt_id", "length(value)"),
    Kept("steps"),
    Kept("steering", "message_id", "COALESCE(length(content), 0)"),
    Kept("unreadable_runs"),
    Kept("file_journal", "number"),
    Kept("file_images", size="length(content)"),
)


def refuse_if_busy(connection: Connection, thread_id: str) -> None:
    """Refuse to erase a thread while a run is running or waiting on it. A run that only waits for an answer to the thread's question, to
    tell about a background task, goes with the thread."""
    busy = connection.execute(
        "SELECT 1 FROM threads WHERE thread_id = :thread AND lease_run IS NOT NULL"
        " UNION ALL SELECT 1 FROM runs WHERE thread_id = :thread AND status IN ('pending', 'running') AND NOT (status = 'pending'"
        " AND later = 1 AND run_id IN (SELECT wake_run FROM background_wakes WHERE parent_thread_id = :thread)) LIMIT 1",
        {"thread": thread_id},
    ).fetchone()
    if busy is not None:
        raise ThreadBusyError(
            f"Thread '{thread_id}' has a run under way. Cancel it, or wait for it to end, then delete the thread."
        )
    working = connection.execute(
        "SELECT b.task_id FROM background_tasks AS b JOIN runs AS r ON r.thread_id = b.task_id"
        " WHERE b.parent_thread_id = ? AND r.status IN ('pending', 'running') LIMIT 1",
        (thread_id,),
    ).fetchone()
    if working is not None:
        raise ThreadBusyError(
            f"Thread '{thread_id}' has a background task under way ('{working['task_id']}'). Cancel it, or wait for it to end, then "
            "delete the thread."
        )


def refuse_if_erasing(connection: Connection, thread_id: str) -> None:
    """Refuse an id whose old thread still has rows: a new thread must not find them."""
    if connection.execute("SELECT 1 FROM erasing WHERE thread_id = ?", (thread_id,)).fetchone():
        raise erasing_error(thread_id)


def erasing_error(thread_id: str) -> ThreadBusyError:
    return ThreadBusyError(f"Thread '{thread_id}' is just being deleted. Try again in a moment, or choose another id.")


def begin_erasing(connection: Connection, thread_id: str) -> None:
    """From here on the thread is gone. The caller has checked its owner, and that nothing runs on it."""
    row = connection.execute("SELECT temporary FROM threads WHERE thread_id = ?", (thread_id,)).fetchone()
    for tables in installed_tables():
        if tables.detach is not None:
            tables.detach(connection, thread_id)
    connection.execute(
        "INSERT INTO erasing (thread_id, temporary) VALUES (?, ?) ON CONFLICT DO NOTHING", (thread_id, row["temporary"])
    )
    connection.execute("DELETE FROM threads WHERE thread_id = ?", (thread_id,))
    forget_tasks(connection, thread_id)


async def finish_erasing(database: SqlDatabase, thread_ids: Iterable[str], new_id: Callable[[], str]) -> None:
    """Delete what is left of deleted threads. May be interrupted, and may run several times at once."""
    for thread_id in thread_ids:
        while await database.write(partial(erase_some, thread_id=thread_id, new_id=new_id), frees=True):
            pass
    await database.give_back_space(only_if_low=True)


def list_unfinished(connection: Connection) -> list[str]:
    """Deleted threads that still have rows."""
    return [row[0] for row in connection.execute("SELECT thread_id FROM erasing")]


def erase_some(connection: Connection, thread_id: str, new_id: Callable[[], str]) -> bool:
    """Delete one slice. Returns whether there may be more."""
    gone = connection.execute("SELECT temporary FROM erasing WHERE thread_id = ?", (thread_id,)).fetchone()
    if gone is None:
        return False
    # Runs are deleted first, so that nobody is shown them any more.
    if runs := delete_slice(connection, _RUNS, "thread_id = ?", (thread_id,)):
        _forget_webhooks(connection, runs, keep_due=bool(gone["temporary"]))
        return True
    if _forget_whose_usage(connection, thread_id, new_id) or effect_journal.strip(connection, thread_id, SLICE_ROWS):
        return True
    if any(delete_slice(connection, kept, "thread_id = ?", (thread_id,)) for kept in _tables_of_thread()):
        return True
    connection.execute("DELETE FROM erasing WHERE thread_id = ?", (thread_id,))
    return False


def _tables_of_thread() -> Iterator[Kept]:
    yield from _OF_THREAD
    for tables in installed_tables():
        yield from tables.of_thread


def delete_slice(connection: Connection, kept: Kept, where: str, bound: Sequence[object]) -> list[str | int]:
    """Delete as many rows as fit in a slice, at least one if any. Returns their keys."""
    key, is_row = kept.key or connection.dialect.row_address, f"{kept.key} = ?" if kept.key else connection.dialect.row_is
    found = connection.execute(
        f"SELECT {key}, {kept.size} FROM {kept.table} WHERE {where} LIMIT {SLICE_ROWS}",  # noqa: S608 - names of ours
        bound,
    )
    keys: list[str | int] = []
    size = 0
    for row, bytes_ in found:
        if keys and size + bytes_ > SLICE_BYTES:
            break
        keys.append(row)
        size += bytes_
    found.close()
    connection.executemany(
        f"DELETE FROM {kept.table} WHERE {where} AND {is_row}",  # noqa: S608 - names of ours
        [(*bound, key) for key in keys],
    )
    return keys


def _forget_whose_usage(connection: Connection, thread_id: str, new_id: Callable[[], str]) -> bool:
    runs = connection.execute(
        "SELECT DISTINCT run_id FROM usage WHERE thread_id = ? LIMIT ?", (thread_id, SLICE_ROWS)
    ).fetchall()
    # Each run gets its own new key, so that the number of runs can still be counted.
    connection.executemany(
        "UPDATE usage SET run_id = ?, thread_id = NULL WHERE run_id = ?", [(f"erased-{new_id()}", row[0]) for row in runs]
    )
    return bool(runs)


def _forget_webhooks(connection: Connection, runs: Sequence[str | int], *, keep_due: bool) -> None:
    """Delete the webhooks of runs. `keep_due` keeps undelivered ones until delivered: the thread of a stateless run is deleted
    automatically, soon after the run."""
    connection.executemany(
        "DELETE FROM webhooks WHERE run_id = ? AND NOT (state = 'due' AND ? = 1)", [(run_id, keep_due) for run_id in runs]
    )
