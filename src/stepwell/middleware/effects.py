"""A tool that declares `once` runs at most once, even if the process dies midway, and the model learns the outcome.

```
            ┌─ Begun ──▶ run it ─┬─ result, error ──▶ finish ──▶ the result
            │                    ├─ pause ──────────▶ release     (the tool asks first, and runs again when answered)
call ─ begin┤                    └─ crash, cancel,
            │                       lost database ──▶ stays begun (how far it got is unknown; the run is driven again)
            ├─ Unknown ────────▶ an error result: not run again, ask a person
            ├─ Done ───────────▶ the stored result
            ├─ Settled ────────▶ what a person has found out
            └─ OtherArguments ─▶ an error result: the call was begun before, with other arguments
```
Some calls were stopped and then abandoned, because the user wrote something else instead of resuming. Before a model call, these are
closed with the same texts, and a result that says "unknown" is replaced once the journal knows more.

Other tools, and runs without a journal, pass straight through. Approvals come before the tool's step, so only approved calls are
journaled. This middleware belongs directly outside the one that turns a tool's failure into a result, so that the journal stores that
result. Middleware further inside runs within one journaled call; if it retries, the tool runs again.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import AnyMessage, ToolCall, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp, is_invalid_resume
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from stepwell.control_flow import find_passing
from stepwell.middleware.request import AsyncToolHandler, ModelCall, RequestMiddleware, ToolHandler, ToolResult
from stepwell.secrets.errors import words_of
from stepwell.state.messages import reduce_messages
from stepwell.state.prefix_memory import PrefixMemory
from stepwell.tools.effect_journal import (
    Begun,
    Done,
    EffectJournal,
    NotedCall,
    Settled,
    Standing,
    Unknown,
    Where,
    call_key,
    effect_key,
    journal_of,
    noted_call,
)
from stepwell.tools.effects import effect_of
from stepwell.tools.files.order import EDITED_BY_A_PERSON

_ATTEMPT_CHARS = 600
_EFFECT = "effect"
"""The field that holds the effect's key in the artifact of a result that says "unknown"."""

_log = logging.getLogger(__name__)


class EffectsMiddleware(RequestMiddleware):
    """Journals the calls of tools whose effect is `once`."""

    def __init__(self) -> None:
        super().__init__()
        self._unknown: PrefixMemory[tuple[str, ...]] = PrefixMemory()
        """For message lists whose calls all have results: the ids of the results that say "unknown"."""

    def prepare(self, call: ModelCall) -> None:
        config = get_config()
        journal = journal_of(config)
        if journal and (left := self._find_left(config, call.messages)):
            _tell(call, left, journal.look(list(left)).result())

    async def aprepare(self, call: ModelCall) -> None:
        config = get_config()
        journal = journal_of(config)
        if journal and (left := self._find_left(config, call.messages)):
            _tell(call, left, await asyncio.wrap_future(journal.look(list(left))))

    def _find_left(self, where: Where, messages: list[AnyMessage]) -> dict[str, _Left]:
        """Calls whose outcome the journal may know better than the thread, by the keys of their effects."""
        places = range(len(messages), 0, -1)
        checked, known = next(
            ((place, found) for place in places if (found := self._unknown.at(messages, place)) is not None), (0, ())
        )
        new = messages[checked:]
        unknown = [*known, *(message.id or "" for message in new if _effect_of_result(message))]
        answered = {message.tool_call_id for message in new if message.type == "tool"}
        calls = [(message, call) for message in new if message.type == "ai" for call in message.tool_calls]
        left = {
            call_key(where, message.id, call["id"] or ""): _Left(call)
            for message, call in calls
            if message.id is not None and call["id"] not in answered
        }
        if not left:
            self._unknown.remember(messages, tuple(unknown))
        return left | (_still_unknown(messages, unknown) if unknown else {})

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        call = _find_journaled(request)
        if call is None:
            return handler(request)
        if (known := call.known(call.begin().result())) is not None:
            return known
        try:
            result = handler(request)
        except Exception as error:
            if (noted := call.fail(error)) is not None:
                noted.result()
            raise
        call.finish(result).result()
        return result

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        call = _find_journaled(request)
        return handler(request) if call is None else _run_once(call, request, handler)


