"""Crons in the database, and what became of their slots. `runs/crons` knows schedules; here a slot is only a moment.

```
due ──settle──> its slots up to now are settled: at most one fired, in the transaction that admits its run; the others missed or refused
                next_run is the next slot, or NULL
```
Rule to keep: whatever settles slots or changes a cron does so only if the cron's `revision` is the one that was read, and raises it. So of
two servers that see the same slot, one starts its run, and a cron that was changed in between is looked at again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Literal

from stepwell.backends.objects.grants import Grants
from stepwell.clock import Clock
from stepwell.database.callers import Caller, filter_from_json, filter_of, filter_to_json
from stepwell.database.database import SqlDatabase
from stepwell.database.records import request_keys
from stepwell.database.records.searching import Clause, Order, all_of, contains, matches, order_by, owned_by, personal
from stepwell.database.records.types import Page
from stepwell.database.rows import dumps, from_time, loads, to_time
from stepwell.database.types import Json, RequestKey
from stepwell.errors import LimitReachedError, NotFoundError
from stepwell.secrets.values import without_secrets
from stepwell.sql import Connection, Dialect, Row

SlotState = Literal["fired", "missed", "refused"]

KEPT_SLOTS = 1000
"""How many rows about its slots a cron keeps. Older ones are deleted; their slots stay settled."""
_LAST = 9e15
_NOTE_SLOT = "INSERT INTO cron_slots (cron_id, slot, state, last_slot, run_id, thread_id, note, noted_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_ORDER: Order = {
    "cron_id": "cron_id",
    "assistant_id": "assistant_id",
    "thread_id": "COALESCE(thread_id, '')",
    "next_run_date": f"COALESCE(next_run, {_LAST})",
    "end_time": f"COALESCE(end_time, {_LAST})",
    "created_at": "created_at",
    "updated_at": "updated_at",
}


@dataclass(frozen=True)
class CronAccess:
    """How a cron's owner had signed in when the cron was made."""

    via: str = "local"
    key_id: str | None = None
    """The API key, or the key of the session. If it exists, its grants are used and not those below."""
    grants: Grants = field(default_factory=Grants)
    user: Json | None = None
    """What a project's `authenticate` returned, for the graphs of its runs. Without secrets: a cron may live for years, and tokens do
    not."""
    filters: Mapping[str, Any] = field(default_factory=dict)
    """Which threads and assistants handlers let the owner use then, by resource, as stored by `filter_to_json`."""

    @classmethod
    def of(cls, owner: str, via: str, key_id: str | None, grants: Grants) -> CronAccess:
        if not isinstance(owner, Caller):
            return cls(via, key_id, grants)
        found = {
            name: filter_to_json(each) for name in ("threads", "assistants") if (each := filter_of(owner, name)) is not None
        }
        return cls(via, key_id, grants, None if owner.user is None else without_secrets(owner.user), found)


@dataclass(frozen=True)
class Cron:
    """A run on a schedule."""

    cron_id: str
    owner: str
    assistant_id: str
    schedule: str
    created_at: datetime
    updated_at: datetime
    since: datetime
    """Slots up to this moment are settled."""
    thread_id: str | None = None
    timezone: str | None = None
    end_time: datetime | None = None
    enabled: bool = True
    order: Json = field(default_factory=dict)
    """What its runs are asked to do: fields of `RunOrder`."""
    metadata: Json = field(default_factory=dict)
    access: CronAccess = field(default_factory=CronAccess)
    next_run: datetime | None = None
    ended_because: str | None = None
    revision: int = 0

    @property
    def caller(self) -> str:
        """The cron's owner, with what handlers decided when the cron was made: its runs are started for them."""
        if not self.access.user and not self.access.filters:
            return self.owner
        filters = {name: filter_from_json(stored) for name, stored in self.access.filters.items()}
        return Caller(self.owner, user=self.access.user, threads=filters.get("threads"), assistants=filters.get("assistants"))


