"""Limits for a run: tokens, money, time and model calls. At a limit the agent stops and answers with what it has.

```
before a model call   a limit is reached ────▶ no call; a final message says which limit, what was spent, what is left to do
                      80 % of one is used  ──▶ the model is told once, in this request only
around a tool call    model calls inside the tool count towards this run, and are refused at the limit
```
A subagent's calls count towards the agent that called it, at any depth. A subagent with the same middleware ends in the same orderly
way; any other subagent gets an error for its next model call, and its caller continues. Totals are in the agent's state (`spending`), so
a resumed run continues counting. A call in progress is not cut off, so spending can exceed a limit by one call. Concurrent calls do not
exceed it by more, because each reserves its share before it begins, and waits if others hold the rest (`spending.reservations`).

This middleware should be outermost, because it does not see model calls made by middleware outside of it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, NotRequired, cast

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from stepwell.errors import ConfigurationError
from stepwell.middleware.own_words import last_words
from stepwell.middleware.request import AsyncHandler, AsyncToolHandler, Handler, Response, ToolHandler, ToolResult
from stepwell.middleware.spending.meter import Meter, Sizes, ToolMeter, current_meter, metering
from stepwell.middleware.spending.reservations import Account, Measure, aholding, holding
from stepwell.middleware.spending.sums import Ceilings, Spending, add_spending, in_words, name_models, used_up
from stepwell.middleware.turns import turn_of
from stepwell.models.pricing import Price, TokenUse, price_of
from stepwell.models.token_count import estimate
from stepwell.models.usage import label_of
from stepwell.tools.background import SPENT_BEFORE, reports_of_tasks, spent_by_tasks
from stepwell.tools.shared_spending import SHARED, Decision, Hold, SharedHere, SharedSpending, Spent, minus

WARN_AT = 0.8
CHANNEL = "spending"
_TURNS_KEPT = 256
"""How many turns of all runs together we remember, because their calls may still be in progress."""

_log = logging.getLogger(__name__)


class BudgetState(AgentState[Any]):
    # LangGraph looks for the reducer in the last place of the annotation.
    spending: NotRequired[Annotated[Spending, PrivateStateAttr, add_spending]]


_NOBODY = Decision()


@dataclass
class _Sharing:
    """A call that spends from a budget which others spend from too."""

    host: SharedSpending
    total: Spending
    """What all of them have spent."""
    call: Hold = field(init=False)


class BudgetMiddleware(AgentMiddleware[Any, Any, Any]):
    """Limits per run (or, with `per="thread"`, for the whole thread); None means no limit.

    `prices` (`{"provider:name": Price(...)}`) override the built-in table. Models without a price do not count against `max_cost_usd`;
    we report this once, in the log and as a custom stream event.
    """

    state_schema = BudgetState
    stands_outermost = True
    reaches_subagents = True

    def __init__(
        self,
        *,
        max_tokens: int | None = None,
        max_cost_usd: float | None = None,
        max_seconds: float | None = None,
        max_model_calls: int | None = None,
        per: Literal["run", "thread"] = "run",
        prices: Mapping[str, Price] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.limits = Ceilings(max_tokens, max_cost_usd, max_seconds, max_model_calls)
        ceilings = {
            "max_tokens": max_tokens,
            "max_cost_usd": max_cost_usd,
            "max_seconds": max_seconds,
            "max_model_calls": max_model_calls,
        }
        for name, value in ceilings.items():
            if value is not None and value <= 0:
                raise ConfigurationError(f"{name} is {value!r}. Give a number above 0, or None for no ceiling.")
        self._per = per
        self._prices = dict(prices or {})
        self._monotonic = monotonic
        self._sizes = Sizes()
        self._turns: OrderedDict[int, tuple[AnyMessage, Account]] = OrderedDict()
        self._lock = threading.Lock()

    def wrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> Response:
        spent = self._spent(request.state)
        if ceiling := self._ceiling(spent):
            return _last_words(ceiling, spent, request.state)
        around = current_meter()
        started = self._monotonic()
        with holding(around.accounts if around else (), self._expecting(request, around)) as refusal:
            if refusal:
                return _last_words(refusal, spent, request.state)
            shared = self._sharing(request, spent)
            held = shared.host.hold(shared.call) if shared else _NOBODY
            if held.refusal:
                return _last_words(held.refusal, shared.total if shared else spent, request.state)
            meter = Meter(Account(spent), self._prices, around)
            try:
                with metering(meter):
                    response = handler(self._with_warning(request, spent))
            finally:
                if shared and held.is_held:
                    shared.host.settle(shared.call.turn, self._difference(shared, meter))
        return self._charge(request, response, spent, meter, self._monotonic() - started)

    def awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> Coroutine[Any, Any, Response]:
        # Not `async def`: LangChain's tracing wrapper would cost a thread hop for each call.
        return self._awrap_model_call(request, handler)

    async def _awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> Response:
        spent = self._spent(request.state)
        if ceiling := self._ceiling(spent):
            return _last_words(ceiling, spent, request.state)
        around = current_meter()
        started = self._monotonic()
        async with aholding(around.accounts if around else (), self._expecting(request, around)) as refusal:
            if refusal:
                return _last_words(refusal, spent, request.state)
            shared = self._sharing(request, spent)
            held = await shared.host.ahold(shared.call) if shared else _NOBODY
            if held.refusal:
                return _last_words(held.refusal, shared.total if shared else spent, request.state)
            meter = Meter(Account(spent), self._prices, around)
            try:
                with metering(meter):
                    response = await handler(self._with_warning(request, spent))
            finally:
                if shared and held.is_held:
                    await shared.host.asettle(shared.call.turn, self._difference(shared, meter))
        return self._charge(request, response, spent, meter, self._monotonic() - started)

    def _sharing(self, request: ModelRequest[Any], spent: Spending) -> _Sharing | None:
        """What this call has to hold beside its own budget; None if nobody else spends from it."""
        configurable = _configurable()
        host: SharedSpending = configurable.get(SHARED) or SharedHere(str(configurable.get("thread_id", "")))
        state, tasks = request.state, bool(request.state.get("async_tasks"))
        if host.turn is None and current_meter() is not None:
            return None  # a subagent, whose calls its agent counts
        if (host.is_aside or (host.turn is None and not tasks)) and self._per != "thread":
            return None
        turn = self._turn(state)
        is_agent = host.turn is None
        sharing = _Sharing(host, spent)

        def decide(spent_together: Spent) -> str | None:
            sharing.total = _with_more(Spending(**{**spent, "tokens": 0, "usd": 0.0, "calls": 0}), spent_together)
            reached = self.limits.reached(sharing.total)
            return used_up(reached) if reached else None

        sharing.call = Hold(
            turn if host.turn is None else host.turn,
            self._expect(request),
            decide,
            own=cast("Spent", self._stored(state, turn)) if is_agent else None,
            reported=reports_of_tasks(self._messages_of(state, turn)) if is_agent and tasks else None,
            alone=is_agent and not tasks,
        )
        return sharing

    def _expect(self, request: ModelRequest[Any]) -> Spent:
        """What a call will probably cost: as much as the largest one so far, or its own input if that is more."""
        known = self._expecting(request, None)()
        if known is not None:
            return cast("Spent", known)
        tokens = estimate(request.messages)
        price = price_of(label_of(request.model), self._prices)
        return {"tokens": tokens, "usd": price.of(TokenUse(input=tokens)) if price else 0.0, "calls": 1}

    def _difference(self, shared: _Sharing, meter: Meter) -> Spent:
        """What a call has cost, compared with what was held for it."""
        meter.close()
        used = cast("Spent", meter.own.spent)
        if calls := used.get("calls", 0):
            self._sizes.note("", int(used["tokens"] // calls), used.get("usd", 0.0) / calls)
        return minus(used, shared.call.expected)

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        started = self._monotonic()
        with self._step(request) as meter:
            result = handler(request)
        return self._with_spending(request, result, meter, self._monotonic() - started)

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        return self._awrap_tool_call(request, handler)

    async def _awrap_tool_call(self, request: ToolCallRequest, handler: AsyncToolHandler) -> ToolResult:
        started = self._monotonic()
        with self._step(request, asyncio.get_running_loop()) as meter:
            result = await handler(request)
        return self._with_spending(request, result, meter, self._monotonic() - started)

    def _spent(self, state: Any) -> Spending:
        """What this run has spent so far."""
        turn = self._turn(state)
        spent = self._stored(state, turn)
        if state.get("async_tasks"):
            spent = _with_more(spent, spent_by_tasks(self._messages_of(state, turn)))
        if before := _spent_before():
            spent = _with_more(spent, before)
        return spent

    def _stored(self, state: Any, turn: str) -> Spending:
        """What this agent itself has spent."""
        stored: Spending = state.get(CHANNEL) or Spending()
        return stored if stored.get("turn") == turn else Spending(turn=turn)

    def _messages_of(self, state: Any, turn: str) -> Sequence[AnyMessage]:
        """The messages of the turn: all of them if the limits are those of the thread."""
        messages = state.get("messages") or ()
        start = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].id == turn), 0)
        return cast("Sequence[AnyMessage]", messages[start:])

    def _turn(self, state: Any) -> str:
        return turn_of(state.get("messages") or ()) if self._per == "run" else "thread"

    def _ceiling(self, spent: Spending) -> str | None:
        around = current_meter()
        reached = self.limits.reached(spent) or (around.ceiling() if around else None)
        return used_up(reached) if reached else None

    def _expecting(self, request: ModelRequest[Any], around: Meter | None) -> Measure:
        def find_price() -> Price | None:
            return price_of(label_of(request.model), self._prices)

        return self._sizes.expecting(around.kind if around else "", request.messages, find_price)

    def _with_warning(self, request: ModelRequest[Any], spent: Spending) -> ModelRequest[Any]:
        name, share = self._nearest(spent)
        if share < WARN_AT or spent.get("warned"):
            return request
        note = HumanMessage(
            f"Note: {share:.0%} of this run's budget of {self.limits.in_words(name)} is used. Finish what matters most and answer."
        )
        return request.override(messages=[*request.messages, note])

    def _nearest(self, spent: Spending) -> tuple[str, float]:
        return max(self.limits.shares(spent).items(), key=lambda item: item[1], default=("", 0.0))

    def _charge(
        self, request: ModelRequest[Any], response: ModelResponse[Any], spent: Spending, meter: Meter, seconds: float
    ) -> Response:
        """The model's answer, with a state update that adds what it cost."""
        more = meter.of_step(spent["turn"], f"model-{spent.get('calls', 0)}", seconds)
        if self._nearest(spent)[1] >= WARN_AT:
            more["warned"] = True
        new = [model for model in more.get("unpriced", ()) if model not in spent.get("unpriced", ())]
        if new and self.limits.usd is not None:
            _say_unpriced(request, new)
        return ExtendedModelResponse(response, Command(update={CHANNEL: more}))

    @contextmanager
    def _step(self, request: ToolCallRequest, loop: asyncio.AbstractEventLoop | None = None) -> Iterator[Meter]:
        """Count a tool call together with the other calls of its turn."""
        meter = ToolMeter(
            self._account_of_turn(request),
            self._prices,
            current_meter(),
            kind=_kind_of(request),
            sizes=self._sizes,
            on_loop=loop,
            monotonic=self._monotonic,
        )
        try:
            with metering(meter):
                yield meter
        finally:
            meter.close()

    def _account_of_turn(self, request: ToolCallRequest) -> Account:
        """One account for all calls of a turn, even if some begin after others ended, because the state is only updated after the turn."""
        asked_by = _asking_message(request)
        with self._lock:
            # We keep the message itself, so that its id() cannot be reused for another message.
            _, account = self._turns.setdefault(id(asked_by), (asked_by, Account(self._spent(request.state), self.limits)))
            self._turns.move_to_end(id(asked_by))
            while len(self._turns) > _TURNS_KEPT:
                self._turns.popitem(last=False)
        return account

    def _with_spending(
        self, request: ToolCallRequest, result: ToolResult | list[Any], meter: Meter, seconds: float
    ) -> ToolResult:
        if not meter.own.spent.get("calls") and self.limits.seconds is None:
            return cast("ToolResult", result)
        more = meter.of_step(self._turn(request.state), _step_id(request), seconds)
        if isinstance(result, ToolMessage):
            return Command(update={"messages": [result], CHANNEL: more})
        if isinstance(result, Command) and result.graph is None and isinstance(result.update, Mapping):
            return replace(result, update={**result.update, CHANNEL: more})
        # To a list of results, a command for another graph, or a command whose update is not a mapping, we add a command of our own.
        several = result if isinstance(result, list) else [result]
        return cast("ToolResult", [*several, Command(update={CHANNEL: more})])


