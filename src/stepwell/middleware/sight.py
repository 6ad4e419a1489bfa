"""Tells `read_file` what the agent's model takes: an image as a content block where the model's profile allows it, else a sentence.

A profile that says nothing counts as no: a provider that refuses a block would refuse every later message too. `pictures` is the other
side, for blocks that are in the conversation already when another model goes on with it.
"""

from __future__ import annotations

from collections.abc import Awaitable

from langchain_core.language_models import BaseChatModel
from langgraph.prebuilt.tool_node import ToolCallRequest

from stepwell.middleware.request import AsyncToolHandler, RequestMiddleware, ToolHandler, ToolResult
from stepwell.models.facts import takes_in_results
from stepwell.tools.files.blocks import Sight, seeing

_READ = "read_file"


class SightMiddleware(RequestMiddleware):
    """Stands around the tools of an agent with this model."""

    def __init__(self, model: BaseChatModel) -> None:
        super().__init__()
        self._model = model

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        if request.tool_call["name"] != _READ:
            return handler(request)
        with seeing(self._sight()):
            return handler(request)

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        return self._aread(request, handler) if request.tool_call["name"] == _READ else handler(request)

    async def _aread(self, request: ToolCallRequest, handler: AsyncToolHandler) -> ToolResult:
        with seeing(self._sight()):
            return await handler(request)

    def _sight(self) -> Sight:
        return Sight(images=takes_in_results(self._model, "image"), pdfs=takes_in_results(self._model, "pdf"))
