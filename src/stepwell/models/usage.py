"""What model calls use: tokens, and what they cost. Budgets, the usage of runs, and the limits of research all use this count.

| a call that                 | counts as one call, and                                                   |
|-----------------------------|---------------------------------------------------------------------------|
| has reported its tokens     | the tokens it reported                                                    |
| reports none, or only zeros | an estimate of what it read and said, from the lengths                    |
| fails before its first word | no tokens                                                                 |
| breaks off midway           | what it read and what it had said by then; both are charged               |
| is cancelled                | the same: LangChain does not report its end, so it stays open here        |

A model without a known price costs None, never 0. A limit counts the known part (`UsageSum.known_usd`) and names the models whose price
is missing (`unpriced`); a report says that the cost is unknown (`cost_usd`).

This module imports none of the agent middleware, because a server counts the usage of runs but starts without the middleware.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, LLMResult

from stepwell.models.facts import describe
from stepwell.models.pricing import Price, TokenUse, price_of
from stepwell.models.token_count import CHARS_PER_TOKEN, IncrementalCounter

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

UNNAMED = "unnamed"
"""The label of a model that reports neither its provider nor its name. Stored with the usage of runs."""
_WORDS = ("text", "thinking", "reasoning", "args")
"""The fields of a stream's parts that contain what the model says."""


def label_of(model: BaseChatModel) -> str:
    """`provider:name`, the label of a model in prices and sums."""
    facts = describe(model)
    return _label(facts.provider, facts.name)


def label_from(metadata: Mapping[str, Any] | None) -> str:
    """The label of a model, from the metadata that LangChain gives a callback."""
    facts = metadata or {}
    return _label(facts.get("ls_provider"), facts.get("ls_model_name"))


def _label(*parts: object) -> str:
    return ":".join(str(part) for part in parts if part) or UNNAMED


def reported_tokens(message: BaseMessage | None) -> TokenUse | None:
    """The tokens that the provider reports with its answer. A report of zeros does not count: some servers always send it."""
    usage = message.usage_metadata if isinstance(message, AIMessage) else None
    return _tokens_in(usage) if usage and usage["total_tokens"] else None


def _tokens_in(usage: UsageMetadata) -> TokenUse:
    details = usage.get("input_token_details") or {}
    cached = (details.get("cache_read") or 0, details.get("cache_creation") or 0)
    return TokenUse(usage["input_tokens"], usage["output_tokens"], *cached)


@dataclass(frozen=True, slots=True)
class CallUsage:
    """What one call used."""

    model: str
    tokens: TokenUse
    cost_usd: float | None
    """None: no price is known."""
    estimated: bool = False
    """Whether the tokens are estimated from lengths, because the provider reported none."""


def usage_of(
    model: str,
    asked: Sequence[BaseMessage],
    answer: BaseMessage | None,
    prices: Mapping[str, Price] | None = None,
    lengths: IncrementalCounter | None = None,
) -> CallUsage:
    """What a finished call used. `lengths` remembers earlier counts, for a conversation that grows."""
    tokens = reported_tokens(answer)
    if tokens is None:
        said = count_tokens_approximately([] if answer is None else [answer])
        return replace(price_call(model, TokenUse(_length_of(asked, lengths), said), prices), estimated=True)
    return price_call(model, tokens, prices)


def _length_of(asked: Sequence[BaseMessage], lengths: IncrementalCounter | None) -> int:
    counter = lengths or IncrementalCounter(count_tokens_approximately)
    # Usage reports in the input are about other calls.
    return counter.total(cast("Sequence[AnyMessage]", asked), reports_from=len(asked))


def price_call(model: str, tokens: TokenUse, prices: Mapping[str, Price] | None = None) -> CallUsage:
    """The usage of a call whose tokens are known."""
    price = price_of(model, prices)
    return CallUsage(model, tokens, price.of(tokens) if price else None)


@dataclass(slots=True)
class UsageSum:
    """What several calls used."""

    calls: int = 0
    tokens: TokenUse = field(default_factory=TokenUse)
    known_usd: float = 0.0
    """The cost of the calls whose price is known."""
    unpriced: set[str] = field(default_factory=set)
    """The models of the calls whose price is unknown."""
    estimated: int = 0
    """How many calls reported no tokens, so that their tokens are estimated."""

    @property
    def cost_usd(self) -> float | None:
        """None as soon as the price of one call is unknown."""
        return None if self.unpriced else self.known_usd

    def add(self, usage: CallUsage) -> None:
        self.calls += 1
        self.tokens += usage.tokens
        self.estimated += usage.estimated
        if usage.cost_usd is None:
            self.unpriced.add(usage.model)
        else:
            self.known_usd += usage.cost_usd


