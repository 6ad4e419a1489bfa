"""Watches a streamed answer: whether a call streams, when its tokens arrive, whether it is complete.

LangChain's loop calls the model itself, so we see tokens through a callback (`listening`). LangChain decides
whether a call streams (it does if a client follows the tokens, or if the model is set to stream); we find out by calling the same
functions. Only this module uses those parts of LangChain, and tests/unit/middleware/test_robust_calls.py pins them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.messages import AIMessage
from langchain_core.runnables.config import var_child_runnable_config

from stepwell.models.facts import describe

# Providers that mark the end of a stream. For others, a missing end marker proves nothing.
_SAY_WHEN_DONE = frozenset({"openai", "azure", "anthropic", "ollama", "google_genai", "mistral", "groq", "deepseek", "xai"})
_ENDINGS = ("finish_reason", "stop_reason", "stopReason", "done_reason", "done", "status")


class AbandonedError(BaseException):
    """Ends an abandoned call in its thread. A BaseException, so that no SDK treats it as a fault and retries."""


class StreamWatch(BaseCallbackHandler):
    """Receives the tokens of one call."""

    run_inline = True  # on the event loop itself, because a thread hop per token would cost more than the token
    raise_error = True
    # Without this LangChain converts the whole conversation to text, for old-style handlers.
    ignore_chat_model = True

    def __init__(self, on_token: Callable[[], None]) -> None:
        self._on_token = on_token
        self.message_id: str | None = None
        """The id of the streamed answer, as the client sees it."""
        self.begun = False
        self.abandoned = False

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, **kwargs: Any) -> None:
        self._heard(getattr(getattr(chunk, "message", None), "id", None))

    def on_stream_event(self, event: Any, **kwargs: Any) -> None:
        self._heard(event.get("id") if isinstance(event, Mapping) else None)

    def on_llm_end(self, response: Any, **kwargs: Any) -> None:
        self._stop_if_abandoned()

    def _heard(self, message_id: object) -> None:
        self._stop_if_abandoned()
        self.begun = True
        if self.message_id is None and isinstance(message_id, str):
            self.message_id = message_id
        self._on_token()

    def _stop_if_abandoned(self) -> None:
        if self.abandoned:
            raise AbandonedError


def will_stream(request: ModelRequest[Any], *, is_async: bool, if_unknown: bool = False) -> bool:
    """Whether LangChain will stream this answer; `if_unknown` for a model that is chosen by configuration at run time."""
    callbacks = (var_child_runnable_config.get() or {}).get("callbacks")
    manager = callbacks if isinstance(callbacks, BaseCallbackManager) else None
    asked = ("_should_stream", "_should_use_protocol_streaming")
    deciders = [decide for name in asked if callable(decide := getattr(request.model, name, None))]
    if not deciders:
        return if_unknown
    settings = {**request.model_settings, **({"tools": request.tools} if request.tools else {})}
    return any(decide(async_api=is_async, run_manager=manager, **settings) for decide in deciders)


def came_to_its_end(request: ModelRequest[Any], response: ModelResponse[Any]) -> bool:
    """Whether a streamed answer has an end marker, or comes from a provider that sends none."""
    message = next((message for message in response.result if isinstance(message, AIMessage)), None)
    if message is None or any(message.response_metadata.get(key) for key in _ENDINGS):
        return True
    return (describe(request.model).provider or "") not in _SAY_WHEN_DONE
