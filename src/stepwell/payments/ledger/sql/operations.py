"""Stores swaps before we ask the mint, and updates session, token and proofs when the mint has answered.

```
begin ──> pending ──complete──> done <──complete── failed      a redemption that the mint did after all
             │ └──fail──> failed           the mint took nothing: the token is rejected, or may be retried
             └──mark_unknown──> unknown    the mint contradicts itself: an operator decides
```
Leaving `pending` changes exactly one row or none, so two workers that both got the mint's answer credit it once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import orjson

from stepwell.errors import NotFoundError
from stepwell.payments.cashu.money import Proof
from stepwell.payments.ledger.ledger import HandedOut, Operation, Session
from stepwell.payments.ledger.sql.handed_out import keep_handed_out, return_unapproved
from stepwell.payments.ledger.sql.rows import as_list, find_session, keep_proofs, move, to_operation, write_entry
from stepwell.payments.states import SPENDS_MONEY, OperationState, SessionState
from stepwell.sql import Connection

_NOT_SPENDING = frozenset({"authorized", "redeeming", "rejected", "exhausted"})
_HOLDERS = {"session": "session", "earnings": "earnings", "refund": "out"}


def begin(connection: Connection, operation: Operation, now: float) -> Operation | None:
    under_way = connection.execute(
        "SELECT * FROM payment_operations WHERE session_id = ? AND state IN ('pending', 'unknown')", (operation.session_id,)
    ).fetchone()
    if under_way is not None:
        return to_operation(under_way)
    session = find_session(connection, None, operation.session_id)
    may_begin = _begin_redeem if operation.kind == "redeem" else _begin_settle
    if not may_begin(connection, session, operation, now):
        return None
    connection.execute(
        "INSERT INTO payment_operations (operation_id, kind, session_id, owner, mint, fingerprint, amount, fee, inputs, outputs, state,"
        " created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?)",
        (
            operation.operation_id,
            operation.kind,
            operation.session_id,
            session.owner,
            operation.mint,
            operation.fingerprint,
            operation.amount,
            operation.fee,
            orjson.dumps([asdict(proof) for proof in operation.inputs]).decode(),
            orjson.dumps([output.to_json() for output in operation.outputs]).decode(),
            now,
        ),
    )
    return find_operation(connection, operation.operation_id)


def complete(
    connection: Connection, operation_id: str, proofs: Sequence[Proof], handed_out: HandedOut | None, now: float
) -> bool:
    if not _leave_pending(connection, operation_id, "done", None) and not _rescue(connection, operation_id):
        return False
    operation = find_operation(connection, operation_id)
    session = find_session(connection, None, operation.session_id)
    holders = [_HOLDERS[output.purpose] for output in operation.outputs]
    keep_proofs(connection, operation, zip(proofs, holders, strict=True))
    if operation.kind == "redeem":
        _credit(connection, session, operation, now)
    else:
        _part(connection, session, operation, handed_out, now)
    return True


def fail(connection: Connection, operation_id: str, reason: str, final: bool, now: float) -> bool:
    if not _leave_pending(connection, operation_id, "failed", reason):
        return False
    operation = find_operation(connection, operation_id)
    session = find_session(connection, None, operation.session_id)
    if operation.kind == "settle":
        move(connection, session, "active", now, reason)
        return True
    state = "rejected" if final else "authorized"
    connection.execute(
        "UPDATE payment_fundings SET state = ?, reason = ? WHERE fingerprint = ? AND state = 'redeeming'",
        (state, reason, operation.fingerprint),
    )
    if session.state == "redeeming":
        move(connection, session, _after_failure(connection, session), now, reason)
    return True


def mark_unknown(connection: Connection, operation_id: str, reason: str, now: float) -> bool:
    if not _leave_pending(connection, operation_id, "unknown", reason):
        return False
    operation = find_operation(connection, operation_id)
    session = find_session(connection, None, operation.session_id)
    if session.state in ("redeeming", "settling"):
        move(connection, session, "error", now, reason)
    return True


def reopen(connection: Connection, operation_id: str, now: float) -> Operation:
    connection.execute(
        "UPDATE payment_operations SET state = 'pending' WHERE operation_id = ? AND state = 'unknown'", (operation_id,)
    )
    operation = find_operation(connection, operation_id)
    session = find_session(connection, None, operation.session_id)
    if session.state == "error":
        move(connection, session, "redeeming" if operation.kind == "redeem" else "settling", now)
    return operation


def find_operation(connection: Connection, operation_id: str) -> Operation:
    row = connection.execute("SELECT * FROM payment_operations WHERE operation_id = ?", (operation_id,)).fetchone()
    if row is None:
        raise NotFoundError("payment operation", operation_id, "List them with `stepwell wallet unknown`.")
    return to_operation(row)


def list_operations(connection: Connection, states: Sequence[OperationState]) -> list[Operation]:
    rows = connection.execute(
        "SELECT * FROM payment_operations WHERE state IN (SELECT value FROM json_each(?)) ORDER BY created_at",
        (as_list(states),),
    )
    return [to_operation(row) for row in rows]


def _leave_pending(connection: Connection, operation_id: str, state: OperationState, reason: str | None) -> bool:
    """The compare-and-swap: one worker gets True."""
    changed = connection.execute(
        "UPDATE payment_operations SET state = ?, reason = ? WHERE operation_id = ? AND state = 'pending'",
        (state, reason, operation_id),
    )
    return changed.rowcount == 1


def _rescue(connection: Connection, operation_id: str) -> bool:
    """A redemption that one worker gave up and the mint did after all: we have the payer's money, so we credit it."""
    changed = connection.execute(
        "UPDATE payment_operations SET state = 'done' WHERE operation_id = ? AND state = 'failed' AND kind = 'redeem'",
        (operation_id,),
    )
    return changed.rowcount == 1


