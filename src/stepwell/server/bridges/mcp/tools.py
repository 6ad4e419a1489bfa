"""Which tools there are: one for each assistant that the caller may run and whose graph can describe its input, and those of products.

A tool's name comes from its assistant's, in the letters that MCP clients allow. Where two are the same, the newer assistant's name ends
with the beginning of its id.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stepwell.database.records.types import AssistantFilter, Page
from stepwell.database.types import Assistant
from stepwell.errors import StepwellError
from stepwell.products import installed_products, load_part
from stepwell.server.bridges.mcp.messages import INVALID_PARAMS, RpcError
from stepwell.server.bridges.schemas import small_input_schema
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.served_tools import ServedTool

THREAD_ID = "thread_id"
_PAGE = 100
_MOST = 1000
_MAX_NAME = 64
_log = logging.getLogger("stepwell.server")


@dataclass(frozen=True)
class AssistantTool:
    """An assistant under the name of its tool."""

    name: str
    assistant: Assistant


async def assistant_tools(services: Services, principal: Principal) -> list[AssistantTool]:
    """All assistants of the caller, oldest first, each with a name of its own."""
    page = Page(limit=_MOST, offset=0)
    found = await services.assistants.search(principal.owner, AssistantFilter(), page)
    served = [each for each in found if each.graph_id in services.registry.names]
    taken = {tool.name for tool in product_tools()}
    tools = []
    for assistant in sorted(served, key=lambda each: (each.created_at, each.assistant_id)):
        name = _tool_name(assistant.name)
        if name in taken:
            name = f"{name[: _MAX_NAME - 9]}_{assistant.assistant_id[:8]}"
        taken.add(name)
        tools.append(AssistantTool(name, assistant))
    return tools


def product_tools() -> list[ServedTool]:
    """The tools that products bring."""
    return [tool for product in installed_products() for tool in load_part(product, "served_tools") or ()]


async def list_tools(services: Services, principal: Principal, cursor: Any) -> dict[str, Any]:
    """The result of `tools/list`."""
    start = _read_cursor(cursor)
    tools = await assistant_tools(services, principal)
    described = await asyncio.gather(*(_describe(services, principal, tool) for tool in tools[start : start + _PAGE]))
    listed = [each for each in described if each is not None]
    if start + _PAGE < len(tools):
        return {"tools": listed, "nextCursor": str(start + _PAGE)}
    return {"tools": [*listed, *(_describe_product(tool) for tool in product_tools())]}


async def find_tool(services: Services, principal: Principal, name: Any) -> AssistantTool | ServedTool:
    """A tool by its name."""
    found: Sequence[AssistantTool | ServedTool] = [*product_tools(), *await assistant_tools(services, principal)]
    tool = next((each for each in found if each.name == name), None)
    if tool is None:
        known = ", ".join(each.name for each in found[:20])
        raise RpcError(INVALID_PARAMS, f"There is no tool of this name. Tools of this server: {known}. tools/list lists all.")
    return tool


async def _describe(services: Services, principal: Principal, tool: AssistantTool) -> dict[str, Any] | None:
    """None for an assistant whose graph cannot be built, or cannot say what it takes."""
    try:
        schema = (await services.assistants.schemas(principal.owner, tool.assistant.assistant_id))["input_schema"]
    except StepwellError as error:
        _log.info("the assistant '%s' is not offered over MCP: %s", tool.assistant.name, error)
        return None
    if schema is None:
        return None
    return {
        "name": tool.name,
        "title": tool.assistant.name,
        "description": tool.assistant.description or f"Ask the assistant {tool.assistant.name}.",
        "inputSchema": _with_thread(small_input_schema(schema)),
        "annotations": {"readOnlyHint": False, "openWorldHint": True},
    }


def _describe_product(tool: ServedTool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }


def _with_thread(schema: Mapping[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = dict(schema.get("properties") or {})
    properties.setdefault(
        THREAD_ID,
        {
            "type": "string",
            "format": "uuid",
            "description": "A conversation to continue, or a new UUID to begin one. Leave it out for a call on its own.",
        },
    )
    return {**schema, "type": "object", "properties": properties}


def _tool_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")[:_MAX_NAME] or "assistant"


def _read_cursor(cursor: Any) -> int:
    if cursor is None:
        return 0
    if not isinstance(cursor, str) or not (cursor.isascii() and cursor.isdigit()) or len(cursor) > 6:
        raise RpcError(INVALID_PARAMS, "The cursor is not one of this server. Leave it out to begin again.")
    return int(cursor)
