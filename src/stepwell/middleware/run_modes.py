"""How much a run may change, chosen by the person who starts it: `config["configurable"]["permission_mode"]`.

| mode | file changes | execute, and tools that declare an effect | tools that declare none | what `interrupt_on` names |
|---|---|---|---|---|
| none | as the agent was built | as built | run | asks |
| `plan` | answered with a sentence | answered with a sentence | ask | asks, unless it is refused |
| `ask` | ask | ask | ask | asks |
| `accept_edits` | run | as built | run | asks, except for file changes other than `delete` |

Permissions hold in every mode: what they deny is denied, and what they ask about asks. A tool declares its effect with `with_effect`; one
that declares `read` runs in every mode, as do our own tools that change nothing, which declare it too. Nobody knows what a tool does that
declares nothing, so a person is asked. The mode reaches subagents with the run's configuration; a compiled subagent of somebody else's
knows nothing of it (`UNHELD`), so `task` counts as a tool that declares nothing there.

Every agent has this middleware, because a served agent is not built again for a run. So it adds no node: it looks at calls where tools
are called anyway, and asks there. Parallel calls then ask one question each; those on one file after each other (`file_order`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, Literal, cast

from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.middleware.human_in_the_loop import InterruptOnConfig
from langchain_core.messages import ToolMessage
from langgraph.config import get_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt.tool_node import ToolCallRequest

from stepwell.errors import InvalidRequestError
from stepwell.middleware.approvals import ACCEPTED, ApprovalMiddleware, gates, rule_about
from stepwell.middleware.own_words import refuse
from stepwell.middleware.request import AsyncToolHandler, ModelCall, RequestMiddleware, ToolHandler, ToolResult
from stepwell.permission_modes import PERMISSION_MODE, RUN_MODES, RunMode
from stepwell.tools.effects import declared_effect, is_file_change

Treatment = Literal["run", "refuse"] | InterruptOnConfig
"""What happens with a call; a configuration if a person is asked."""

UNHELD = "stepwell_unheld"
"""The key in the metadata of `task` for the names of subagents that know nothing of modes."""

_CHANGES = frozenset({*ACCEPTED, "delete", "execute"})
"""Tools with these names change something, unless they declare that they do not."""

_DECISIONS: InterruptOnConfig = {"allowed_decisions": ["approve", "edit", "reject"]}
_MARK = "stepwell_run_modes"

_PLANNING = """This run is in plan mode: read, think and write a plan, and change nothing. Tools that change something are refused. \
End with the plan, so that the user can start the work."""


def mode_of(configurable: Mapping[str, Any]) -> RunMode | None:
    """A run's mode; None if it has none. Raises `InvalidRequestError` for an unknown one."""
    given = configurable.get(PERMISSION_MODE)
    if given is None or (isinstance(given, str) and given in RUN_MODES):
        return cast("RunMode | None", given)
    raise InvalidRequestError(
        f"permission_mode is {str(given)[:80]!r}. Use one of: {', '.join(RUN_MODES)}; or leave it out to run the agent as it was "
        "built."
    )


def mark_run_modes(graph: CompiledStateGraph[Any, Any, Any, Any]) -> None:
    """Note that the graph's runs may have a mode, for servers that check a run before it begins. Copies of the graph share the builder."""
    vars(graph.builder)[_MARK] = True


def has_run_modes(graph: object) -> bool:
    return bool(getattr(getattr(graph, "builder", None), _MARK, False))