async def _run_once(call: _Journaled, request: ToolCallRequest, handler: AsyncToolHandler) -> ToolResult:
    if (known := call.known(await asyncio.wrap_future(call.begin()))) is not None:
        return known
    try:
        result = await handler(request)
    except Exception as error:
        if (noted := call.fail(error)) is not None:
            await asyncio.wrap_future(noted)
        raise
    await asyncio.wrap_future(call.finish(result))
    return result


def declares_once(tools: Iterable[Any]) -> bool:
    """Whether any of these tools must not run twice."""
    return any(effect_of(tool) == "once" for tool in tools)


@dataclass(frozen=True, slots=True)
class _Left:
    """A call without a result, or with one that says "unknown"."""

    call: ToolCall
    result: ToolMessage | None = None


def _effect_of_result(message: AnyMessage) -> str | None:
    """The key of the effect whose outcome is unknown according to this result; None for any other message."""
    if message.type != "tool" or not isinstance(message.artifact, Mapping):
        return None
    key = message.artifact.get(_EFFECT)
    return key if isinstance(key, str) else None


def _still_unknown(messages: list[AnyMessage], ids: list[str]) -> dict[str, _Left]:
    results = [message for message in messages if message.type == "tool" and message.id in ids]
    calls = {call["id"]: call for message in messages if message.type == "ai" for call in message.tool_calls}
    return {
        key: _Left(calls[message.tool_call_id], message)
        for message in results
        if (key := _effect_of_result(message)) and message.tool_call_id in calls
    }


def _tell(call: ModelCall, left: Mapping[str, _Left], standings: Mapping[str, Standing]) -> None:
    """Add results for the calls in the journal. A call that is not in the journal has not begun, and is closed like any other call."""
    news = []
    for key, standing in standings.items():
        before = left[key].result
        if before is not None and isinstance(standing, Unknown):
            continue
        result = result_of_effect(left[key].call, key, standing)
        news.append(result if before is None else result.model_copy(update={"id": before.id}))
    if news:
        call.messages = cast("list[AnyMessage]", reduce_messages(call.messages, [news]))
        call.update["messages"] = [*call.update.get("messages", []), *news]


def result_of_effect(call: ToolCall, key: str, standing: Standing) -> ToolMessage:
    """The result of a call that is not run (again), from what the journal knows about it."""
    name = call["name"]
    match standing:
        case Unknown():
            text = (
                f"Error: the outcome of this call is unknown. {name} was begun with {_attempt(call)}, and was stopped before its "
                "result was kept: it may have taken effect, wholly or in part. It was not run again. Tell the user what was "
                "attempted and ask them to check; repeat the call only if they say so."
            )
            return _error(call, text, artifact={_EFFECT: key})
        case Done(result):
            return _result_of_then(call, result)
        case Settled(happened=True, note=note):
            return _result(
                call, f"{name} was stopped in the middle. A person has checked since: it did take effect. {note}".rstrip()
            )
        case Settled(note=note):
            text = (
                f"Error: {name} was stopped in the middle. A person has checked since: it did not take effect. {note}".rstrip()
                + " It was not run again. Repeat the call only if it is still wanted."
            )
            return _error(call, text)
    return _error(
        call,
        f"Error: this very call was begun before with other arguments, on a copy of this conversation or on another branch of it, so "
        f"it was not run with {_attempt(call)}. If that is wanted as well, make a new call.",
    )


def _result_of_then(call: ToolCall, stored: bytes | None) -> ToolMessage:
    if stored is not None:
        result = decode(stored)
        messages = [result] if isinstance(result, ToolMessage) else (result.update or {}).get("messages", ())
        for message in messages:
            if isinstance(message, ToolMessage) and message.tool_call_id == call["id"]:
                return message
    return _result(call, f"{call['name']} was run before and has taken effect. What it returned then is not kept any more.")


