"""What a run has used of its models, as it is stored: one row for each model.

`RunMeter` stands in the callbacks of the run's config and counts; it also tells whoever keeps step records when a call began and
ended. Ceilings are not held here but by `BudgetMiddleware`, inside the agent.
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
    """Hears of each model call, with what it used."""

    def model_began(self, run_id: UUID, model: str, metadata: Mapping[str, Any]) -> None: ...
    def model_ended(self, run_id: UUID, use: TokenUse, cost_usd: float | None, error: BaseException | None) -> None: ...


class RunMeter(UsageMeter):
    """Counts the model calls of one run, and tells of each. Safe from any thread."""

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
        """What calls of a step have read and said that have not come to their end; None if they have said nothing yet."""
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
    """The sums so far. A cost that is not known is None."""
    return [
        ModelUsage(model, used.calls, used.tokens.input, used.tokens.output, used.cost_usd)
        for model, used in meter.sums().items()
    ]