class RunModesMiddleware(RequestMiddleware):
    """Holds a run to its mode. `approvals` are the agent's own, which ask before this middleware sees the call, except in a plan."""

    def __init__(self, approvals: object = None) -> None:
        super().__init__()
        self._approvals = approvals if isinstance(approvals, HumanInTheLoopMiddleware) else None
        self._asking = ApprovalMiddleware(interrupt_on={})
        if isinstance(approvals, ApprovalMiddleware):
            approvals.has_modes = True

    def prepare(self, call: ModelCall) -> None:
        if PERMISSION_MODE in (configurable := get_config().get("configurable", {})) and mode_of(configurable) == "plan":
            call.sections.append(_PLANNING)

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        treatment = self._treatment(request)
        if treatment == "run":
            return handler(request)
        if treatment == "refuse":
            return _refusal(request)

        def go_on(approved: ToolCallRequest) -> ToolResult:
            return _refusal(approved) if self._treatment(approved) == "refuse" else handler(approved)

        return self._asking.ask_about(request, go_on, treatment)

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        treatment = self._treatment(request)
        return handler(request) if treatment == "run" else self._ahold(treatment, request, handler)

    async def _ahold(self, treatment: Treatment, request: ToolCallRequest, handler: AsyncToolHandler) -> ToolResult:
        if isinstance(treatment, str):
            return _refusal(request)

        async def go_on(approved: ToolCallRequest) -> ToolResult:
            return _refusal(approved) if self._treatment(approved) == "refuse" else await handler(approved)

        return await self._asking.aask_about(request, go_on, treatment)

    def _treatment(self, request: ToolCallRequest) -> Treatment:
        configurable = request.runtime.config.get("configurable") or {}
        if PERMISSION_MODE not in configurable:
            return "run"
        match mode_of(configurable):
            case "plan":
                return self._planned(self._as_edited(request))
            case "ask":
                changes = _changes(request)
                return "run" if changes is False or self._gates(request) else _question("Ask mode", request, changes)
            case "accept_edits":
                return self._accepted(request)
        return "run"

    def _planned(self, request: ToolCallRequest) -> Treatment:
        changes = _changes(request)
        if changes:
            return "refuse"
        question = _question("Plan mode", request, changes) if changes is None else None
        if not self._gates(request):
            return question or "run"
        if not self._leaves_to_modes():
            return "run"
        gate = self._approvals.interrupt_on[request.tool_call["name"]]  # type: ignore[union-attr]  # they gate the call
        return {**question, **gate} if question else gate

    def _accepted(self, request: ToolCallRequest) -> Treatment:
        """The approvals left out file changes by their names; here we see whether the tool is one of ours."""
        call = request.tool_call
        if (
            call["name"] not in ACCEPTED
            or is_file_change(request.tool)
            or not (self._leaves_to_modes() and self._gates(request))
        ):
            return "run"
        gate = self._approvals.interrupt_on[call["name"]]  # type: ignore[union-attr]  # they gate the call
        return "run" if rule_about(call, gate) else gate

    def _gates(self, request: ToolCallRequest) -> bool:
        return self._approvals is not None and gates(self._approvals, request)

    def _leaves_to_modes(self) -> bool:
        """Whether the approvals are ours, and ask before calls begin. Others know no modes, and have asked already or will."""
        return isinstance(self._approvals, ApprovalMiddleware) and self._approvals.interrupt_mode != "per_call"

    def _as_edited(self, request: ToolCallRequest) -> ToolCallRequest:
        """The call that will run, if a person has edited it before it began."""
        edited = self._approvals._reviewer_edit(request) if self._approvals else None
        return self._approvals._apply_edit(request, edited) if self._approvals and edited else request


def _changes(request: ToolCallRequest) -> bool | None:
    """Whether a call changes something; None if nobody knows."""
    if _is_unheld(request):
        return None
    if (effect := declared_effect(request.tool)) is not None:
        return effect != "read"
    return True if request.tool_call["name"] in _CHANGES else None


def _is_unheld(request: ToolCallRequest) -> bool:
    unheld = (getattr(request.tool, "metadata", None) or {}).get(UNHELD, ())
    return request.tool_call["args"].get("subagent_type") in unheld


def _question(mode: str, request: ToolCallRequest, changes: bool | None) -> InterruptOnConfig:
    if changes:
        why = "this changes something"
    elif _is_unheld(request):
        why = f"the subagent {request.tool_call['args']['subagent_type']} is not held to modes, so it may change something"
    else:
        why = "this tool does not say whether it changes something"
    return {**_DECISIONS, "description": f"{mode}: {why}."}


def _refusal(request: ToolCallRequest) -> ToolMessage:
    name = request.tool_call["name"]
    return refuse(
        request.tool_call,
        f"Error: {name} was not run, because this run is in plan mode and may change nothing. Go on with reading, and put the change into "
        "your plan; the user starts the work in another mode.",
    )