def _attempt(call: ToolCall) -> str:
    attempt = json.dumps(call["args"], ensure_ascii=False, default=str)
    return attempt if len(attempt) <= _ATTEMPT_CHARS else f"{attempt[:_ATTEMPT_CHARS]} ..."


def _result(call: ToolCall, text: str) -> ToolMessage:
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"] or "")


def _error(call: ToolCall, text: str, artifact: Any = None) -> ToolMessage:
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"] or "", status="error", artifact=artifact)


def _find_journaled(request: ToolCallRequest) -> _Journaled | None:
    runtime, journal = request.runtime, journal_of(request.runtime)
    if journal is None:
        return None
    tool, call = _as_edited(request)
    if effect_of(tool) != "once":
        return None
    return _Journaled(call, journal, effect_key(runtime), noted_call(runtime, call["name"], call["args"]))


def _as_edited(request: ToolCallRequest) -> tuple[Any, ToolCall]:
    """The tool and the call as they will run. A person's edit is still in the state, because the approvals that apply it are further in."""
    state = request.state
    edited = state.get(EDITED_BY_A_PERSON, {}).get(request.tool_call["id"]) if isinstance(state, Mapping) else None
    if not edited:
        return request.tool, request.tool_call
    named = (tool for tool in request.runtime.tools if tool.name == edited["name"])
    call = ToolCall(name=edited["name"], args=edited["args"], id=request.tool_call["id"], type="tool_call")
    return next(named, request.tool), call


@dataclass(frozen=True, slots=True)
class _Journaled:
    """One call of a tool that runs at most once."""

    call: ToolCall
    journal: EffectJournal
    key: str
    noted: NotedCall

    def begin(self) -> Future[Standing]:
        return self.journal.begin(self.key, self.noted)

    def known(self, standing: Standing) -> ToolResult | None:
        """The result from before; None if the call is to be run now."""
        if isinstance(standing, Begun):
            return None
        if isinstance(standing, Done) and standing.result is not None:
            return decode(standing.result)
        _log.warning("Tool %s was begun before and is not run again", self.call["name"])
        return result_of_effect(self.call, self.key, standing)

    def finish(self, result: ToolResult) -> Future[None]:
        return self.journal.finish(self.key, encode(result))

    def fail(self, error: Exception) -> Future[None] | None:
        """Record what an error means for the effect. None if there is nothing to record: the call was stopped midway and stays begun."""
        passing = find_passing(error)
        if passing is None:
            text = f"Error: {self.call['name']} failed: {type(error).__name__}: {words_of(error)}"
            return self.finish(_error(self.call, text[:4000]))
        # After an invalid answer to an interrupt we ask again, so the tool is still at its pause.
        return self.journal.release(self.key) if isinstance(passing, GraphBubbleUp) or is_invalid_resume(passing) else None


def encode(result: ToolResult) -> bytes:
    """A result as bytes, including the tool's state updates. What cannot be stored is left out, except that the message is always kept."""
    try:
        return _serialise(result)
    except TypeError:  # ormsgpack's errors are TypeErrors
        return _serialise(_text_only(result))


def decode(stored: bytes) -> ToolResult:
    result: ToolResult = _serializer().loads_typed(("msgpack", stored))
    return result


def _serialise(result: ToolResult) -> bytes:
    return _serializer().dumps_typed(result)[1]


def _serializer() -> JsonPlusSerializer:
    # Strict: only messages, commands and plain values are restored as objects.
    return JsonPlusSerializer(allowed_msgpack_modules=None)


def _text_only(result: ToolResult) -> ToolResult:
    if isinstance(result, ToolMessage):
        return result.model_copy(update={"artifact": None, "additional_kwargs": {}, "response_metadata": {}})
    update = result.update if isinstance(result.update, dict) else {}
    messages = [_text_only(message) for message in update.get("messages", ()) if isinstance(message, ToolMessage)]
    return Command(update={"messages": messages})
