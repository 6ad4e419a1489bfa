"""The journal of file changes in the database, written under a lease, and what happens to it when a thread is pruned.

```
a run changes a file  ─> its entry and the content before it, in one transaction, before the file is touched
a thread is copied    ─> both tables are copied (`records/copying`)
a thread is deleted   ─> both are deleted (`records/erasing`)
it keeps too much     ─> the oldest turns are forgotten, until what is kept has at most MAX_KEPT_BYTES
a thread is pruned    ─> entries of turns that nobody can return to, and contents that no entry names any more
```
All of this work is in the lane of the run's lease, like checkpoints and effects: a worker that lost its lease changes no file, because its
entry is refused first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future

from stepwell.clock import Clock
from stepwell.database.database import SqlDatabase
from stepwell.database.fence import fenced
from stepwell.database.rows import to_time
from stepwell.database.types import Lease
from stepwell.errors import LeaseLostError
from stepwell.sql import Connection, Row
from stepwell.tools.rewind.journal import MAX_KEPT_BYTES, Entry, JournalFullError, forgotten, needed_images

_NEXT = "SELECT COALESCE(MAX(number), 0) + 1 AS next FROM file_journal WHERE thread_id = ?"
_ADD = """
INSERT INTO file_journal (thread_id, number, kind, name, checkpoint_id, before_hash, after_hash, detail, run_id, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ALL = "SELECT * FROM file_journal WHERE thread_id = ? ORDER BY number"
_OF_TURN = """
SELECT * FROM file_journal WHERE thread_id = :thread AND number > COALESCE(
  (SELECT MAX(t.number) FROM file_journal AS t WHERE t.thread_id = :thread AND t.kind = 'turn'), 0)
"""
_SIZES = "SELECT hash, LENGTH(content) AS size FROM file_images WHERE thread_id = :thread"
_LOOK_EVERY = 100
_LARGE = 1_000_000
"""Whether there is room is looked up with every hundredth change, and with large contents."""
_MARKED = "SELECT 1 FROM file_journal WHERE thread_id = ? AND kind = 'turn' AND name = ? AND checkpoint_id = ?"
_KEEP = "INSERT INTO file_images (thread_id, hash, content) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_FIRST_KEPT = """
SELECT MIN(j.number) AS first FROM file_journal AS j WHERE j.thread_id = :thread AND j.kind = 'turn' AND EXISTS (
  SELECT 1 FROM checkpoints AS c WHERE c.thread_id = :thread AND c.checkpoint_ns = '' AND c.checkpoint_id = j.checkpoint_id)
"""
_UNNAMED = """
DELETE FROM file_images WHERE thread_id = :thread AND NOT EXISTS (
  SELECT 1 FROM file_journal AS j WHERE j.thread_id = :thread AND j.before_hash = file_images.hash)
"""


class SqlFileJournal:
    """The journal of a thread. Without a lease it can only be read."""

    def __init__(
        self, database: SqlDatabase, thread_id: str, lease: Lease | None, clock: Clock, limit: int = MAX_KEPT_BYTES
    ) -> None:
        self._limit = limit
        self._database = database
        self._thread_id = thread_id
        self._lease = lease
        self._clock = clock

    def mark(self, turn: Entry) -> Future[None]:
        def work(connection: Connection) -> None:
            if not connection.execute(_MARKED, (self._thread_id, turn.name, turn.checkpoint_id)).fetchone():
                self._add(connection, [turn])

        return self._database.submit(fenced(self._held(), work))

    def begin(self, changes: Sequence[Entry], images: Mapping[str, bytes]) -> Future[list[int]]:
        def work(connection: Connection) -> list[int]:
            needed = needed_images(_turn(connection, self._thread_id), changes, images) if images else {}
            connection.executemany(_KEEP, [(self._thread_id, name, content) for name, content in needed.items()])
            numbers = self._add(connection, changes)
            if needed and (numbers[0] % _LOOK_EVERY == 0 or sum(map(len, needed.values())) > _LARGE):
                _make_room(connection, self._thread_id, numbers[0], self._limit)
            return numbers

        return self._database.submit(fenced(self._held(), work))

    def drop(self, numbers: Sequence[int]) -> Future[None]:
        def work(connection: Connection) -> None:
            connection.executemany(
                "DELETE FROM file_journal WHERE thread_id = ? AND number = ?", [(self._thread_id, number) for number in numbers]
            )

        return self._database.submit(fenced(self._held(), work))

    def entries(self) -> Future[list[Entry]]:
        def work(connection: Connection) -> list[Entry]:
            rows = connection.execute(_ALL, (self._thread_id,))
            return [_entry(row) for row in rows]

        return self._database.submit(work)

    def image(self, content_hash: str) -> Future[bytes | None]:
        def work(connection: Connection) -> bytes | None:
            row = connection.execute(
                "SELECT content FROM file_images WHERE thread_id = ? AND hash = ?", (self._thread_id, content_hash)
            ).fetchone()
            return None if row is None else bytes(row["content"])

        return self._database.submit(work)

    def _held(self) -> Lease:
        if self._lease is None:
            raise LeaseLostError(f"No run drives thread '{self._thread_id}', so its files cannot be changed.")
        return self._lease

    def _add(self, connection: Connection, entries: Sequence[Entry]) -> list[int]:
        run_id, now = self._held().run_id, to_time(self._clock.now())
        first = connection.execute(_NEXT, (self._thread_id,)).fetchone()["next"]
        rows = [
            (
                self._thread_id,
                first + at,
                entry.kind,
                entry.name,
                entry.checkpoint_id,
                entry.before,
                entry.after,
                entry.detail,
                run_id,
                now,
            )
            for at, entry in enumerate(entries)
        ]
        connection.executemany(_ADD, rows)
        return [first + at for at in range(len(rows))]


def forget_lost(connection: Connection, thread_id: str) -> None:
    """After checkpoints were deleted: forget turns that nobody can return to, with their changes and contents."""
    names = {"thread": thread_id}
    first = connection.execute(_FIRST_KEPT, names).fetchone()["first"]
    if first is None:
        connection.execute("DELETE FROM file_journal WHERE thread_id = :thread", names)
    else:
        connection.execute("DELETE FROM file_journal WHERE thread_id = :thread AND number < :first", {**names, "first": first})
    connection.execute(_UNNAMED, names)


def _turn(connection: Connection, thread_id: str) -> list[Entry]:
    """The entries since the newest turn began."""
    return [_entry(row) for row in connection.execute(_OF_TURN, {"thread": thread_id})]


def _make_room(connection: Connection, thread_id: str, added: int, limit: int) -> None:
    """Forget the oldest turns, if the thread keeps too much. `JournalFullError` if that is not enough: then nothing is written."""
    names = {"thread": thread_id}
    sizes = {row["hash"]: row["size"] for row in connection.execute(_SIZES, names)}
    if sum(sizes.values()) <= limit:
        return
    entries = [_entry(row) for row in connection.execute(_ALL, (thread_id,))]
    first = forgotten(entries, sizes, limit)
    if first > added:
        raise JournalFullError
    connection.execute("DELETE FROM file_journal WHERE thread_id = :thread AND number < :first", {**names, "first": first})
    connection.execute(_UNNAMED, names)


def _entry(row: Row) -> Entry:
    return Entry(
        kind=row["kind"],
        name=row["name"],
        checkpoint_id=row["checkpoint_id"],
        before=row["before_hash"],
        after=row["after_hash"],
        detail=row["detail"],
        run_id=row["run_id"],
        number=row["number"],
    )
