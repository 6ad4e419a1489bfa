"""An operator's view of the money as JSON. It contains no tokens, except that of a payout."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from stepwell.payments.http.wallet_schemas import FundingId
from stepwell.payments.states import EntryKind, FundingState, OperationState, SessionState
from stepwell.server.schemas.fields import Body, WireModel


class PayoutAsk(Body):
    """Which earnings to pay out, or which earlier payout to show. With neither field, the earnings at the only accepted mint."""

    mint: Annotated[str | None, Field(max_length=2048, description="The mint whose earnings to pay out")] = None
    payout_id: Annotated[
        FundingId | None, Field(description="An earlier payout that is not spent yet; send no mint with it")
    ] = None


class SessionOfAll(WireModel):
    """A payer's session. Amounts are in sats."""

    funding_id: str
    owner: str
    state: SessionState
    mint: str
    funded: int
    spent: int
    balance: int
    reserved: int
    refunded: int
    fees: int
    ceiling: int | None
    lost_answers: int
    ending: bool = Field(description="Its last thread was deleted: the next sweep refunds it")
    reason: str | None
    created_at: datetime
    touched_at: datetime


class FundedToken(WireModel):
    """A token that was submitted for a session, by its hash."""

    fingerprint: str
    state: FundingState
    amount_sats: int
    fee_sats: int
    reason: str | None


class RefundOfAll(WireModel):
    """A payer's refund, without its token. `spent`: according to its mint."""

    refund_id: str
    funding_id: str
    owner: str
    mint: str
    amount_sats: int
    spent: bool
    made_at: datetime


class StatementEntry(WireModel):
    """An entry of the ledger. `key` names its call or swap."""

    seq: int
    kind: EntryKind
    amount_sats: int
    key: str
    at: datetime


class StatementResponse(SessionOfAll):
    """A session with its tokens, refund and ledger entries; `next` is the `after` of the next page."""

    tokens: list[FundedToken]
    refund: RefundOfAll | None
    history: list[StatementEntry]
    next: int | None


class DebtResponse(WireModel):
    """What payers could claim at one mint: counts and sats of sessions, tokens and refunds."""

    mint: str
    sessions: int
    balances_sats: int
    tokens: int
    tokens_sats: int
    refunds: int
    refunds_sats: int
    total_sats: int


class OwedResponse(WireModel):
    """What payers are owed, and the refunds not claimed yet."""

    total_sats: int
    mints: list[DebtResponse]
    refunds: list[RefundOfAll]


class OperationResponse(WireModel):
    """A swap at a mint."""

    operation_id: str
    kind: Literal["redeem", "settle"]
    state: OperationState
    reason: str | None
    funding_id: str
    owner: str
    mint: str
    amount_sats: int
    fee_sats: int
    begun_at: datetime


class AuditTotals(WireModel):
    """Totals over all sessions, in sats."""

    credits: int
    charges: int
    refunds: int
    fees: int
    balances: int
    session_proofs: int
    earned_proofs: int
    paid_out: int


class MintAuditResponse(WireModel):
    """The money at one mint. `spent_elsewhere_sats` is null if the mint could not be reached; `trouble` says why."""

    mint: str
    for_payers_sats: int
    earned_sats: int
    spent_elsewhere_sats: int | None
    trouble: str | None


class AuditResponse(WireModel):
    """Whether all the money is accounted for."""

    adds_up: bool
    spent_elsewhere_sats: int
    totals: AuditTotals
    mints: list[MintAuditResponse]


class PayoutLine(WireModel):
    """Earnings that were paid out, without their token."""

    payout_id: str
    mint: str
    amount_sats: int
    spent: bool
    made_at: datetime


class PayoutResponse(PayoutLine):
    """Earnings as a token. `left_sats` did not fit into it, and can be paid out next."""

    token: str
    left_sats: int


class RecoveryResponse(WireModel):
    """How many swaps still wait for their mint, and how many have an unknown outcome."""

    waiting: int
    unknown: int


class SweepResponse(WireModel):
    """What a sweep did: sessions refunded, reservations of lost calls released, refunds found to be claimed, and failures."""

    refunded: int
    released: int
    claimed: int
    failed: int
