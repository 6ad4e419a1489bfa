"""The SQL of the checkpoint saver; each statement is a function of a connection. Values arrive as bytes: the saver serialises them. Only
metadata is read here, where a listing asks for checkpoints with certain metadata.

A checkpoint is one row with all its values; each write of a step is one row. Both carry the run that wrote them. So a run that is driven
again can find out what it has already done (`RunTraces`), and a run can be rolled back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from stepwell.database.checkpoints.packing import pack, pack_metadata, unpack_metadata
from stepwell.sql import Connection, Row, insert_rows

_PORTION = 64
_COLUMNS = "thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata"
_GET = f"SELECT {_COLUMNS} FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"  # noqa: S608  fixed text
_LATEST = f"""
SELECT {_COLUMNS} FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY checkpoint_id DESC LIMIT 1
"""  # noqa: S608  fixed text
# The order is LangGraph's `writes_sort_key`, in which a step's writes are applied.
_WRITES = """
SELECT task_id, channel, type, value FROM writes WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?
ORDER BY task_path, task_id, idx
"""
# Storing the same key again replaces the row.
_NEWER_CHECKPOINT = """
ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id) DO UPDATE SET parent_checkpoint_id = excluded.parent_checkpoint_id,
  run_id = excluded.run_id, type = excluded.type, checkpoint = excluded.checkpoint, metadata = excluded.metadata,
  created_at = excluded.created_at
"""
_NEWER_WRITE = """
ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) DO UPDATE SET task_path = excluded.task_path,
  channel = excluded.channel, run_id = excluded.run_id, type = excluded.type, value = excluded.value
"""
_INTO_CHECKPOINTS = """
checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, run_id, type, checkpoint, metadata, created_at)
"""
_WRITE_COLUMNS = "(thread_id, checkpoint_ns, checkpoint_id, task_id, idx, task_path, channel, run_id, type, value)"
_RENEW_WRITE = f"INSERT INTO writes {_WRITE_COLUMNS} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?){_NEWER_WRITE}"  # noqa: S608  fixed text
# Only when the run replaces the row for the first time: later, the row holds what the run itself wrote, not what was there before.
_KEEP_REPLACED = """
INSERT INTO replaced_writes
SELECT thread_id, checkpoint_ns, checkpoint_id, task_id, idx, task_path, channel, run_id, type, value, CAST(:run AS TEXT) FROM writes
WHERE thread_id = :thread AND checkpoint_ns = :ns AND checkpoint_id = :id AND task_id = :task AND idx = :idx AND run_id <> :run
ON CONFLICT DO NOTHING
"""
_RESTORE_REPLACED = f"""
INSERT INTO writes {_WRITE_COLUMNS}
SELECT thread_id, checkpoint_ns, checkpoint_id, task_id, idx, task_path, channel, run_id, type, value
FROM replaced_writes WHERE thread_id = ? AND replaced_by = ?
{_NEWER_WRITE}
"""  # noqa: S608  fixed text
_COPY_CHECKPOINTS = f"""
INSERT INTO checkpoints
  (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, run_id, type, checkpoint, metadata, created_at)
SELECT CAST(:target AS TEXT), checkpoint_ns, checkpoint_id, parent_checkpoint_id, CAST(:run AS TEXT), type, checkpoint, metadata, created_at
FROM checkpoints WHERE thread_id = :source
{_NEWER_CHECKPOINT}
"""  # noqa: S608  fixed text
_COPY_WRITES = f"""
INSERT INTO writes {_WRITE_COLUMNS}
SELECT CAST(:target AS TEXT), checkpoint_ns, checkpoint_id, task_id, idx, task_path, channel, CAST(:run AS TEXT), type, value
FROM writes WHERE thread_id = :source
{_NEWER_WRITE}
"""  # noqa: S608  fixed text


class CheckpointRow(NamedTuple):
    thread_id: str
    namespace: str
    checkpoint_id: str
    parent_id: str | None
    type: str
    checkpoint: bytes
    metadata: str
    writes: Sequence[Row]
    """Task, channel, type and value of each write at this checkpoint, in the order in which they are applied."""


@dataclass(frozen=True)
class CheckpointListing:
    """Which checkpoints to list. `None` means any."""

    thread_id: str | None = None
    namespace: str | None = None
    checkpoint_id: str | None = None
    before: str | None = None
    metadata: Mapping[str, Any] | None = None

    def conditions(self) -> Iterator[tuple[str, Sequence[Any]]]:
        """What the database decides."""
        if self.thread_id is not None:
            yield "thread_id = ?", [self.thread_id]
        if self.namespace is not None:
            yield "checkpoint_ns = ?", [self.namespace]
        if self.checkpoint_id:
            yield "checkpoint_id = ?", [self.checkpoint_id]
        if self.before:
            yield "checkpoint_id < ?", [self.before]

    def matches(self, row: Row) -> bool:
        """Whether the metadata has all the values asked for; a missing key equals null, as in LangGraph's savers."""
        if not self.metadata:
            return True
        stored = unpack_metadata(row["metadata"])
        return all(stored.get(key) == value for key, value in self.metadata.items())


def get(connection: Connection, thread_id: str, namespace: str, checkpoint_id: str | None) -> CheckpointRow | None:
    """The checkpoint with this id, or the latest if none is given, with its writes."""
    place = (thread_id, namespace)
    found = connection.execute(_GET, (*place, checkpoint_id)) if checkpoint_id else connection.execute(_LATEST, place)
    row = found.fetchone()
    return None if row is None else _with_writes(connection, row)


