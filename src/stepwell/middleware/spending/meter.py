"""Counts the model calls within one step of an agent. A callback counts them, so that none is missed: the agent's own calls, the calls for
a summary, those of any kind of subagent, and those of a tool that calls a model itself. `stepwell.models.usage` counts what each call
used; the meter of a tool call also refuses calls at the run's limits.

```
BudgetMiddleware, around a model step     reserves from every account around it, which covers the calls inside
a callback, at any other model call       makes its own reservation: a `ToolMeter` blocks its thread, a `_Gate` awaits on the event loop
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
from langchain_core.messages import BaseMessage
from langchain_core.tracers.context import register_configure_hook

from stepwell.errors import ToolUseError
from stepwell.middleware.spending.reservations import Account, Hold, Measure, await_for, wait_for
from stepwell.middleware.spending.sums import Spending, used_up
from stepwell.models.pricing import Price, TokenUse, price_of
from stepwell.models.token_count import estimate
from stepwell.models.usage import CallListener, CallUsage


class Sizes:
    """What the largest call of each kind that this process has seen has used. A kind is a tool, or a subagent."""

    def __init__(self) -> None:
        self._largest: dict[str, Spending] = {}

    def note(self, kind: str, tokens: int, usd: float) -> None:
        known = self._largest.get(kind, {})
        self._largest[kind] = Spending(tokens=max(tokens, known.get("tokens", 0)), usd=max(usd, known.get("usd", 0.0)), calls=1)

    def expecting(self, kind: str, messages: Sequence[BaseMessage], find_price: Callable[[], Price | None]) -> Measure:
        """What a call with these messages will probably use."""
        asked: int | None = None

        def measure() -> Spending | None:
            nonlocal asked
            if (known := self._largest.get(kind)) is None:
                return None
            if asked is None:  # a long conversation is counted once, and only if other calls are in progress
                asked = estimate([*messages])  # type: ignore[list-item]  # messages of any kind have what it looks at
            if asked <= known["tokens"]:
                return known
            price = find_price()
            usd = price.of(TokenUse(input=asked)) if price else 0.0
            return Spending(tokens=asked, usd=max(usd, known["usd"]), calls=1)

        return measure


class Meter(CallListener):
    """Counts the model calls within one step of an agent. Whoever created the meter has made sure that these calls are allowed."""

    raise_error = True
    covered = True
    """Whether the creator of this meter has already reserved what its calls need."""
    kind = ""
    """The kind of the calls that this meter counts, for `Sizes`."""
    gate: _Gate | None = None

    def __init__(self, together: Account, prices: Mapping[str, Price], around: Meter | None = None) -> None:
        super().__init__(prices)
        self.own = Account(Spending())
        """What this step spends."""
        self.together = together
        """What the run spends, including the steps that run in parallel with this one."""
        self._around = around

    @property
    def accounts(self) -> tuple[Account, ...]:
        """The accounts that a call within this step spends from, outermost first."""
        return self._around.accounts if self._around else ()

    def ceiling(self) -> str | None:
        """The limit that the run around this step has reached, in words; None if it has not reached any."""
        return None

    def of_step(self, turn: str, step: str, seconds: float) -> Spending:
        """Close the step, and return what it adds to the run."""
        self.close()
        more: Spending = {**self.own.spent}
        more["turn"], more["step"], more["step_seconds"] = turn, step, seconds
        return more

    def close(self) -> None:
        """Count the calls that reported no end, because they were cancelled."""
        for run_id in list(self.open_calls):
            if call := self.open_calls.pop(run_id, None):
                self.add(run_id, self.usage_so_far(call))

    def add(self, run_id: UUID, usage: CallUsage) -> None:
        unpriced = [usage.model] if usage.cost_usd is None else []
        more = Spending(tokens=usage.tokens.total, calls=1, usd=usage.cost_usd or 0.0, unpriced=unpriced)
        self.own.add(more)
        self.together.add(more)


class ToolMeter(Meter):
    """Counts the model calls within a tool call. It also reserves a part of the run's account for each of them, and refuses them once a
    limit is reached; a refusal ends a subagent that has no budget of its own."""

    covered = False

    def __init__(
        self,
        together: Account,
        prices: Mapping[str, Price],
        around: Meter | None = None,
        *,
        kind: str,
        sizes: Sizes,
        on_loop: asyncio.AbstractEventLoop | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`on_loop` is the event loop that the tool runs on, if the tool is async."""
        super().__init__(together, prices, around)
        self.kind = kind
        self.gate = _Gate(self, on_loop) if on_loop else None
        self._sizes = sizes
        self._monotonic = monotonic
        self._started = monotonic()
        self._holds: dict[UUID, Hold] = {}

    @property
    def accounts(self) -> tuple[Account, ...]:
        return (*super().accounts, self.together)

    def ceiling(self) -> str | None:
        so_far: Spending = {**self.together.spent}
        so_far["seconds"] = so_far.get("seconds", 0.0) + self._monotonic() - self._started
        return self.together.ceilings.reached(so_far)

    def close(self) -> None:
        super().close()
        for run_id in list(self._holds):  # another handler may have refused these calls
            self._leave(run_id)

    def add(self, run_id: UUID, usage: CallUsage) -> None:
        self._sizes.note(self.kind, usage.tokens.total, usage.cost_usd or 0.0)
        super().add(run_id, usage)
        self._leave(run_id)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        self._refuse_at_ceiling()
        super().on_chat_model_start(serialized, messages, run_id=run_id, **kwargs)
        self._hold_in_thread(run_id, parent_run_id)

    def on_llm_start(
        self, serialized: dict[str, Any], prompts: list[str], *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        self._refuse_at_ceiling()
        super().on_llm_start(serialized, prompts, run_id=run_id, **kwargs)
        self._hold_in_thread(run_id, parent_run_id)

    def is_asking(self, run_id: UUID | None) -> bool:
        return run_id in self.open_calls

    async def hold(self, run_id: UUID) -> None:
        """Reserve a part of the account for a call, from the event loop."""
        if not self.is_asking(run_id) or run_id in self._holds or _is_covered():
            return
        self._holds[run_id] = hold = Hold(self._expecting(run_id))
        if refusal := await await_for(self.together, hold):
            raise self._refuse(run_id, refusal)

    def _hold_in_thread(self, run_id: UUID, parent_run_id: UUID | None) -> None:
        """Reserve a part of the account for a call, from a thread, which blocks meanwhile."""
        nested = self.is_asking(parent_run_id)  # a model that calls another model must not wait for its own end
        if nested or _is_covered() or (self.gate and self.gate.here()):
            return
        self._holds[run_id] = hold = Hold(self._expecting(run_id))
        if refusal := wait_for(self.together, hold):
            raise self._refuse(run_id, refusal)

    def _refuse_at_ceiling(self) -> None:
        if ceiling := self.ceiling():
            raise _refusal(used_up(ceiling))

    def _refuse(self, run_id: UUID, reason: str) -> ToolUseError:
        """Drop a call that may not be made, so that it is not counted."""
        self.open_calls.pop(run_id, None)
        self._leave(run_id)
        return _refusal(reason)

    def _expecting(self, run_id: UUID) -> Measure:
        call = self.open_calls[run_id]
        return self._sizes.expecting(self.kind, call.asked, lambda: price_of(call.model, self.prices))

    def _leave(self, run_id: UUID) -> None:
        if hold := self._holds.pop(run_id, None):
            self.together.leave(hold)


class _Gate(BaseCallbackHandler):
    """Waits on the event loop for what a meter's call needs. It is a separate handler because LangChain awaits a method only if it is
    `async`, and would ignore the refusal of an async method if the model is called from a thread."""

    run_inline = True
    raise_error = True
    ignore_chain = ignore_agent = ignore_retriever = ignore_retry = ignore_custom_event = True

    def __init__(self, meter: ToolMeter, loop: asyncio.AbstractEventLoop) -> None:
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
        await self._hold(run_id, parent_run_id)

    async def on_llm_start(
        self, serialized: dict[str, Any], prompts: list[str], *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        await self._hold(run_id, parent_run_id)

    async def _hold(self, run_id: UUID, parent_run_id: UUID | None) -> None:
        if self.here() and not self._meter.is_asking(parent_run_id):
            await self._meter.hold(run_id)


def _refusal(reason: str) -> ToolUseError:
    return ToolUseError(f"Error: stopped, because {reason}.")


_METER: ContextVar[Meter | None] = ContextVar("stepwell_meter", default=None)
_GATE: ContextVar[_Gate | None] = ContextVar("stepwell_gate", default=None)


@cache
def _hear_every_model() -> None:
    """Let LangChain pass the context's meter to every model and tool. This happens once per process, and only if a budget is used."""
    register_configure_hook(_METER, inheritable=True)
    register_configure_hook(_GATE, inheritable=True)


def current_meter() -> Meter | None:
    """The meter of the step that this agent runs in. For a subagent, that is the meter of the tool call that started it."""
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
