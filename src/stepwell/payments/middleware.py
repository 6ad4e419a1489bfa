"""Charges for every model call: reserves before it, charges after it, releases if it fails. Without money the run pauses to ask for some.

```
model call ─ the previous step's charge is confirmed (its key is in the state, so its answer is too); or waived, if our rules refused
             everything the answer wanted and it said nothing else
           ─ reserve ─┬─ held ──▶ call ─┬─ answer ──▶ settle; the answer, the charge's key and the balance are stored together
                      │                 ├─ error ───▶ release
                      │                 ├─ no model ▶ release: our own code gave the answer (`own_words`)
                      │                 └─ stopped, or out of time ─▶ settle what it had said by then; release if nothing
                      └─ short ─▶ pause `payment_exhausted` ─┬─ {funding_id} ──▶ reserve again
                                                             └─ {cancel: true} ─▶ a final message
```
On a server the meter, the owner and the session come with the run (`RunPayments`). In the library `funding_id` names the session, in the
state or in `config["configurable"]`. Subagents use their caller's session. A token never enters the graph: give it to the wallet first
(`Wallet.fund`); a token found here is refused. This middleware belongs outermost, so that failures and retries further inside
count as one call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Any, NotRequired, cast

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from stepwell.answers.payment import ask_payment
from stepwell.backends.sync_async import run_in_portal
from stepwell.errors import (
    ConfigurationError,
    MintUnavailableError,
    NotFoundError,
    PaymentError,
    PaymentRequiredError,
    TokenInvalidError,
)
from stepwell.middleware.own_words import answered_itself, is_own_answer, is_refusal, own_answer
from stepwell.middleware.request import AsyncHandler, AsyncToolHandler, Handler, Response, ToolHandler, ToolResult
from stepwell.models.token_count import IncrementalCounter
from stepwell.models.usage import label_of, usage_of
from stepwell.payments.ledger.ledger import Reservation, Session
from stepwell.payments.meter import Meter, RunPayments
from stepwell.payments.pricing import CallSize
from stepwell.payments.states import CHARGED, FUNDING_ID, PAYMENTS, REFUNDED, TOKEN
from stepwell.tools.effect_journal import effect_key

_UNIT = "sat"
MAX_FREE_CHARS = 2_000
"""Refused calls longer than this are charged: clients show arguments while they are written, so the user has had something to read."""
_CALLERS_SESSION: ContextVar[str | None] = ContextVar("stepwell_payment_session", default=None)


class PaymentState(AgentState[Any]):
    """Copies of ledger values, for clients. None of these is money."""

    funding_id: NotRequired[str | None]
    payment_balance_sats: NotRequired[int]
    payment_spent_sats: NotRequired[int]
    payment_status: NotRequired[str]
    """`active`; `exhausted`: the balance is below the price of the next call; `refunded`: the session has ended."""
    payment_refund_claimed: NotRequired[bool]
    payment_charged: NotRequired[Annotated[str | None, PrivateStateAttr]]


class CashuPaymentMiddleware(AgentMiddleware[Any, Any, Any]):
    """Charges each model call to the payment session of the run.

    Without a `meter`, the server that drives the run must provide one; otherwise no call is made. `owner` says whose sessions your own
    meter may use: a name, or a function of the run's config. With None, any caller may use any session it names. `max_output_tokens` is
    reserved for a call if the model itself has no limit; it matters only for prices per token.
    """

    state_schema = PaymentState
    stands_outermost = True
    reaches_subagents = True
    untraced = True

    def __init__(
        self,
        meter: Meter | None = None,
        *,
        owner: str | Callable[[RunnableConfig], str | None] | None = None,
        max_output_tokens: int = 4096,
    ) -> None:
        super().__init__()
        self._meter = meter
        self._owner = owner
        self._max_output_tokens = max_output_tokens
        self._counter = IncrementalCounter()
        self.tools: list[BaseTool] = [make_request_funding(meter)]

    def _payments(self) -> RunPayments:
        """Who pays for this run."""
        config = get_config()
        handed = (config.get("configurable") or {}).get(PAYMENTS)
        if self._meter is None:
            return _require_handed(handed)
        owner = self._owner(config) if callable(self._owner) else self._owner
        return RunPayments(self._meter, owner)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> Response:
        payments = self._payments()
        call = self._expect(payments.meter, request)
        waived = run_in_portal(self._waive_refused(payments, request.state))
        reservation = run_in_portal(self._reserve(payments, request.state, call))
        while not isinstance(reservation, Reservation):
            session_id = _ask(payments.meter, reservation, request.state, call)
            if session_id is None:
                return _last_words(reservation)
            reservation = run_in_portal(self._reserve(payments, request.state, call, session_id))
        try:
            response = handler(request)
        except BaseException:
            run_in_portal(payments.meter.release(reservation))
            raise
        return run_in_portal(self._conclude(payments, request, response, reservation, call, waived))

    def awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> Coroutine[Any, Any, Response]:
        # Not `async def`: LangChain's tracing wrapper would cost a thread hop for each call.
        return self._awrap_model_call(request, handler)

    async def _awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> Response:
        payments = self._payments()
        call = self._expect(payments.meter, request)
        waived = await self._waive_refused(payments, request.state)
        reservation = await self._reserve(payments, request.state, call)
        while not isinstance(reservation, Reservation):
            session_id = _ask(payments.meter, reservation, request.state, call)
            if session_id is None:
                return _last_words(reservation)
            reservation = await self._reserve(payments, request.state, call, session_id)
        try:
            response = await handler(request)
        except asyncio.CancelledError:
            await self._break_off(payments, reservation, call)
            raise
        except BaseException:
            await payments.meter.release(reservation)
            raise
        return await self._conclude(payments, request, response, reservation, call, waived)

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        with _paying_for_subagents(request.state):
            return handler(request)

    def awrap_tool_call(  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Coroutine[Any, Any, ToolResult]:
        return self._awrap_tool_call(request, handler)

    async def _awrap_tool_call(self, request: ToolCallRequest, handler: AsyncToolHandler) -> ToolResult:
        with _paying_for_subagents(request.state):
            return await handler(request)

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return run_in_portal(self._look(self._payments(), state)) if _is_mirrored(state) else None

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return await self._look(self._payments(), state) if _is_mirrored(state) else None

    async def _look(self, payments: RunPayments, state: Any) -> dict[str, Any] | None:
        """What has happened to the session since the thread last ran: more money, or a refund."""
        try:
            standing = await payments.meter.look(payments.owner, state[FUNDING_ID])
        except NotFoundError:
            return None  # another owner's session; the first call will be refused
        price = payments.meter.price_of(CallSize())
        mirrors = {**_mirrors(standing.session, price), "payment_refund_claimed": standing.claimed}
        return _changed(state, mirrors) or None

    def after_agent(self, state: Any, runtime: Any) -> None:
        run_in_portal(self._confirm(self._payments(), state))

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        await self._confirm(self._payments(), state)

    async def _waive_refused(self, payments: RunPayments, state: Any) -> Session | None:
        """Take back the previous step's charge if it only bought a refusal. Returns the session after that. This happens before anything is
        reserved, so that the money is available for the next call."""
        if not _is_all_refused(state):
            return None
        session: Session | None = None
        for key in _charged_in(state):
            session = await payments.meter.waive(key)
            if key in payments.charged:
                payments.charged.remove(key)
        return session

    async def _conclude(
        self,
        payments: RunPayments,
        request: ModelRequest[Any],
        response: ModelResponse[Any],
        reservation: Reservation,
        call: CallSize,
        waived: Session | None,
    ) -> Response:
        """The answer with its charge, or without one if no model gave it."""
        if not answered_itself(response):
            session = await self._settle(payments, request, response, reservation, call)
            mirrors = _mirrors(session, payments.meter.price_of(call))
            return _with_charge(request.state, response, mirrors, reservation.key)
        await payments.meter.release(reservation)
        return (
            _with_charge(request.state, response, _mirrors(waived, payments.meter.price_of(call)), None) if waived else response
        )

    async def _confirm(self, payments: RunPayments, state: Any) -> None:
        await self._waive_refused(payments, state)
        for key in _charged_in(state):
            await payments.meter.confirm(state[FUNDING_ID], key)

    async def _reserve(
        self, payments: RunPayments, state: Any, call: CallSize, session_id: str | None = None
    ) -> Reservation | PaymentError:
        """Reserve the money for this call, or return the error. A temporary failure (the mint is down) ends the run; it can be resumed."""
        config, meter = get_config(), payments.meter
        session_id = session_id or payments.session_id or _session_of(state, config)
        if session_id is None:
            needed = meter.price_of(call)
            return PaymentRequiredError(
                f"The next call costs up to {needed} sats, and no payment is set up yet.", needed_sats=needed
            )
        thread_id = (config.get("configurable") or {}).get("thread_id")
        try:
            reservation = await meter.reserve(
                payments.owner, session_id, _key(config, thread_id), call, confirms=_charged_in(state)
            )
        except MintUnavailableError:
            raise
        except PaymentError as error:
            return error
        if thread_id and (CHARGED not in state or state.get(FUNDING_ID) != session_id):
            await meter.attach(session_id, str(thread_id))
        return reservation

    async def _settle(
        self,
        payments: RunPayments,
        request: ModelRequest[Any],
        response: ModelResponse[Any],
        reservation: Reservation,
        call: CallSize,
    ) -> Session:
        if payments.meter.counts_tokens:
            answer = next((message for message in reversed(response.result) if isinstance(message, AIMessage)), None)
            used = usage_of(call.model, request.messages, answer, lengths=self._counter).tokens
            call = CallSize(call.model, used.input, used.output)
        session = await payments.meter.settle(reservation, call)
        payments.charged.append(reservation.key)
        return session

    async def _break_off(self, payments: RunPayments, reservation: Reservation, call: CallSize) -> None:
        """Charge for what the model had said until the run was stopped or timed out: the user has read it, and would otherwise get nearly
        the whole answer for free."""
        said = payments.said_until_stopped((get_config().get("configurable") or {}).get("checkpoint_ns") or "")
        if said is None:
            await payments.meter.release(reservation)
            return
        await payments.meter.settle(reservation, CallSize(call.model, *said))
        payments.stopped.append(reservation.key)

    def _expect(self, meter: Meter, request: ModelRequest[Any]) -> CallSize:
        if not meter.counts_tokens:
            return CallSize()
        limit = getattr(request.model, "max_tokens", None)
        most = limit if isinstance(limit, int) and limit > 0 else self._max_output_tokens
        return CallSize(label_of(request.model), self._counter.total(request.messages), most)


def _require_handed(handed: Any) -> RunPayments:
    if isinstance(handed, RunPayments):
        return handed
    raise ConfigurationError(
        "This agent charges for its calls, but has no meter. Pass one to CashuPaymentMiddleware, run the agent on a server that has "
        "STEPWELL_MINTS and a price set, or leave the middleware out to make the agent free."
    )


def _key(config: RunnableConfig, thread_id: object) -> str:
    """The key of this call on this thread. A copy of a thread shares effect keys, but its answers are its own and must be paid for."""
    return f"{thread_id}:{effect_key(config, 'model')}"


def _ask(meter: Meter, why: PaymentError, state: Any, call: CallSize) -> str | None:
    """Pause. Returns the session that pays from now on; None if the user would rather stop. Nothing before the pause has an effect."""
    needed, balance = meter.price_of(call), getattr(why, "balance_sats", 0)
    spent = getattr(why, "spent_sats", None)  # of the whole session; this agent's state may know only a part
    spent = state.get("payment_spent_sats", 0) if spent is None else spent
    return ask_payment(_payload(meter, str(why), why.code, needed, balance, spent))


def make_request_funding(own: Meter | None) -> BaseTool:
    """The tool by which an agent asks its user for money. It pauses until the user pays or declines."""

    @tool
    def request_funding(amount_sats: int, reason: str, runtime: ToolRuntime) -> str | Command[Any]:
        """Ask the user for more money when the work ahead will cost more than the balance. Say briefly what it is for. Not for every
        call: a balance that runs short is asked for by itself."""
        meter = own or _require_handed((get_config().get("configurable") or {}).get(PAYMENTS)).meter
        # The call that requested this tool was charged, so the copies in the state match the session.
        balance, spent = (runtime.state.get(name, 0) for name in ("payment_balance_sats", "payment_spent_sats"))
        question = _payload(meter, reason, "requested", max(amount_sats, 0), balance, spent)
        session_id = ask_payment({**question, "reason": reason})
        if session_id is None:
            return "The user declined to add money. Go on with what is left, or finish."
        return f"The user has added money (funding {session_id})."

    return request_funding


def _payload(meter: Meter, message: str, code: str, needed: int, balance: int, spent: int) -> dict[str, Any]:
    return {
        "spent_sats": spent,
        "needed_sats": needed,
        "balance_sats": balance,
        "accepted_mints": list(meter.accepted_mints),
        "unit": _UNIT,
        "code": code,
        "message": message,
    }


def _session_of(state: Any, config: RunnableConfig) -> str | None:
    configurable = config.get("configurable") or {}
    if state.get(TOKEN) or configurable.get(TOKEN):
        raise TokenInvalidError(
            "A token must not enter a graph, where it would be stored. Give it to the wallet: fund() returns an id.",
            "token_in_graph",
        )
    return state.get(FUNDING_ID) or _CALLERS_SESSION.get() or configurable.get(FUNDING_ID)


def _charged_in(state: Any) -> list[str]:
    """The keys of charges in the state. A key is stored together with its answer, so the answers to these charges were stored."""
    key = state.get(CHARGED)
    return [key] if key and state.get(FUNDING_ID) else []


@contextmanager
def _paying_for_subagents(state: Any) -> Iterator[None]:
    """Agents that a tool starts in here use the caller's session, unless they have their own."""
    session_id = cast("Mapping[str, Any]", state).get(FUNDING_ID) or _CALLERS_SESSION.get()
    token = _CALLERS_SESSION.set(session_id)
    try:
        yield
    finally:
        _CALLERS_SESSION.reset(token)


