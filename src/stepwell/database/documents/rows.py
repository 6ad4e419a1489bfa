"""The table of documents (see `book`): writing documents, putting their texts together again, deleting those that nothing refers to.

Reading walks from a document back to the complete document with which its chain begins, in one statement. To read many documents of a chain
one after the other, keep a `DocumentReader`, which continues from the document it read last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stepwell.database.documents.book import Texts, apply, join
from stepwell.database.types import Document, StoredDocument
from stepwell.errors import StorageUnavailableError
from stepwell.sql import Change, Connection, insertions

_COLUMNS = "documents (thread_id, number, base, changes)"
_CHAIN = """
WITH RECURSIVE chain(number, base) AS (
  SELECT number, base FROM documents WHERE thread_id = :thread AND number = :number
  UNION ALL
  SELECT d.number, d.base FROM chain CROSS JOIN documents AS d
  WHERE d.thread_id = :thread AND d.number = chain.base AND chain.base <> :known
)
SELECT d.number, d.base, d.changes FROM chain CROSS JOIN documents AS d
WHERE d.thread_id = :thread AND d.number = chain.number ORDER BY d.number
"""
_UNNEEDED = """
DELETE FROM documents WHERE thread_id = :thread AND number NOT IN (
  WITH RECURSIVE needed(number) AS (
    SELECT document FROM events WHERE thread_id = :thread AND document IS NOT NULL
    UNION SELECT document FROM thread_values WHERE thread_id = :thread AND document IS NOT NULL
    UNION SELECT result_document FROM runs WHERE thread_id = :thread AND result_document IS NOT NULL
    UNION SELECT d.base FROM needed CROSS JOIN documents AS d
      WHERE d.thread_id = :thread AND d.number = needed.number AND d.base IS NOT NULL
  )
  SELECT number FROM needed)
"""
_NONE = -1
_MAX_TEMPLATES = 32


def document_insertions(documents: Iterable[tuple[str, Document]]) -> Iterator[Change]:
    """The statements that store (thread, document) pairs; documents without changes are already stored."""
    rows = [(thread_id, new.number, new.base, new.changes) for thread_id, new in documents if new.changes is not None]
    return insertions(_COLUMNS, rows)


def standing_numbers(connection: Connection, thread_id: str) -> tuple[int, int | None]:
    """The number from which new documents continue, and that of the document that holds the thread's current values, if there is one. The
    first is never below that of the thread's newest event, so that a deleted document's number isn't reused while a reader still refers to
    it."""
    row = connection.execute(
        "SELECT max(COALESCE((SELECT MAX(number) FROM documents WHERE thread_id = :thread), 0),"
        " COALESCE((SELECT last_seq FROM threads WHERE thread_id = :thread), 0)) AS newest,"
        " (SELECT document FROM thread_values WHERE thread_id = :thread) AS document",
        {"thread": thread_id},
    ).fetchone()
    return int(row["newest"]), row["document"]


def read_fields(connection: Connection, thread_id: str, number: int) -> Texts:
    return DocumentReader(thread_id).fields(connection, number)


def read_text(connection: Connection, thread_id: str, number: int) -> bytes:
    return join(read_fields(connection, thread_id, number))


def forget_unneeded(connection: Connection, thread_id: str) -> None:
    """Delete documents that no event, record or result needs, directly or as a base. Does nothing during a run, because a run uses its
    earlier documents as bases."""
    at_work = connection.execute("SELECT lease_run FROM threads WHERE thread_id = ?", (thread_id,)).fetchone()
    if at_work is None or at_work["lease_run"] is None:
        connection.execute(_UNNEEDED, {"thread": thread_id})


class DocumentReader:
    """Reads the documents of one thread. Not thread-safe."""

    def __init__(self, thread_id: str) -> None:
        self._thread_id = thread_id
        self._at = _NONE
        self._texts: Texts = {}
        self._templates: dict[int, bytes] = {}

    def fields(self, connection: Connection, number: int) -> Texts:
        """A document's fields. The next call modifies them."""
        if number == self._at:
            return self._texts
        names = {"thread": self._thread_id, "number": number, "known": self._at}
        rows = connection.execute(_CHAIN, names).fetchall()
        if not rows or rows[0]["base"] not in (None, self._at):
            raise StorageUnavailableError(
                f"Document {number} of thread '{self._thread_id}' cannot be put together: a part is missing."
            )
        if rows[0]["base"] is None:
            self._texts = {}
        self._at = _NONE
        for row in rows:
            self._texts = apply(self._texts, row["changes"])
        self._at = number
        return self._texts

    def event_text(self, connection: Connection, number: int, data: bytes) -> bytes:
        """An event's text, from its document and its row."""
        if not data:
            return join(self.fields(connection, number))
        start, end, piece = data.split(b" ", 2)
        template = self._templates.get(number)
        if template is None:
            if len(self._templates) >= _MAX_TEMPLATES:
                self._templates.clear()
            template = self._templates[number] = read_text(connection, self._thread_id, number)
        return template[: int(start)] + piece + template[len(template) - int(end) :]


def row_data(data: bytes, stored: StoredDocument | None) -> tuple[bytes, int | None]:
    """What an event's row stores: data and document number."""
    if stored is None:
        return data, None
    if stored.kept is None:
        return b"", stored.document.number
    start, end = stored.kept
    return b"%d %d %b" % (start, end, data[start : len(data) - end]), stored.document.number
