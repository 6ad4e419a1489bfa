"""Keeps the order of file changes within a turn, around everything that may answer a call in place of its tool (`tools.files.order`)."""

from __future__ import annotations

from collections.abc import Awaitable

from langgraph.prebuilt.tool_node import ToolCallRequest

from stepwell.middleware.request import AsyncToolHandler, RequestMiddleware, ToolHandler, ToolResult
from stepwell.tools.files.order import ChangeOrder


class FileOrderMiddleware(RequestMiddleware):
    """Every agent has it. `FilesystemMiddleware` keeps the order itself in an agent that was built elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self._order = ChangeOrder()

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        return self._order.run(request, handler)

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        return self._order.arun(request, handler)
