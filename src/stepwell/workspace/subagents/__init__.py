"""The registry of the workspace's subagents.

A subagent is a folder here and a line in `SUBAGENTS`. Its factory is imported and called when an agent is built, never at import, so
that settings are read first; the subagent itself is compiled when `task` first calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from langchain_core.tools import BaseTool

from stepwell.backends.objects.root import current_root
from stepwell.backends.protocol import BackendProtocol
from stepwell.errors import SubAgentSpecError
from stepwell.middleware.change_previews import on_seen_base
from stepwell.middleware.subagents.specs import SubAgent
from stepwell.tools.files.tools import build_file_tools
from stepwell.workspace.places import Place

SUBAGENTS: tuple[str, ...] = (
    "stepwell.workspace.subagents.gcs_filesystem.agent:gcs_filesystem",
)  # fmt: skip
"""One line per subagent: where its factory is."""


@dataclass(frozen=True)
class Workspace:
    """What a subagent's factory may use."""

    place: Place

    def file_tools(self, *names: str) -> list[BaseTool]:
        """File tools by name, on the files of the calling request; approved changes apply to the version the user saw."""
        return [tool for tool in build_file_tools(on_seen_base(self.files)) if tool.name in names]

    def files(self, runtime: Any) -> BackendProtocol:
        """The files of a tool's request, with its caller's access."""
        return self.place.at(current_root())


Factory = Callable[[Workspace], SubAgent]


def load_subagents(entries: Sequence[str], workspace: Workspace) -> list[SubAgent]:
    """Import and call the factories."""
    return [_find(entry)(workspace) for entry in entries]


def _find(entry: str) -> Factory:
    module, _, name = entry.partition(":")
    try:
        return cast("Factory", getattr(import_module(module), name))
    except (ImportError, AttributeError, ValueError) as error:
        raise SubAgentSpecError(
            f"The subagent '{entry}' cannot be loaded: {error}. Write 'package.module:factory', and check that the module can be imported."
        ) from error
