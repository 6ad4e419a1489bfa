"""The tool `execute`, for backends that run commands where their files are (`backends/commands.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field

from stepwell.backends.commands import arun_command, run_command, takes_timeout
from stepwell.tools.files import results

EXECUTE = "execute"
DEFAULT_MOST_SECONDS = 3600


class ExecuteArgs(BaseModel):
    command: str


class TimedExecuteArgs(ExecuteArgs):
    timeout: int | None = Field(None, description="seconds")


def build_execute_tool(
    sandbox: Any,
    open_backend: Callable[[ToolRuntime], Any],
    *,
    mounts: list[str],
    description: str | None = None,
    most_seconds: int = DEFAULT_MOST_SECONDS,
) -> BaseTool:
    """The tool over the backend that `open_backend` gives for a call.

    `sandbox` is where commands run: if its `execute` takes a `timeout`, the model may choose one, up to `most_seconds`. `mounts` are
    folders whose files commands cannot see.
    """

    def run(runtime: ToolRuntime, command: str, timeout: int | None = None) -> ToolMessage:
        if problem := _complaint(timeout, most_seconds):
            return _message(runtime, problem)
        return _message(runtime, results.executed(run_command(open_backend(runtime), command, timeout)))

    async def arun(runtime: ToolRuntime, command: str, timeout: int | None = None) -> ToolMessage:  # noqa: ASYNC109  # the sandbox's own limit
        if problem := _complaint(timeout, most_seconds):
            return _message(runtime, problem)
        return _message(runtime, results.executed(await arun_command(open_backend(runtime), command, timeout)))

    run.__annotations__ = arun.__annotations__ = {"runtime": ToolRuntime, "command": str, "timeout": int | None}
    return StructuredTool(
        name=EXECUTE,
        description=description or _describe(mounts, getattr(sandbox, "about_commands", "")),
        func=run,
        coroutine=arun,
        args_schema=TimedExecuteArgs if takes_timeout(sandbox) else ExecuteArgs,
    )


def _describe(mounts: list[str], about: str) -> str:
    unseen = f"Commands cannot see {', '.join(mounts)}: copy what they need with the file tools." if mounts else ""
    return " ".join(filter(None, ["Run a shell command where the files are.", about, unseen]))


def _complaint(timeout: int | None, most_seconds: int) -> results.Rendered | None:
    if timeout is None or 0 < timeout <= most_seconds:
        return None
    return results.Rendered(
        f"Error: a timeout of {timeout:,} seconds is not possible. Choose one from 1 to {most_seconds:,}.", is_error=True
    )


def _message(runtime: ToolRuntime, rendered: results.Rendered) -> ToolMessage:
    status: Literal["error", "success"] = "error" if rendered.is_error else "success"
    return ToolMessage(rendered.text, name=EXECUTE, tool_call_id=runtime.tool_call_id or "", status=status)
