"""Money for operators: all sessions, what is owed, what nobody knows, whether it adds up, and the earnings.

`stepwell wallet --url` asks here.
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
    summary="Payment sessions of all users, those touched last first, for operators",
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
    summary="Anybody's session with its tokens, its refund and its lines, without bearer data, for operators",
    responses={200: {"model": StatementResponse}},
)
async def get_session(
    funding_id: Annotated[FundingId, Path()],
    principal: Operator,
    cashier: Till,
    after: Annotated[int, Query(ge=0, le=2**53 - 1, description="The seq of the last line that was seen")] = 0,
    limit: Annotated[Limit, Query()] = bookkeeping.MOST_LINES,
) -> Response:
    return json_response(await bookkeeping.read_statement(cashier.wallet.ledger, funding_id, after=after, limit=limit))


@router.get(
    "/owed",
    operation_id="get_owed",
    summary="What payers are owed, by mint, for operators",
    responses={200: {"model": OwedResponse}},
)
async def get_owed(principal: Operator, cashier: Till) -> Response:
    return json_response(await bookkeeping.list_debts(cashier.wallet.ledger))


@router.get(
    "/operations",
    operation_id="list_payment_operations",
    summary="Swaps of which nobody knows whether the mint did them, for operators",
    responses={200: {"model": list[OperationResponse]}},
)
async def list_operations(
    principal: Operator,
    cashier: Till,
    pending: Annotated[bool, Query(description="Also those that are under way or wait for their mint")] = False,
) -> Response:
    return json_response(await bookkeeping.list_operations(cashier.wallet.ledger, pending=pending))


@router.post(
    "/operations/{operation_id}/reopen",
    operation_id="reopen_payment_operation",
    summary="Have a swap of unknown outcome tried again, and see what came of it, for operators",
    responses={200: {"model": OperationResponse}},
)
async def reopen_operation(operation_id: Annotated[FundingId, Path()], principal: Operator, cashier: Till) -> Response:
    return json_response(await bookkeeping.try_again(cashier.wallet, operation_id))


@router.get(
    "/audit",
    operation_id="audit_wallet",
    summary="Whether the books add up and the mints agree, for operators",
    responses={200: {"model": AuditResponse}},
)
async def audit(principal: Operator, cashier: Till) -> Response:
    return json_response(await bookkeeping.audit(cashier.wallet))


@router.post(
    "/payout",
    operation_id="pay_out",
    summary="Take earnings out as a token, or see an earlier payout again until it is spent, for operators",
    responses={200: {"model": PayoutResponse}},
)
async def pay_out(body: PayoutAsk, principal: Operator, cashier: Till) -> Response:
    if body.mint is not None and body.payout_id is not None:
        raise InvalidRequestError("Name a mint to take new earnings out, or a payout_id for an earlier payout; not both.")
    if body.payout_id is not None:
        payout = await bookkeeping.pay_out_again(cashier.wallet, body.payout_id)
    else:
        payout = await bookkeeping.pay_out(cashier.wallet, body.mint)
    return json_response(payout, headers={"Cache-Control": "no-store"})


@router.get(
    "/payouts",
    operation_id="list_payouts",
    summary="Earlier payouts that are not known to be spent yet, for operators",
    responses={200: {"model": list[PayoutLine]}},
)
async def list_payouts(principal: Operator, cashier: Till) -> Response:
    return json_response(await bookkeeping.list_payouts(cashier.wallet.ledger))


@router.post(
    "/recover",
    operation_id="recover_payments",
    summary="Finish the swaps that are under way, now, for operators",
    responses={200: {"model": RecoveryResponse}},
)
async def recover(principal: Operator, cashier: Till) -> Response:
    return json_response(await bookkeeping.recover(cashier.wallet))


@router.post(
    "/sweep",
    operation_id="sweep_payments",
    summary="Pay idle sessions back and notice what was spent, now, for operators",
    responses={200: {"model": SweepResponse}},
)
async def sweep(principal: Operator, cashier: Till) -> Response:
    return json_response(await bookkeeping.sweep(cashier.wallet))
