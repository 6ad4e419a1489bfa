"""Money for a call: set aside before it, charged after it, released if it fails.

```
reserve ──> held ──settle──> settled ──confirm──> confirmed        the answer is checkpointed: the charge stands
              │                 ├──reserve again──> void           the answer was lost: charged back and counted, and the call is retried
              │                 ├──take back──────> void           the same, without a retry
              │                 └──waive──────────> void           one of our rules refused all that the answer asked for: charged back
              └──release──> released
```
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from stepwell.errors import NotFoundError
from stepwell.payments.ledger.ledger import Reservation, Session
from stepwell.payments.ledger.sql.rows import find_session, move, to_reservation, to_session, write_entry, write_line
from stepwell.payments.states import SPENDS_MONEY
from stepwell.sql import Connection


@dataclass(frozen=True)
class Short:
    """Not enough money. It is returned and not raised, because an exception would roll back the note that the session is exhausted."""

    why: Literal["unredeemed", "ceiling", "balance_short", "session_closed"]
    session: Session


def reserve(
    connection: Connection, owner: str | None, session_id: str, key: str, amount: int, now: float
) -> Reservation | Short:
    session = find_session(connection, owner, session_id)
    last = _last(connection, key)
    if last is not None:
        _end(connection, last, now)
        session = find_session(connection, owner, session_id)
    if short := _find_shortage(connection, session, amount, now):
        return short
    attempt = last.attempt + 1 if last else 1
    connection.execute(
        "INSERT INTO payment_reservations (key, attempt, session_id, owner, state, held, created_at) VALUES (?, ?, ?, ?, 'held', ?, ?)",
        (key, attempt, session_id, session.owner, amount, now),
    )
    # One statement for the sum and the state, because every model call waits for it. There is enough money, so the session may be active.
    connection.execute(
        "UPDATE payment_sessions SET reserved = reserved + ?, state = 'active', reason = NULL, touched_at = MAX(touched_at, ?)"
        " WHERE session_id = ?",
        (amount, now, session_id),
    )
    return Reservation(key, attempt, session_id, "held", amount)


def settle(connection: Connection, key: str, attempt: int, cost: int, now: float) -> Reservation:
    reservation = find(connection, key, attempt)
    session = find_session(connection, None, reservation.session_id)
    if reservation.state != "held" and not _came_back(connection, reservation):
        return replace(reservation, session=session)
    held = reservation.held if reservation.state == "held" else 0
    charged = min(cost, _limit(session, held)) if session.state in SPENDS_MONEY else 0
    connection.execute(
        "UPDATE payment_reservations SET state = 'settled', charged = ? WHERE key = ? AND attempt = ?", (charged, key, attempt)
    )
    write_line(connection, session, "charge", charged, _name(reservation), now)
    row = connection.execute(
        "UPDATE payment_sessions SET reserved = reserved - ?, spent = spent + ?, touched_at = MAX(touched_at, ?)"
        " WHERE session_id = ? RETURNING *",
        (held, charged, now, session.session_id),
    ).fetchone()
    return replace(reservation, state="settled", charged=charged, session=to_session(row))


def release(connection: Connection, key: str, attempt: int, now: float) -> Reservation:
    reservation = find(connection, key, attempt)
    if reservation.state == "held":
        _free(connection, reservation, "released", now)
    return find(connection, key, attempt)


def confirm(connection: Connection, session_id: str, keys: Sequence[str] | None) -> int:
    """Confirms keys in whichever session they were charged: a thread may draw on another session by now."""
    if keys is None:
        changed = connection.execute(
            "UPDATE payment_reservations SET state = 'confirmed' WHERE session_id = ? AND state = 'settled'", (session_id,)
        )
    else:
        changed = connection.executemany(
            "UPDATE payment_reservations SET state = 'confirmed' WHERE key = ? AND state = 'settled'", [(key,) for key in keys]
        )
    return changed.rowcount


def find(connection: Connection, key: str, attempt: int) -> Reservation:
    row = connection.execute("SELECT * FROM payment_reservations WHERE key = ? AND attempt = ?", (key, attempt)).fetchone()
    if row is None:
        raise NotFoundError("reservation", f"{key}#{attempt}")
    return to_reservation(row)


def held_since(connection: Connection, before: float) -> list[Reservation]:
    rows = connection.execute(
        "SELECT * FROM payment_reservations WHERE state = 'held' AND created_at < ? ORDER BY created_at", (before,)
    )
    return [to_reservation(row) for row in rows]


def undecided(connection: Connection, session_id: str | None) -> list[Reservation]:
    """Held and settled reservations, read with two queries so that each can use its own index."""
    rows = [
        row
        for state in ("held", "settled")
        for row in connection.execute(
            f"SELECT * FROM payment_reservations WHERE state = '{state}' AND (CAST(:session AS TEXT) IS NULL OR session_id = :session)",  # noqa: S608
            {"session": session_id},
        )
    ]
    return [to_reservation(row) for row in sorted(rows, key=lambda row: row["created_at"])]


def take_back(connection: Connection, key: str, attempt: int, now: float) -> Reservation:
    reservation = find(connection, key, attempt)
    if reservation.state == "settled":
        _take_back(connection, find_session(connection, None, reservation.session_id), reservation, now)
    return find(connection, key, attempt)


def waive(connection: Connection, key: str, now: float) -> Session:
    last = _last(connection, key)
    if last is None:
        raise NotFoundError("reservation", key)
    if last.state == "settled":
        _void(connection, find_session(connection, None, last.session_id), last, now)
    return find_session(connection, None, last.session_id)


def _last(connection: Connection, key: str) -> Reservation | None:
    row = connection.execute(
        "SELECT * FROM payment_reservations WHERE key = ? ORDER BY attempt DESC LIMIT 1", (key,)
    ).fetchone()
    return to_reservation(row) if row else None


def _end(connection: Connection, last: Reservation, now: float) -> None:
    """Close what an earlier try of the same call left behind, even in another session that the thread drew on before."""
    if last.state == "held":
        _free(connection, last, "released", now)
    elif last.state == "settled":
        _take_back(connection, find_session(connection, None, last.session_id), last, now)


def _came_back(connection: Connection, reservation: Reservation) -> bool:
    """Whether the sweeper released this reservation as stale before its answer arrived. False once the call was retried."""
    if reservation.state != "released":
        return False
    last = _last(connection, reservation.key)
    return last is not None and last.attempt == reservation.attempt


def _limit(session: Session, held: int) -> int:
    """The limit for an answer that cost more than was reserved: what is free within the ceiling, and never another call's money."""
    limit = held + session.available
    if session.ceiling is not None:
        limit = min(limit, session.ceiling - session.spent - session.reserved + held)
    return max(limit, held)


