"""Every tool call gets exactly one result, whatever happened to the call, and a model that reads only text gets no images.

| problem | what this middleware does |
|---|---|
| a run stopped between a call and its result | adds an error as the call's result, for the model and in the thread |
| a model gave two calls the same id, or no id | gives them unique ids before they are stored |
| a tool raised an error | makes it the result; errors that `control_flow` names (a pause, a lost database) pass through |
| middleware around the tool has a bug | fails the run |
| the user sends images to a model that cannot see | fails the run with that sentence; earlier images are only named (`pictures`) |
| a call's arguments are nearly JSON, or nearly fit the schema | repairs them, and says so in the result (`arguments`) |
| an answer was cut off in the middle of a call | does not make the call; the result says why (`arguments.mending`, `.streamed`) |
| a call carries more than `max_argument_chars` | does not run it; the result says why |
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from traceback import walk_tb
from types import CodeType
from typing import Any, Literal

from langchain.agents.middleware.types import ModelResponse
from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, ToolException
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest

from stepwell.control_flow import let_pass
from stepwell.errors import MiddlewareError, StepwellError
from stepwell.middleware.arguments.mending import mend_calls, repairs_of, with_repairs
from stepwell.middleware.arguments.streamed import StreamedArguments
from stepwell.middleware.model_calls.stream_watch import will_stream
from stepwell.middleware.own_words import is_own_answer
from stepwell.middleware.pictures import without_unseen_pictures
from stepwell.middleware.request import AsyncToolHandler, ModelCall, RequestMiddleware, ToolHandler, ToolResult
from stepwell.middleware.tool_results import message_in, with_message
from stepwell.secrets.errors import words_of
from stepwell.state.prefix_memory import PrefixMemory

MAX_ARGUMENT_CHARS = 500_000
_PROGRAMMING_ERRORS = (NotImplementedError, TypeError, AttributeError, NameError, LookupError, AssertionError, ImportError)
_RUNS_TOOLS = frozenset({ToolNode._execute_tool_sync.__code__, ToolNode._execute_tool_async.__code__})

_log = logging.getLogger(__name__)


class PatchToolCallsMiddleware(RequestMiddleware):
    """Keeps the history valid: no call without a result, no two calls with the same id."""

    def __init__(self, *, max_argument_chars: int = MAX_ARGUMENT_CHARS) -> None:
        super().__init__()
        self._max_argument_chars = max_argument_chars
        self._whole: PrefixMemory[bool] = PrefixMemory()

    def prepare(self, call: ModelCall) -> None:
        # A listener slows the call down, and only a streamed answer has something to hear.
        if will_stream(call.request, is_async=True, if_unknown=True):
            call.listeners.append(StreamedArguments())
        closed, results = close_dangling(call.messages, self._first_unchecked(call.messages))
        if closed is call.messages or results:  # a result that was only moved is still misplaced in the thread
            self._whole.remember(closed, True)
        call.messages = without_unseen_pictures(closed, call.request.model)
        if results:
            # The reducer puts each result after its call, so the thread itself is repaired, not only this request.
            call.update["messages"] = [*call.update.get("messages", []), *results]

    def _first_unchecked(self, messages: list[AnyMessage]) -> int:
        """How many of the first messages are known to be complete. Calls and results alternate, so the rest can be checked separately."""
        return next((length for length in range(len(messages), 0, -1) if self._whole.at(messages, length)), 0)

    def mend(self, call: ModelCall, response: ModelResponse[Any]) -> ModelResponse[Any]:
        answer = next((message for message in reversed(response.result) if isinstance(message, AIMessage)), None)
        if answer is None or is_own_answer(answer):
            return response
        heard = next((each for each in call.listeners if isinstance(each, StreamedArguments)), None)
        whole = heard.without_halves(answer) if heard else answer
        _give_own_ids(whole)
        mended, results = mend_calls(whole, call.tools)
        if mended is answer:
            return response
        # A structured answer may be half of one too. LangChain has already given its call a result.
        lost = {*(result.tool_call_id for result in results), *(broken["id"] for broken in mended.invalid_tool_calls)}
        kept = [each for each in response.result if not (isinstance(each, ToolMessage) and each.tool_call_id in lost)]
        structured = response.structured_response if len(kept) == len(response.result) else None
        return ModelResponse([*(mended if each is answer else each for each in kept), *results], structured)

    def review(self, call: ModelCall, response: ModelResponse[Any]) -> ModelResponse[Any]:
        for message in response.result:
            if isinstance(message, AIMessage):
                _give_own_ids(message)
        return response

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        if refusal := self._refusal(request.tool_call):
            return refusal
        try:
            return _with_note(request, handler(_strict(request)))
        except Exception as error:
            let_pass(error)
            return _failure_message(request.tool_call, error)

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        return self._awrap_tool_call(request, handler)

    async def _awrap_tool_call(self, request: ToolCallRequest, handler: AsyncToolHandler) -> ToolResult:
        if refusal := self._refusal(request.tool_call):
            return refusal
        try:
            return _with_note(request, await handler(_strict(request)))
        except Exception as error:
            let_pass(error)
            return _failure_message(request.tool_call, error)

    def _refusal(self, call: ToolCall) -> ToolMessage | None:
        size = _size(call["args"])
        if size <= self._max_argument_chars:
            return None
        return _error(
            call,
            f"Error: the arguments of {call['name']} have {size:,} characters; at most {self._max_argument_chars:,} are allowed. "
            "Split the work into several calls.",
        )


def close_dangling(messages: list[AnyMessage], checked: int = 0) -> tuple[list[AnyMessage], list[ToolMessage]]:
    """The messages with a result after every call, and the results that had to be added; the same list if nothing had to change.

    The first `checked` messages are assumed to be in order. A result that comes too late (LangChain's own channel appends results that are
    added later) is moved to its call.
    """
    near: dict[str, int] = {}
    far: dict[str, int] = {}
    late: dict[int, list[int]] = {}
    open_calls: dict[int, list[ToolCall]] = {}
    # Backwards, so that a result answers the nearest call before it even if a model reuses an id.
    for position in range(len(messages) - 1, checked - 1, -1):
        message = messages[position]
        if message.type == "tool":
            near[message.tool_call_id] = position
            continue
        for call in message.tool_calls if message.type == "ai" else ():
            if near.pop(call["id"] or "", None) is not None:
                continue
            if (place := far.pop(call["id"] or "", None)) is not None:
                late.setdefault(position, []).append(place)
            else:
                open_calls.setdefault(position, []).append(call)
        far.update(near)
        near.clear()
    if not open_calls and not late:
        return messages, []
    return _with_results(messages, open_calls, late)


def _with_results(
    messages: Sequence[AnyMessage], open_calls: Mapping[int, Sequence[ToolCall]], late: Mapping[int, Sequence[int]]
) -> tuple[list[AnyMessage], list[ToolMessage]]:
    closed: list[AnyMessage] = []
    added: list[ToolMessage] = []
    moved = {place for places in late.values() for place in places}
    for position, message in enumerate(messages):
        if position in moved:
            continue
        closed.append(message)
        closed.extend(messages[place] for place in late.get(position, ()))
        results = [
            # The call may even have finished, because LangGraph drops the results of a step that was interrupted and never resumed.
            _error(
                call,
                f"Error: the run stopped before {call['name']} gave a result. It may have run: check before you repeat it.",
            )
            for call in open_calls.get(position, ())
        ]
        closed.extend(results)
        added.extend(results)
    return closed, added


def _give_own_ids(message: AIMessage) -> None:
    ids = [call["id"] for call in message.tool_calls]
    if all(ids) and len(set(ids)) == len(ids):
        return
    taken: set[str] = set()
    for number, call in enumerate(message.tool_calls):
        own = call["id"] or f"call_{message.id or 'unnamed'}_{number}"
        while own in taken:
            own = f"{own}_{number}"
        call["id"] = own
        taken.add(own)


def _strict(request: ToolCallRequest) -> ToolCallRequest:
    """The request with a tool that does not turn errors into text if they must pass through. LangChain's tools may handle their
    `ToolException`s themselves, before we see them, and many tools wrap any error in a `ToolException`."""
    flag = getattr(request.tool, "handle_tool_error", False)
    if not isinstance(request.tool, BaseTool) or not flag:
        return request
    return request.override(tool=request.tool.model_copy(update={"handle_tool_error": partial(_handle, flag)}))


def _handle(flag: Literal[True] | str | Callable[[ToolException], Any], error: ToolException) -> Any:
    """Re-raise an error that must pass through; otherwise do what LangChain does for each kind of `handle_tool_error`."""
    let_pass(error)
    if callable(flag):
        return flag(error)
    if isinstance(flag, str):
        return flag
    return error.args[0] if error.args else "Tool execution error"


def _with_note(request: ToolCallRequest, result: ToolResult) -> ToolResult:
    """The result, which says what was repaired in its call."""
    repairs = repairs_of(request.tool_call["id"], request.state["messages"])
    message = message_in(result, request.tool_call["id"] or "") if repairs else None
    if message is None or repairs is None:
        return result
    noted: ToolResult = with_message(result, message, with_repairs(message, repairs))
    return noted


def _failure_message(call: ToolCall, error: Exception) -> ToolMessage:
    if fault := _middleware_fault(call["name"], error):
        raise fault from error
    if isinstance(error, StepwellError):
        return _error(call, str(error) if str(error).startswith("Error") else f"Error: {error}")
    if isinstance(error, NotImplementedError) and "sync invocation" in str(error):  # LangChain's words for an async-only tool
        _log.warning("Tool %s is async, and this run is not: call the agent with ainvoke or astream", call["name"])
        return _error(call, f"Error: {call['name']} cannot run here: it is async. The program must use ainvoke or astream.")
    _log.warning("Tool %s failed", call["name"], exc_info=error)
    return _error(call, f"Error: {call['name']} failed: {type(error).__name__}: {words_of(error)}"[:4000])


def _middleware_fault(tool: str, error: Exception) -> MiddlewareError | None:
    """The error to fail the run with; None if the tool itself failed, or if middleware rejected the call.

    If a tool fails, its error is the result of the call (ADR 0005). A bug in the code around the tool (`TypeError` and the like) is
    different, because the model cannot fix it: if it became a result, every call would fail while the run seems to succeed. So it fails
    the run, with a message for the programmer. Other errors that middleware raises (`PermissionError("not on Sundays")`) reject the call
    and become its result. We find an error's origin in its traceback: a tool's error has passed through the function that runs tools.
    """
    if isinstance(error, MiddlewareError):
        return error
    if not isinstance(error, _PROGRAMMING_ERRORS):
        return None
    passed: list[CodeType] = [frame.f_code for frame, _ in walk_tb(error.__traceback__)]
    if not _RUNS_TOOLS.isdisjoint(passed):
        return None
    place = passed[-1].co_qualname if passed else "unknown code"
    return MiddlewareError(
        f"The middleware code {place} failed around the tool '{tool}': {type(error).__name__}: {error}. Fix the middleware; the tool "
        "and the model are not the cause."
    )


def _error(call: ToolCall, text: str) -> ToolMessage:
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"] or "", status="error")


def _size(value: Any) -> int:
    """The number of characters in all strings of a call's arguments, including nested strings."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(_size(key) + _size(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return sum(map(_size, value))
    return 8
