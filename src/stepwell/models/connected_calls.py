"""Notes every call of a run's models: which model answered, for the reader, and what it used, for whoever counts.

Attached to a model when a run's graph is built, so it also sees the calls of subagents, summaries and tools. The message that a call
returns says in `response_metadata["stepwell_model"]` which model wrote it; that stays with the message in the thread.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from stepwell.models.connected import ConnectedModel, RunModels, Settle, current_models
from stepwell.models.pricing import TokenUse
from stepwell.models.token_count import CHARS_PER_TOKEN
from stepwell.models.usage import CallListener, CallUsage, OpenCall, price_call, usage_of

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

SAID_BY = "stepwell_model"
_ANSWER = 4_000
"""The tokens of an answer before it is known."""
_LONGEST = ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict")
"""What providers call the limit for an answer."""

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
        self._watched: dict[UUID, tuple[RunModels, Settle]] = {}

    def add(self, run_id: UUID, usage: CallUsage) -> None:
        self._ended[run_id] = usage

    async def on_chat_model_start(  # type: ignore[override]  # LangChain awaits a handler's method if it is a coroutine
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        super().on_chat_model_start(serialized, messages, run_id=run_id, **kwargs)
        models = current_models()
        if not models or not models.watch:
            return
        expected = self._expect(self.open_calls[run_id], kwargs.get("invocation_params") or {})
        try:
            settle = await models.watch.before(self._model, models.user, expected)
        except BaseException:
            self.open_calls.pop(run_id, None)
            raise
        self._watched[run_id] = models, settle
        models.open_calls[run_id] = partial(self._break_off, run_id)

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:  # type: ignore[override]
        for generations in response.generations:
            for generation in generations:
                if isinstance(generation, ChatGeneration) and isinstance(generation.message, AIMessage):
                    generation.message.response_metadata[SAID_BY] = describe_model(self._model)
        super().on_llm_end(response, run_id=run_id, **kwargs)
        await self._count(run_id)

    async def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # type: ignore[override]
        if not isinstance(error, Exception):  # cancelled
            return await self._break_off(run_id)
        super().on_llm_error(error, run_id=run_id, **kwargs)
        return await self._count(run_id)

    async def _break_off(self, run_id: UUID) -> None:
        """Count a cancelled call: the provider has read the question, whether or not it had begun to answer."""
        if call := self.open_calls.pop(run_id, None):
            so_far = self.usage_so_far(call)
            self.add(run_id, so_far if so_far.tokens.total else usage_of(call.model, call.asked, None, lengths=self._lengths))
        await self._count(run_id)

    async def _count(self, run_id: UUID) -> None:
        usage = self._ended.pop(run_id, None)
        models, settle = self._watched.pop(run_id, (None, None))
        if models is not None:
            models.open_calls.pop(run_id, None)
        if usage is None or settle is None:
            return
        try:
            await settle(usage)
        except Exception:  # the answer is there; it must not be lost because it could not be counted
            logger.exception("the use of a model could not be counted")

    def _expect(self, call: OpenCall, parameters: Mapping[str, Any]) -> CallUsage:
        """What a call will probably use: its messages and tools by their lengths, and an answer of some length."""
        asked = usage_of(call.model, call.asked, None, lengths=self._lengths).tokens.input
        tools = len(str(parameters.get("tools") or "")) // CHARS_PER_TOKEN
        most = next((parameters[name] for name in _LONGEST if isinstance(parameters.get(name), int)), _ANSWER)
        return price_call(call.model, TokenUse(asked + tools, min(most, _ANSWER)))