@dataclass(frozen=True)
class CronSlot:
    """What became of a slot, or of all slots from `slot` to `last_slot`."""

    slot: datetime
    state: SlotState
    noted_at: datetime
    last_slot: datetime | None = None
    run_id: str | None = None
    """None also if its thread has been deleted since."""
    thread_id: str | None = None
    note: str | None = None


@dataclass(frozen=True)
class CronFilter:
    assistant_id: str | None = None
    thread_id: str | None = None
    enabled: bool | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class CronTable:
    """Belongs to the event loop of the process."""

    def __init__(self, database: SqlDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self.changed = asyncio.Event()
        """Set when a cron may have a new next slot, whoever changed it."""

    def hear_of_change(self) -> None:
        self.changed.set()

    async def create(self, cron: Cron, max_per_owner: int, key: RequestKey | None = None) -> Cron:
        """If the key has created a cron before, returns that one while it exists."""
        self._database.require_room()

        def work(connection: Connection) -> Cron:
            made = request_keys.recall(connection, key) if key else None
            if made and (row := _row(connection, cron.owner, made[0])) is not None:
                return _from_row(row)
            _require_room(connection, cron.owner, max_per_owner)
            if cron.thread_id is not None:
                _require_thread(connection, cron.caller, cron.thread_id)
            names = ", ".join(values := _columns(cron))
            marks = ", ".join(f":{name}" for name in values)
            connection.execute(f"INSERT INTO crons ({names}) VALUES ({marks})", values)  # noqa: S608 - names of ours
            if key:
                request_keys.remember(connection, key, [cron.cron_id], to_time(cron.created_at))
            return cron

        created = await self._database.write(work)
        self.changed.set()
        return created

    async def get(self, owner: str | None, cron_id: str) -> Cron:
        row = await self._database.read(lambda connection: _row(connection, owner, cron_id))
        if row is None:
            raise _missing(cron_id)
        return _from_row(row)

    async def change(self, before: Cron, after: Cron, missed: CronSlot | None = None) -> bool:
        """Store a cron in place of the one that was read. Returns whether nobody has changed it meanwhile. If `since` becomes earlier,
        what was noted about later slots is forgotten: they have yet to come. What has fired stays noted, so it does not fire again."""
        values = _columns(after)
        sets = ", ".join(f"{name} = :{name}" for name in values if name not in ("cron_id", "revision"))
        sql = f"UPDATE crons SET {sets}, revision = revision + 1 WHERE cron_id = :cron_id AND revision = :revision"  # noqa: S608 - ours
        bound = {**values, "revision": before.revision}

        def work(connection: Connection) -> bool:
            if not connection.execute(sql, bound).rowcount:
                return False
            if after.since < before.since:
                late = (after.cron_id, since := to_time(after.since))
                connection.execute("DELETE FROM cron_slots WHERE cron_id = ? AND slot > ? AND state <> 'fired'", late)
                shorten = "UPDATE cron_slots SET last_slot = ? WHERE cron_id = ? AND last_slot > ?"
                connection.execute(shorten, (since, *late))
            if missed is not None:
                connection.execute(_NOTE_SLOT, _slot_columns(after, missed))
            return True

        done = await self._database.write(work)
        self.changed.set()
        return done

    async def delete(self, owner: str | None, cron_id: str) -> None:
        where = all_of(Clause("cron_id = ?", (cron_id,)), _seen_by(self._database.dialect, owner))
        sql = f"DELETE FROM crons WHERE {where.sql}"  # noqa: S608 - clauses of ours
        if not await self._database.write(lambda connection: connection.execute(sql, where.bound).rowcount, frees=True):
            raise _missing(cron_id)

    async def search(self, owner: str | None, wanted: CronFilter, page: Page) -> list[Cron]:
        where, tail = _matching(self._database.dialect, owner, wanted), order_by(page, _ORDER, then="cron_id")
        sql = f"SELECT * FROM crons WHERE {where.sql}{tail.sql}"  # noqa: S608 - clauses of ours
        rows = await self._database.read(lambda connection: connection.execute(sql, where.bound + tail.bound).fetchall())
        return [_from_row(row) for row in rows]

    async def count(self, owner: str | None, wanted: CronFilter) -> int:
        where = _matching(self._database.dialect, owner, wanted)
        sql = f"SELECT COUNT(*) FROM crons WHERE {where.sql}"  # noqa: S608 - clauses of ours
        return int(await self._database.read(lambda connection: connection.execute(sql, where.bound).fetchone()[0]))

    async def slots(
        self, owner: str | None, cron_id: str, *, before: datetime | None = None, limit: int = 100
    ) -> list[CronSlot]:
        """What became of the cron's slots, newest first, up to the slot `before`."""

        def work(connection: Connection) -> list[Row]:
            if _row(connection, owner, cron_id) is None:
                raise _missing(cron_id)
            return connection.execute(
                "SELECT * FROM cron_slots WHERE cron_id = ? AND slot < ? ORDER BY slot DESC LIMIT ?",
                (cron_id, _LAST if before is None else to_time(before), limit),
            ).fetchall()

        return [_slot_from_row(row) for row in await self._database.read(work)]

    async def next_due(self) -> datetime | None:
        """The earliest slot of all crons."""
        row = await self._database.read(
            lambda connection: connection.execute("SELECT MIN(next_run) FROM crons WHERE next_run IS NOT NULL").fetchone()
        )
        return None if row[0] is None else from_time(row[0])

    async def ahead(self, moment: datetime) -> list[Cron]:
        """Crons with a slot after this moment that is settled already."""
        sql, bound = "SELECT * FROM crons WHERE since > ?", (to_time(moment),)
        rows = await self._database.read(lambda connection: connection.execute(sql, bound).fetchall())
        return [_from_row(row) for row in rows]

    async def due(self, now: datetime, limit: int) -> list[Cron]:
        """Crons with a slot up to now."""
        bound = (to_time(now), limit)
        sql = "SELECT * FROM crons WHERE next_run IS NOT NULL AND next_run <= ? ORDER BY next_run, cron_id LIMIT ?"
        rows = await self._database.read(lambda connection: connection.execute(sql, bound).fetchall())
        return [_from_row(row) for row in rows]

    async def noted(self, cron: Cron) -> frozenset[datetime]:
        """The slots after `since` that have fired all the same, before the clock was set back."""
        sql, bound = "SELECT slot FROM cron_slots WHERE cron_id = ? AND slot > ?", (cron.cron_id, to_time(cron.since))
        rows = await self._database.read(lambda connection: connection.execute(sql, bound).fetchall())
        return frozenset(from_time(row["slot"]) for row in rows)

    async def settle(
        self, cron: Cron, settled: Sequence[CronSlot], next_run: datetime | None, ended: str | None = None
    ) -> bool:
        """Settle slots without a run; with `ended`, also end the cron. Returns whether nobody else has done so."""
        return await self._database.write(settling(cron, settled, next_run, ended))


def settling(
    cron: Cron, settled: Sequence[CronSlot], next_run: datetime | None, ended: str | None = None
) -> Callable[[Connection], bool]:
    """Settle a cron's slots, in the caller's transaction. Does nothing and returns False if the cron was changed since it was read."""
    since = max((slot.last_slot or slot.slot for slot in settled), default=cron.since)
    upcoming = None if next_run is None or ended else to_time(next_run)
    kept = "SELECT slot FROM cron_slots WHERE cron_id = ? ORDER BY slot DESC LIMIT 1 OFFSET ?"

    def work(connection: Connection) -> bool:
        mine = connection.execute(
            "UPDATE crons SET since = ?, next_run = ?, ended_because = ?, enabled = ?, revision = revision + 1"
            " WHERE cron_id = ? AND revision = ?",
            (to_time(since), upcoming, ended, int(cron.enabled and not ended), cron.cron_id, cron.revision),
        )
        if not mine.rowcount:
            return False
        connection.executemany(_NOTE_SLOT, [_slot_columns(cron, slot) for slot in settled])
        oldest = connection.execute(kept, (cron.cron_id, KEPT_SLOTS - 1)).fetchone()
        if oldest is not None:
            connection.execute("DELETE FROM cron_slots WHERE cron_id = ? AND slot < ?", (cron.cron_id, oldest["slot"]))
        return True

    return work


def _seen_by(dialect: Dialect, owner: str | None) -> Clause:
    """The crons that this caller may see and change, like `owned_by` for threads."""
    found = filter_of(owner, "crons")
    return personal(owner) if found is None else matches(dialect, "metadata", found)


def _matching(dialect: Dialect, owner: str | None, wanted: CronFilter) -> Clause:
    clauses = [_seen_by(dialect, owner), contains(dialect, "metadata", wanted.metadata)]
    if wanted.assistant_id is not None:
        clauses.append(Clause("assistant_id = ?", (wanted.assistant_id,)))
    if wanted.thread_id is not None:
        clauses.append(Clause("thread_id = ?", (wanted.thread_id,)))
    if wanted.enabled is not None:
        clauses.append(Clause("enabled = ?", (int(wanted.enabled),)))
    return all_of(*clauses)


def _require_room(connection: Connection, owner: str, max_per_owner: int) -> None:
    count = connection.execute("SELECT COUNT(*) FROM crons WHERE owner = ?", (owner,)).fetchone()[0]
    if count >= max_per_owner:
        raise LimitReachedError(f"You have {count} crons, which is as many as this server allows. Delete one first.")


def _require_thread(connection: Connection, owner: str, thread_id: str) -> None:
    """In the transaction that stores the cron: a thread that is deleted takes its crons along."""
    where = all_of(Clause("thread_id = ?", (thread_id,)), owned_by(connection.dialect, owner, by_id=True))
    if connection.execute(f"SELECT 1 FROM threads WHERE {where.sql}", where.bound).fetchone() is None:  # noqa: S608 - clauses of ours
        raise NotFoundError("thread", thread_id, "Search the threads to see which there are, or create it.")


def _row(connection: Connection, owner: str | None, cron_id: str) -> Row | None:
    where = all_of(Clause("cron_id = ?", (cron_id,)), _seen_by(connection.dialect, owner))
    sql = f"SELECT * FROM crons WHERE {where.sql}"  # noqa: S608 - clauses of ours
    row: Row | None = connection.execute(sql, where.bound).fetchone()
    return row


def _missing(cron_id: str) -> NotFoundError:
    return NotFoundError("cron", cron_id, "Search the crons to see which there are.")


_MOMENTS = frozenset({"created_at", "updated_at", "since", "end_time", "next_run"})
_JSON = frozenset({"order", "metadata", "access"})


def _columns(cron: Cron) -> dict[str, Any]:
    values = {}
    for each in fields(cron):
        value = getattr(cron, each.name)
        if each.name in _JSON:
            value = dumps(value)
        elif value is not None and each.name in _MOMENTS:
            value = to_time(value)
        values["run_order" if each.name == "order" else each.name] = int(value) if isinstance(value, bool) else value
    return values


def _from_row(row: Row) -> Cron:
    values: dict[str, Any] = {}
    for each in fields(Cron):
        value = row["run_order" if each.name == "order" else each.name]
        if each.name in _JSON:
            value = loads(value)
        elif value is not None and each.name in _MOMENTS:
            value = from_time(value)
        values[each.name] = value
    access = values["access"]
    grants: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in access["grants"].items()
    }
    return Cron(
        **{**values, "enabled": bool(values["enabled"]), "access": CronAccess(**{**access, "grants": Grants(**grants)})}
    )


def _slot_columns(cron: Cron, slot: CronSlot) -> tuple[Any, ...]:
    last = None if slot.last_slot is None else to_time(slot.last_slot)
    at, noted = to_time(slot.slot), to_time(slot.noted_at)
    return (cron.cron_id, at, slot.state, last, slot.run_id, slot.thread_id, slot.note, noted)


def _slot_from_row(row: Row) -> CronSlot:
    return CronSlot(
        slot=from_time(row["slot"]),
        state=row["state"],
        noted_at=from_time(row["noted_at"]),
        last_slot=None if row["last_slot"] is None else from_time(row["last_slot"]),
        run_id=row["run_id"],
        thread_id=row["thread_id"],
        note=row["note"],
    )
