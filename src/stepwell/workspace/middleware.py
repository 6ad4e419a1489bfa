"""Whose files an agent works on: the workspace root, from the request to each tool.

```
config.configurable.gcs_root_path ── ConfigToStateMiddleware, once, at the start of a run ──▶ state["gcs_root_path"]
state["gcs_root_path"], or config if it is missing ── GCSRuntimeMiddleware, around each tool call ──▶ get_gcs_root_path()
```

The first rejects a request before any model call, and ties a thread to one root: what was read for one tenant never appears in a
conversation about another. The second belongs in every agent with tools that need the root. A context variable that is set in
`before_agent` does not reach tools (LangGraph runs each node in a copy of the context), so it is set around each tool call. See ADR 0018.
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

from stepwell.backends.objects.grants import ROOT_KEY, OpenedRoot, pinned_root
from stepwell.backends.objects.root import check_root, gcs_root_path
from stepwell.errors import InvalidRequestError
from stepwell.middleware.request import AsyncToolHandler, ToolHandler, ToolResult

WRITE_TOOLS = frozenset({"write_file", "edit_file"})
READ_ONLY = (
    "Error: this workspace is open to its user for reading only, so nothing in it can be changed. Say so, and give the text "
    "in your answer."
)

AllowedRoots = Callable[[RunnableConfig], Sequence[str] | None]
"""The roots that the caller of a run may use, by identity; None for no limit. A root in the request may only narrow them."""


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
        config = get_config()
        configurable = config.get("configurable", {})
        pinned = pinned_root(configurable)
        root = pinned.root if pinned else check_root(configurable.get(ROOT_KEY) or self._default)
        _check_same(root, state)
        _check_allowed(root, config, self._allowed)
        return {ROOT_KEY: root}

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        return self.before_agent(state, runtime)


class GCSRuntimeMiddleware(AgentMiddleware[Any, Any, Any]):
    """Provides the request's root to every tool of its agent, and to nothing else."""

    state_schema = WorkspaceState

    def __init__(self, *, allowed: AllowedRoots | None = None) -> None:
        super().__init__()
        self._allowed = allowed

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> None:
        find_root(state, get_config(), self._allowed)

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> None:
        self.before_agent(state, runtime)

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        opened = self._root_of(request)
        if refusal := _refuse_write(opened, request):
            return refusal
        with gcs_root_path(opened.root, read_only=opened.read_only):
            return handler(request)

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        return self._awrap_tool_call(request, handler)

    async def _awrap_tool_call(self, request: ToolCallRequest, handler: AsyncToolHandler) -> ToolResult:
        opened = self._root_of(request)
        if refusal := _refuse_write(opened, request):
            return refusal
        with gcs_root_path(opened.root, read_only=opened.read_only):
            return await handler(request)

    def _root_of(self, request: ToolCallRequest) -> OpenedRoot:
        return open_for_run(cast("Mapping[str, Any]", request.state), request.runtime.config, self._allowed)


def find_root(state: Mapping[str, Any], config: RunnableConfig, allowed: AllowedRoots | None = None) -> str:
    """The root of a run. Raises `InvalidRequestError` if it has none, or if its thread belongs to another."""
    return open_for_run(state, config, allowed).root


def open_for_run(state: Mapping[str, Any], config: RunnableConfig, allowed: AllowedRoots | None = None) -> OpenedRoot:
    """The root of a run: the one that a server has pinned, or the one from its config, or from its state."""
    configurable = config.get("configurable", {})
    pinned = pinned_root(configurable)
    root = pinned.root if pinned else check_root(configurable.get(ROOT_KEY) or state.get(ROOT_KEY))
    _check_same(root, state)
    # Checked for each call: a thread's state can be changed from outside while it waits for a person.
    _check_allowed(root, config, allowed)
    return pinned or OpenedRoot(root)


def _refuse_write(opened: OpenedRoot, request: ToolCallRequest) -> ToolMessage | None:
    """Reject a write in a workspace that its caller may only read, before it reaches a tool."""
    call = request.tool_call
    if not opened.read_only or call["name"] not in WRITE_TOOLS:
        return None
    return ToolMessage(READ_ONLY, name=call["name"], tool_call_id=call["id"], status="error")


def _check_same(root: str, state: Mapping[str, Any]) -> None:
    if (kept := state.get(ROOT_KEY)) and check_root(kept) != root:
        raise InvalidRequestError("This thread belongs to another workspace. Start a new thread for this one.")


def _check_allowed(root: str, config: RunnableConfig, allowed: AllowedRoots | None) -> None:
    roots = allowed(config) if allowed else None
    if roots is not None and not any(root.startswith(check_root(each)) for each in roots):
        raise InvalidRequestError("This workspace root is not open to you. Send one that was given to you.")
