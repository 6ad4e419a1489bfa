"""Reads the `langgraph.json` of any project. Reading changes nothing; `LanggraphProject.enter` prepares the process to run its code.

Honoured: `graphs`, `dependencies` (local folders become importable, and their `src` if a project has its packages there; it is only checked
whether packages are installed), `env` (a mapping, or the path of a dotenv file, which may be missing),
`checkpointer.serde.allowed_msgpack_modules` (classes that may be read back from checkpoints), and the keys of `project/`. All other keys
either concern building an image and mean nothing here, or are not honoured: `notes` says so, and a key that protects data is refused.

A missing file or folder is no reason to refuse the rest: it is noted, or shows up in the graph that needs it.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from stepwell.database.upkeep.expiry import ThreadRule
from stepwell.errors import ConfigurationError
from stepwell.runs.graphs.project.auth import ProjectAuth, read_auth
from stepwell.runs.graphs.project.http import ProjectHttp, read_http
from stepwell.runs.graphs.project.retention import read_retention
from stepwell.runs.graphs.project.store import StoreSpec, read_store
from stepwell.runs.graphs.project.webhooks import ProjectWebhooks, read_webhooks
from stepwell.runs.graphs.sources import GraphSpec
from stepwell.settings import fill_environment
from stepwell.validation import suggest

_FOR_IMAGES = frozenset(
    {"$schema", "python_version", "api_version", "base_image", "image_distro", "pip_config_file", "pip_installer"}
    | {"dockerfile_lines", "keep_pkg_tools", "source"}
)
_REFUSED = {
    "encryption": "the project's own code cannot encrypt what is stored here, and it would be stored as plain text. Remove the key, and "
    "encrypt the disk instead",
}
"""Keys that protect something: a server that ignored them would be less safe than the project asks for."""
_READ = ("graphs", "dependencies", "env", "checkpointer", "store", "auth", "http", "webhooks")
_NOT_HONOURED = {
    "priority": "runs are driven in the order they arrive",
    "ui": "the project's user interfaces are not built",
    "node_version": "only Python graphs are served",
}


@dataclass(frozen=True)
class LanggraphProject:
    """The contents of a langgraph.json. `folder` and the paths in it are paths of the host: open files with them, but don't show them."""

    folder: Path = field(repr=False)
    graphs: Mapping[str, GraphSpec]
    env: Mapping[str, str] | Path = field(default_factory=dict, repr=False)
    dependencies: tuple[str, ...] = ()
    import_folders: tuple[Path, ...] = field(default=(), repr=False)
    allowed_classes: tuple[tuple[str, ...], ...] = ()
    """(module, name) of classes the project wants to read back from checkpoints, besides those of its graphs' states."""
    auth: ProjectAuth | None = None
    http: ProjectHttp = field(default_factory=ProjectHttp)
    webhooks: ProjectWebhooks = field(default_factory=ProjectWebhooks)
    store: StoreSpec = field(default_factory=StoreSpec)
    retention: ThreadRule | None = None
    """`checkpointer.ttl`: how long threads live."""
    notes: tuple[str, ...] = ()
    """Sentences for the operator about what the file asks for but does not get."""

    def enter(self) -> None:
        """Make the project's folders importable, and set those of its variables that are not set yet. Call once per process."""
        fill_environment(self.env)
        for folder in map(str, self.import_folders):
            if folder not in sys.path:
                # At the end, as LangGraph's own server does, so that a project's file cannot hide an installed package.
                sys.path.append(folder)


def read_langgraph_json(path: Path) -> LanggraphProject:
    """Read and check the file; `ConfigurationError` names the wrong key and what to write."""
    content = _read(path)
    folder, file = path.resolve().parent, path.name
    _refuse(content, file)
    dependencies = _texts(content, "dependencies", file)
    local = [(folder / entry).resolve() for entry in dependencies if _is_folder(entry, folder)]
    return LanggraphProject(
        folder=folder,
        graphs=_graphs(content, file),
        env=_env(content, folder, file),
        dependencies=dependencies,
        import_folders=tuple(dict.fromkeys([folder, *(each for found in local for each in _import_folders(found))])),
        allowed_classes=_allowed_classes(content, file),
        auth=read_auth(content, file),
        http=read_http(content, file),
        webhooks=read_webhooks(content, file),
        store=read_store(content, file),
        retention=read_retention(content, file),
        notes=(
            *_notes_on_keys(content, file),
            *_notes_on_env(content, folder, file),
            *_notes_on_packages(dependencies, folder, file),
        ),
    )


