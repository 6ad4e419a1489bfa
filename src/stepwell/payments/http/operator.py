"""Money for operators: all sessions, debts, swaps with an unknown outcome, the audit, and the earnings.

`stepwell wallet --url` uses these routes.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import Response

from stepwell.errors import InvalidRequestError
from stepwell.payments import bookkeeping
from stepwell.payments.http.operator_schemas import (
    AuditResponse,
    OperationResponse,
    OwedResponse,
    PayoutAsk,
    PayoutLine,
    PayoutResponse,
    RecoveryResponse,
    SessionOfAll,
    StatementResponse,
    SweepResponse,
)
from stepwell.payments.http.wallet import Till
from stepwell.payments.http.wallet_schemas import FundingId
from stepwell.payments.states import SessionState
from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy
from stepwell.server.responses import json_response
from stepwell.server.routing import JsonRoute
from stepwell.server.schemas.fields import Limit

router = APIRouter(tags=["Wallet"], route_class=JsonRoute, prefix="/api/wallet/all")

Operator = Annotated[Principal, Depends(policy("wallet:all"))]


@router.get(
    "/sessions",
    operation_id="list_sessions_of_all",
    summary="List payment sessions of all users, most recently used first, for operators",
    responses={200: {"model": list[SessionOfAll]}},
)
async def list_sessions(
    principal: Operator,
    cashier: Till,
    state: Annotated[SessionState | None, Query()] = None,
    owner: Annotated[str | None, Query(max_length=1024)] = None,
    limit: Annotated[Limit, Query()] = 100,
) -> Response:
    ledger = cashier.wallet.ledger
    return json_response(await bookkeeping.list_sessions(ledger, owner=owner, state=state, limit=limit))


@router.get(
    "/sessions/{funding_id}",
    operation_id="get_session_of_all",
    summary="Get any user's session with its tokens, refund and ledger entries, without bearer data, for operators",
    responses={200: {"model": StatementResponse}},
)
async def get_session(
    funding_id: Annotated[FundingId, Path()],
    principal: Operator,
    cashier: Till,
    after: Annotated[int, Query(ge=0, le=2**53 - 1, description="The seq of the last entry you have seen")] = 0,
    limit: Annotated[Limit, Query()] = bookkeeping.MOST_LINES,
) -> Response:
    return json_response(await bookkeeping.read_statement(cashier.wallet.ledger, funding_id, after=after, limit=limit))


@router.get(
    "/owed",
    operation_id="get_owed",
    summary="How much payers are owed, by mint, for operators",
    responses={200: {"model": OwedResponse}},
)
async def get_owed(principal: Operator, cashier: Till) -> Response:
    return json_response(await bookkeeping.list_debts(cashier.wallet.ledger))


@router.get(
    "/operations",
    operation_id="list_payment_operations",
    summary="List swaps whose outcome at the mint is unknown, for operators",
    responses={200: {"model": list[OperationResponse]}},
)
async def list_operations(
    principal: Operator,
    cashier: Till,
    pending: Annotated[bool, Query(description="Include swaps that are in progress or wait for their mint")] = False,
) -> Response:
    return json_response(await bookkeeping.list_operations(cashier.wallet.ledger, pending=pending))


@router.post(
    "/operations/{operation_id}/reopen",
    operation_id="reopen_payment_operation",
    summary="Retry a swap with an unknown outcome and return the result, for operators",
    responses={200: {"model": OperationResponse}},
)
async def reopen_operation(operation_id: Annotated[FundingId, Path()], principal: Operator, cashier: Till) -> Response:
    return json_response(await bookkeeping.try_again(cashier.wallet, operation_id))


@router.get(
    "/audit",
    operation_id="audit_wallet",
    summary="Check that the ledger adds up and the mints agree, for operators",
    responses={200: {"model": AuditResponse}},
)
async def audit(principal: Operator, cashier: Till) -> Response:
    return json_response(await bookkeeping.audit(cashier.wallet))


@router.post(
    "/payout",
    operation_id="pay_out",
    summary="Pay earnings out as a token, or show an earlier payout that is not spent, for operators",
    responses={200: {"model": PayoutResponse}},
)
async def pay_out(body: PayoutAsk, principal: Operator, cashier: Till) -> Response:
    if body.mint is not None and body.payout_id is not None:
        raise InvalidRequestError("Send 'mint' to pay out new earnings, or 'payout_id' for an earlier payout, but not both.")
    if body.payout_id is not None:
        payout = await bookkeeping.pay_out_again(cashier.wallet, body.payout_id)
    else:
        payout = await bookkeeping.pay_out(cashier.wallet, body.mint)
    return json_response(payout, headers={"Cache-Control": "no-store"})


@router.get(
    "/payouts",
    operation_id="list_payouts",
    summary="List earlier payouts not known to be spent, for operators",
    responses={200: {"model": list[PayoutLine]}},
)
async def list_payouts(principal: Operator, cashier: Till) -> Response:
    return json_response(await bookkeeping.list_payouts(cashier.wallet.ledger))


@router.post(
    "/recover",
    operation_id="recover_payments",
    summary="Finish swaps in progress now, for operators",
    responses={200: {"model": RecoveryResponse}},
)
async def recover(principal: Operator, cashier: Till) -> Response:
    return json_response(await bookkeeping.recover(cashier.wallet))


@router.post(
    "/sweep",
    operation_id="sweep_payments",
    summary="Refund idle sessions and detect spent tokens now, for operators",
    responses={200: {"model": SweepResponse}},
)
async def sweep(principal: Operator, cashier: Till) -> Response:
    return json_response(await bookkeeping.sweep(cashier.wallet))
