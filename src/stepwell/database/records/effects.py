"""Effects as records: which effects have an unknown outcome, and what a person found out about them. Runs write the journal itself
(`effect_journal`).

An effect belongs to the owner of the thread on which it began. If that thread was deleted, it belongs to nobody, and only the program
itself sees it.
"""

from __future__ import annotations

from stepwell.database.records.base import RecordsPart
from stepwell.database.records.searching import Clause, Order, all_of, order_by, owned_by
from stepwell.database.records.types import EffectFilter, EffectOutcome, EffectRecord, Page
from stepwell.database.rows import from_time, to_time
from stepwell.errors import InvalidRequestError, NotFoundError, ThreadBusyError
from stepwell.sql import Connection, Row

_ORDER: Order = {"created_at": "e.created_at"}
_RUN_UNDER_WAY = "SELECT 1 FROM runs AS r WHERE r.run_id = e.run_id AND r.status IN ('pending', 'running')"
_EFFECTS = f"""
SELECT e.*, t.owner, EXISTS ({_RUN_UNDER_WAY}) AS under_way
FROM effects AS e LEFT JOIN threads AS t ON t.thread_id = e.thread_id
"""  # noqa: S608 - fixed text
_ORIGIN = "(SELECT origin FROM threads WHERE thread_id = ?)"
_OPEN = Clause(f"(e.state = 'begun' OR e.taken_back = 1) AND e.settled_at IS NULL AND NOT EXISTS ({_RUN_UNDER_WAY})")
_SETTLE = """
UPDATE effects SET state = :state, note = :note, settled_at = :now, settled_by = :by WHERE origin = :origin AND key = :key
"""


class EffectRecords(RecordsPart):
    """The part of the repository that is about effects."""

    async def effects(self, owner: str | None, wanted: EffectFilter, page: Page) -> list[EffectRecord]:
        """A page of effects, newest first. Effects of deleted threads belong to nobody, so only the program itself sees them."""
        chosen = [owned_by(self._database.dialect, owner, "t")]
        if wanted.open:
            chosen.append(_OPEN)
        if wanted.thread_id is not None:
            chosen.append(Clause(f"e.thread_id = ? OR e.origin = {_ORIGIN}", (wanted.thread_id, wanted.thread_id)))
        where, tail = all_of(*chosen), order_by(page, _ORDER, then="e.key")
        sql = f"{_EFFECTS} WHERE {where.sql}{tail.sql}"
        return await self._database.read(
            lambda connection: [_record(row) for row in connection.execute(sql, where.bound + tail.bound)]
        )

    async def settle_effect(self, owner: str | None, key: str, *, happened: bool, note: str = "", by: str) -> EffectRecord:
        """Record the outcome of an effect whose outcome is unknown; the model learns it when the thread continues.

        Recording the same outcome again changes nothing. `InvalidRequestError` if a different outcome is already known, `ThreadBusyError`
        while the run is under way.
        """
        now = to_time(self._clock.now())

        def work(connection: Connection) -> EffectRecord:
            known = _find(connection, owner, key)
            if _is_settled(known, happened=happened):
                return known
            state = "done" if happened else "not_done"
            names = {"state": state, "note": note, "now": now, "by": by, "origin": _origin(key), "key": key}
            connection.execute(_SETTLE, names)
            return _find(connection, owner, key)

        return await self._database.write(work)


def _find(connection: Connection, owner: str | None, key: str) -> EffectRecord:
    where = all_of(Clause("e.origin = ? AND e.key = ?", (_origin(key), key)), owned_by(connection.dialect, owner, "t"))
    row = connection.execute(f"{_EFFECTS} WHERE {where.sql}", where.bound).fetchone()
    if row is None:
        raise NotFoundError("effect", key, "List the effects to see which there are.")
    return _record(row)


def _is_settled(known: EffectRecord, *, happened: bool) -> bool:
    """Whether the effect was settled with this outcome before. Raises if `happened` contradicts what is known."""
    if known.outcome == "under_way":
        raise ThreadBusyError(
            f"Effect '{known.key}' is under way: its run has not ended. Wait for it, or cancel it, then check again."
        )
    if known.outcome == "unknown":
        return False
    if (known.outcome == "done") is not happened:
        fact = "it was done" if known.outcome == "done" else "it was not done"
        raise InvalidRequestError(f"The outcome of effect '{known.key}' is already known: {fact}. It cannot be changed.")
    return known.settled_at is not None or not known.taken_back


def _origin(key: str) -> str:
    """The prefix of an effect's key, which a thread shares with its copies."""
    return key.partition("/")[0]


def _record(row: Row) -> EffectRecord:
    known: dict[str, EffectOutcome] = {"done": "done", "not_done": "not_done"}
    return EffectRecord(
        key=row["key"],
        tool=row["tool"],
        outcome=known.get(row["state"], "under_way" if row["under_way"] else "unknown"),
        begun_at=from_time(row["created_at"]),
        thread_id=row["thread_id"],
        run_id=row["run_id"] or None,
        owner=row["owner"],
        taken_back=bool(row["taken_back"]),
        note=row["note"],
        settled_at=None if row["settled_at"] is None else from_time(row["settled_at"]),
        settled_by=row["settled_by"],
    )
