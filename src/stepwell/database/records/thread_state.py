"""The part of a thread's record that shows its state: the thread's values, and what was written under a hold instead of a run. Functions of
a connection, for use inside a transaction.

```
hold ──> checkpoints and writes, step by step ──> save_thread_state: the record shows them, the hold ends
                        │
                        └── crash ──> forget_unsaved: as if nothing had been written
```

What a hold writes only counts once it is saved, because LangGraph stores an update in several steps, and the first of them alone would look
like the result of the next task.

Values have their own table, because the thread's row is written with every event, and values may be large. They are stored as JSON, or as
the number of a document (`database/documents/book`), which is put together when read. Their marks (`database/marks`) are always stored with
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from stepwell.database import fence
from stepwell.database.checkpoints import statements
from stepwell.database.documents.rows import document_insertions, read_text
from stepwell.database.marks import marks_of
from stepwell.database.records.interrupts import open_interrupts, settle
from stepwell.database.rows import interrupts_to_text, thread_from_row
from stepwell.database.types import Document, Lease, PendingInterrupt, Thread, ThreadStatus
from stepwell.sql import Change, Connection, Row


def save_thread_state(
    connection: Connection,
    lease: Lease,
    values: bytes | Document,
    interrupts: Sequence[PendingInterrupt],
    status: ThreadStatus,
    now: float,
) -> Thread:
    """Store values, interrupts and status, and end the hold. Interrupts that the thread has passed without an answer are dropped."""
    fence.require(connection, lease)
    settle(connection, lease.thread_id, lease.run_id, interrupts, now=now)
    waiting = open_interrupts(connection, lease.thread_id)
    statements.forget_replaced(connection, lease.thread_id, lease.run_id)
    keep_values(connection, lease.thread_id, values)
    connection.execute(
        "UPDATE threads SET status = ?, interrupts = ?, error = NULL, updated_at = ?, state_updated_at = ?,"
        " lease_holder = NULL, lease_run = NULL WHERE thread_id = ?",
        (status, interrupts_to_text(waiting), now, now, lease.thread_id),
    )
    row = connection.execute("SELECT * FROM threads WHERE thread_id = ?", (lease.thread_id,)).fetchone()
    return thread_from_row(row, read_values(connection, lease.thread_id))


def forget_unsaved(connection: Connection, held: Iterable[Row]) -> None:
    """The holders of these threads are dead: delete what they wrote and did not save."""
    for row in held:
        statements.delete_runs(connection, row["thread_id"], [row["lease_run"]])


def keep_values(connection: Connection, thread_id: str, values: bytes | Document | None) -> None:
    """Store values. `None` leaves the existing ones."""
    for sql, bound in value_changes(thread_id, values):
        connection.execute(sql, bound)


def value_changes(thread_id: str, values: bytes | Document | None) -> Iterator[Change]:
    """The statements of `keep_values`."""
    if values is None:
        return
    text, number = text_columns(values)
    if isinstance(values, Document):
        yield from document_insertions([(thread_id, values)])
    yield (
        'INSERT INTO thread_values (thread_id, "values", document, marks) VALUES (?, ?, ?, ?)'
        ' ON CONFLICT (thread_id) DO UPDATE SET "values" = excluded."values", document = excluded.document, marks = excluded.marks',
        (thread_id, text or b"", number, values.marks if isinstance(values, Document) else marks_of(values)),
    )


def text_columns(text: bytes | Document | None) -> tuple[bytes | None, int | None]:
    """A text as two columns: the text itself, or the number of its document, which has its own table."""
    return (None, text.number) if isinstance(text, Document) else (text, None)


def read_values(connection: Connection, thread_id: str) -> bytes | None:
    row = connection.execute('SELECT "values", document FROM thread_values WHERE thread_id = ?', (thread_id,)).fetchone()
    if row is None or row["document"] is None:
        return row and bytes(row["values"])
    return read_text(connection, thread_id, row["document"])
