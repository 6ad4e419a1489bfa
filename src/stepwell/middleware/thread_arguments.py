"""Stores large arguments of a tool call once, in the thread, and not again in the task that runs the call.

LangChain starts each tool call as a separate task that carries the whole call. A checkpointer stores that task twice, in addition to the
model's message with the same arguments, so writing a file of 10 kB stored 40 kB. Here the task carries only the call's name and id, and
the arguments are read from the message when the tool runs.

`lighten` changes the one function of a compiled graph that starts the tasks. tests/unit/middleware/test_thread_arguments.py
pins what it expects to find there (ADR 0006).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langchain_core.messages import AIMessage, ToolCall
from langgraph._internal._runnable import RunnableCallable
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Send

from stepwell.errors import ToolUseError
from stepwell.middleware.request import AsyncToolHandler, RequestMiddleware, ToolHandler, ToolResult

SMALL_ARGUMENT_CHARS = 1_000
"""Tasks carry smaller calls whole, so that readers of task streams see these unchanged."""
IN_THREAD = "arguments_in_thread"


class ThreadArgumentsMiddleware(RequestMiddleware):
    """Restores the arguments of a tool call. It must be outermost, so that no other middleware sees the call without its arguments."""

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        return handler(_whole(request))

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        return handler(_whole(request))


def lighten(graph: CompiledStateGraph[Any, Any, Any, Any]) -> bool:
    """Let the graph's tool tasks carry large calls without their arguments. Returns whether it found the function to change."""
    found = False
    for branches in graph.builder.branches.values():
        for branch in branches.values():
            path = branch.path
            if not isinstance(path, RunnableCallable) or path.func is None:
                continue
            if getattr(path.func, "__name__", "") == "model_to_tools":
                path.func = _light(path.func)
                found = True
    return found


def _light(start_tasks: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def model_to_tools_lightly(state: Any) -> Any:
        started = start_tasks(state)
        return [_light_send(send) for send in started] if isinstance(started, list) else started

    return model_to_tools_lightly


def _light_send(send: Any) -> Any:
    if not isinstance(send, Send) or not isinstance(send.arg, list):
        return send
    return Send(send.node, [_light_call(call) for call in send.arg])


def _light_call(call: ToolCall) -> Any:
    if _is_small(call["args"]):
        return call
    return {**call, "args": {}, IN_THREAD: True}


def _is_small(args: Mapping[str, Any]) -> bool:
    room = SMALL_ARGUMENT_CHARS
    for value in args.values():
        room -= len(value) if isinstance(value, str) else len(repr(value))
        if room < 0:
            return False
    return True


def _whole(request: ToolCallRequest) -> ToolCallRequest:
    call: Mapping[str, Any] = request.tool_call
    if not call.get(IN_THREAD):
        return request
    for message in reversed(request.state["messages"]):
        if isinstance(message, AIMessage):
            for stored in message.tool_calls:
                if stored["id"] == call["id"]:
                    return request.override(tool_call={**stored, "type": "tool_call"})
    raise ToolUseError(f"Error: the arguments of {call['name']} are no longer in the conversation. Call it again.")
