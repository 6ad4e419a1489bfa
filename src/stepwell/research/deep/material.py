"""Notices when an agent reads what the user brought, for the rule `searches.after_private` of the policy."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.messages import ToolMessage
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest

from stepwell.middleware.large_results import LARGE_RESULTS
from stepwell.middleware.request import AsyncToolHandler, ToolResult
from stepwell.research.deep.web_tools import question_key
from stepwell.research.evidence.equipment import Equipment
from stepwell.research.evidence.policy.private_material import PrivateMaterial

_PUBLIC = frozenset({"web_search", "fetch_page", "write_todos", "task"})
"""Tools whose results come from the web, from the agent itself, or from a subagent that has this middleware too."""
_OF_ONE_FILE = frozenset({"read_file", "edit_file", "delete"})
_OF_FILES = frozenset({"ls", "glob", "grep"})


class MaterialInTrail(AgentMiddleware[Any, Any, Any]):
    """Middleware for the lead and for each subagent. A tool that it does not know counts as one that reads private material."""

    def __init__(self, equipment: Equipment) -> None:
        super().__init__()
        self._equipment = equipment

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        return self._awrap_tool_call(request, handler)

    async def _awrap_tool_call(self, request: ToolCallRequest, handler: AsyncToolHandler) -> ToolResult:
        result = await handler(request)
        name = request.tool_call["name"]
        if name in _PUBLIC or self._equipment.policy.after_private == "any" or _failed(result):
            return result
        vault = self._equipment.vault_for(get_config())
        material = PrivateMaterial(vault)
        key = f"{question_key(await vault.entries())}:{request.tool_call['id']}"
        if name == "write_file":
            await material.note_written(f"{key}:written", _path(request))
        elif name == "move" and await _is_public(material, _path(request, "source")):
            await material.note_written(f"{key}:written", _path(request, "destination"))
        elif not await material.was_read() and await _shows_private(material, request):
            await material.note_read(f"{key}:read", _text_of(result))
        return result


async def _shows_private(material: PrivateMaterial, request: ToolCallRequest) -> bool:
    name = request.tool_call["name"]
    if name in _OF_ONE_FILE:
        return not await _is_public(material, _path(request))
    if name in _OF_FILES:
        return not all([await _is_public(material, path) for path in (request.state.get("files") or {})])
    return True


async def _is_public(material: PrivateMaterial, path: str) -> bool:
    """Whether an agent wrote the file, or it holds a result that was too large for the conversation."""
    return path.startswith(f"{LARGE_RESULTS}/") or await material.is_own(path)


def _path(request: ToolCallRequest, argument: str = "file_path") -> str:
    path = str(request.tool_call["args"].get(argument, ""))
    return path if path.startswith("/") else f"/{path}"


def _messages(result: ToolResult) -> list[ToolMessage]:
    if isinstance(result, ToolMessage):
        return [result]
    update = result.update if isinstance(result.update, dict) else {}
    return [message for message in update.get("messages", ()) if isinstance(message, ToolMessage)]


def _failed(result: ToolResult) -> bool:
    messages = _messages(result)
    return bool(messages) and all(message.status == "error" for message in messages)


def _text_of(result: ToolResult) -> str:
    return "\n".join(message.text for message in _messages(result))
