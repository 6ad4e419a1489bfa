"""Refunds and payouts: stored before anyone sees them, and available until the mint says that they are spent."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from stepwell.errors import NotFoundError, RefundUnavailableError, SessionClosedError
from stepwell.payments.cashu.money import Proof
from stepwell.payments.ledger.ledger import HandedOut
from stepwell.payments.ledger.sql.rows import find_session, move, proof_from, to_handed_out
from stepwell.payments.states import SPENDS_MONEY
from stepwell.sql import Connection


def keep_handed_out(connection: Connection, new: HandedOut, now: float) -> None:
    connection.execute(
        "INSERT INTO payment_tokens (token_id, kind, session_id, owner, mint, amount, token, claimed, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (new.token_id, new.kind, new.session_id, new.owner, new.mint, new.amount, new.token, new.claimed, now),
    )


def find_handed_out(connection: Connection, owner: str | None, token_id: str) -> HandedOut:
    row = connection.execute("SELECT * FROM payment_tokens WHERE token_id = ?", (token_id,)).fetchone()
    if row is None or (owner is not None and row["owner"] != owner):
        raise NotFoundError("refund", token_id, "Ask for one with POST /api/wallet/refund.")
    return to_handed_out(row)


def find_refund(connection: Connection, session_id: str) -> HandedOut | None:
    row = connection.execute("SELECT * FROM payment_tokens WHERE session_id = ? AND kind = 'refund'", (session_id,)).fetchone()
    return to_handed_out(row) if row else None


def list_unclaimed(connection: Connection, owner: str | None) -> list[HandedOut]:
    rows = connection.execute("SELECT * FROM payment_tokens WHERE claimed = 0 ORDER BY created_at")
    return [to_handed_out(row) for row in rows if owner is None or row["owner"] == owner]


def mark_claimed(connection: Connection, token_id: str, now: float) -> None:
    handed_out = find_handed_out(connection, None, token_id)
    connection.execute("UPDATE payment_tokens SET claimed = 1 WHERE token_id = ?", (token_id,))
    if handed_out.session_id is not None:
        session = find_session(connection, None, handed_out.session_id)
        if session.state == "refund_ready":
            move(connection, session, "refunded", now)


def close_empty(connection: Connection, session_id: str, new: HandedOut, now: float) -> HandedOut | None:
    """End a session with nothing left: what it holds is earned, and a refund of zero is stored. `None` if something is left."""
    if (known := find_refund(connection, session_id)) is not None:
        return known
    session = find_session(connection, None, session_id)
    if session.state not in SPENDS_MONEY or session.balance or session.reserved or _tokens_wait(connection, session_id):
        return None
    connection.execute(
        "UPDATE payment_proofs SET holder = 'earnings' WHERE session_id = ? AND holder = 'session'", (session_id,)
    )
    return_unapproved(connection, session_id)
    keep_handed_out(connection, new, now)
    move(connection, session, "refunded", now)
    return new


def keep_rest(connection: Connection, session_id: str) -> int:
    """The rest is worth less than the mint's fee and still belongs to the payer. Whole proofs that fit into what was spent are earned, but
    not while a call is under way or its answer may still turn out to be lost, because earnings are never given back."""
    session = find_session(connection, None, session_id)
    undecided = connection.execute(
        "SELECT 1 FROM payment_reservations WHERE session_id = ? AND state = 'settled'", (session_id,)
    ).fetchone()
    if session.state not in SPENDS_MONEY or session.reserved or undecided:
        return 0
    pieces = connection.execute(
        "SELECT point, amount FROM payment_proofs WHERE session_id = ? AND holder = 'session' ORDER BY amount DESC, point",
        (session_id,),
    ).fetchall()
    room = earned = sum(piece["amount"] for piece in pieces) - session.balance
    for piece in pieces:
        if piece["amount"] <= room:
            room -= piece["amount"]
            connection.execute("UPDATE payment_proofs SET holder = 'earnings' WHERE point = ?", (piece["point"],))
    connection.execute("UPDATE payment_sessions SET reason = 'refund_below_fee' WHERE session_id = ?", (session_id,))
    return int(earned - room)


def hand_back(connection: Connection, session_id: str, new: HandedOut, now: float) -> HandedOut:
    """Return untouched tokens as they came. Refused once one of them was, or is being, redeemed."""
    session = find_session(connection, None, session_id)
    if (known := find_refund(connection, session_id)) is not None:
        return known
    if session.state not in ("pending", "authorized"):
        raise SessionClosedError(f"Payment session '{session_id}' is {session.state} by now. Ask again.", "session_changed")
    waiting = connection.execute(
        "SELECT COALESCE(SUM(amount), 0) AS amount FROM payment_fundings WHERE session_id = ? AND state IN ('pending', 'authorized')",
        (session_id,),
    ).fetchone()
    if waiting["amount"] != new.amount:
        raise RefundUnavailableError("Another token came in at the same time. Ask again.", "session_changed")
    connection.execute(
        "UPDATE payment_fundings SET state = 'returned', token = '' WHERE session_id = ? AND state IN ('pending', 'authorized')",
        (session_id,),
    )
    keep_handed_out(connection, new, now)
    move(connection, session, "refund_ready", now)
    return new


def list_earnings(connection: Connection, mint: str) -> list[Proof]:
    rows = connection.execute(
        "SELECT proof FROM payment_proofs WHERE mint = ? AND holder = 'earnings' ORDER BY amount DESC, point", (mint,)
    )
    return [proof_from(orjson.loads(row["proof"])) for row in rows]


def pay_out(connection: Connection, new: HandedOut, proofs: Sequence[Proof], now: float) -> HandedOut:
    for proof in proofs:
        changed = connection.execute(
            "UPDATE payment_proofs SET holder = 'out' WHERE point = ? AND holder = 'earnings'", (proof.point,)
        )
        if changed.rowcount != 1:
            raise RefundUnavailableError("These earnings were paid out at the same time. Ask again.", "session_changed")
    keep_handed_out(connection, new, now)
    return find_handed_out(connection, None, new.token_id)


def _tokens_wait(connection: Connection, session_id: str) -> bool:
    row = connection.execute(
        "SELECT 1 FROM payment_fundings WHERE session_id = ? AND state IN ('authorized', 'redeeming')", (session_id,)
    ).fetchone()
    return row is not None


def return_unapproved(connection: Connection, session_id: str) -> None:
    """The session ends. Its unapproved tokens still belong to the payer, untouched."""
    connection.execute(
        "UPDATE payment_fundings SET state = 'returned', token = '' WHERE session_id = ? AND state = 'pending'", (session_id,)
    )
