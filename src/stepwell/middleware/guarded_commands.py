"""Holds commands to the permissions of the file tools, where both work on the same folder of the disk.

| commands | with rules that deny or ask |
|---|---|
| in a workspace apart from the agent's files | run as they are: they cannot reach these files |
| in a folder, with files from a backend that is not one of ours | refused: it may keep them in that folder |
| in the sandbox, in the folder of a `FilesystemBackend` | denied folders are hidden by mounts, or the agent is refused |
| without a sandbox | refused: they can reach everything |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from langchain.agents.middleware._execution import HostExecutionPolicy
from langchain.agents.middleware.shell_tool import ShellToolMiddleware
from langchain.agents.middleware.types import AgentMiddleware

from stepwell.backends import paths
from stepwell.backends.browser import BrowserBackend
from stepwell.backends.composite import CompositeBackend
from stepwell.backends.filesystem import FilesystemBackend
from stepwell.backends.permissions import anchor, overlap
from stepwell.backends.state import StateBackend
from stepwell.backends.store import StoreBackend
from stepwell.errors import ConfigurationError
from stepwell.middleware.filesystem import FilesystemMiddleware
from stepwell.middleware.shell import ShellMiddleware
from stepwell.tools.shell.protected_paths import ProtectedPath, below, protected_paths

Middleware = AgentMiddleware[Any, Any, Any]


def guard_commands(stack: Sequence[Middleware]) -> list[Middleware]:
    """The stack, with shells that cannot reach what the permissions protect."""
    files = next((entry for entry in stack if isinstance(entry, FilesystemMiddleware)), None)
    if files is None or files.rules is None or not files.rules.restrict:
        return list(stack)
    return [_guard(entry, files) if isinstance(entry, ShellToolMiddleware) else entry for entry in stack]


def _guard(shell: ShellToolMiddleware[Any, Any], files: FilesystemMiddleware) -> Middleware:
    if not isinstance(shell, ShellMiddleware):
        raise ConfigurationError(
            f"{shell.name} cannot be held to the permissions. Use stepwell's ShellMiddleware, which has a sandbox."
        )
    if isinstance(shell.policy, HostExecutionPolicy):
        raise ConfigurationError(
            "Commands without a sandbox can read and change every file, so the permissions would mean nothing. Use "
            "ShellMiddleware(policy='sandbox'), or leave out the rules that deny or ask."
        )
    if shell.workspace_root is None:
        return shell  # a temporary folder, which has none of the agent's files
    protected: list[ProtectedPath] = []
    strict = [anchor(pattern) for rule in files.permissions if rule.mode != "allow" for pattern in rule.paths]
    for folder, root in _places_on_disk(files.backend):
        if root is None:
            if any(overlap(each, folder) for each in strict):
                raise ConfigurationError(
                    f"Nobody can say whether commands reach the files below {paths.show(folder)} that the permissions protect, because "
                    "their backend is made for each call, or is not one of Stepwell's. Use ShellMiddleware() without workspace_root, or a "
                    "FilesystemBackend."
                )
            continue
        if root == shell.workspace_root:
            protected += below(protected_paths(files.permissions), folder)
        elif root.is_relative_to(shell.workspace_root) or shell.workspace_root.is_relative_to(root):
            raise ConfigurationError(
                "The workspace of commands and the folder of the agent's files lie inside one another, so the permissions cannot be kept. "
                "Use the same folder for both, or two that are apart."
            )
    return shell.hiding(protected) if protected else shell


def _places_on_disk(backend: object, folder: str = paths.ROOT) -> Iterator[tuple[str, Path | None]]:
    """The folders on disk that the agent's files come from, and where they are mounted; None if nobody knows where a backend has its
    files: it is not made yet, or it is a class that we do not know, such as a wrapper around another."""
    if isinstance(backend, CompositeBackend):
        for path, child in backend.children():
            yield from _places_on_disk(child, path or folder)
    elif isinstance(backend, FilesystemBackend):
        shown = backend.canonical_path(paths.ROOT)  # with virtual_mode=False, the host's own path
        yield (folder if shown == paths.ROOT else folder.rstrip("/") + shown), backend.root
    elif not _is_off_disk(backend):
        yield folder, None


def _is_off_disk(backend: object) -> bool:
    """Whether a backend is one of ours that has no files on this computer's disk. What a backend says about itself does not count, because
    a wrapper says what the backend inside says."""
    from stepwell.backends.objects import ObjectBackend  # only here: agents without object storage do not load it

    return isinstance(backend, StateBackend | StoreBackend | BrowserBackend | ObjectBackend)
