"""A user's money: submit a token, see its balance, get the rest back.

```
validate (nothing happens) ─> fund ─> runs name the funding_id ─> balance, history ─> refund ─> claim
```
Other users' sessions look as if they did not exist. If payments are off, `pricing` says so and the other routes return 404.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from stepwell.errors import NotFoundError, PaymentError
from stepwell.payments.gate import Cashier, parse_token
from stepwell.payments.http.wallet_schemas import (
    BalanceResponse,
    ClaimedRefund,
    EntryResponse,
    FundingId,
    FundResponse,
    PricingResponse,
    RefundAsk,
    RefundClaim,
    RefundResponse,
    TokenFund,
    TokenValidate,
    ValuationResponse,
    balance_wire,
    entry_wire,
)
from stepwell.payments.service import Payments
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.policy import policy
from stepwell.server.request_keys import OnceKey
from stepwell.server.responses import json_response
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.fields import Limit, Offset

if TYPE_CHECKING:
    from stepwell.payments.ledger.ledger import Session

router = APIRouter(tags=["Wallet"], route_class=JsonRoute)

Reader = Annotated[Principal, Depends(policy("wallet:read"))]
Payer = Annotated[Principal, Depends(policy("wallet:write"))]


def _find_cashier(services: Services) -> Cashier | None:
    payments = services.find(Payments)
    return payments.cashier if payments else None


async def cashier_of(services: Given) -> Cashier:
    if (cashier := _find_cashier(services)) is None:
        raise NotFoundError("wallet", "payments", "This server is free and accepts no payments.")
    return cashier


Till = Annotated[Cashier, Depends(cashier_of)]


@router.post(
    "/api/wallet/validate",
    operation_id="validate_token",
    summary="Check what a token is worth, without redeeming it",
    responses={200: {"model": ValuationResponse}},
)
async def validate(body: TokenValidate, principal: Reader, cashier: Till) -> Response:
    try:
        worth = await cashier.wallet.validate(parse_token(body.token))
    except PaymentError as error:
        if error.retryable:
            raise
        return json_response({"ok": False, "code": error.code, "detail": str(error)})
    return json_response(
        {
            "ok": True,
            "amount_sats": worth.amount_sats,
            "fee_sats": worth.fee_sats,
            "net_sats": worth.net_sats,
            "mint": worth.mint,
            "unit": "sat",
        }
    )


@router.post(
    "/api/wallet/fund",
    operation_id="fund_session",
    summary="Submit a token for a new session or to top one up; nothing is redeemed before the first call",
    responses={200: {"model": FundResponse}},
)
async def fund(body: TokenFund, principal: Payer, cashier: Till, services: Given, key: OnceKey) -> Response:
    # The token itself identifies its funding, however often it is sent. We only check that the key was not used with another token.
    if (sent := key.of(principal)) is not None:
        await services.persistence.queue.note(sent)
    try:
        funding = await cashier.wallet.fund(
            principal.owner,
            parse_token(body.token),
            session_id=body.funding_id,
            ceiling_sats=body.ceiling_sats,
            refund_pubkey=body.refund_pubkey,
        )
    except (PaymentError, NotFoundError):
        if sent is not None:
            await services.persistence.queue.forget(sent)
        raise
    session = await cashier.wallet.session(principal.owner, funding.session_id)
    return json_response({"funding_id": funding.session_id, "net_sats": funding.amount - funding.fee, "state": session.state})


@router.get(
    "/api/wallet/balance",
    operation_id="get_balance",
    summary="Get a session's balance",
    responses={200: {"model": BalanceResponse}},
)
async def balance(funding_id: Annotated[FundingId, Query()], principal: Reader, cashier: Till) -> Response:
    return json_response(await _show(cashier, await cashier.wallet.session(principal.owner, funding_id)))


@router.get(
    "/api/wallet/sessions",
    operation_id="list_sessions",
    summary="List your sessions, newest first",
    responses={200: {"model": list[BalanceResponse]}},
)
async def list_sessions(
    principal: Reader, cashier: Till, limit: Annotated[Limit, Query()] = 50, offset: Annotated[Offset, Query()] = 0
) -> Response:
    sessions = (await cashier.wallet.ledger.sessions(principal.owner, newest=offset + limit))[offset:]
    return json_response([await _show(cashier, session) for session in sessions])


@router.post(
    "/api/wallet/refund",
    operation_id="refund_session",
    summary="End a session and prepare its refund; repeating the request returns the same refund",
    responses={200: {"model": RefundResponse}},
)
async def refund(body: RefundAsk, principal: Payer, cashier: Till) -> Response:
    refund = await cashier.refund(principal.owner, body.funding_id)
    session = await cashier.wallet.session(principal.owner, body.funding_id)
    return json_response({"refund_id": refund.token_id, "amount_sats": refund.amount, "state": session.state})


@router.post(
    "/api/wallet/claim",
    operation_id="claim_refund",
    summary="Claim a refund; returns the same token every time, until the mint reports it as spent",
    responses={200: {"model": ClaimedRefund}},
)
async def claim(body: RefundClaim, principal: Payer, cashier: Till) -> Response:
    token = await cashier.wallet.claim(principal.owner, body.refund_id)
    refund = await cashier.wallet.ledger.handed_out(principal.owner, body.refund_id)
    return json_response({"token": token, "amount_sats": refund.amount}, headers={"Cache-Control": "no-store"})


@router.get(
    "/api/wallet/pricing",
    operation_id="get_pricing",
    summary="What model calls cost, for which graphs, and which mints are accepted",
    responses={200: {"model": PricingResponse}},
)
async def pricing(principal: Reader, services: Given) -> Response:
    cashier = _find_cashier(services)
    if cashier is None:
        return json_response({"charged": False, "unit": "sat", "price": None, "graphs": [], "mints": [], "deposit_sats": None})
    return json_response(
        {
            "charged": True,
            "unit": "sat",
            "price": cashier.charging.price.describe(),
            "graphs": sorted(cashier.paid_graphs),
            "mints": list(cashier.wallet.accepted_mints),
            "deposit_sats": cashier.charging.deposit_sats,
        }
    )


@router.get(
    "/api/wallet/history",
    operation_id="get_history",
    summary="List a session's ledger entries, oldest first",
    responses={200: {"model": list[EntryResponse]}},
)
async def history(
    funding_id: Annotated[FundingId, Query()],
    principal: Reader,
    cashier: Till,
    after: Annotated[int, Query(ge=0, le=2**53 - 1, description="The seq of the last entry you have seen")] = 0,
    limit: Annotated[Limit, Query()] = 100,
) -> Response:
    entries = await cashier.wallet.ledger.entries(principal.owner, funding_id, after, limit)
    return json_response([entry_wire(entry) for entry in entries])


async def _show(cashier: Cashier, session: Session) -> dict[str, Any]:
    ledger = cashier.wallet.ledger
    fundings = await ledger.fundings(session.session_id, ("pending", "authorized", "redeeming"))
    refund = await ledger.refund_of(session.session_id) if session.state in ("refund_ready", "refunded") else None
    waiting = sum(funding.amount - funding.fee for funding in fundings)
    return balance_wire(session, waiting, refund.token_id if refund else None, cashier.charging.price.describe())
