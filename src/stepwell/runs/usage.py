"""A run's model usage, as stored: one row per model.

`RunMeter` is one of the callbacks in the run's config and counts usage; it also tells the step recorder when a call began and ended. Limits
are enforced by `BudgetMiddleware` inside the agent, not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol
from uuid import UUID

from langchain_core.messages import BaseMessage

from stepwell.database.types import ModelUsage
from stepwell.models.pricing import TokenUse
from stepwell.models.usage import CallUsage, UsageMeter


class ModelCalls(Protocol):
    """Observes each model call, with its usage."""

    def model_began(self, run_id: UUID, model: str, metadata: Mapping[str, Any]) -> None: ...
    def model_ended(self, run_id: UUID, use: TokenUse, cost_usd: float | None, error: BaseException | None) -> None: ...


class RunMeter(UsageMeter):
    """Counts the model calls of one run, and reports each. Thread-safe."""

    def __init__(self, calls: ModelCalls) -> None:
        super().__init__()
        self._calls = calls
        self._errors: dict[UUID, BaseException] = {}
        self._places: dict[UUID, str] = {}

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().on_chat_model_start(serialized, messages, run_id=run_id, metadata=metadata, **kwargs)
        self._begin(run_id, metadata or {})

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().on_llm_start(serialized, prompts, run_id=run_id, metadata=metadata, **kwargs)
        self._begin(run_id, metadata or {})

    def _begin(self, run_id: UUID, metadata: Mapping[str, Any]) -> None:
        self._places[run_id] = str(metadata.get("langgraph_checkpoint_ns", ""))
        self._calls.model_began(run_id, self.open_calls[run_id].model, metadata)

    def said_at(self, namespace: str) -> tuple[int, int] | None:
        """The tokens read and written so far by a step's unfinished calls; None if they have written nothing yet."""
        here = [call for run_id, call in self.open_calls.items() if self._places.get(run_id) == namespace and call.said_chars]
        used = sum((self.usage_so_far(call).tokens for call in here), TokenUse())
        return (used.input, used.output) if here else None

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._errors[run_id] = error
        super().on_llm_error(error, run_id=run_id, **kwargs)
        self._errors.pop(run_id, None)

    def add(self, run_id: UUID, usage: CallUsage) -> None:
        super().add(run_id, usage)
        self._places.pop(run_id, None)
        self._calls.model_ended(run_id, usage.tokens, usage.cost_usd, self._errors.get(run_id))


def model_usage(meter: UsageMeter) -> list[ModelUsage]:
    """The totals so far. An unknown cost is None."""
    return [
        ModelUsage(model, used.calls, used.tokens.input, used.tokens.output, used.cost_usd)
        for model, used in meter.sums().items()
    ]
