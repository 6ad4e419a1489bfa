"""What a run uses of its models: calls and tokens per model, heard by a callback.

One `UsageMeter` goes into the callbacks of a run's config. LangChain hands it on to everything that happens inside: subagents,
nested graphs, summaries, tools that ask a model by themselves. A failed call counts as a call; what had been streamed of it
counts as tokens. Where a provider reports no tokens they are estimated from the lengths.

It only counts. Ceilings are `BudgetMiddleware`'s, which has a meter of its own inside the agent.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, Generation, LLMResult

from stepwell.models.pricing import Price, TokenUse, price_of
from stepwell.runs.records import ModelUsage

if TYPE_CHECKING:
    from stepwell.models.token_count import IncrementalCounter

UNNAMED = "unnamed"
"""A model that says neither its provider nor its name."""


@dataclass(slots=True)
class _Sum:
    calls: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def add(self, use: TokenUse) -> None:
        self.calls += 1
        self.input += use.input
        self.output += use.output
        self.cache_read += use.cache_read
        self.cache_write += use.cache_write


class UsageMeter(BaseCallbackHandler):
    """Counts the model calls of one run. Safe from any thread; `prices` go before the built-in table."""

    run_inline = True  # else LangChain calls it in a thread, for every call
    # Nodes, tools and retrievers are not its business: saying so spares a call for each of them.
    ignore_chain = True
    ignore_agent = True
    ignore_retriever = True
    ignore_retry = True
    ignore_custom_event = True

    def __init__(self, prices: Mapping[str, Price] | None = None) -> None:
        self._prices = prices
        self._sums: dict[str, _Sum] = {}
        self._asked: dict[UUID, tuple[str, Sequence[BaseMessage]]] = {}
        self._lengths: IncrementalCounter | None = None
        self._lock = threading.Lock()

    def usage(self) -> list[ModelUsage]:
        """The sums so far, by model, in the order in which the models were first heard of."""
        with self._lock:
            return [self._usage_of(model, counted) for model, counted in self._sums.items()]

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self._asked[run_id] = (_label(metadata), messages[0] if messages else ())

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self._asked[run_id] = (_label(metadata), [HumanMessage(prompt) for prompt in prompts])

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        asked = self._asked.pop(run_id, None)
        if asked is not None:
            self._count(asked[0], self._tokens(_first(response), asked[1]))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, response: LLMResult | None = None, **kwargs: Any) -> None:
        asked = self._asked.pop(run_id, None)
        if asked is None:
            return
        streamed = _first(response) if response else None
        # A call that was refused used nothing. One that broke off while it spoke is charged for what it read and said.
        self._count(asked[0], self._tokens(streamed, asked[1]) if streamed and streamed.text else TokenUse())

    def _count(self, model: str, use: TokenUse) -> None:
        with self._lock:
            self._sums.setdefault(model, _Sum()).add(use)

    def _tokens(self, answer: Generation | None, asked: Sequence[BaseMessage]) -> TokenUse:
        message = answer.message if isinstance(answer, ChatGeneration) else None
        usage = message.usage_metadata if isinstance(message, AIMessage) else None
        if usage:
            details = usage.get("input_token_details") or {}
            cached = (details.get("cache_read") or 0, details.get("cache_creation") or 0)
            return TokenUse(usage["input_tokens"], usage["output_tokens"], *cached)
        said: list[BaseMessage] = [message or AIMessage(answer.text)] if answer else []
        return TokenUse(self._estimate(asked), count_tokens_approximately(said))

    def _estimate(self, asked: Sequence[BaseMessage]) -> int:
        """What a model was asked before is not counted again: a conversation is asked once more with every step."""
        if self._lengths is None:
            # Only now: an agent's middleware takes a seventh of a second to import, and a server starts without it.
            from stepwell.models.token_count import IncrementalCounter

            self._lengths = IncrementalCounter(count_tokens_approximately)
        return self._lengths.total(cast("Sequence[AnyMessage]", asked), reports_from=len(asked))

    def _usage_of(self, model: str, counted: _Sum) -> ModelUsage:
        price = price_of(model, self._prices)
        use = TokenUse(counted.input, counted.output, counted.cache_read, counted.cache_write)
        return ModelUsage(model, counted.calls, use.input, use.output, price.of(use) if price else None)


def _label(metadata: Mapping[str, Any] | None) -> str:
    facts = metadata or {}
    return ":".join(str(part) for part in (facts.get("ls_provider"), facts.get("ls_model_name")) if part) or UNNAMED


def _first(response: LLMResult) -> Generation | None:
    return response.generations[0][0] if response.generations and response.generations[0] else None
