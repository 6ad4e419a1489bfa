"""Notes every call of a run's models: which model answered, for the reader, and what it used, for whoever counts.

Attached to a model when a run's graph is built, so it also sees the calls of subagents, summaries and tools. The message that a call
returns says in `response_metadata["stepwell_model"]` which model wrote it; that stays with the message in the thread.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from stepwell.models.connected import ConnectedModel, current_models
from stepwell.models.usage import CallListener, CallUsage

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

SAID_BY = "stepwell_model"

logger = logging.getLogger(__name__)


def note_calls(built: BaseChatModel, model: ConnectedModel) -> BaseChatModel:
    """Attach the note to a model that was just built."""
    built.callbacks = [ConnectedCalls(model)]
    built.metadata = {**(built.metadata or {}), SAID_BY: describe_model(model)}
    return built


def describe_model(model: ConnectedModel) -> dict[str, str]:
    """What a message says about the model that wrote it."""
    return {"provider": model.provider, "model": model.name, "label": model.label}


class ConnectedCalls(CallListener):
    """Sees every call of one model, in whichever run it happens."""

    raise_error = True
    """So that a limit can refuse a call."""

    def __init__(self, model: ConnectedModel) -> None:
        super().__init__()
        self._model = model
        self._ended: dict[UUID, CallUsage] = {}

    def add(self, run_id: UUID, usage: CallUsage) -> None:
        self._ended[run_id] = usage

    async def on_chat_model_start(  # type: ignore[override]  # LangChain awaits a handler's method if it is a coroutine
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        super().on_chat_model_start(serialized, messages, run_id=run_id, **kwargs)
        models = current_models()
        if models and models.watch:
            try:
                await models.watch.before(self._model, models.user)
            except BaseException:
                self.open_calls.pop(run_id, None)
                raise

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:  # type: ignore[override]
        for generations in response.generations:
            for generation in generations:
                if isinstance(generation, ChatGeneration) and isinstance(generation.message, AIMessage):
                    generation.message.response_metadata[SAID_BY] = describe_model(self._model)
        super().on_llm_end(response, run_id=run_id, **kwargs)
        await self._count(run_id)

    async def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # type: ignore[override]
        super().on_llm_error(error, run_id=run_id, **kwargs)
        await self._count(run_id)

    async def _count(self, run_id: UUID) -> None:
        usage, models = self._ended.pop(run_id, None), current_models()
        if usage is None or models is None or models.watch is None:
            return
        try:
            await models.watch.after(self._model, models.user, usage)
        except Exception:  # the answer is there; it must not be lost because it could not be counted
            logger.exception("the use of a model could not be counted")