def _begin_redeem(connection: Connection, session: Session, operation: Operation, now: float) -> bool:
    changed = connection.execute(
        "UPDATE payment_fundings SET state = 'redeeming' WHERE fingerprint = ? AND state = 'authorized'",
        (operation.fingerprint,),
    )
    if changed.rowcount != 1:
        return False
    if session.state == "authorized":
        move(connection, session, "redeeming", now)
    return True


def _begin_settle(connection: Connection, session: Session, operation: Operation, now: float) -> bool:
    """Begins a settlement only if nothing is under way that would change the sums: no call, and no incoming token."""
    if session.state not in SPENDS_MONEY or session.reserved or not _all_held(connection, operation):
        return False
    waiting = connection.execute(
        "SELECT 1 FROM payment_fundings WHERE session_id = ? AND state IN ('authorized', 'redeeming')", (session.session_id,)
    ).fetchone()
    wanted = sum(output.amount for output in operation.outputs if output.purpose == "refund")
    if waiting or wanted + operation.fee != session.balance:
        return False
    return_unapproved(connection, session.session_id)
    move(connection, session, "settling", now)
    return True


def _all_held(connection: Connection, operation: Operation) -> bool:
    """Whether the session still holds the proofs to be swapped."""
    held = connection.execute(
        "SELECT point FROM payment_proofs WHERE session_id = ? AND holder = 'session'", (operation.session_id,)
    ).fetchall()
    return {proof.point for proof in operation.inputs} <= {row["point"] for row in held}


def _credit(connection: Connection, session: Session, operation: Operation, now: float) -> None:
    connection.execute(
        "UPDATE payment_fundings SET state = 'redeemed', token = '' WHERE fingerprint = ?", (operation.fingerprint,)
    )
    write_entry(connection, session, "credit", operation.amount, operation.operation_id, now)
    write_entry(connection, session, "fee", operation.fee, operation.operation_id, now)
    move(connection, session, session.state if session.state not in _NOT_SPENDING else "active", now)


def _part(connection: Connection, session: Session, operation: Operation, handed_out: HandedOut | None, now: float) -> None:
    """What was spent is earned, what was left becomes the refund, the mint has kept its fee, and the session holds nothing any more."""
    if handed_out is None:
        raise AssertionError("a settlement without its refund token")
    points = [(proof.point,) for proof in operation.inputs]
    connection.executemany("UPDATE payment_proofs SET holder = 'spent' WHERE point = ?", points)
    connection.execute(
        "UPDATE payment_proofs SET holder = 'earnings' WHERE session_id = ? AND holder = 'session'", (session.session_id,)
    )
    write_entry(connection, session, "fee", operation.fee, operation.operation_id, now)
    write_entry(connection, session, "refund", handed_out.amount, operation.operation_id, now)
    keep_handed_out(connection, handed_out, now)
    move(connection, session, "refund_ready", now)


def _after_failure(connection: Connection, session: Session) -> SessionState:
    """The session's state after its first token failed: it depends on whether another token is waiting."""
    waiting = connection.execute(
        "SELECT 1 FROM payment_fundings WHERE session_id = ? AND state = 'authorized'", (session.session_id,)
    ).fetchone()
    return "authorized" if waiting else "rejected"
