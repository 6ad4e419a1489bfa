"""The `Ledger` over SQL, for any database: a subclass decides how to write and read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

import orjson

from stepwell.clock import Clock
from stepwell.errors import PaymentRequiredError, SessionClosedError
from stepwell.payments.cashu.money import Proof
from stepwell.payments.ledger.ledger import (
    Debt,
    Entry,
    Funding,
    HandedOut,
    Holding,
    NewFunding,
    Operation,
    Reservation,
    Session,
    Totals,
)
from stepwell.payments.ledger.sql import fundings, handed_out, operations, reservations, sums, threads
from stepwell.payments.ledger.sql.rows import as_list, find_session, proof_from, to_entry, to_funding, to_session
from stepwell.payments.states import FundingState, OperationState, SessionState
from stepwell.sql import Connection

T = TypeVar("T")
Work = Callable[[Connection], T]

# We use only the conditions that the caller asked for, so that SQLite can choose an index: sessions are never deleted, so there are many.
_SESSION_CONDITIONS = {
    "owner": "owner = :owner",
    "states": "state IN (SELECT value FROM json_each(:states))",
    "idle": "(touched_at < :idle OR ending = 1)",
}
_OLDEST_FIRST, _TOUCHED_LAST = "created_at, session_id", "touched_at DESC, session_id LIMIT :newest"
_FUNDINGS = """
SELECT * FROM payment_fundings
WHERE session_id = :session AND (CAST(:states AS TEXT) IS NULL OR state IN (SELECT value FROM json_each(:states)))
ORDER BY created_at, fingerprint
"""


class SqlLedger(ABC):
    """Each method is one piece of work. When `_write` returns, the work is committed; with `synced` it survives a power cut."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    @abstractmethod
    async def _write(self, work: Work[T], *, synced: bool = True) -> T: ...

    async def _write_for_run(self, work: Work[T], *, synced: bool = True) -> T:
        """Writes by the driver of a run: reserve, charge, confirm."""
        return await self._write(work, synced=synced)

    @abstractmethod
    async def _read(self, work: Work[T]) -> T: ...

    def _now(self) -> float:
        return self._clock.now().timestamp()

    async def add_funding(self, new: NewFunding) -> Funding:
        now = self._now()
        return await self._write(lambda connection: fundings.add_funding(connection, new, now))

    async def approve(self, session_id: str) -> Session:
        now = self._now()
        return await self._write(lambda connection: fundings.approve(connection, session_id, now))

    async def session(self, owner: str | None, session_id: str) -> Session:
        return await self._read(lambda connection: find_session(connection, owner, session_id))

    async def sessions(
        self,
        owner: str | None = None,
        states: Sequence[SessionState] = (),
        idle_since: datetime | None = None,
        *,
        newest: int | None = None,
    ) -> list[Session]:
        asked = {
            "owner": owner,
            "states": as_list(states) if states else None,
            "idle": idle_since.timestamp() if idle_since else None,
        }
        names = {name: value for name, value in asked.items() if value is not None}
        conditions = " AND ".join(_SESSION_CONDITIONS[name] for name in names) or "TRUE"
        order = _OLDEST_FIRST if newest is None else _TOUCHED_LAST
        sql = f"SELECT * FROM payment_sessions WHERE {conditions} ORDER BY {order}"  # noqa: S608 - fixed texts
        names |= {} if newest is None else {"newest": newest}
        return await self._read(lambda connection: [to_session(row) for row in connection.execute(sql, names)])

    async def fundings(self, session_id: str, states: Sequence[FundingState] = ()) -> list[Funding]:
        names = {"session": session_id, "states": as_list(states) if states else None}
        return await self._read(lambda connection: [to_funding(row) for row in connection.execute(_FUNDINGS, names)])

    async def funding(self, fingerprint: str) -> Funding | None:
        return await self._read(lambda connection: fundings.find_funding(connection, fingerprint))

    async def reserve(
        self, owner: str | None, session_id: str, key: str, amount: int, *, confirms: Sequence[str] = ()
    ) -> Reservation:
        now = self._now()

        def work(connection: Connection) -> Reservation | reservations.Short:
            if confirms:
                reservations.confirm(connection, session_id, confirms)
            return reservations.reserve(connection, owner, session_id, key, amount, now)

        # Losing a reservation in a power cut harms nobody; losing a charge does.
        outcome = await self._write_for_run(work, synced=False)
        if isinstance(outcome, reservations.Short):
            raise _shortage(outcome, amount)
        return outcome

    async def settle(self, key: str, attempt: int, cost: int) -> Reservation:
        now = self._now()
        return await self._write_for_run(lambda connection: reservations.settle(connection, key, attempt, cost, now))

    async def release(self, key: str, attempt: int) -> Reservation:
        now = self._now()
        return await self._write(lambda connection: reservations.release(connection, key, attempt, now), synced=False)

    async def confirm(self, session_id: str, keys: Sequence[str] | None = None) -> int:
        return await self._write_for_run(lambda connection: reservations.confirm(connection, session_id, keys), synced=False)

    async def undecided(self, session_id: str | None = None) -> list[Reservation]:
        return await self._read(lambda connection: reservations.undecided(connection, session_id))

    async def take_back(self, key: str, attempt: int) -> Reservation:
        now = self._now()
        return await self._write(lambda connection: reservations.take_back(connection, key, attempt, now))

    async def waive(self, key: str) -> Session:
        now = self._now()
        return await self._write_for_run(lambda connection: reservations.waive(connection, key, now))

    async def held_since(self, moment: datetime) -> list[Reservation]:
        return await self._read(lambda connection: reservations.held_since(connection, moment.timestamp()))

    async def next_counter(self, keyset_id: str, count: int) -> int:
        def work(connection: Connection) -> int:
            row = connection.execute(
                "INSERT INTO payment_counters (keyset_id, next) VALUES (:keyset, :count)"
                " ON CONFLICT (keyset_id) DO UPDATE SET next = payment_counters.next + :count RETURNING next",
                {"keyset": keyset_id, "count": count},
            ).fetchone()
            return int(row["next"]) - count

        return await self._write(work)

    async def begin(self, operation: Operation) -> Operation | None:
        now = self._now()
        return await self._write(lambda connection: operations.begin(connection, operation, now))

    async def complete(self, operation_id: str, proofs: Sequence[Proof], handed_out: HandedOut | None = None) -> bool:
        now = self._now()
        return await self._write(lambda connection: operations.complete(connection, operation_id, proofs, handed_out, now))

    async def fail(self, operation_id: str, reason: str, *, final: bool) -> bool:
        now = self._now()
        return await self._write(lambda connection: operations.fail(connection, operation_id, reason, final, now))

    async def mark_unknown(self, operation_id: str, reason: str) -> bool:
        now = self._now()
        return await self._write(lambda connection: operations.mark_unknown(connection, operation_id, reason, now))

    async def reopen(self, operation_id: str) -> Operation:
        now = self._now()
        return await self._write(lambda connection: operations.reopen(connection, operation_id, now))

    async def operations(self, states: Sequence[OperationState] = ("pending",)) -> list[Operation]:
        return await self._read(lambda connection: operations.list_operations(connection, states))

    async def operation(self, operation_id: str) -> Operation:
        return await self._read(lambda connection: operations.find_operation(connection, operation_id))

    async def session_proofs(self, session_id: str) -> list[Proof]:
        sql = "SELECT proof FROM payment_proofs WHERE session_id = ? AND holder = 'session' ORDER BY amount DESC, point"
        return await self._read(
            lambda connection: [proof_from(orjson.loads(row["proof"])) for row in connection.execute(sql, (session_id,))]
        )

    async def close_empty(self, session_id: str, new: HandedOut) -> HandedOut | None:
        now = self._now()
        return await self._write(lambda connection: handed_out.close_empty(connection, session_id, new, now))

    async def keep_rest(self, session_id: str) -> int:
        return await self._write(lambda connection: handed_out.keep_rest(connection, session_id))

    async def hand_back(self, session_id: str, new: HandedOut) -> HandedOut:
        now = self._now()
        return await self._write(lambda connection: handed_out.hand_back(connection, session_id, new, now))

    async def handed_out(self, owner: str | None, token_id: str) -> HandedOut:
        return await self._read(lambda connection: handed_out.find_handed_out(connection, owner, token_id))

    async def refund_of(self, session_id: str) -> HandedOut | None:
        return await self._read(lambda connection: handed_out.find_refund(connection, session_id))

    async def unclaimed(self, owner: str | None = None) -> list[HandedOut]:
        return await self._read(lambda connection: handed_out.list_unclaimed(connection, owner))

    async def mark_claimed(self, token_id: str) -> None:
        now = self._now()
        await self._write(lambda connection: handed_out.mark_claimed(connection, token_id, now))

    async def earnings(self, mint: str) -> list[Proof]:
        return await self._read(lambda connection: handed_out.list_earnings(connection, mint))

    async def pay_out(self, new: HandedOut, proofs: Sequence[Proof]) -> HandedOut:
        now = self._now()
        return await self._write(lambda connection: handed_out.pay_out(connection, new, proofs, now))

    async def attach(self, session_id: str, thread_id: str) -> None:
        await self._write(lambda connection: threads.attach(connection, session_id, thread_id), synced=False)

    async def thread_sessions(self, owner: str | None, thread_id: str) -> list[Session]:
        return await self._read(lambda connection: fundings.list_thread_sessions(connection, owner, thread_id))

    async def detach(self, thread_id: str) -> None:
        await self._write(lambda connection: threads.detach(connection, thread_id), synced=False)

    async def entries(self, owner: str | None, session_id: str, after: int = 0, limit: int = 1000) -> list[Entry]:
        def work(connection: Connection) -> list[Entry]:
            find_session(connection, owner, session_id)
            rows = connection.execute(
                "SELECT * FROM payment_entries WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?",
                (session_id, after, limit),
            )
            return [to_entry(row) for row in rows]

        return await self._read(work)

    async def totals(self) -> Totals:
        return await self._read(sums.sum_up)

    async def owed(self) -> list[Debt]:
        return await self._read(sums.list_debts)

    async def holdings(self) -> list[Holding]:
        return await self._read(sums.list_holdings)


def _shortage(short: reservations.Short, needed: int) -> Exception:
    session = short.session
    if short.why == "session_closed":
        return SessionClosedError(
            f"Payment session '{session.session_id}' is {session.state}: nothing can be spent from it any more. Fund a new one."
        )
    if short.why == "ceiling":
        message = (
            f"The next call costs up to {needed} sats, and the ceiling of {session.ceiling} sats leaves "
            f"{max(0, (session.ceiling or 0) - session.spent - session.reserved)}. Raise the ceiling to go on."
        )
    else:
        message = f"The next call costs up to {needed} sats, and {session.available} can be spent. Top up the session to go on."
    return PaymentRequiredError(
        message, needed_sats=needed, balance_sats=session.available, code=short.why, spent_sats=session.spent
    )
