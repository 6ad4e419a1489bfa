"""Rows of the ledger's tables <-> its records, and the few statements that the other modules build on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import orjson

from stepwell.errors import NotFoundError
from stepwell.payments.cashu.money import Dleq, Proof
from stepwell.payments.cashu.outputs import Output
from stepwell.payments.ledger.ledger import Entry, Funding, HandedOut, Operation, Reservation, Session
from stepwell.payments.states import EntryKind, SessionState, may_follow
from stepwell.sql import Connection, Row


def find_session(connection: Connection, owner: str | None, session_id: str) -> Session:
    """A session; `NotFoundError` if it does not exist or has another owner. The caller cannot tell which."""
    row = connection.execute("SELECT * FROM payment_sessions WHERE session_id = ?", (session_id,)).fetchone()
    if row is None or (owner is not None and row["owner"] != owner):
        raise NotFoundError("payment session", session_id, "Fund one with POST /api/wallet/fund.")
    return to_session(row)


def move(connection: Connection, session: Session, state: SessionState, now: float, reason: str | None = None) -> None:
    """Change the state along an arrow of the drawing in `states`; anything else is a bug and changes nothing."""
    if not may_follow(session.state, state):
        raise AssertionError(f"a payment session cannot go from {session.state} to {state}")
    connection.execute(
        "UPDATE payment_sessions SET state = ?, reason = ?, touched_at = MAX(touched_at, ?) WHERE session_id = ?",
        (state, reason, now, session.session_id),
    )


def write_entry(connection: Connection, session: Session, kind: EntryKind, amount: int, key: str, now: float) -> None:
    """Write one line and update the sum it belongs to. The caller's transaction makes sure that both happen or neither."""
    write_line(connection, session, kind, amount, key, now)
    connection.execute(_SUMS[kind], (amount, now, session.session_id))


def write_line(connection: Connection, session: Session, kind: EntryKind, amount: int, key: str, now: float) -> None:
    """The line alone, for callers that update the sum themselves. An amount of zero writes no line."""
    if amount:
        connection.execute(
            "INSERT INTO payment_entries (session_id, owner, kind, amount, key, at) VALUES (?, ?, ?, ?, ?, ?)",
            (session.session_id, session.owner, kind, amount, key, now),
        )


_SUMS: dict[EntryKind, str] = {
    "credit": "UPDATE payment_sessions SET credits = credits + ?, touched_at = MAX(touched_at, ?) WHERE session_id = ?",
    "charge": "UPDATE payment_sessions SET spent = spent + ?, touched_at = MAX(touched_at, ?) WHERE session_id = ?",
    "void": "UPDATE payment_sessions SET spent = spent - ?, touched_at = MAX(touched_at, ?) WHERE session_id = ?",
    "refund": "UPDATE payment_sessions SET refunded = refunded + ?, touched_at = MAX(touched_at, ?) WHERE session_id = ?",
    "fee": "UPDATE payment_sessions SET fees = fees + ?, touched_at = MAX(touched_at, ?) WHERE session_id = ?",
}


def keep_proofs(connection: Connection, operation: Operation, proofs: Iterable[tuple[Proof, str]]) -> None:
    """Store new proofs, each with its holder."""
    connection.executemany(
        "INSERT INTO payment_proofs (point, session_id, owner, mint, holder, amount, proof) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (proof.point, operation.session_id, operation.owner, operation.mint, holder, proof.amount, proof_json(proof))
            for proof, holder in proofs
        ],
    )


def proof_json(proof: Proof) -> str:
    return orjson.dumps(asdict(proof)).decode()


def proof_from(data: dict[str, Any]) -> Proof:
    dleq = data["dleq"]
    return Proof(**{**data, "dleq": Dleq(**dleq) if dleq else None})


def to_session(row: Row) -> Session:
    return Session(
        session_id=row["session_id"],
        owner=row["owner"],
        state=row["state"],
        mint=row["mint"],
        created_at=moment(row["created_at"]),
        touched_at=moment(row["touched_at"]),
        credits=row["credits"],
        spent=row["spent"],
        refunded=row["refunded"],
        fees=row["fees"],
        reserved=row["reserved"],
        lost_answers=row["lost"],
        ceiling=row["ceiling"],
        refund_key=row["refund_key"],
        ending=bool(row["ending"]),
        reason=row["reason"],
    )


def to_funding(row: Row) -> Funding:
    return Funding(
        fingerprint=row["fingerprint"],
        session_id=row["session_id"],
        owner=row["owner"],
        state=row["state"],
        amount=row["amount"],
        fee=row["fee"],
        token=row["token"],
        reason=row["reason"],
    )


def to_reservation(row: Row) -> Reservation:
    return Reservation(row["key"], row["attempt"], row["session_id"], row["state"], row["held"], row["charged"])


def to_operation(row: Row) -> Operation:
    return Operation(
        operation_id=row["operation_id"],
        kind=row["kind"],
        session_id=row["session_id"],
        owner=row["owner"],
        mint=row["mint"],
        amount=row["amount"],
        fee=row["fee"],
        inputs=tuple(proof_from(proof) for proof in orjson.loads(row["inputs"])),
        outputs=tuple(Output.from_json(output) for output in orjson.loads(row["outputs"])),
        fingerprint=row["fingerprint"],
        state=row["state"],
        reason=row["reason"],
        created_at=moment(row["created_at"]),
    )


def to_handed_out(row: Row) -> HandedOut:
    return HandedOut(
        token_id=row["token_id"],
        kind=row["kind"],
        session_id=row["session_id"],
        owner=row["owner"],
        mint=row["mint"],
        amount=row["amount"],
        claimed=bool(row["claimed"]),
        token=row["token"],
        created_at=moment(row["created_at"]),
    )


def to_entry(row: Row) -> Entry:
    return Entry(row["seq"], row["session_id"], row["owner"], row["kind"], row["amount"], row["key"], moment(row["at"]))


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def as_list(values: Iterable[str]) -> str:
    """Values for `IN (SELECT value FROM json_each(?))`: a list of any length as one parameter."""
    return orjson.dumps(list(values)).decode()
