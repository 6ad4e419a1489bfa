"""A tool that declares `once` runs at most once, also if the process dies in the middle.

```
            ┌─ Begun ──▶ run it ─┬─ result, error ──▶ finish ──▶ the result
call ─ begin┤                    ├─ pause ──────────▶ release     (it asks first and runs again when answered)
            │                    └─ crash, cancel ──▶ stays begun
            ├─ Unknown ─▶ an error result: not run again, ask a person
            └─ Done ────▶ the result of then
```
Other tools, and runs without a journal, pass straight through. Approvals come before the tool's step, so nothing is journaled
that nobody has approved. It stands right outside what turns a tool's failure into a result: then a failure is kept as the
result it became. Middleware further inside runs within one journaled call; one that retries there runs the tool again.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.errors import GraphBubbleUp, is_invalid_resume
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from stepwell.middleware.request import AsyncToolHandler, RequestMiddleware, ToolHandler, ToolResult
from stepwell.tools.effect_journal import Begun, Done, EffectJournal, Standing, effect_key, journal_of
from stepwell.tools.effects import effect_of

_ATTEMPT_CHARS = 600

_log = logging.getLogger(__name__)


class EffectsMiddleware(RequestMiddleware):
    """Journals the calls of tools whose effect is `once`."""

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        call = _journaled(request)
        if call is None:
            return handler(request)
        if (known := call.known(call.begin().result())) is not None:
            return known
        try:
            result = handler(request)
        except Exception as error:
            call.failed(error).result()
            raise
        call.finish(result).result()
        return result

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        call = _journaled(request)
        return handler(request) if call is None else _run_once(call, request, handler)


async def _run_once(call: _Call, request: ToolCallRequest, handler: AsyncToolHandler) -> ToolResult:
    if (known := call.known(await asyncio.wrap_future(call.begin()))) is not None:
        return known
    try:
        result = await handler(request)
    except Exception as error:
        await asyncio.wrap_future(call.failed(error))
        raise
    await asyncio.wrap_future(call.finish(result))
    return result


def declares_once(tools: Iterable[Any]) -> bool:
    """Whether any of these tools must not run twice."""
    return any(effect_of(tool) == "once" for tool in tools)


def _journaled(request: ToolCallRequest) -> _Call | None:
    if effect_of(request.tool) != "once":
        return None
    journal = journal_of(request.runtime)
    return None if journal is None else _Call(request, journal, effect_key(request.runtime))


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of a tool that runs at most once."""

    request: ToolCallRequest
    journal: EffectJournal
    key: str

    def begin(self) -> Future[Standing]:
        return self.journal.begin(self.key)

    def known(self, standing: Standing) -> ToolResult | None:
        """What is known of it from before; None if it is to be run now."""
        if isinstance(standing, Begun):
            return None
        if isinstance(standing, Done):
            return decode(standing.result)
        _log.warning("Tool %s was begun before and not finished; it is not run again", self.request.tool_call["name"])
        return self._error(self._unknown())

    def finish(self, result: ToolResult) -> Future[None]:
        return self.journal.finish(self.key, encode(result))

    def failed(self, error: Exception) -> Future[None]:
        # An answer that does not fit the question is asked for again: the tool has not gone past its pause.
        if isinstance(error, GraphBubbleUp) or is_invalid_resume(error):
            return self.journal.release(self.key)
        text = f"Error: {self.request.tool_call['name']} failed: {type(error).__name__}: {error}"
        return self.finish(self._error(text[:4000]))

    def _unknown(self) -> str:
        name = self.request.tool_call["name"]
        attempt = json.dumps(self.request.tool_call["args"], ensure_ascii=False, default=str)
        if len(attempt) > _ATTEMPT_CHARS:
            attempt = f"{attempt[:_ATTEMPT_CHARS]} ..."
        return (
            f"Error: the outcome of this call is unknown. {name} was begun with {attempt}, and the program stopped before its "
            "result was kept: it may have taken effect, wholly or in part. It was not run again. Tell the user what was attempted "
            "and ask them to check; repeat the call only if they say so."
        )

    def _error(self, text: str) -> ToolMessage:
        call = self.request.tool_call
        return ToolMessage(text, name=call["name"], tool_call_id=call["id"] or "", status="error")


def encode(result: ToolResult) -> bytes:
    """A result as bytes, state updates of the tool included. What cannot be stored is left out, the message never is."""
    try:
        return _stored(result)
    except TypeError:  # ormsgpack's errors are TypeErrors
        return _stored(_text_only(result))


def decode(stored: bytes) -> ToolResult:
    result: ToolResult = _serializer().loads_typed(("msgpack", stored))
    return result


def _stored(result: ToolResult) -> bytes:
    return _serializer().dumps_typed(result)[1]


def _serializer() -> JsonPlusSerializer:
    # Strict: only messages, commands and plain values come back as objects.
    return JsonPlusSerializer(allowed_msgpack_modules=None)


def _text_only(result: ToolResult) -> ToolResult:
    if isinstance(result, ToolMessage):
        return result.model_copy(update={"artifact": None, "additional_kwargs": {}, "response_metadata": {}})
    update = result.update if isinstance(result.update, dict) else {}
    messages = [_text_only(message) for message in update.get("messages", ()) if isinstance(message, ToolMessage)]
    return Command(update={"messages": messages})
