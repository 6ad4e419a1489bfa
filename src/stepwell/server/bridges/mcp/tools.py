"""Which tools there are: one for each assistant that the caller may run and whose graph can describe its input, and those of products."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from stepwell.errors import StepwellError
from stepwell.products import installed_products, load_part
from stepwell.server.bridges.mcp.messages import INVALID_PARAMS, RpcError
from stepwell.server.bridges.naming import NamedAssistant, named_assistants
from stepwell.server.bridges.schemas import small_input_schema
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.served_tools import ServedTool

THREAD_ID = "thread_id"
_PAGE = 100
_log = logging.getLogger("stepwell.server")


def product_tools() -> list[ServedTool]:
    """The tools that products bring."""
    return [tool for product in installed_products() for tool in load_part(product, "served_tools") or ()]


async def list_tools(services: Services, principal: Principal, cursor: Any) -> dict[str, Any]:
    """The result of `tools/list`."""
    start = _read_cursor(cursor)
    tools = await _assistants(services, principal)
    described = await asyncio.gather(*(_describe(services, principal, tool) for tool in tools[start : start + _PAGE]))
    listed = [each for each in described if each is not None]
    if start + _PAGE < len(tools):
        return {"tools": listed, "nextCursor": str(start + _PAGE)}
    return {"tools": [*listed, *(_describe_product(tool) for tool in product_tools())]}


async def find_tool(services: Services, principal: Principal, name: Any) -> NamedAssistant | ServedTool:
    """A tool by its name."""
    found: Sequence[NamedAssistant | ServedTool] = [*product_tools(), *await _assistants(services, principal)]
    tool = next((each for each in found if each.name == name), None)
    if tool is None:
        known = ", ".join(each.name for each in found[:20])
        raise RpcError(INVALID_PARAMS, f"There is no tool of this name. Tools of this server: {known}. tools/list lists all.")
    return tool


async def _assistants(services: Services, principal: Principal) -> list[NamedAssistant]:
    return await named_assistants(services, principal, [tool.name for tool in product_tools()])


async def _describe(services: Services, principal: Principal, tool: NamedAssistant) -> dict[str, Any] | None:
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


def _read_cursor(cursor: Any) -> int:
    if cursor is None:
        return 0
    if not isinstance(cursor, str) or not (cursor.isascii() and cursor.isdigit()) or len(cursor) > 6:
        raise RpcError(INVALID_PARAMS, "The cursor is not one of this server. Leave it out to begin again.")
    return int(cursor)
