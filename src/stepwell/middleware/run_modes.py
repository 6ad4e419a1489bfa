"""How much a run may change, chosen by the person who starts it: `config["configurable"]["permission_mode"]`.

| mode | file changes | execute, and tools that declare an effect | tools that declare none | what `interrupt_on` names |
|---|---|---|---|---|
| none | as the agent was built | as built | run | asks |
| `plan` | answered with a sentence | answered with a sentence | ask | not asked, if it would not run |
| `ask` | ask | ask | ask | asks |
| `accept_edits` | run without asking | as built | run | asks, except for file changes |

Permissions with `mode="deny"` hold in every mode. A tool declares its effect with `with_effect`; one that declares `read` runs in every
mode, as do our own tools that change nothing. Nobody knows what a tool does that declares nothing, so a person is asked. The mode reaches
subagents with the run's configuration.

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
from stepwell.middleware.own_words import refuse
from stepwell.middleware.request import AsyncToolHandler, ModelCall, RequestMiddleware, ToolHandler, ToolResult
from stepwell.tools.effects import declared_effect

RunMode = Literal["plan", "ask", "accept_edits"]
Treatment = Literal["run", "ask", "refuse"]
RUN_MODES: tuple[str, ...] = get_args(RunMode)

_HARMLESS = frozenset(
    {"ls", "read_file", "glob", "grep", "search", "list_files", "search_files", "grep_files", "glob_files"}
    | {"task", "write_todos", "tool_search", "ask_user", "ask_choices"}
)
"""Our own tools that change nothing; `task` because the mode holds inside a subagent too."""

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
        match self._treatment(request):
            case "refuse":
                return _refusal(request)
            case "ask":
                return self._asking.ask_about(request, handler)
        return handler(request)

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        treatment = self._treatment(request)
        return handler(request) if treatment == "run" else self._ahold(treatment, request, handler)

    async def _ahold(self, treatment: Treatment, request: ToolCallRequest, handler: AsyncToolHandler) -> ToolResult:
        return _refusal(request) if treatment == "refuse" else await self._asking.aask_about(request, handler)

    def _treatment(self, request: ToolCallRequest) -> Treatment:
        configurable = request.runtime.config.get("configurable") or {}
        if PERMISSION_MODE not in configurable:
            return "run"
        mode, changes = mode_of(configurable), _changes(request)
        if mode not in ("plan", "ask") or changes is False:
            return "run"
        if mode == "plan" and changes:
            return "refuse"
        is_asked_already = self._approvals is not None and gates(self._approvals, request)
        return "run" if is_asked_already else "ask"


def _changes(request: ToolCallRequest) -> bool | None:
    """Whether a call changes something; None if nobody knows."""
    name, effect = request.tool_call["name"], declared_effect(request.tool)
    if name in CHANGES:
        return True
    if name in _HARMLESS:
        return False
    return None if effect is None else effect != "read"


def _refusal(request: ToolCallRequest) -> ToolMessage:
    name = request.tool_call["name"]
    return refuse(
        request.tool_call,
        f"Error: {name} was not run, because this run is in plan mode and may change nothing. Go on with reading, and put the change into "
        "your plan; the user starts the work in another mode.",
    )
