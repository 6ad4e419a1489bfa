"""Turns one tool of an MCP server into a tool of ours.

The adapters' tool is async only, answers in content blocks, loses arguments named `config` or `runtime`, and lets a broken connection
crash the run. Ours also runs from sync code, answers in plain text if there is only text, accepts arguments of any name, declares its
effect, has a time-out, and reports every failure to the model as an error result.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException

from stepwell.backends.sync_async import run_in_portal
from stepwell.control_flow import let_pass
from stepwell.errors import ConfigurationError
from stepwell.secrets.errors import words_of
from stepwell.tools.effects import EFFECT, Effect
from stepwell.tools.mcp_questions import (
    DECLINED,
    AskingCall,
    QuestionError,
    SharedSession,
    ask_caller,
    noting_declines,
    run_asking,
)

if TYPE_CHECKING:
    from langchain_mcp_adapters.interceptors import MCPToolCallRequest
    from langchain_mcp_adapters.sessions import Connection
    from mcp import ClientSession
    from mcp.types import Tool

ServerCall = Callable[..., Awaitable[tuple[Any, Any]]]


class McpCallError(ToolException):
    """A call got no answer. The error's text is written for the model."""


class McpTool(BaseTool):
    """A tool that passes all its arguments to the server; LangChain's StructuredTool would replace some of them with its own values."""

    server: str
    call: ServerCall
    sync_call: Callable[..., tuple[Any, Any]]
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"

    def run(self, *args: Any, **options: Any) -> Any:
        with noting_declines() as declined:
            result = super().run(*args, **options)
        return _mark_declined(result) if declined else result

    async def arun(self, *args: Any, **options: Any) -> Any:
        with noting_declines() as declined:
            result = await super().arun(*args, **options)
        return _mark_declined(result) if declined else result

    def _run(self, /, *args: Any, **arguments: Any) -> Any:
        return self.sync_call(**arguments)

    async def _arun(self, /, *args: Any, **arguments: Any) -> Any:
        return await self.call(**arguments)


def _mark_declined(result: Any) -> Any:
    if not isinstance(result, ToolMessage):
        return result
    return result.model_copy(update={"additional_kwargs": {**result.additional_kwargs, DECLINED: True}})


def tool_of(
    server: str,
    tool: Tool,
    *,
    connection: Connection | None = None,
    session: ClientSession | None = None,
    shared: SharedSession | None = None,
    prefix: bool,
    call_timeout_s: float,
    may_ask: bool,
) -> BaseTool:
    """Make a tool that opens a session for each call (`connection`) or uses an open one (`session`, with whom it asks in `shared`)."""
    from langchain_mcp_adapters.callbacks import Callbacks
    from langchain_mcp_adapters.tools import convert_mcp_tool_to_langchain_tool

    adapted = convert_mcp_tool_to_langchain_tool(
        session,
        tool,
        connection=connection,
        callbacks=Callbacks(on_elicitation=ask_caller if may_ask else None),  # type: ignore[arg-type]  # an error is an answer too
        server_name=server,
        tool_interceptors=[_put_runtime_back],
    )
    if not isinstance(adapted, StructuredTool) or adapted.coroutine is None:
        raise ConfigurationError(f"The tool '{tool.name}' of the MCP server '{server}' came in a form that cannot be called.")
    asking = _asking(adapted.coroutine, server, tool.name, shared) if may_ask else adapted.coroutine
    call = _guard(asking, server, tool.name, call_timeout_s)
    hints = adapted.metadata or {}
    return McpTool(
        name=safe_name(f"{server}_{tool.name}" if prefix else tool.name),
        description=adapted.description,
        args_schema=adapted.args_schema,
        metadata={**hints, EFFECT: effect_of_hints(hints)},
        handle_tool_error=_error_text,
        server=server,
        call=call,
        sync_call=_sync(call) if session is None else _refuse_sync(server),
    )


