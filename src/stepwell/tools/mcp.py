"""Tools of MCP servers (extra `[mcp]`).

| | sessions | agents |
|---|---|---|
| `load_mcp_tools`, `load_mcp_tools_sync` | one per call; a stdio server is started for each call | sync and async |
| `async with mcp_session(...) as tools` | one per server, open until the block ends | async |

Tool names must be unique across all servers; a tool's effect follows from the server's annotations. langchain-mcp-adapters makes the
connection. More than `MAX_LISTED` tools are deferred: the model finds them with `tool_search` (`middleware/tool_search.py`).
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, cast

from langchain_core.tools import BaseTool

from stepwell.backends.sync_async import run_in_portal
from stepwell.errors import ConfigurationError, MissingExtraError, ToolNameConflictError
from stepwell.tools.catalog import defer as mark_deferred
from stepwell.tools.mcp_calls import plain_fact, tool_of
from stepwell.tools.mcp_questions import SharedSession
from stepwell.tools.mcp_servers import connection_of, has_own_callback

if TYPE_CHECKING:
    from langchain_mcp_adapters.sessions import Connection
    from mcp import ClientSession
    from mcp.types import Tool

START_TIMEOUT_S = 30.0
CALL_TIMEOUT_S = 120.0
MAX_LISTED = 20
"""With more tools than this, `defer="auto"` defers them all."""

Defer = bool | Literal["auto"]


async def load_mcp_tools(
    servers: Mapping[str, Mapping[str, Any]],
    *,
    prefix: bool = False,
    defer: Defer = "auto",
    may_ask: bool = True,
    start_timeout_s: float = START_TIMEOUT_S,
    call_timeout_s: float = CALL_TIMEOUT_S,
) -> list[BaseTool]:
    """The tools of all servers, in the servers' order; with `prefix` each is named `<server>_<tool>`.

    `defer` says whether the model has to search for them: True, False, or `"auto"`, which means if they are more than `MAX_LISTED`.
    `may_ask` says whether servers may ask the user something during a call (`mcp_questions`); then a call can pause the graph.
    """
    connections = _connections(servers)
    async with asyncio.TaskGroup() as group:
        listings = {name: group.create_task(_listing(each, start_timeout_s)) for name, each in connections.items()}
    found = {name: listing.result() for name, listing in listings.items()}
    _refuse_unreachable(found)
    tools = {
        name: [
            tool_of(
                name,
                tool,
                connection=connection,
                prefix=prefix,
                call_timeout_s=call_timeout_s,
                may_ask=may_ask and not has_own_callback(connection),
            )
            for tool in cast("list[Tool]", found[name])
        ]
        for name, connection in connections.items()
    }
    return _deferred(_without_conflicts(tools), defer)


def load_mcp_tools_sync(
    servers: Mapping[str, Mapping[str, Any]],
    *,
    prefix: bool = False,
    defer: Defer = "auto",
    may_ask: bool = True,
    start_timeout_s: float = START_TIMEOUT_S,
    call_timeout_s: float = CALL_TIMEOUT_S,
) -> list[BaseTool]:
    """`load_mcp_tools` for sync code."""
    limits = {"start_timeout_s": start_timeout_s, "call_timeout_s": call_timeout_s}
    return run_in_portal(load_mcp_tools(servers, prefix=prefix, defer=defer, may_ask=may_ask, **limits))


@asynccontextmanager
async def mcp_session(
    servers: Mapping[str, Mapping[str, Any]],
    *,
    prefix: bool = False,
    defer: Defer = "auto",
    may_ask: bool = True,
    start_timeout_s: float = START_TIMEOUT_S,
    call_timeout_s: float = CALL_TIMEOUT_S,
) -> AsyncIterator[list[BaseTool]]:
    """The tools of all servers over sessions that stay open for the block."""
    connections = _connections(servers)
    async with AsyncExitStack() as open_sessions:
        tools = {}
        for name, connection in connections.items():
            asks = may_ask and not has_own_callback(connection)
            shared = SharedSession() if asks else None
            try:
                async with asyncio.timeout(start_timeout_s):
                    session = await open_sessions.enter_async_context(_open(connection, shared))
                    listed = await _list_tools(session)
            except Exception as error:
                raise _unreachable({name: error}) from error
            tools[name] = [
                tool_of(
                    name, tool, session=session, shared=shared, prefix=prefix, call_timeout_s=call_timeout_s, may_ask=may_ask
                )
                for tool in listed
            ]
        yield _deferred(_without_conflicts(tools), defer)


def _connections(servers: Mapping[str, Mapping[str, Any]]) -> dict[str, Connection]:
    connections = {name: cast("Connection", connection_of(name, server)) for name, server in servers.items()}
    if not importlib.util.find_spec("langchain_mcp_adapters"):
        raise MissingExtraError("Loading tools of MCP servers", "mcp")
    return connections


@asynccontextmanager
async def _open(connection: Connection, shared: SharedSession | None = None) -> AsyncIterator[ClientSession]:
    from langchain_mcp_adapters.callbacks import _MCPCallbacks
    from langchain_mcp_adapters.sessions import create_session

    failure: Exception | None = None
    callbacks = _MCPCallbacks(elicitation_callback=shared.on_elicitation) if shared else None
    async with create_session(connection, mcp_callbacks=callbacks) as session:
        await session.initialize()
        try:
            yield session
        except Exception as error:
            failure = error  # raised below: the task groups inside would wrap it in an ExceptionGroup
    if failure is not None:
        raise failure


async def _listing(connection: Connection, timeout_s: float) -> list[Tool] | Exception:
    """A server's tools, or the error as a value, because one failing server must not cancel the start of the others."""
    try:
        async with asyncio.timeout(timeout_s), _open(connection) as session:
            return await _list_tools(session)
    except Exception as error:
        return error


async def _list_tools(session: ClientSession) -> list[Tool]:
    page = await session.list_tools()
    tools = list(page.tools)
    seen: set[str] = set()
    while page.nextCursor and page.nextCursor not in seen:
        seen.add(page.nextCursor)
        page = await session.list_tools(cursor=page.nextCursor)
        tools += page.tools
    return tools


def _refuse_unreachable(found: Mapping[str, list[Tool] | Exception]) -> None:
    failed = {name: listing for name, listing in found.items() if isinstance(listing, Exception)}
    if failed:
        raise _unreachable(failed) from next(iter(failed.values()))


def _unreachable(failed: Mapping[str, Exception]) -> ConfigurationError:
    facts = " ".join(f"The MCP server '{name}' could not be started or reached: {plain_fact(e)}." for name, e in failed.items())
    return ConfigurationError(f"{facts} Check its configuration, and that it is running.")


def _without_conflicts(tools: Mapping[str, list[BaseTool]]) -> list[BaseTool]:
    owners: dict[str, str] = {}
    for server, its_tools in tools.items():
        owner = f"the MCP server '{server}'"
        for tool in its_tools:
            if tool.name in owners:
                conflict = ToolNameConflictError(tool.name, owners[tool.name], owner)
                conflict.add_note("With prefix=True each tool is named after its server.")
                raise conflict
            owners[tool.name] = owner
    return [tool for its_tools in tools.values() for tool in its_tools]


def _deferred(tools: list[BaseTool], choice: Defer) -> list[BaseTool]:
    if choice not in (True, False, "auto"):
        raise ConfigurationError(f"defer is {choice!r}. Write True, False or 'auto'.")
    wanted = len(tools) > MAX_LISTED if choice == "auto" else choice
    return [mark_deferred(tool) for tool in tools] if wanted else tools
