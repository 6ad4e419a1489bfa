"""The requests of compaction as SQL, for savers with the tables of LangGraph's SQLite savers.

Every request is one or two statements, written once. Other columns than those named here do not matter; `metadata` is JSON, unless a
subclass reads it otherwise. The saver begins and ends transactions, not this module.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from langgraph.checkpoint.serde.base import SerializerProtocol

from stepwell.backends.steps import Steps
from stepwell.sql import Cursor
from stepwell.state.history import (
    Delete,
    Key,
    ListKeys,
    ListWriters,
    Load,
    Loaded,
    Measure,
    ReadWrites,
    Request,
    Rewrite,
    Row,
    Stored,
)

_MEASURE = """
SELECT (SELECT COUNT(*) FROM checkpoints WHERE thread_id = :t),
       (SELECT COUNT(DISTINCT checkpoint_ns) FROM checkpoints WHERE thread_id = :t),
       (SELECT COUNT(*) FROM writes WHERE thread_id = :t),
       (SELECT COALESCE(SUM(LENGTH(checkpoint) + LENGTH(metadata)), 0) FROM checkpoints WHERE thread_id = :t)
       + (SELECT COALESCE(SUM(LENGTH(value)), 0) FROM writes WHERE thread_id = :t)
"""
_LIST_KEYS = """
SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, 1 FROM checkpoints WHERE thread_id = :t
UNION ALL
SELECT DISTINCT checkpoint_ns, checkpoint_id, NULL, 0 FROM writes AS w WHERE thread_id = :t AND NOT EXISTS (
  SELECT 1 FROM checkpoints AS c
  WHERE c.thread_id = w.thread_id AND c.checkpoint_ns = w.checkpoint_ns AND c.checkpoint_id = w.checkpoint_id)
"""
_LOAD = "SELECT type, checkpoint, metadata FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
# The order is LangGraph's `writes_sort_key`, in which a step's writes were applied.
_READ_WRITES = """
SELECT type, value FROM writes WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? AND channel = ?
ORDER BY task_path, task_id, idx
"""
_LIST_WRITERS = "SELECT task_id, channel FROM writes WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
_REWRITE = "UPDATE checkpoints SET type = ?, checkpoint = ? WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
_DELETE_WRITES = "DELETE FROM writes WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
_DELETE_CHECKPOINTS = "DELETE FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"


class SqlStatement(NamedTuple):
    sql: str
    parameters: Any = ()
    many: bool = False


class SqlHistory:
    """Turns requests into SQL, and rows into answers. A subclass executes the statements in its transaction."""

    def __init__(self, thread_id: str, serde: SerializerProtocol) -> None:
        self._thread_id = thread_id
        self._serde = serde

    def statements(self, request: Request) -> Steps[SqlStatement, Any]:
        thread = {"t": self._thread_id}
        match request:
            case Measure():
                [row] = yield SqlStatement(_MEASURE, thread)
                return Stored(*row)
            case ListKeys():
                rows = yield SqlStatement(_LIST_KEYS, thread)
                return [Row(Key(namespace, id_), parent, bool(there)) for namespace, id_, parent, there in rows]
            case Load(key):
                [row] = yield SqlStatement(_LOAD, self._at(key))
                type_, checkpoint, metadata = row
                return Loaded(self._serde.loads_typed((type_, checkpoint)), self._read_metadata(metadata))
            case ReadWrites(key, channel):
                rows = yield SqlStatement(_READ_WRITES, (*self._at(key), channel))
                return [self._serde.loads_typed((type_, value)) for type_, value in rows]
            case ListWriters(key):
                rows = yield SqlStatement(_LIST_WRITERS, self._at(key))
                return [(task_id, channel) for task_id, channel in rows]
            case Rewrite():
                yield from self._rewrite(request)
            case Delete(keys):
                places = [self._at(key) for key in keys]
                yield SqlStatement(_DELETE_WRITES, places, many=True)
                yield SqlStatement(_DELETE_CHECKPOINTS, places, many=True)
        return None

    def _rewrite(self, request: Rewrite) -> Steps[SqlStatement, None]:
        checkpoint = (yield from self.statements(Load(request.key))).checkpoint
        whole = {**checkpoint, "channel_values": {**checkpoint["channel_values"], **request.values}}
        type_, blob = self._serde.dumps_typed(whole)
        yield SqlStatement(_REWRITE, (type_, blob, *self._at(request.key)))

    def _read_metadata(self, stored: Any) -> dict[str, Any]:
        metadata: dict[str, Any] = json.loads(stored) if stored else {}
        return metadata

    def _at(self, key: Key) -> tuple[str, str, str]:
        return (self._thread_id, *key)


class Executes(Protocol):
    """A connection or a cursor of any database."""

    def execute(self, sql: str, parameters: Any, /) -> Cursor: ...
    def executemany(self, sql: str, parameters: Any, /) -> Cursor: ...


def executor(connection: Executes) -> Callable[[SqlStatement], Sequence[Any]]:
    """Returns a function that executes a statement and blocks until it is done."""

    def execute(statement: SqlStatement) -> Sequence[Any]:
        run = connection.executemany if statement.many else connection.execute
        done = run(statement.sql, statement.parameters)
        return done.fetchall() if done.description else ()

    return execute