def _read(path: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        # Only the text of the error number: `str(error)` would add the path.
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        raise ConfigurationError(
            f"The file '{path.name}' cannot be read: {reason}. Give the path of a langgraph.json."
        ) from error
    except RecursionError as error:
        raise ConfigurationError(f"The file '{path.name}' is nested too deeply to be a langgraph.json.") from error
    except ValueError as error:
        place = f" in line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else ""
        raise ConfigurationError(f"The file '{path.name}' is not JSON{place}. Correct it; comments are not allowed.") from error
    if not isinstance(content, dict):
        raise ConfigurationError(f"The file '{path.name}' must contain a JSON object with the key 'graphs'.")
    return content


def _refuse(content: Mapping[str, Any], file: str) -> None:
    for key, reason in _REFUSED.items():
        if content.get(key):
            raise ConfigurationError(f"'{key}' in '{file}' cannot be honoured: {reason}.")


def _graphs(content: Mapping[str, Any], file: str) -> dict[str, GraphSpec]:
    entries = content.get("graphs")
    if not isinstance(entries, dict) or not entries:
        near = next((key for key in content if key not in _READ and suggest(key, ["graphs"])), None)
        hint = f" Rename '{near}'." if near else ""
        raise ConfigurationError(
            f'\'{file}\' has no \'graphs\'.{hint} Write at least one: {{"graphs": {{"agent": "./agent.py:graph"}}}}.'
        )
    graphs = {}
    for graph_id, entry in entries.items():
        if not graph_id.strip():
            raise ConfigurationError(f"'graphs' in '{file}' has an entry without a name. Give it one.")
        graphs[graph_id] = GraphSpec.parse(graph_id, entry)
    return graphs


def _texts(content: Mapping[str, Any], key: str, file: str) -> tuple[str, ...]:
    entries = content.get(key) or []
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise ConfigurationError(f"'{key}' in '{file}' must be a list of texts, such as [\".\"].")
    return tuple(entries)


def _env(content: Mapping[str, Any], folder: Path, file: str) -> Mapping[str, str] | Path:
    env = content.get("env") or {}
    if isinstance(env, str):
        return folder / env if (folder / env).is_file() else {}  # noted below
    good = isinstance(env, dict) and all(isinstance(value, str | int | float) for value in env.values())
    if not good or any(not name or "=" in name or "\0" in f"{name}{value}" for name, value in env.items()):
        raise ConfigurationError(f"'env' in '{file}' must be the path of a dotenv file, or a mapping of names to texts.")
    return {name: json.dumps(value) if isinstance(value, bool) else str(value) for name, value in env.items()}


def _is_folder(dependency: str, folder: Path) -> bool:
    return dependency.startswith((".", "/")) or (folder / dependency).is_dir()


def _import_folders(found: Path) -> list[Path]:
    """A local dependency's folder, and its `src` if that contains packages and isn't one itself, just as if the project were installed."""
    source = found / "src"
    is_project = any((found / name).is_file() for name in ("pyproject.toml", "setup.py", "setup.cfg"))
    holds_packages = is_project and source.is_dir() and not (source / "__init__.py").exists()
    return [each for each in (found, source if holds_packages else None) if each and each.is_dir()]


def _allowed_classes(content: Mapping[str, Any], file: str) -> tuple[tuple[str, ...], ...]:
    allowed = _serde(content).get("allowed_msgpack_modules") or []
    if allowed is True:
        return ()  # noted below
    good = isinstance(allowed, list) and all(isinstance(entry, list) and len(entry) >= 2 for entry in allowed)
    if not good or not all(isinstance(part, str) for entry in allowed for part in entry):
        raise ConfigurationError(
            f"'checkpointer.serde.allowed_msgpack_modules' in '{file}' must be a list of [module, class], "
            'such as [["my_agent.state", "Plan"]].'
        )
    return tuple(tuple(entry) for entry in allowed)


def _serde(content: Mapping[str, Any]) -> Mapping[str, Any]:
    checkpointer = content.get("checkpointer")
    serde = checkpointer.get("serde") if isinstance(checkpointer, dict) else None
    return serde if isinstance(serde, dict) else {}


def _notes_on_keys(content: Mapping[str, Any], file: str) -> list[str]:
    notes = []
    for key, value in content.items():
        if not value or key in _FOR_IMAGES or key in _READ:
            continue
        reason = _NOT_HONOURED.get(key)
        hint = "" if reason else suggest(key, _READ)
        notes.append(f"'{key}' in '{file}' is not honoured: {reason or 'this key is unknown'}.{hint}")
    checkpointer = content.get("checkpointer")
    if isinstance(checkpointer, dict) and (others := sorted(set(checkpointer) - {"serde", "ttl"})):
        notes.append(
            f"'checkpointer.{others[0]}' in '{file}' is not honoured: checkpoints are stored in Stepwell's own database."
        )
    if "auth" in content and content["auth"] is None:
        notes.append(f"'auth' in '{file}' is null, so the project does not decide who may call.")
    http = content.get("http")
    if isinstance(http, dict) and http.get("mount_prefix"):
        notes.append(
            f"below 'http.mount_prefix' in '{file}' the web page and its sign-in are not served: they need the root of an address."
        )
    serde = _serde(content)
    if serde.get("pickle_fallback") or serde.get("allowed_msgpack_modules") is True:
        notes.append(f"'checkpointer.serde' in '{file}' asks to read back any class. Only listed classes are read back.")
    return notes


def _notes_on_env(content: Mapping[str, Any], folder: Path, file: str) -> list[str]:
    env = content.get("env")
    if not isinstance(env, str) or not env or (folder / env).is_file():
        return []
    return [
        f"'env' in '{file}' names the file '{Path(env).name}', which does not exist. If a graph needs its variables, create it."
    ]


def _notes_on_packages(dependencies: tuple[str, ...], folder: Path, file: str) -> list[str]:
    notes = []
    for entry in dependencies:
        if _is_folder(entry, folder):
            if not (folder / entry).is_dir():
                notes.append(
                    f"'dependencies' in '{file}' names the folder '{Path(entry).name}', which does not exist. Remove or create it."
                )
            continue
        name = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", entry)
        if name is None or "://" in entry.partition("@")[0]:
            continue
        package = name.group()
        try:
            distribution(package)
        except PackageNotFoundError:
            notes.append(
                f"'{file}' depends on '{package}', which is not installed. If a graph needs it: pip install '{package}'."
            )
    return notes
