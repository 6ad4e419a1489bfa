"""A thread's values, in a table of their own: the thread's row is written with every event, and values may be large.

They are JSON, or the number of a document (`runs/documents`): then they are put together when somebody asks for them.
"""

from __future__ import annotations

import sqlite3

from stepwell.runs.embedded.document_rows import insert_documents, read_text
from stepwell.runs.records import Document


def keep_values(connection: sqlite3.Connection, thread_id: str, values: bytes | Document | None) -> None:
    """Keep values. `None` leaves what is there."""
    if values is None:
        return
    text, number = keep_text(connection, thread_id, values)
    connection.execute(
        'INSERT INTO thread_values (thread_id, "values", document) VALUES (?, ?, ?)'
        ' ON CONFLICT (thread_id) DO UPDATE SET "values" = excluded."values", document = excluded.document',
        (thread_id, text or b"", number),
    )


def keep_text(connection: sqlite3.Connection, thread_id: str, text: bytes | Document) -> tuple[bytes | None, int | None]:
    """What two columns hold for a text: itself, or the number of its document, which is put into its table."""
    if not isinstance(text, Document):
        return text, None
    insert_documents(connection, [(thread_id, text)])
    return None, text.number


def read_values(connection: sqlite3.Connection, thread_id: str) -> bytes | None:
    row = connection.execute('SELECT "values", document FROM thread_values WHERE thread_id = ?', (thread_id,)).fetchone()
    if row is None or row["document"] is None:
        return row and bytes(row["values"])
    return read_text(connection, thread_id, row["document"])