def _free(connection: Connection, reservation: Reservation, state: str, now: float) -> None:
    connection.execute(
        "UPDATE payment_reservations SET state = ? WHERE key = ? AND attempt = ?", (state, reservation.key, reservation.attempt)
    )
    connection.execute(
        "UPDATE payment_sessions SET reserved = reserved - ?, touched_at = MAX(touched_at, ?) WHERE session_id = ?",
        (reservation.held, now, reservation.session_id),
    )


def _take_back(connection: Connection, session: Session, reservation: Reservation, now: float) -> None:
    """Nobody confirmed the answer, so it was lost, and the payer does not pay for it."""
    if _void(connection, session, reservation, now):
        connection.execute("UPDATE payment_sessions SET lost = lost + 1 WHERE session_id = ?", (session.session_id,))


def _void(connection: Connection, session: Session, reservation: Reservation, now: float) -> bool:
    """Reverse the charge if the session still holds the money. For a closed session, what was spent has been separated already."""
    if session.state not in SPENDS_MONEY:
        return False
    write_entry(connection, session, "void", reservation.charged, _name(reservation), now)
    connection.execute(
        "UPDATE payment_reservations SET state = 'void' WHERE key = ? AND attempt = ?", (reservation.key, reservation.attempt)
    )
    return True


def _find_shortage(connection: Connection, session: Session, amount: int, now: float) -> Short | None:
    if session.state in ("settling", "refund_ready", "refunded", "error"):
        return Short("session_closed", session)
    if session.ceiling is not None and session.spent + session.reserved + amount > session.ceiling:
        return Short("ceiling", session)
    if session.state in SPENDS_MONEY and amount <= session.available:
        return None
    waiting = connection.execute(
        "SELECT 1 FROM payment_fundings WHERE session_id = ? AND state IN ('authorized', 'redeeming')", (session.session_id,)
    ).fetchone()
    if waiting:
        return Short("unredeemed", session)
    if session.state == "active":
        move(connection, session, "exhausted", now)
    return Short("balance_short", session)


def _name(reservation: Reservation) -> str:
    return f"{reservation.key}#{reservation.attempt}"
