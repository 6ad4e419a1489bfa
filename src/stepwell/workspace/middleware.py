"""Carries the workspace root, which decides whose files an agent works on, from the request to each tool.

```
config.configurable.gcs_root_path ── ConfigToStateMiddleware, once, at the start of a run ──▶ state["gcs_root_path"]
config, or state if it has none ── GCSRuntimeMiddleware, around each tool call ──▶ OpenedRoot in a context variable: get_gcs_root_path()
```
A root that a server has pinned (`grants.pin`) takes precedence over both. Whether the root may only be read is decided here too, for each
call.

`ConfigToStateMiddleware` rejects a request before any model call, and ties a thread to one root, so that what was read for one tenant never
appears in a conversation about another. `GCSRuntimeMiddleware` belongs in every agent with tools that need the root. A context variable
that is set in `before_agent` does not reach tools (LangGraph runs each node in a copy of the context), so it is set around each tool call.
See ADR 0018.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NotRequired, cast

from langchain.agents.middleware.types import AgentMiddleware, AgentState
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime

from stepwell.backends.objects.grants import ANY_ROOT, ROOT_KEY, Grants, pinned_root
from stepwell.backends.objects.read_only import TOOL_REFUSAL
from stepwell.backends.objects.root import OpenedRoot, check_root, gcs_root_path
from stepwell.errors import InvalidRequestError
from stepwell.middleware.request import AsyncToolHandler, ToolHandler, ToolResult

WRITE_TOOLS = frozenset({"write_file", "edit_file", "delete", "move"})

AllowedRoots = Callable[[RunnableConfig], Grants | Sequence[str] | None]
"""What the caller of a run may use, by identity: grants, or roots to write in; None for no limit. A root in the request may only narrow
them."""


class WorkspaceState(AgentState[Any]):
    gcs_root_path: NotRequired[str]


class ConfigToStateMiddleware(AgentMiddleware[Any, Any, Any]):
    """Copies the request's root into state, normalised. Raises `InvalidRequestError` if it is missing, or not the caller's.

    `default` is for setups with only one tenant, such as a folder on the user's own machine.
    """

    state_schema = WorkspaceState

    def __init__(self, *, default: str | None = None, allowed: AllowedRoots | None = None) -> None:
        super().__init__()
        self._default = None if default is None else check_root(default)
        self._allowed = allowed

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        return {ROOT_KEY: _open(state, get_config(), self._allowed, self._default).root}

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        return self.before_agent(state, runtime)


class GCSRuntimeMiddleware(AgentMiddleware[Any, Any, Any]):
    """Provides the request's root to every tool of its agent, and to nothing else."""

    state_schema = WorkspaceState

    def __init__(self, *, allowed: AllowedRoots | None = None) -> None:
        super().__init__()
        self._allowed = allowed

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> None:
        open_for_run(state, get_config(), self._allowed)

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> None:
        self.before_agent(state, runtime)

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        opened = open_for_call(request, self._allowed)
        if refusal := _refuse_write(opened, request):
            return refusal
        with gcs_root_path(opened):
            return handler(request)

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        return self._awrap_tool_call(request, handler)

    async def _awrap_tool_call(self, request: ToolCallRequest, handler: AsyncToolHandler) -> ToolResult:
        opened = open_for_call(request, self._allowed)
        if refusal := _refuse_write(opened, request):
            return refusal
        with gcs_root_path(opened):
            return await handler(request)


def open_for_call(request: ToolCallRequest, allowed: AllowedRoots | None = None) -> OpenedRoot:
    """The root of a tool call, opened anew for each call, because a thread's state can change from outside while it waits for a person."""
    return open_for_run(cast("Mapping[str, Any]", request.state), request.runtime.config, allowed)


def open_for_run(state: Mapping[str, Any], config: RunnableConfig, allowed: AllowedRoots | None = None) -> OpenedRoot:
    """The root of a run: the one that a server has pinned, or the one from its config, or from its state.

    Raises:
        InvalidRequestError: The run has no root, its thread belongs to another root, or the root is not open to the caller.
    """
    return _open(state, config, allowed, state.get(ROOT_KEY))


def _open(state: Mapping[str, Any], config: RunnableConfig, allowed: AllowedRoots | None, otherwise: str | None) -> OpenedRoot:
    configurable = config.get("configurable", {})
    named = pinned_root(configurable) or OpenedRoot(check_root(configurable.get(ROOT_KEY) or otherwise))
    kept = state.get(ROOT_KEY)
    if kept and kept != named.root and check_root(kept) != named.root:
        raise InvalidRequestError("This thread belongs to another workspace. Start a new thread for this one.")
    opened = _ask(allowed, config).open(named.root)
    if opened is None:
        raise InvalidRequestError("This workspace root is not open to you. Send one that was given to you.")
    return named if named.read_only else opened


def _ask(allowed: AllowedRoots | None, config: RunnableConfig) -> Grants:
    given = allowed(config) if allowed else None
    if given is None:
        return ANY_ROOT
    return given if isinstance(given, Grants) else Grants(tuple(map(check_root, given)))


def _refuse_write(opened: OpenedRoot, request: ToolCallRequest) -> ToolMessage | None:
    """Reject a write in a workspace that its caller may only read, before it reaches a tool."""
    call = request.tool_call
    if not opened.read_only or call["name"] not in WRITE_TOOLS:
        return None
    return ToolMessage(TOOL_REFUSAL, name=call["name"], tool_call_id=call["id"], status="error")
