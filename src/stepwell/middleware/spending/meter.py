"""Counts the model calls within one step of an agent, by a callback, so that nothing is missed: those of the agent, a summary, a
subagent of any kind, a tool that asks a model by itself. The meter of a tool call also refuses calls at the run's ceilings.

```
BudgetMiddleware, around a model step     holds a part of every account around it: what is called inside is covered
a callback, at any other model call       holds it by itself: a `Meter` blocks its thread, a `_Gate` awaits on the event loop
```
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.tracers.context import register_configure_hook

from stepwell.errors import ToolUseError
from stepwell.middleware.spending.reservations import Account, Hold, Measure, await_for, wait_for
from stepwell.middleware.spending.sums import Ceilings, Spending, used_up
from stepwell.models.pricing import Price, TokenUse, price_of
from stepwell.models.token_count import estimate


class Sizes:
    """How much the largest call of each kind has needed, as far as this process has seen. A kind is a tool, or a subagent."""

    def __init__(self) -> None:
        self._largest: dict[str, Spending] = {}

    def note(self, kind: str, tokens: int, usd: float) -> None:
        known = self._largest.get(kind, {})
        self._largest[kind] = Spending(tokens=max(tokens, known.get("tokens", 0)), usd=max(usd, known.get("usd", 0.0)), calls=1)

    def expecting(self, kind: str, messages: Sequence[BaseMessage], find_price: Callable[[], Price | None]) -> Measure:
        """What a call with these messages will probably need."""
        asked: int | None = None

        def measure() -> Spending | None:
            nonlocal asked
            if (known := self._largest.get(kind)) is None:
                return None
            if asked is None:  # a long conversation is counted once, and only if somebody else is under way
                asked = estimate([*messages])  # type: ignore[list-item]  # messages of any kind have what it looks at
            if asked <= known["tokens"]:
                return known
            price = find_price()
            usd = price.of(TokenUse(input=asked)) if price else 0.0
            return Spending(tokens=asked, usd=max(usd, known["usd"]), calls=1)

        return measure


class Meter(BaseCallbackHandler):
    """Counts the model calls within one step of an agent.

    With `stop_at` it also holds a part of the run's account for each call, and refuses calls once a ceiling is reached; that ends a
    subagent which has no budget itself.
    """

    run_inline = True
    raise_error = True

    def __init__(
        self,
        together: Account,
        prices: Mapping[str, Price],
        *,
        kind: str = "",
        sizes: Sizes | None = None,
        stop_at: Ceilings | None = None,
        around: Meter | None = None,
        covered: bool = False,
        on_loop: asyncio.AbstractEventLoop | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.own = Account(Spending())
        """This step's part."""
        self.together = together
        """The run's, with the steps that run beside this one."""
        self.covered = covered
        """Whoever made this meter holds what its calls need."""
        self.kind = kind
        """What sort of calls these are, for `sizes`."""
        self._sizes = sizes or Sizes()
        self.gate = _Gate(self, on_loop) if on_loop else None
        self._around = around
        self._prices = prices
        self._stop_at = stop_at
        self._monotonic = monotonic
        self._started = monotonic()
        self._asked: dict[UUID, tuple[str, Sequence[BaseMessage]]] = {}
        self._holds: dict[UUID, Hold] = {}

    @property
    def accounts(self) -> tuple[Account, ...]:
        """Those that a call within this step spends from, the outermost first."""
        outer = self._around.accounts if self._around else ()
        return outer if self._stop_at is None else (*outer, self.together)

    def ceiling(self) -> str | None:
        """The ceiling that the run around this step has reached."""
        if self._stop_at is None:
            return None
        so_far: Spending = {**self.together.spent}
        so_far["seconds"] = so_far.get("seconds", 0.0) + self._monotonic() - self._started
        return self._stop_at.reached(so_far)

    def of_step(self, turn: str, step: str, seconds: float) -> Spending:
        """What this step adds to the run."""
        more: Spending = {**self.own.spent}
        more["turn"], more["step"], more["step_seconds"] = turn, step, seconds
        return more

    def close(self) -> None:
        """Give back what calls hold that were never ended: another handler may have refused them."""
        for run_id in list(self._holds):
            self._leave(run_id)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if ceiling := self.ceiling():
            raise _refused(used_up(ceiling))
        nested = parent_run_id in self._asked  # a model that asks another one: waiting for its own end would take for ever
        facts = metadata or {}
        label = ":".join(part for part in (facts.get("ls_provider"), facts.get("ls_model_name")) if part)
        self._asked[run_id] = (label, messages[0] if messages else ())
        if nested or self._stop_at is None or _is_covered() or (self.gate and self.gate.here()):
            return
        self._holds[run_id] = hold = Hold(self._expecting(run_id))
        if refusal := wait_for(self.together, hold):
            self._forget(run_id)
            raise _refused(refusal)

    async def hold(self, run_id: UUID) -> None:
        """What `on_chat_model_start` does in a thread, on the event loop."""
        if run_id not in self._asked or run_id in self._holds or self._stop_at is None or _is_covered():
            return
        self._holds[run_id] = hold = Hold(self._expecting(run_id))
        if refusal := await await_for(self.together, hold):
            self._forget(run_id)
            raise _refused(refusal)

    def is_asking(self, run_id: UUID | None) -> bool:
        return run_id in self._asked

    def _expecting(self, run_id: UUID) -> Measure:
        label, messages = self._asked[run_id]
        return self._sizes.expecting(self.kind, messages, lambda: price_of(label, self._prices))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        label, asked = self._asked.pop(run_id, ("", ()))
        generation = response.generations[0][0] if response.generations and response.generations[0] else None
        message = generation.message if isinstance(generation, ChatGeneration) else None
        use = tokens_of(message, asked)
        price = price_of(label, self._prices)
        tokens, usd = use.input + use.output, price.of(use) if price else 0.0
        unpriced = [] if price else [label or "an unnamed model"]
        self._sizes.note(self.kind, tokens, usd)
        self._count(Spending(tokens=tokens, calls=1, usd=usd, unpriced=unpriced))
        self._leave(run_id)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        if self._asked.pop(run_id, None):
            self._count(Spending(calls=1))
        self._leave(run_id)

    def _count(self, more: Spending) -> None:
        self.own.add(more)
        self.together.add(more)

    def _leave(self, run_id: UUID) -> None:
        if hold := self._holds.pop(run_id, None):
            self.together.leave(hold)

    def _forget(self, run_id: UUID) -> None:
        self._asked.pop(run_id, None)
        self._leave(run_id)


