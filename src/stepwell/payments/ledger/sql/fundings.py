"""Incoming tokens: each is stored once, for one session, no matter how often and by whom it is sent."""

from __future__ import annotations

from stepwell.errors import SessionClosedError, TokenInUseError, TokenInvalidError
from stepwell.payments.ledger.ledger import Funding, NewFunding, Session
from stepwell.payments.ledger.sql.rows import find_session, move, to_funding, to_session
from stepwell.payments.states import TAKES_MONEY
from stepwell.sql import Connection

# Money that was returned untouched is free again: its holder may send it, alone or together with other money.
_TAKEN = """
SELECT 1 FROM payment_inputs AS i JOIN payment_fundings AS f ON f.fingerprint = i.fingerprint
WHERE i.point = ? AND f.state <> 'returned'
"""
_IN_USE = "This token, or a part of it, was sent before. It counts where it was sent first."


def add_funding(connection: Connection, new: NewFunding, now: float) -> Funding:
    known = find_funding(connection, new.fingerprint)
    if known is not None and known.state != "returned":
        if known.owner != new.owner or (new.top_up and known.session_id != new.session_id):
            raise TokenInUseError(_IN_USE)
        return known
    for point in new.points:
        if connection.execute(_TAKEN, (point,)).fetchone():
            raise TokenInUseError(_IN_USE)
    session = _open_session(connection, new) if new.top_up else _make_session(connection, new, now)
    _insert(connection, new, now)
    _bring_in(connection, session, new, now)
    return to_funding(connection.execute("SELECT * FROM payment_fundings WHERE fingerprint = ?", (new.fingerprint,)).fetchone())


def find_funding(connection: Connection, fingerprint: str) -> Funding | None:
    row = connection.execute("SELECT * FROM payment_fundings WHERE fingerprint = ?", (fingerprint,)).fetchone()
    return to_funding(row) if row else None


def approve(connection: Connection, session_id: str, now: float) -> Session:
    session = find_session(connection, None, session_id)
    connection.execute(
        "UPDATE payment_fundings SET state = 'authorized' WHERE session_id = ? AND state = 'pending'", (session_id,)
    )
    if session.state == "pending":
        move(connection, session, "authorized", now)
    return find_session(connection, None, session_id)


def _open_session(connection: Connection, new: NewFunding) -> Session:
    session = find_session(connection, new.owner, new.session_id)
    if session.state not in TAKES_MONEY:
        raise SessionClosedError(
            f"Payment session '{session.session_id}' is {session.state} and accepts no more money. Fund a new one; the token was not taken."
        )
    if session.mint != new.mint:
        raise TokenInvalidError(
            "The token is from another mint than the session's first one. Send one from the same mint, or fund a new session.",
            "mint_other",
        )
    return session


def _make_session(connection: Connection, new: NewFunding, now: float) -> Session:
    connection.execute(
        "INSERT INTO payment_sessions (session_id, owner, state, mint, created_at, touched_at) VALUES (?, ?, 'pending', ?, ?, ?)",
        (new.session_id, new.owner, new.mint, now, now),
    )
    return find_session(connection, new.owner, new.session_id)


def _insert(connection: Connection, new: NewFunding, now: float) -> None:
    connection.execute(
        "INSERT INTO payment_fundings (fingerprint, session_id, owner, state, amount, fee, token, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (fingerprint) DO UPDATE SET session_id = excluded.session_id,"
        " owner = excluded.owner, state = excluded.state, amount = excluded.amount, fee = excluded.fee, token = excluded.token,"
        " reason = NULL, created_at = excluded.created_at",
        (
            new.fingerprint,
            new.session_id,
            new.owner,
            "authorized" if new.approved else "pending",
            new.amount,
            new.fee,
            new.token,
            now,
        ),
    )
    connection.executemany(
        "INSERT INTO payment_inputs (point, fingerprint) VALUES (?, ?)"
        " ON CONFLICT (point) DO UPDATE SET fingerprint = excluded.fingerprint",
        [(point, new.fingerprint) for point in new.points],
    )


def _bring_in(connection: Connection, session: Session, new: NewFunding, now: float) -> None:
    """Add a token to a session. The ceiling and refund key that come with it now apply to the whole session."""
    if new.ceiling is not None:
        connection.execute("UPDATE payment_sessions SET ceiling = ? WHERE session_id = ?", (new.ceiling, session.session_id))
    if new.refund_key is not None:
        connection.execute(
            "UPDATE payment_sessions SET refund_key = ? WHERE session_id = ?", (new.refund_key, session.session_id)
        )
    if session.state in ("pending", "rejected"):
        move(connection, session, "authorized" if new.approved else "pending", now)
    else:
        move(connection, session, session.state, now)


def list_thread_sessions(connection: Connection, owner: str | None, thread_id: str) -> list[Session]:
    rows = connection.execute(
        "SELECT s.* FROM payment_threads AS t JOIN payment_sessions AS s USING (session_id)"
        " WHERE t.thread_id = ? AND (CAST(? AS TEXT) IS NULL OR s.owner = ?) ORDER BY t.seq DESC",
        (thread_id, owner, owner),
    )
    return [to_session(row) for row in rows]
