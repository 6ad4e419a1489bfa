"""What a run has spent: kept in the agent's state, so that it outlives the process; counted by a callback, so that nothing is missed.

The callback hears every model call that happens inside a step, whoever makes it: the agent, a summary, a subagent of any kind, a tool
that asks a model by itself. A step's spending is stored with its result and added up by the channel's reducer, since several tools of
one turn finish side by side.

Seconds are those of the agent's steps. Tools of one turn run at the same time, so the longest of them counts; waiting for a person
counts nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, TypedDict
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.tracers.context import register_configure_hook

from stepwell.errors import ToolUseError
from stepwell.models.pricing import Price, TokenUse, price_of


class Spending(TypedDict, total=False):
    """The sums of one run, or what one step adds to them."""

    turn: str
    """Which run: what belongs to another one starts from nothing."""
    tokens: int
    usd: float
    calls: int
    seconds: float
    step: str
    """The latest step, and how long it took; `seconds` holds those before it."""
    step_seconds: float
    unpriced: list[str]
    """Models whose price nobody knows."""
    warned: bool
    stopped: str
    """Set by a step that wants the run to end, with the reason."""


def add_spending(sums: Spending, more: Spending) -> Spending:
    """The reducer of the state's channel."""
    if sums.get("turn") != more.get("turn"):
        sums = Spending()
    same_step = sums.get("step") == more.get("step")
    before = sums.get("step_seconds", 0.0)
    now = more.get("step_seconds", 0.0)
    added = Spending(
        turn=more.get("turn", ""),
        tokens=sums.get("tokens", 0) + more.get("tokens", 0),
        usd=sums.get("usd", 0.0) + more.get("usd", 0.0),
        calls=sums.get("calls", 0) + more.get("calls", 0),
        seconds=sums.get("seconds", 0.0) + (0.0 if same_step else before),
        step=more.get("step", ""),
        step_seconds=max(before, now) if same_step else now,
        unpriced=sorted({*sums.get("unpriced", ()), *more.get("unpriced", ())}),
        warned=sums.get("warned", False) or more.get("warned", False),
    )
    if stopped := more.get("stopped") or sums.get("stopped"):
        added["stopped"] = stopped
    return added


@dataclass(frozen=True, slots=True)
class Limits:
    """Ceilings of a run; None is none."""

    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None
    calls: int | None = None

    def shares(self, spent: Spending) -> dict[str, float]:
        """How much of each ceiling is used, 1.0 being all of it."""
        used = {
            "tokens": (spent.get("tokens", 0), self.tokens),
            "usd": (spent.get("usd", 0.0), self.usd),
            "seconds": (total_seconds(spent), self.seconds),
            "calls": (spent.get("calls", 0), self.calls),
        }
        return {name: amount / limit for name, (amount, limit) in used.items() if limit is not None}

    def reached(self, spent: Spending) -> str | None:
        """The ceiling that is reached, in words."""
        for name, share in self.shares(spent).items():
            if share >= 1.0:
                return self.worded(name)
        return None

    def worded(self, name: str) -> str:
        """A ceiling as a person reads it."""
        limit = getattr(self, name)
        match name:
            case "usd":
                return f"${limit:,.2f}"
            case "seconds":
                return f"{limit:g} seconds"
            case "calls":
                return f"{limit:,} model calls"
            case _:
                return f"{limit:,} {name}"


def total_seconds(spent: Spending) -> float:
    return spent.get("seconds", 0.0) + spent.get("step_seconds", 0.0)


def worded(spent: Spending) -> str:
    """Sums as a person reads them."""
    parts = [f"{spent.get('tokens', 0):,} tokens in {spent.get('calls', 0):,} model calls"]
    if spent.get("usd"):
        parts.append(f"about ${spent['usd']:.4f}")
    if spent.get("unpriced"):
        parts.append(f"and what {', '.join(spent['unpriced'])} cost, whose price is not known")
    parts.append(f"{total_seconds(spent):.0f} s")
    return ", ".join(parts)


class Sum:
    """Spending that several steps at once add to. Safe from any thread."""

    def __init__(self, spent: Spending) -> None:
        self._spent = spent
        self._lock = threading.Lock()

    def add(self, more: Spending) -> None:
        with self._lock:
            self._spent = add_spending(self._spent, {**more, "turn": self._spent.get("turn", "")})

    @property
    def spent(self) -> Spending:
        return self._spent


class Meter(BaseCallbackHandler):
    """Counts the model calls within one step of an agent.

    With `stop_at` it also refuses further calls once the run's ceiling is reached; that ends a subagent which has no budget itself.
    """

    run_inline = True
    raise_error = True

    def __init__(
        self,
        together: Sum,
        prices: Mapping[str, Price],
        *,
        stop_at: Limits | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.own = Sum(Spending())
        """This step's part."""
        self.together = together
        """The run's, with the steps that run beside this one."""
        self._prices = prices
        self._stop_at = stop_at
        self._monotonic = monotonic
        self._started = monotonic()
        self._asked: dict[UUID, tuple[str, Sequence[BaseMessage]]] = {}

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

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if ceiling := self.ceiling():
            raise ToolUseError(f"Error: stopped, because the run's budget of {ceiling} is used up.")
        facts = metadata or {}
        label = ":".join(part for part in (facts.get("ls_provider"), facts.get("ls_model_name")) if part)
        self._asked[run_id] = (label, messages[0] if messages else ())

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        label, asked = self._asked.pop(run_id, ("", ()))
        generation = response.generations[0][0] if response.generations and response.generations[0] else None
        message = generation.message if isinstance(generation, ChatGeneration) else None
        use = tokens_of(message, asked)
        price = price_of(label, self._prices)
        self._count(
            Spending(
                tokens=use.input + use.output,
                calls=1,
                usd=price.of(use) if price else 0.0,
                unpriced=[] if price else [label or "an unnamed model"],
            )
        )

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        if self._asked.pop(run_id, None):
            self._count(Spending(calls=1))

    def _count(self, more: Spending) -> None:
        self.own.add(more)
        self.together.add(more)


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


_METER: ContextVar[Meter | None] = ContextVar("stepwell_meter", default=None)


@cache
def _hear_every_model() -> None:
    """Let LangChain give the meter of the context to every model and tool. Once in a process, and only if a budget is made."""
    register_configure_hook(_METER, inheritable=True)


def current_meter() -> Meter | None:
    """The meter of the step that this agent runs in: that of the tool call which started it, if it is a subagent."""
    return _METER.get()


@contextmanager
def metering(meter: Meter) -> Iterator[None]:
    """Count the model calls of the body."""
    _hear_every_model()
    token = _METER.set(meter)
    try:
        yield
    finally:
        _METER.reset(token)