def _with_more(spent: Spending, more: Mapping[str, float]) -> Spending:
    """Totals with what others have spent from the same budget: background tasks of this agent, or the agent that started this task."""
    return Spending(
        **{
            **spent,
            "tokens": spent.get("tokens", 0) + int(more.get("tokens", 0)),
            "usd": spent.get("usd", 0.0) + more.get("usd", 0.0),
            "calls": spent.get("calls", 0) + int(more.get("calls", 0)),
        }
    )


def _spent_before() -> Mapping[str, float] | None:
    """What the agent that started this background task had spent by then; None if this run is no such task."""
    return cast("Mapping[str, float] | None", _configurable().get(SPENT_BEFORE))


def _configurable() -> Mapping[str, Any]:
    try:
        return get_config().get("configurable") or {}
    except RuntimeError:  # outside of a graph
        return {}


def _asking_message(request: ToolCallRequest) -> AnyMessage:
    messages = cast("Mapping[str, Any]", request.state).get("messages") or ()
    found = next((message for message in reversed(messages) if message.type == "ai"), None)
    return cast("AnyMessage", found)


def _step_id(request: ToolCallRequest) -> str:
    return f"tools-{getattr(_asking_message(request), 'id', '')}"


def _kind_of(request: ToolCallRequest) -> str:
    """The group of model calls of similar size: those made by the same tool, or by the same subagent."""
    call = request.tool_call
    return f"{call['name']}:{call['args'].get('subagent_type', '')}"


def _last_words(ceiling: str, spent: Spending, state: Any) -> AIMessage:
    """The final message of an agent that stops."""
    return last_words(f"I stopped before the end: {ceiling}. Spent in this run: {in_words(spent)}.", state, "budget")


def _say_unpriced(request: ModelRequest[Any], models: list[str]) -> None:
    text = (
        f"No price is known for {name_models(models)}, so its calls do not count against max_cost_usd. Give one: "
        "BudgetMiddleware(prices={'provider:name': Price(input=..., output=...)})."
    )
    _log.warning("%s", text)
    write = getattr(request.runtime, "stream_writer", None)
    if write is not None:
        write({"type": "budget_note", "text": text})
