"""Gives an agent the files on the user's device: mounted among the agent's own files, or through seven tools if the agent has no files.

| | what the agent gets |
|---|---|
| `ClientToolsMiddleware(mount="/project/")` | its file tools reach the device below the mount, and `search` adds semantic search |
| `ClientToolsMiddleware()` | `list_files, read_file, search_files, grep_files, glob_files, write_file, patch_file` |

Either way each call is one interrupt that the device answers (`backends.device`). `agent.compile.mount_files` adds the mount to the
agent's `FilesystemMiddleware` when the agent is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired

from langchain.agents.middleware.types import AgentState
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool

from stepwell.answers.client_tools import DeviceError
from stepwell.backends import paths
from stepwell.backends.browser import BrowserBackend
from stepwell.backends.device import DEADLINE_S, Device, DeviceCall, say_failure
from stepwell.backends.protocol import BackendProtocol, ErrorText
from stepwell.errors import ConfigurationError
from stepwell.middleware.prompts import load_prompt
from stepwell.middleware.request import RequestMiddleware
from stepwell.tools.effects import changes_files, with_effect
from stepwell.tools.files.device import DEVICE_TOOLS, DeviceTool

_CHANGING = frozenset({"write_file", "patch_file"})
_APPROVAL = " The user sees each change and allows it or not; if not, do what they say."


class ClientToolsState(AgentState[Any]):
    current_project_id: NotRequired[str | None]
    write_approval: NotRequired[bool | dict[str, bool] | None]
    """Whether writes need the user's approval, for all projects or per project. `None` means what is set in the middleware."""


class ClientToolsMiddleware(RequestMiddleware):
    """Gives an agent the files of a project on the user's device.

    Args:
        mount: Where the device's files appear among the agent's, such as `"/project/"`; None offers seven separate tools.
        requires_approval: Whether the user is asked before a file changes; `write_approval` in state or configuration overrides this.
        project_id: The project whose files the agent gets; by default `current_project_id` of state or configuration.
        deadline_s: How long the device may take before clients report that it is late.
        can_search: Whether the device offers semantic search.
        system_prompt: Replaces the default text for the model.
    """

    state_schema = ClientToolsState
    reaches_subagents = True
    """Otherwise a subagent would write to its own files below the mount, where the user never sees them."""
    if_names_conflict = (
        "Mount the user's files among the agent's own instead, which needs no tools of its own: "
        'ClientToolsMiddleware(mount="/project/").'
    )

    def __init__(
        self,
        *,
        mount: str | None = None,
        requires_approval: bool = True,
        project_id: str | None = None,
        deadline_s: float = DEADLINE_S,
        can_search: bool = True,
        system_prompt: str | None = None,
    ) -> None:
        super().__init__()
        if deadline_s <= 0:
            raise ConfigurationError(f"deadline_s is {deadline_s:g}. Give the device some time: a number above 0.")
        self.mounts: Mapping[str, BackendProtocol] = {}
        if mount is None:
            device = Device(project_id, deadline_s, requires_approval)
            self.tools = [_make_tool(tool, device) for tool in DEVICE_TOOLS if can_search or tool.name != "search_files"]
        else:
            backend = BrowserBackend(
                project_id=project_id, deadline_s=deadline_s, requires_approval=requires_approval, can_search=can_search
            )
            self.mounts = {_check_mount(mount): backend}
        text = load_prompt("client_tools" if mount is None else "project") if system_prompt is None else system_prompt
        self.prompt = text.replace("{mount}", mount or "").replace("{approval}", _APPROVAL if requires_approval else "")


def _check_mount(mount: str) -> str:
    resolved = paths.resolve(mount)
    if isinstance(resolved, ErrorText) or mount != f"{resolved}/" or resolved == paths.ROOT:
        raise ConfigurationError(f"mount is {paths.show(mount)}. Write it as a folder of its own, such as '/project/'.")
    return mount


def _say_failure(error: DeviceError, call: DeviceCall, about: str) -> str:
    """Like `say_failure` of the mount, but with the names of the tools that exist here."""
    if error.code == "not_found":
        return f"Error: no file {paths.show(about)}. See which there are with list_files."
    if error.code == "conflict" and call.name == "write_file":
        return f"Error: {paths.show(about)} exists already. Change it with patch_file, or choose another title."
    return say_failure(error, call, about)


def _make_tool(tool: DeviceTool, device: Device) -> BaseTool:
    def run(runtime: ToolRuntime, **args: Any) -> ToolMessage:
        call = DeviceCall(tool.name, {name: value for name, value in args.items() if value is not None})
        (said,) = device.bind(runtime).perform([call])
        about = str(args.get("file_id") or args.get("title") or "/")
        failed = isinstance(said, DeviceError)
        text = _say_failure(said, call, about) if failed else tool.render(said, args)
        return ToolMessage(
            text, name=tool.name, tool_call_id=runtime.tool_call_id or "", status="error" if failed else "success"
        )

    async def arun(runtime: ToolRuntime, **args: Any) -> ToolMessage:
        return run(runtime, **args)

    run.__annotations__ = arun.__annotations__ = {"runtime": ToolRuntime}
    declare = changes_files if tool.name in _CHANGING else with_effect("read")
    return StructuredTool(
        name=tool.name, description=tool.description, func=declare(run), coroutine=arun, args_schema=tool.schema
    )
