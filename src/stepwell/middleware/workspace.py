"""From a request to a tool: whose files an agent works on.

```
config.configurable.gcs_root_path ── ConfigToStateMiddleware, once, at the start of a run ──▶ state["gcs_root_path"]
state["gcs_root_path"], or config where there is none ── GCSRuntimeMiddleware, around each tool call ──▶ get_gcs_root_path()
```

The first says no before a model is asked, and ties a thread to one root: what was read for one tenant never stands in a conversation
about another. The second stands in every agent with tools that ask for the root. A context variable that is set in `before_agent` does
not reach tools (LangGraph runs each node in a copy of the context), so it is set where a tool is called. Docs: ADR 0018.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NotRequired, cast

from langchain.agents.middleware.types import AgentMiddleware, AgentState
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime

from stepwell.backends.objects.root import check_root, gcs_root_path
from stepwell.errors import InvalidRequestError
from stepwell.middleware.request import AsyncToolHandler, ToolHandler, ToolResult

ROOT_KEY = "gcs_root_path"

AllowedRoots = Callable[[RunnableConfig], Sequence[str] | None]
"""The roots that the caller of a run may use, by who they are; None for no limit. A root in the request may only narrow them."""


class WorkspaceState(AgentState[Any]):
    gcs_root_path: NotRequired[str]


class ConfigToStateMiddleware(AgentMiddleware[Any, Any, Any]):
    """Copies the request's root into state, in its normal form. `InvalidRequestError` if it is missing, or not the caller's.

    `default` is for places that have only one tenant, such as a folder on the user's own machine.
    """

    state_schema = WorkspaceState

    def __init__(self, *, default: str | None = None, allowed: AllowedRoots | None = None) -> None:
        super().__init__()
        self._default = None if default is None else check_root(default)
        self._allowed = allowed

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        config = get_config()
        root = check_root(config.get("configurable", {}).get(ROOT_KEY) or self._default)
        _check_same(root, state)
        _check_allowed(root, config, self._allowed)
        return {ROOT_KEY: root}

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        return self.before_agent(state, runtime)


class GCSRuntimeMiddleware(AgentMiddleware[Any, Any, Any]):
    """Hands the root of the request to every tool of the agent it stands in, and to nothing else."""

    state_schema = WorkspaceState

    def __init__(self, *, allowed: AllowedRoots | None = None) -> None:
        super().__init__()
        self._allowed = allowed

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> None:
        find_root(state, get_config(), self._allowed)

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> None:
        self.before_agent(state, runtime)

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        with gcs_root_path(self._root_of(request)):
            return handler(request)

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        return self._awrap_tool_call(request, handler)

    async def _awrap_tool_call(self, request: ToolCallRequest, handler: AsyncToolHandler) -> ToolResult:
        with gcs_root_path(self._root_of(request)):
            return await handler(request)

    def _root_of(self, request: ToolCallRequest) -> str:
        return find_root(cast("Mapping[str, Any]", request.state), request.runtime.config, self._allowed)


def find_root(state: Mapping[str, Any], config: RunnableConfig, allowed: AllowedRoots | None = None) -> str:
    """The root of a run: what its state says, or its config. `InvalidRequestError` if neither does, or the two differ."""
    given = config.get("configurable", {}).get(ROOT_KEY)
    root = check_root(given or state.get(ROOT_KEY))
    _check_same(root, state)
    # Asked for each call: a thread's state can be changed from outside while it waits for a person.
    _check_allowed(root, config, allowed)
    return root


def _check_same(root: str, state: Mapping[str, Any]) -> None:
    if (kept := state.get(ROOT_KEY)) and check_root(kept) != root:
        raise InvalidRequestError("This thread belongs to another workspace. Start a new thread for this one.")


def _check_allowed(root: str, config: RunnableConfig, allowed: AllowedRoots | None) -> None:
    roots = allowed(config) if allowed else None
    if roots is not None and not any(root.startswith(check_root(each)) for each in roots):
        raise InvalidRequestError("This workspace root is not open to you. Send one that was given to you.")
