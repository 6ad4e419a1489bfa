"""The tables of connections, and the statements on them. A deleted connection keeps its row without key and address, so that runs and
spending that refer to it can still name it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import orjson

from stepwell.database.access import NOTHING, all_of, owned_by
from stepwell.database.tables import ProductTables
from stepwell.sql import Clause, Connection, Row

Task = Literal["default", "plan", "write", "judge"]
TASKS: tuple[Task, ...] = get_args(Task)
EVERYONE = ""
"""The owner of the choices that an operator makes for everyone."""
_ALLOWED = "allowed"
_RULES = """
SELECT 'choice' AS kind, owner, task AS name, connection_id, model AS value FROM model_choices WHERE owner IN (?, '')
UNION ALL SELECT 'rule', '', name, '', value FROM model_rules WHERE name = ?
UNION ALL SELECT 'connection', '', '', '', '' WHERE EXISTS (
  SELECT 1 FROM connections WHERE deleted_at IS NULL AND (owner = ? OR shared = 1))
UNION ALL SELECT 'thread', '', '', '', metadata FROM threads WHERE {thread}
"""

TABLES = ProductTables("connections", "stepwell.connections.schema")


@dataclass(frozen=True)
class Stored:
    """A stored connection."""

    id: str
    owner: str
    provider: str
    label: str
    base_url: str | None = field(repr=False)
    sealed_key: bytes | None = field(repr=False)
    key_hint: str | None
    models: tuple[str, ...]
    limits: Mapping[str, float | None]
    shared: bool
    public: bool
    """Whether its address must be on the public internet, because an ordinary user gave it."""
    revision: int
    created_at: float
    deleted: bool = False

    @property
    def bound_to(self) -> tuple[str, str]:
        """What its sealed key is bound to."""
        return self.id, self.owner


@dataclass(frozen=True)
class Ref:
    """A model through a connection, by their names."""

    connection: str
    model: str


def read_connections(connection: Connection, caller: str | None) -> list[Stored]:
    """The connections that a caller may use: their own, and those for everyone. Oldest first."""
    rows = connection.execute(
        "SELECT * FROM connections WHERE deleted_at IS NULL AND (owner = ? OR shared = 1) ORDER BY created_at, id",
        (caller or "",),
    )
    return [_stored(row) for row in rows]


def read_connection(connection: Connection, connection_id: str) -> Stored | None:
    """A connection, also a deleted one."""
    row = connection.execute("SELECT * FROM connections WHERE id = ?", (connection_id,)).fetchone()
    return _stored(row) if row else None


def count_others(connection: Connection, stored: Stored) -> int:
    """How many connections its owner has beside this one."""
    row = connection.execute(
        "SELECT COUNT(*) AS number FROM connections WHERE deleted_at IS NULL AND owner = ? AND id <> ?",
        (stored.owner, stored.id),
    ).fetchone()
    return int(row["number"]) if row else 0


def all_connections(connection: Connection) -> list[Stored]:
    """Every connection that has a key."""
    return [_stored(row) for row in connection.execute("SELECT * FROM connections WHERE sealed_key IS NOT NULL")]


def put_connection(connection: Connection, stored: Stored) -> None:
    """Store a connection, new or changed. A deleted one stays deleted."""
    columns = ("id", "owner", "provider", "label", "base_url", "sealed_key", "key_hint", "models", "limits", "shared", "public",
               "revision", "created_at")  # fmt: skip
    changed = ", ".join(f"{name} = excluded.{name}" for name in columns[3:-1])
    values = {
        **{name: getattr(stored, name) for name in columns},
        "models": orjson.dumps(stored.models).decode(),
        "limits": orjson.dumps(stored.limits).decode(),
        "shared": int(stored.shared),
        "public": int(stored.public),
    }
    connection.execute(
        f"INSERT INTO connections ({', '.join(columns)}) VALUES ({', '.join(f':{name}' for name in columns)})"  # noqa: S608  fixed names
        f" ON CONFLICT (id) DO UPDATE SET {changed} WHERE connections.deleted_at IS NULL",
        values,
    )


def replace_seal(connection: Connection, stored: Stored, before: bytes) -> None:
    """Replace a sealed key by the same key sealed anew, unless it has changed meanwhile."""
    connection.execute(
        "UPDATE connections SET sealed_key = ? WHERE id = ? AND sealed_key = ?", (stored.sealed_key, stored.id, before)
    )


def delete_connection(connection: Connection, connection_id: str, now: float) -> None:
    """Erase a connection's key and address, and every choice of it."""
    connection.execute(
        "UPDATE connections SET sealed_key = NULL, key_hint = NULL, base_url = NULL, deleted_at = ?, revision = revision + 1"
        " WHERE id = ?",
        (now, connection_id),
    )
    connection.execute("DELETE FROM model_choices WHERE connection_id = ?", (connection_id,))