@dataclass(slots=True)
class OpenCall:
    """A call that has not ended yet."""

    model: str
    asked: Sequence[BaseMessage]
    said_chars: int = 0
    """Characters streamed so far."""
    report: UsageMetadata | None = None
    """Usage reported so far: some providers report the input first."""

    def hear(self, message: BaseMessage | None, token: object) -> None:
        """Count a part of the answer."""
        if isinstance(token, str):
            self.said_chars += len(token)
        elif isinstance(token, Sequence):
            self.said_chars += sum(_count_words(block) for block in token)
        if calls := getattr(message, "tool_call_chunks", None):
            self.said_chars += sum(_count_words(call) for call in calls)
        # By attribute: `isinstance` on these classes would take longer than this whole method, which runs for every token.
        if usage := getattr(message, "usage_metadata", None):
            self.report = add_usage(self.report, usage)

    def tokens_so_far(self, lengths: IncrementalCounter) -> TokenUse:
        """What the call used if it ends now."""
        report = _tokens_in(self.report) if self.report else TokenUse()
        if not self.said_chars and not report.input:
            return report
        said = max(report.output, self.said_chars // CHARS_PER_TOKEN)
        return TokenUse(report.input or _length_of(self.asked, lengths), said, report.cache_read, report.cache_write)


def _count_words(part: object) -> int:
    """The characters of what a model says in a part of a stream."""
    if not isinstance(part, Mapping):
        return len(part) if isinstance(part, str) else 0
    return sum(len(said) for name in _WORDS if isinstance(said := part.get(name), str))


class CallListener(BaseCallbackHandler):
    """Receives every model call below it, of chat models and of completion models, and passes each to `add` once.

    LangChain passes a callback to everything inside: subagents, nested graphs, summaries, tools that call a model themselves.
    Thread-safe. A call whose start was not seen is not counted.
    """

    run_inline = True  # otherwise LangChain calls it in a thread, for every call
    # It does not need nodes, tools and retrievers; saying so saves a call for each of them.
    ignore_chain = ignore_agent = ignore_retriever = ignore_retry = ignore_custom_event = True

    def __init__(self, prices: Mapping[str, Price] | None = None) -> None:
        """`prices` override the built-in table."""
        self.prices = prices
        self.open_calls: dict[UUID, OpenCall] = {}
        self._lengths = IncrementalCounter(count_tokens_approximately)

    def add(self, run_id: UUID, usage: CallUsage) -> None:
        """Count a call that has ended, with or without success."""
        raise NotImplementedError

    def usage_so_far(self, call: OpenCall) -> CallUsage:
        """What an open call has used, if its end is never reported."""
        return price_call(call.model, call.tokens_so_far(self._lengths), self.prices)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.open_calls[run_id] = OpenCall(label_from(metadata), messages[0] if messages else ())

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.open_calls[run_id] = OpenCall(label_from(metadata), [HumanMessage(prompt) for prompt in prompts])

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: UUID, **kwargs: Any) -> None:
        if call := self.open_calls.get(run_id):
            call.hear(getattr(chunk, "message", None), token)

    def on_stream_event(self, event: Any, *, run_id: UUID, **kwargs: Any) -> None:
        if call := self.open_calls.get(run_id):
            call.said_chars += _count_words(event.get("delta"))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        if call := self.open_calls.pop(run_id, None):
            self.add(run_id, usage_of(call.model, call.asked, _answer_in(response), self.prices, self._lengths))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        if call := self.open_calls.pop(run_id, None):
            self.add(run_id, self.usage_so_far(call))


def _answer_in(response: LLMResult) -> BaseMessage | None:
    if not response.generations or not response.generations[0]:
        return None
    answer = response.generations[0][0]
    return answer.message if isinstance(answer, ChatGeneration) else AIMessage(answer.text)


class UsageMeter(CallListener):
    """A callback that sums up the usage of model calls by model."""

    def __init__(self, prices: Mapping[str, Price] | None = None) -> None:
        super().__init__(prices)
        self._sums: dict[str, UsageSum] = {}
        self._lock = threading.Lock()

    def add(self, run_id: UUID, usage: CallUsage) -> None:
        with self._lock:
            _add_to(self._sums, usage)

    def sums(self) -> dict[str, UsageSum]:
        """The sums so far, in the order in which the models first appeared. Open calls count with what they have used."""
        with self._lock:
            sums = {model: replace(counted, unpriced=set(counted.unpriced)) for model, counted in self._sums.items()}
        for call in list(self.open_calls.values()):
            _add_to(sums, self.usage_so_far(call))
        return sums


def _add_to(sums: dict[str, UsageSum], usage: CallUsage) -> None:
    sums.setdefault(usage.model, UsageSum()).add(usage)
