"""LangChain's approvals before tools run, with one difference: an invalid answer is rejected before LangGraph stores it.

LangChain's interrupt does not say what an answer must look like; ours does (`answers.asking`).
"""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.middleware.types import AgentState
from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime

from stepwell.answers import approvals_fault, approvals_schema, ask
from stepwell.errors import ConfigurationError
from stepwell.middleware.own_words import decided_by_person
from stepwell.tools.files.order import EDITED_BY_A_PERSON

_CHECKPOINTER = "__pregel_checkpointer"
"""LangGraph's key for the checkpointer in a node's config."""


class ApprovalMiddleware(HumanInTheLoopMiddleware[Any, Any, Any]):
    """A `HumanInTheLoopMiddleware` that raises `AnswerShapeError` for an answer of the wrong shape, and keeps waiting for a valid one."""

    @property
    def name(self) -> str:
        # The node's name is part of the ids of stored interrupts, so we keep LangChain's name.
        return HumanInTheLoopMiddleware.__name__

    def after_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        message = next((each for each in reversed(state["messages"]) if isinstance(each, AIMessage)), None)
        calls = self._calls_to_ask(message, state, runtime)
        if message is not None and not calls and _results_after(message, state):
            return None  # the only calls to ask about are not made
        if message is None or not calls:
            return super().after_model(state, runtime)
        _require_checkpointer(calls[0]["name"])
        asked = [self._create_action_and_config(call, self.interrupt_on[call["name"]], state, runtime) for call in calls]
        request: Any = {"action_requests": [one for one, _ in asked], "review_configs": [two for _, two in asked]}
        decisions = ask(request, approvals_fault, approvals_schema(request))["decisions"]
        answered = list(zip(calls, decisions, strict=True))
        edited = {call["id"]: one["edited_action"] for call, one in answered if one["type"] == "edit" and call.get("id")}
        said = [self._process_decision(one, call, self.interrupt_on[call["name"]])[1] for call, one in answered]
        return {"messages": [message, *(decided_by_person(each) for each in said if each)], EDITED_BY_A_PERSON: edited}

    def _calls_to_ask(self, message: AIMessage | None, state: AgentState[Any], runtime: Runtime[Any]) -> list[ToolCall]:
        if message is None or self.interrupt_mode == "per_call":  # with "per_call", each call asks when it begins
            return []
        not_made = _results_after(message, state)
        gated = [(call, self.interrupt_on.get(call["name"])) for call in message.tool_calls if call["id"] not in not_made]
        return [call for call, config in gated if config and self._should_interrupt(call, config, state, runtime)]


def _results_after(message: AIMessage, state: AgentState[Any]) -> set[str]:
    """The ids of calls that have a result already, because they are not made (`arguments.mending`)."""
    last = state["messages"][-1]
    if last is message:
        return set()
    return {
        each.tool_call_id for each in state["messages"][state["messages"].index(message) :] if isinstance(each, ToolMessage)
    }


def _require_checkpointer(tool: str) -> None:
    """Raise an error if there is no checkpointer. Only a running agent knows, because servers and outer graphs bring their own."""
    if get_config()["configurable"].get(_CHECKPOINTER) is None:
        raise ConfigurationError(
            f"A person must approve '{tool}' before it runs, but without a checkpointer nothing stores the question until it is answered. "
            "Pass one to create_deep_agent, such as checkpointer=InMemorySaver() from langgraph.checkpoint.memory, and name a thread in "
            'each run: {"configurable": {"thread_id": "1"}}.'
        )
