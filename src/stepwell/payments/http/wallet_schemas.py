"""Money as JSON. Amounts are whole sats. Tokens arrive only by `validate` and `fund`, and leave only by `claim`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from stepwell.payments.states import EntryKind, SessionState
from stepwell.server.schemas.fields import Body, WireModel

if TYPE_CHECKING:  # a server without the extra `payments` describes these routes too
    from stepwell.payments.ledger.ledger import Entry, Session

Token = Annotated[str, Field(min_length=1, max_length=1_000_000, description="A Cashu token: cashuA… or cashuB…")]
FundingId = Annotated[str, Field(min_length=1, max_length=256)]
Sats = Annotated[int, Field(ge=0, le=2**53 - 1)]


class TokenValidate(Body):
    """A token to check."""

    token: Token


class TokenFund(Body):
    """A token for a new session, or to top one up."""

    token: Token
    funding_id: FundingId | None = None
    ceiling_sats: Annotated[Sats | None, Field(description="The most the session may spend, over all top-ups")] = None
    refund_pubkey: Annotated[str | None, Field(max_length=130, description="The refund is locked to this key (NUT-11)")] = None


class RefundAsk(Body):
    """A session to end."""

    funding_id: FundingId


class RefundClaim(Body):
    """A refund to claim."""

    refund_id: FundingId


class ValuationResponse(WireModel):
    """What a token is worth. `code` and `detail` say why it would not be accepted."""

    ok: bool
    amount_sats: int | None = None
    fee_sats: int | None = None
    net_sats: int | None = None
    mint: str | None = None
    unit: str | None = None
    code: str | None = None
    detail: str | None = None


class FundResponse(WireModel):
    """The session that now has the token. Nothing is redeemed before the first call."""

    funding_id: str
    net_sats: int
    state: SessionState


class BalanceResponse(WireModel):
    """A session's balance. `funded` has been redeemed; `waiting` are tokens that have not been redeemed yet."""

    funding_id: str
    funded: int
    waiting: int
    reserved: int
    spent: int
    fees: int
    refunded: int
    balance: int
    ceiling: int | None
    lost_answers: int
    state: SessionState
    mint: str
    created_at: datetime
    touched_at: datetime
    refund_id: str | None = None
    price: dict[str, Any]


class RefundResponse(WireModel):
    """What is left of a session, ready to be claimed."""

    refund_id: str
    amount_sats: int
    state: SessionState


class ClaimedRefund(WireModel):
    """The refund itself. Repeating the request returns the same token, until the mint reports it as spent."""

    token: str
    amount_sats: int


class PricingResponse(WireModel):
    """What model calls cost, for which graphs, and which mints are accepted."""

    charged: bool = Field(description="False: this server is free")
    unit: str = "sat"
    price: dict[str, Any] | None = None
    graphs: list[str] = Field(default=[])
    mints: list[str] = Field(default=[])
    deposit_sats: int | None = None


class EntryResponse(WireModel):
    """An entry of the ledger. A `void` reverses a charge whose answer was lost."""

    seq: int
    funding_id: str
    kind: EntryKind
    amount_sats: int
    at: datetime


def entry_wire(entry: Entry) -> dict[str, Any]:
    return {
        "seq": entry.seq,
        "funding_id": entry.session_id,
        "kind": entry.kind,
        "amount_sats": entry.amount,
        "at": entry.at,
    }


def balance_wire(session: Session, waiting: int, refund_id: str | None, price: dict[str, Any]) -> dict[str, Any]:
    return {
        "funding_id": session.session_id,
        "funded": session.credits,
        "waiting": waiting,
        "reserved": session.reserved,
        "spent": session.spent,
        "fees": session.fees,
        "refunded": session.refunded,
        "balance": session.balance,
        "ceiling": session.ceiling,
        "lost_answers": session.lost_answers,
        "state": session.state,
        "mint": session.mint,
        "created_at": session.created_at,
        "touched_at": session.touched_at,
        "refund_id": refund_id,
        "price": price,
    }