def forget_choices_of_others(connection: Connection, connection_id: str, owner: str) -> None:
    """Remove the choices of a connection that is no longer for everyone."""
    connection.execute("DELETE FROM model_choices WHERE connection_id = ? AND owner <> ?", (connection_id, owner))


def read_choices(connection: Connection, owner: str) -> dict[Task, Ref]:
    rows = connection.execute("SELECT task, connection_id, model FROM model_choices WHERE owner = ?", (owner,))
    return {row["task"]: Ref(row["connection_id"], row["model"]) for row in rows if row["task"] in TASKS}


class Rules(NamedTuple):
    """What is chosen and allowed for a caller."""

    mine: Mapping[Task, Ref]
    everyones: Mapping[Task, Ref]
    allowed: tuple[str, ...] | None
    """The models that may be used, as `provider:name` or `provider:*`; None if all may."""
    connected: bool
    """Whether there are connections that the caller may use."""
    thread: Mapping[str, Any]
    """The thread's metadata; empty if the caller has no such thread."""


def read_rules(connection: Connection, caller: str | None, thread_id: str | None = None) -> Rules:
    """All of this with one statement, because every run asks for it."""
    choices: dict[str, dict[Task, Ref]] = {caller or EVERYONE: {}, EVERYONE: {}}
    allowed, connected, thread = None, False, {}
    named = all_of(Clause("thread_id = ?", (thread_id,)), owned_by(connection.dialect, caller, by_id=True))
    where = NOTHING if thread_id is None else named
    bound = (caller or EVERYONE, _ALLOWED, caller or EVERYONE, *where.bound)
    for kind, owner, name, connection_id, value in connection.execute(_RULES.format(thread=where.sql), bound):
        match kind:
            case "choice" if name in TASKS:
                choices[owner][name] = Ref(connection_id, value)
            case "rule":
                allowed = tuple(orjson.loads(value))
            case "connection":
                connected = True
            case "thread":
                thread = orjson.loads(value)
    return Rules(choices[caller] if caller else {}, choices[EVERYONE], allowed, connected, thread)


def put_choices(connection: Connection, owner: str, choices: Mapping[Task, Ref | None]) -> None:
    """Change some choices; None removes one."""
    for task, ref in choices.items():
        connection.execute("DELETE FROM model_choices WHERE owner = ? AND task = ?", (owner, task))
        if ref is not None:
            connection.execute(
                "INSERT INTO model_choices (owner, task, connection_id, model) VALUES (?, ?, ?, ?)",
                (owner, task, ref.connection, ref.model),
            )


def put_allowed(connection: Connection, allowed: Sequence[str] | None) -> None:
    connection.execute("DELETE FROM model_rules WHERE name = ?", (_ALLOWED,))
    if allowed is not None:
        connection.execute(
            "INSERT INTO model_rules (name, value) VALUES (?, ?)", (_ALLOWED, orjson.dumps(list(allowed)).decode())
        )


def _stored(row: Row) -> Stored:
    values: dict[str, Any] = {name: row[name] for name in Stored.__dataclass_fields__ if name != "deleted"}
    sealed = values["sealed_key"]
    return Stored(
        **{
            **values,
            "sealed_key": bytes(sealed) if sealed is not None else None,
            "models": tuple(orjson.loads(values["models"])),
            "limits": orjson.loads(values["limits"]),
            "shared": bool(values["shared"]),
            "public": bool(values["public"]),
        },
        deleted=row["deleted_at"] is not None,
    )