class _Gate(BaseCallbackHandler):
    """Waits on the event loop for what a meter's call needs. A handler of its own, since LangChain awaits a method only if it is `async`,
    and would not hear its refusal where the model is called from a thread."""

    run_inline = True
    raise_error = True
    ignore_chain = ignore_agent = ignore_retriever = ignore_retry = ignore_custom_event = True

    def __init__(self, meter: Meter, loop: asyncio.AbstractEventLoop) -> None:
        self._meter = meter
        self._loop = loop

    def here(self) -> bool:
        """Whether this is the event loop that the gate can wait on."""
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        if self.here() and not self._meter.is_asking(parent_run_id):
            await self._meter.hold(run_id)


def tokens_of(message: BaseMessage | None, asked: Sequence[BaseMessage]) -> TokenUse:
    """What the provider reports; an estimate from the lengths if it reports nothing."""
    usage = message.usage_metadata if isinstance(message, AIMessage) else None
    if not usage:
        answer = [] if message is None else [message]
        return TokenUse(count_tokens_approximately(asked), count_tokens_approximately(answer))
    details = usage.get("input_token_details") or {}
    return TokenUse(
        usage["input_tokens"], usage["output_tokens"], details.get("cache_read") or 0, details.get("cache_creation") or 0
    )


def _refused(reason: str) -> ToolUseError:
    return ToolUseError(f"Error: stopped, because {reason}.")


_METER: ContextVar[Meter | None] = ContextVar("stepwell_meter", default=None)
_GATE: ContextVar[_Gate | None] = ContextVar("stepwell_gate", default=None)


@cache
def _hear_every_model() -> None:
    """Let LangChain give the meter of the context to every model and tool. Once in a process, and only if a budget is made."""
    register_configure_hook(_METER, inheritable=True)
    register_configure_hook(_GATE, inheritable=True)


def current_meter() -> Meter | None:
    """The meter of the step that this agent runs in: that of the tool call which started it, if it is a subagent."""
    return _METER.get()


def _is_covered() -> bool:
    meter = _METER.get()
    return meter is not None and meter.covered


@contextmanager
def metering(meter: Meter) -> Iterator[None]:
    """Count the model calls of the body."""
    _hear_every_model()
    token, gate = _METER.set(meter), _GATE.set(meter.gate)
    try:
        yield
    finally:
        _GATE.reset(gate)
        _METER.reset(token)