def page(connection: Connection, listing: CheckpointListing, after: CheckpointRow | None, size: int) -> list[CheckpointRow]:
    """A page of checkpoints, newest first; with `after`, only those that come after that one in the list."""
    place = None if after is None else (after.checkpoint_id, after.namespace, after.thread_id)
    found: list[Row] = []
    while len(found) < size:
        portion = _PORTION if listing.metadata else size
        rows = _scan(connection, listing, place, portion)
        found += filter(listing.matches, rows)
        if len(rows) < portion:
            break
        place = (rows[-1]["checkpoint_id"], rows[-1]["checkpoint_ns"], rows[-1]["thread_id"])
    return [_with_writes(connection, row) for row in found[:size]]


def _scan(connection: Connection, listing: CheckpointListing, after: tuple[str, str, str] | None, size: int) -> Sequence[Row]:
    conditions = list(listing.conditions())
    if after is not None:
        conditions.append(("(checkpoint_id, checkpoint_ns, thread_id) < (?, ?, ?)", after))
    where = " AND ".join(text for text, _ in conditions) or "TRUE"
    parameters = [value for _, values in conditions for value in values]
    return connection.execute(
        f"SELECT {_COLUMNS} FROM checkpoints WHERE {where} "  # noqa: S608  the conditions' texts are fixed, values are bound
        "ORDER BY checkpoint_id DESC, checkpoint_ns DESC, thread_id DESC LIMIT ?",
        (*parameters, size),
    ).fetchall()


class StoredStep(NamedTuple):
    """Rows of a run: a checkpoint, or a task's writes. They are packed when they are stored, in the thread that writes: packing releases
    Python's lock, and the event loop would have to wait for it each time."""

    checkpoint: Sequence[Any] | None = None
    kept: Sequence[Sequence[Any]] = ()
    """Writes that keep their first value."""
    renewed: Sequence[Sequence[Any]] = ()
    """A task's error, interrupt and answer, which are replaced by newer ones."""


def put_all(connection: Connection, steps: Sequence[StoredStep]) -> None:
    checkpoints = {tuple(step.checkpoint[:3]): step.checkpoint for step in steps if step.checkpoint is not None}
    insert_rows(connection, _INTO_CHECKPOINTS, [_packed_checkpoint(*row) for row in checkpoints.values()], _NEWER_CHECKPOINT)
    kept = [_packed_write(*row) for step in steps for row in step.kept]
    insert_rows(connection, f"writes {_WRITE_COLUMNS}", kept, "ON CONFLICT DO NOTHING")
    renewed = [_packed_write(*row) for step in steps for row in step.renewed]
    if renewed:
        connection.executemany(_KEEP_REPLACED, map(_replacing, renewed))
        connection.executemany(_RENEW_WRITE, renewed)


def _packed_checkpoint(*row: Any) -> tuple[Any, ...]:
    *place, type_, value, metadata, made_at = row
    return (*place, *pack((type_, value)), pack_metadata(metadata), made_at)


def _packed_write(*row: Any) -> tuple[Any, ...]:
    *place, type_, value = row
    return (*place, *pack((type_, value)))


def delete_thread(connection: Connection, thread_id: str) -> None:
    for table in ("writes", "replaced_writes", "checkpoints"):
        connection.execute(f"DELETE FROM {table} WHERE thread_id = ?", (thread_id,))  # noqa: S608  fixed names


def delete_runs(connection: Connection, thread_id: str, run_ids: Sequence[str]) -> None:
    """Delete what these runs wrote, and restore what they had replaced."""
    rows = [(thread_id, run_id) for run_id in run_ids]
    connection.executemany("DELETE FROM writes WHERE thread_id = ? AND run_id = ?", rows)
    connection.executemany("DELETE FROM checkpoints WHERE thread_id = ? AND run_id = ?", rows)
    connection.executemany(_RESTORE_REPLACED, rows)
    for row in rows:
        forget_replaced(connection, *row)


def forget_replaced(connection: Connection, thread_id: str, run_id: str) -> None:
    """Forget what the run's writes replaced. Call this when the run has ended for good and will not be rolled back."""
    connection.execute("DELETE FROM replaced_writes WHERE thread_id = ? AND replaced_by = ?", (thread_id, run_id))


def copy_thread(connection: Connection, source: str, target: str, run_id: str) -> None:
    """Copies the whole history, so that every incremental value can be rebuilt in the copy too."""
    places = {"source": source, "target": target, "run": run_id}
    connection.execute(_COPY_CHECKPOINTS, places)
    connection.execute(_COPY_WRITES, places)


def _with_writes(connection: Connection, row: Row) -> CheckpointRow:
    thread_id, namespace, checkpoint_id, parent_id, type_, checkpoint, metadata = row
    writes = connection.execute(_WRITES, (thread_id, namespace, checkpoint_id)).fetchall()
    return CheckpointRow(thread_id, namespace, checkpoint_id, parent_id, type_, checkpoint, metadata, writes)


def _replacing(row: Sequence[Any]) -> dict[str, Any]:
    thread_id, namespace, checkpoint_id, task_id, index, _path, _channel, run_id, *_ = row
    return {"thread": thread_id, "ns": namespace, "id": checkpoint_id, "task": task_id, "idx": index, "run": run_id}
