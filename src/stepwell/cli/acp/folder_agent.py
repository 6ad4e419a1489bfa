"""An agent that works on the folder which an editor has open: files, commands in a sandbox, a plan, subagents.

It sees the folder as `/workspace`, in its file tools and in commands alike. Commands need bubblewrap and have no network; where it is
missing there are none. The file tools reach the disk themselves: not through the editor, whose buffers know no permissions.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from acp.schema import HttpMcpServer, McpServerStdio, SseMcpServer
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool

from stepwell.agent import create_deep_agent
from stepwell.backends import CompositeBackend, FilesystemBackend, StateBackend
from stepwell.backends.permissions import FilesystemPermission
from stepwell.demo import simple
from stepwell.errors import ConfigurationError, StepwellError
from stepwell.middleware.clarify import ClarifyWithHumanMiddleware
from stepwell.middleware.rewind import RewindMiddleware
from stepwell.middleware.robust_calls import RobustCallsMiddleware
from stepwell.middleware.shell import ShellMiddleware
from stepwell.models import capabilities_of, resolve_model
from stepwell.tools.shell.protected_paths import protected_paths

GRAPH = "editor_agent"
MOUNT = "/workspace/"
_log = logging.getLogger(__name__)


def choose_folder_model(model: str | None) -> BaseChatModel:
    """The requested or configured model, or the embedded one."""
    return resolve_model(model, embedded_fallback=model is None, own_retries=False)


def build_folder_agent(
    model: BaseChatModel, folder: Path, *, tools: Sequence[BaseTool] = (), deny: Sequence[str] = ()
) -> simple.Graph:
    """The agent for one session. `deny` are patterns below the folder that it may neither read nor change."""
    if not capabilities_of(model).tools:
        return simple.build(model)
    backend = CompositeBackend(StateBackend(), {MOUNT: FilesystemBackend(root_dir=str(folder), virtual_mode=True)})
    denied = [pattern for each in deny for pattern in _patterns(each)]
    rules = [FilesystemPermission(operations=["read", "write"], paths=denied, mode="deny")] if denied else []
    return create_deep_agent(
        model,
        list(tools),
        system_prompt=(resources.files("stepwell.cli.acp") / "prompts" / "folder_agent.md").read_text(encoding="utf-8"),
        middleware=[RewindMiddleware(), RobustCallsMiddleware(), ClarifyWithHumanMiddleware(), *_commands(folder, rules)],
        backend=backend,
        permissions=rules,
        memory=[f"{MOUNT}AGENTS.md"],
        name=GRAPH,
    )


def _patterns(given: str) -> list[str]:
    """As in a .gitignore: `.env` means every folder's, `/.env` and `config/.env` only that one."""
    whole = given.rstrip("/")
    if not whole.strip("/ "):
        raise ConfigurationError("--deny needs a pattern below the folder, such as '.env' or '/secrets'.")
    return [f"{MOUNT}{whole.lstrip('/')}"] if "/" in whole else [f"{MOUNT}**/{whole}"]


def _commands(folder: Path, rules: Sequence[FilesystemPermission]) -> list[ShellMiddleware]:
    """A shell, where there is a sandbox that hides what the rules deny."""
    try:
        protected_paths(rules)
        return [ShellMiddleware(workspace_root=folder)]
    except ConfigurationError as error:
        _log.warning("The agent has no commands: %s", error)
        return []


async def load_editor_tools(servers: Sequence[Any]) -> list[BaseTool]:
    """The tools of the MCP servers that the editor names. One that cannot be reached is left out, and the log says so."""
    if not servers:
        return []
    from stepwell.tools.mcp import load_mcp_tools  # needs the extra `mcp`

    found: list[BaseTool] = []
    for server in servers:
        try:
            found += await load_mcp_tools({server.name: _describe(server)})
        except StepwellError as error:
            _log.warning("%s", error)
    return found


def _describe(server: Any) -> dict[str, Any]:
    match server:
        case McpServerStdio():
            return {"command": server.command, "args": server.args, "env": {each.name: each.value for each in server.env}}
        case HttpMcpServer() | SseMcpServer():
            headers = {each.name: each.value for each in server.headers}
            return {"url": server.url, "headers": headers, "transport": "sse" if isinstance(server, SseMcpServer) else "http"}
    raise ConfigurationError(f"The editor's MCP server '{server.name}' uses a transport that is not supported.")