async def _put_runtime_back(request: MCPToolCallRequest, handler: Callable[..., Awaitable[Any]]) -> Any:
    """Restore an argument named `runtime`: the adapters keep it for themselves, but a server's tool may have one too."""
    if request.runtime is not None:
        request = request.override(args={**request.args, "runtime": request.runtime})
    return await handler(request)


def safe_name(name: str) -> str:
    """The name without characters that MCP allows in names and model providers do not, such as dots and slashes."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def effect_of_hints(hints: Mapping[str, Any]) -> Effect:
    """The effect that MCP's annotations mean. If a server contradicts itself, we assume the worst."""
    if hints.get("destructiveHint"):
        return "once"
    if hints.get("readOnlyHint"):
        return "read"
    # Only an explicit False counts: the protocol's default is "not idempotent", but our default is the one for a plain function.
    return "once" if hints.get("idempotentHint") is False else "idempotent"


def _asking(call: ServerCall, server: str, tool: str, shared: SharedSession | None) -> ServerCall:
    async def ask_while_calling(**arguments: Any) -> tuple[Any, Any]:
        return await run_asking(AskingCall(server, tool), lambda: call(**arguments), shared)

    return ask_while_calling


def _guard(call: ServerCall, server: str, tool: str, timeout_s: float) -> ServerCall:
    async def guarded(**arguments: Any) -> tuple[Any, Any]:
        try:
            async with asyncio.timeout(timeout_s):
                content, artifact = await call(**arguments)
        except ToolException as error:
            let_pass(error)
            raise
        except QuestionError as error:
            raise McpCallError(str(error)) from error
        except TimeoutError as error:
            raise McpCallError(
                f"The tool '{tool}' of the MCP server '{server}' did not answer within {timeout_s:g} s. "
                "It may still have taken effect."
            ) from error
        except Exception as error:
            let_pass(error)
            # The adapters let every transport, protocol and conversion error through unchanged.
            raise McpCallError(
                f"The tool '{tool}' of the MCP server '{server}' gave no answer: {plain_fact(error)}."
            ) from error
        return _plain(content), artifact

    return guarded


def plain_fact(error: BaseException) -> str:
    """What went wrong, without any address, path or token."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    response = getattr(error, "response", None)
    if response is not None and hasattr(response, "status_code"):
        return f"it answered with HTTP status {response.status_code}"
    known: tuple[tuple[type[BaseException], str], ...] = (
        (FileNotFoundError, "its command was not found"),
        (PermissionError, "its command may not be run"),
        (TimeoutError, "it did not answer in time"),
    )
    for kind, fact in known:
        if isinstance(error, kind):
            return fact
    if type(error).__name__ in ("ConnectError", "ConnectTimeout"):
        return "it could not be reached"
    # Which of these errors it is depends on whether the connection closes while sending or while waiting for an answer.
    if type(error).__name__ in ("BrokenResourceError", "ClosedResourceError") or str(error) == "Connection closed":
        return "it ended without answering"
    if type(error).__name__ == "McpError":
        return f"it reported '{error}'"
    return f"{type(error).__name__}"


def _plain(content: Any) -> Any:
    """Join text blocks into one text, which is shorter and works with every model and with the offloading of large results."""
    if isinstance(content, list) and all(isinstance(block, Mapping) and block.get("type") == "text" for block in content):
        return "\n".join(str(block["text"]) for block in content)
    return content


def _error_text(error: ToolException) -> str:
    return words_of(error) or "The tool failed and gave no reason."


def _sync(call: ServerCall) -> Callable[..., tuple[Any, Any]]:
    def run(**arguments: Any) -> tuple[Any, Any]:
        async def once() -> tuple[Any, Any]:
            return await call(**arguments)

        return run_in_portal(once())

    return run


def _refuse_sync(server: str) -> Callable[..., tuple[Any, Any]]:
    def run(**arguments: Any) -> tuple[Any, Any]:
        raise ConfigurationError(
            f"A session of the MCP server '{server}' is open on an event loop: use the agent's async methods (ainvoke, "
            "astream) inside mcp_session, or load the tools with load_mcp_tools."
        )

    return run
