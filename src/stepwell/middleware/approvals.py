"""LangChain's approvals before tools run, with one difference: an invalid answer is rejected before LangGraph stores it.

LangChain's interrupt does not say what an answer must look like; ours does (`answers.asking`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, cast, get_args

from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.middleware.human_in_the_loop import Action, ActionRequest, DecisionType, InterruptOnConfig, ReviewConfig
from langchain.agents.middleware.types import AgentState
from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime

from stepwell.answers import approvals_fault, approvals_schema, ask
from stepwell.errors import ConfigurationError
from stepwell.middleware.own_words import decided_by_person
from stepwell.middleware.request import AsyncToolHandler, ToolHandler, ToolResult
from stepwell.permission_modes import PERMISSION_MODE
from stepwell.tools.files.order import EDITED_BY_A_PERSON

ACCEPTED = frozenset({"write_file", "edit_file", "move", "patch_file"})
"""The file changes about which `interrupt_on` does not ask in a run with `accept_edits`. What is deleted is gone: `delete` asks."""
RULE = "stepwell_rule"
"""The key in a tool's approvals for the permissions that ask: what they say about a call's arguments. They ask in every mode."""
Reason = Callable[[Mapping[str, Any]], str | None]

_CHECKPOINTER = "__pregel_checkpointer"
"""LangGraph's key for the checkpointer in a node's config."""


class ApprovalMiddleware(HumanInTheLoopMiddleware[Any, Any, Any]):
    """A `HumanInTheLoopMiddleware` that raises `AnswerShapeError` for an answer of the wrong shape, and keeps waiting for a valid one."""

    has_modes = False
    """Whether the agent's runs may have a mode (`run_modes`), which asks about what is left out here."""

    @property
    def name(self) -> str:
        # The node's name is part of the ids of stored interrupts, so we keep LangChain's name.
        return HumanInTheLoopMiddleware.__name__

    def after_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        message = next((each for each in reversed(state["messages"]) if isinstance(each, AIMessage)), None)
        calls = self._calls_to_ask(message, state, runtime)
        if message is None or not calls:
            # Never LangChain's own method, which knows nothing of modes; edits of an earlier turn must not survive.
            return {EDITED_BY_A_PERSON: {}} if state.get(EDITED_BY_A_PERSON) else None
        _require_checkpointer(calls[0]["name"])
        asked = [self._create_action_and_config(call, self.interrupt_on[call["name"]], state, runtime) for call in calls]
        request: Any = {"action_requests": [one for one, _ in asked], "review_configs": [two for _, two in asked]}
        decisions = ask(request, approvals_fault, approvals_schema(request))["decisions"]
        answered = list(zip(calls, decisions, strict=True))
        edited = {call["id"]: one["edited_action"] for call, one in answered if one["type"] == "edit" and call.get("id")}
        said = [self._process_decision(one, call, self.interrupt_on[call["name"]])[1] for call, one in answered]
        return {"messages": [message, *(decided_by_person(each) for each in said if each)], EDITED_BY_A_PERSON: edited}

    def ask_about(self, request: ToolCallRequest, handler: ToolHandler, config: InterruptOnConfig) -> ToolResult:
        """Ask about one call where it begins, and run it if the person approves."""
        asked, edited = self._decide(request, config)
        if isinstance(asked, ToolMessage):
            return asked
        return self._annotate_edited_result(handler(asked), asked, edited)

    async def aask_about(self, request: ToolCallRequest, handler: AsyncToolHandler, config: InterruptOnConfig) -> ToolResult:
        asked, edited = self._decide(request, config)
        if isinstance(asked, ToolMessage):
            return asked
        return self._annotate_edited_result(await handler(asked), asked, edited)

    def _decide(
        self, request: ToolCallRequest, config: InterruptOnConfig
    ) -> tuple[ToolCallRequest | ToolMessage, Action | None]:
        """The call as the person wants it, or the message in place of its result."""
        call = request.tool_call
        _require_checkpointer(call["name"])
        action, review = self._create_action_and_config(call, config, request.state, request.runtime)  # type: ignore[arg-type]
        question: Any = {"action_requests": [action], "review_configs": [review]}
        (decision,) = ask(question, approvals_fault, approvals_schema(question))["decisions"]
        if decision["type"] == "edit":
            return self._apply_edit(request, decision["edited_action"]), decision["edited_action"]
        said = self._process_decision(decision, call, config)[1]
        return (request if said is None else decided_by_person(said)), None

    def _calls_to_ask(self, message: AIMessage | None, state: AgentState[Any], runtime: Runtime[Any]) -> list[ToolCall]:
        if message is None or self.interrupt_mode == "per_call":  # with "per_call", each call asks when it begins
            return []
        mode = get_config().get("configurable", {}).get(PERMISSION_MODE) if self.has_modes else None
        if mode == "plan":  # each call is judged when it begins, because nobody is asked about a call that is refused
            return []
        not_made = _results_after(message, state)
        made = [call for call in message.tool_calls if call["id"] not in not_made]
        gated = [(call, self.interrupt_on.get(call["name"])) for call in made]
        return [
            call
            for call, config in gated
            if config
            and self._should_interrupt(call, config, state, runtime)
            and (mode != "accept_edits" or call["name"] not in ACCEPTED or rule_about(call, config))
        ]

    def _create_action_and_config(
        self, tool_call: ToolCall, config: InterruptOnConfig, state: AgentState[Any], runtime: Runtime[Any]
    ) -> tuple[ActionRequest, ReviewConfig]:
        action, review = super()._create_action_and_config(tool_call, config, state, runtime)
        if reason := rule_about(tool_call, config):
            own = config.get("description") and action.get("description")
            action = {**action, "description": f"{reason}\n\n{own}" if own else reason}
        return action, review


def rule_about(call: ToolCall, config: InterruptOnConfig) -> str | None:
    """Why the permissions ask about a call; None if they do not."""
    reason = cast("Mapping[str, Any]", config).get(RULE)
    return reason(call["args"]) if reason else None


def ask_only_if(
    interrupt_on: Mapping[str, Any], tools: Collection[str], runs: Callable[[ToolCallRequest], bool]
) -> dict[str, Any]:
    """The same approvals, except that nobody is asked about a call of these tools that will not be run."""
    return {
        name: _with_condition(choice, runs) if name in tools and choice else choice for name, choice in interrupt_on.items()
    }


def _with_condition(choice: Any, runs: Callable[[ToolCallRequest], bool]) -> Any:
    if choice is not True and not isinstance(choice, Mapping):
        return choice  # invalid, and rejected where approvals are built
    config: dict[str, Any] = {"allowed_decisions": list(get_args(DecisionType))} if choice is True else dict(choice)
    when = config.get("when")
    return {**config, "when": lambda request: runs(request) and (when is None or bool(when(request)))}


def gates(approvals: HumanInTheLoopMiddleware[Any, Any, Any], request: ToolCallRequest) -> bool:
    """Whether these approvals ask about a call, before it begins."""
    config = approvals.interrupt_on.get(request.tool_call["name"])
    when = config.get("when") if config else None
    return config is not None and (when is None or when(request))


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
