"""How much a run may change, chosen by the person who starts it: `config["configurable"]["permission_mode"]`.

| mode | file changes | execute, and tools that declare an effect | what `interrupt_on` names |
|---|---|---|---|
| none | as the agent was built | as built | asks |
| `plan` | answered with a sentence | answered with a sentence | not asked, if it would not run |
| `ask` | ask | ask | asks |
| `accept_edits` | run without asking | as built | asks, except for file changes |

Permissions with `mode="deny"` hold in every mode. A tool declares its effect with `with_effect`; one that declares `read`, or nothing, runs
in every mode. The mode reaches subagents with the run's configuration.

Every agent has this middleware, because a served agent is not built again for a run. So it adds no node: it looks at calls where tools
are called anyway, and asks there. Parallel calls then ask one question each.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, Literal, cast, get_args

from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import ToolMessage
from langgraph.config import get_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt.tool_node import ToolCallRequest

from stepwell.errors import InvalidRequestError
from stepwell.middleware.approvals import CHANGES, PERMISSION_MODE, ApprovalMiddleware, gates
from stepwell.middleware.request import AsyncToolHandler, ModelCall, RequestMiddleware, ToolHandler, ToolResult
from stepwell.tools.effects import declared_effect

RunMode = Literal["plan", "ask", "accept_edits"]
RUN_MODES: tuple[str, ...] = get_args(RunMode)

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
    """Holds a run to its mode. `approvals` are the agent's own, which ask before this middleware sees the call."""

    def __init__(self, approvals: object = None) -> None:
        super().__init__()
        self._approvals = approvals if isinstance(approvals, HumanInTheLoopMiddleware) else None
        self._asking = ApprovalMiddleware(interrupt_on={})

    def prepare(self, call: ModelCall) -> None:
        if PERMISSION_MODE in (configurable := get_config().get("configurable", {})) and mode_of(configurable) == "plan":
            call.sections.append(_PLANNING)

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        mode = _mode_for(request)
        if mode == "plan":
            return _refusal(request)
        if mode == "ask" and not self._is_asked_already(request):
            return self._asking.ask_about(request, handler)
        return handler(request)

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        mode = _mode_for(request)
        if mode == "plan" or (mode == "ask" and not self._is_asked_already(request)):
            return self._ahold(mode, request, handler)
        return handler(request)

    async def _ahold(self, mode: RunMode, request: ToolCallRequest, handler: AsyncToolHandler) -> ToolResult:
        return _refusal(request) if mode == "plan" else await self._asking.aask_about(request, handler)

    def _is_asked_already(self, request: ToolCallRequest) -> bool:
        return self._approvals is not None and gates(self._approvals, request)


def _mode_for(request: ToolCallRequest) -> RunMode | None:
    """The mode to which a call is held; None for a call that changes nothing."""
    configurable = request.runtime.config.get("configurable") or {}
    if PERMISSION_MODE not in configurable:
        return None
    mode = mode_of(configurable)
    return mode if request.tool_call["name"] in CHANGES or declared_effect(request.tool) not in (None, "read") else None


def _refusal(request: ToolCallRequest) -> ToolMessage:
    name = request.tool_call["name"]
    return ToolMessage(
        f"Error: {name} was not run, because this run is in plan mode and may change nothing. Go on with reading, and put the change into "
        "your plan; the user starts the work in another mode.",
        name=name,
        tool_call_id=request.tool_call["id"] or "",
        status="error",
    )