def _is_all_refused(state: Any) -> bool:
    """Whether our rules refused every call of the model's last answer, and the answer contained nothing worth reading."""
    refused: dict[str, ToolMessage] = {}
    for message in reversed(state.get("messages") or ()):
        if message.type == "tool":
            refused[message.tool_call_id] = message
            continue
        if message.type != "ai" or is_own_answer(message) or not message.tool_calls or message.text.strip():
            return False
        results = [refused.get(call["id"]) for call in message.tool_calls]
        if not all(result is not None and is_refusal(result) for result in results):
            return False
        return len(str(message.content)) + sum(len(str(call["args"])) for call in message.tool_calls) <= MAX_FREE_CHARS
    return False


def _with_charge(state: Any, response: ModelResponse[Any], mirrors: Mapping[str, Any], key: str | None) -> Response:
    return ExtendedModelResponse(response, Command(update=_changed(state, {**mirrors, CHARGED: key})))


def _mirrors(session: Session, price_sats: int) -> dict[str, Any]:
    """What a thread's state shows of its session. `price_sats`: the price of the next call."""
    status = "refunded" if session.state in REFUNDED else "exhausted" if session.balance < price_sats else "active"
    return {
        FUNDING_ID: session.session_id,
        "payment_balance_sats": session.balance,
        "payment_spent_sats": session.spent,
        "payment_status": status,
    }


def _changed(state: Any, mirrors: Mapping[str, Any]) -> dict[str, Any]:
    """Only the changed fields: each field that is written costs time and space at every step."""
    return {name: value for name, value in mirrors.items() if state.get(name) != value}


def _is_mirrored(state: Any) -> bool:
    return bool(state.get("payment_status") and state.get(FUNDING_ID))


def _last_words(why: PaymentError) -> AIMessage:
    return own_answer(f"I stopped before the end, because nobody paid for the next step. {why}", "payment")
