"""Finds out which charges have their answers stored in a thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from stepwell.database.checkpoints.packing import PackedSerializer
from stepwell.database.persistence import Persistence
from stepwell.payments.states import CHARGED
from stepwell.sql import Connection

_UNDER_WAY = "SELECT 1 FROM runs WHERE thread_id = ? AND status IN ('pending', 'running') LIMIT 1"
_CHARGES = "SELECT type, value FROM writes WHERE thread_id = ? AND channel = ?"


@dataclass(frozen=True)
class ChargesStored:
    """What a thread has stored about charges."""

    kept: frozenset[str]
    """The charges whose answers are stored. For a deleted thread these are all charges, because what it owes stays owed."""
    at_rest: bool
    """Whether none of the thread's runs is running or waiting. If so, the answers to charges outside `kept` are lost."""


async def stored_charges(persistence: Persistence, thread_id: str, keys: Sequence[str]) -> ChargesStored:
    """Which of these charges are in the thread with their answers (`payment_charged`), and whether the thread is idle."""
    saver = persistence.saver()
    load = PackedSerializer(saver.serde).loads_typed

    def work(connection: Connection) -> ChargesStored:
        if connection.execute("SELECT 1 FROM threads WHERE thread_id = ?", (thread_id,)).fetchone() is None:
            return ChargesStored(frozenset(keys), at_rest=True)
        busy = connection.execute(_UNDER_WAY, (thread_id,)).fetchone()
        rows = connection.execute(_CHARGES, (thread_id, CHARGED)).fetchall()
        stored = {load((row["type"], row["value"])) for row in rows}
        return ChargesStored(frozenset(keys) & stored, at_rest=busy is None)

    charges = await persistence.database.read(work)
    if len(charges.kept) == len(keys):
        return charges
    # A run that stores nothing before its end leaves only its newest checkpoint, without writes.
    newest = await saver.aget_tuple({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}})
    last = newest.checkpoint["channel_values"].get(CHARGED) if newest else None
    return replace(charges, kept=charges.kept | {key for key in keys if key == last})
