"""`before_tool` and `after_tool` around each tool call, `before_subagent` and `after_subagent` around each task of a subagent."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, cast

from langchain_core.messages import ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest

from stepwell.middleware.moments.asking import Course, arun, consult, run
from stepwell.middleware.moments.base import WITHHELD, HookedMiddleware, place_of
from stepwell.middleware.moments.events import SubagentEvent, SubagentResultEvent, ToolEvent, ToolResultEvent, Verdict
from stepwell.middleware.own_words import refuse
from stepwell.middleware.request import AsyncToolHandler, ToolHandler, ToolResult
from stepwell.middleware.subagents.task import TOOL_NAME as TASK
from stepwell.middleware.tool_results import message_in, with_message


class AroundTools(HookedMiddleware):
    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        return cast("ToolResult", run(self._around_tool(request), handler))

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        return arun(self._around_tool(request), handler)

    def _around_tool(self, request: ToolCallRequest) -> Course:
        place = place_of(request.state, request.runtime)
        name, args, call_id = request.tool_call["name"], request.tool_call["args"], request.tool_call["id"] or ""
        given = ToolEvent(**place, name=name, args=args, call_id=call_id)
        event, verdict = yield from consult(self.hooks["before_tool"], given)
        if verdict:
            return refuse(request.tool_call, verdict.sentence)
        if event.args is not args:
            request = request.override(tool_call={**request.tool_call, "args": dict(event.args)})
        inside = self._around_subagent(request, place) if name == TASK else _just(request)
        result = yield from inside
        message = message_in(result, call_id)
        if message is None or not self.hooks["after_tool"]:
            return result
        made = ToolResultEvent(**place, name=name, args=event.args, call_id=call_id, result=message)
        after, verdict = yield from consult(self.hooks["after_tool"], made)
        return _with_verdict(request, result, message, after.result, verdict)

    def _around_subagent(self, request: ToolCallRequest, place: dict[str, Any]) -> Course:
        args, call_id = request.tool_call["args"], request.tool_call["id"] or ""
        subagent, task = str(args.get("subagent_type", "")), str(args.get("description", ""))
        given = SubagentEvent(**place, subagent=subagent, task=task, call_id=call_id)
        event, verdict = yield from consult(self.hooks["before_subagent"], given)
        if verdict:
            return refuse(request.tool_call, verdict.sentence)
        if event.task is not task:
            request = request.override(tool_call={**request.tool_call, "args": {**args, "description": event.task}})
        result = yield request
        message = message_in(result, call_id)
        if message is None or not self.hooks["after_subagent"]:
            return result
        made = SubagentResultEvent(**place, subagent=subagent, task=event.task, call_id=call_id, result=message)
        after, verdict = yield from consult(self.hooks["after_subagent"], made)
        return _with_verdict(request, result, message, after.result, verdict)


def _with_verdict(request: ToolCallRequest, result: Any, old: ToolMessage, new: ToolMessage, verdict: Verdict | None) -> Any:
    if verdict:
        refusal = refuse(request.tool_call, verdict.sentence)
        new = refusal.model_copy(update={"additional_kwargs": {**refusal.additional_kwargs, WITHHELD: True}})
    return result if new is old else with_message(result, old, new)


def _just(request: ToolCallRequest) -> Course:
    result = yield request
    return result
