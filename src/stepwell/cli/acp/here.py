"""Threads in files of this machine: each session has a folder of its own below the data folder, with its database and what it is about.

A file of its own, because SQLite has one writing process and every window of an editor starts a process. A run is on disk before its first
step; if the process is killed, it goes on when the session is loaded again.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from acp.schema import SessionInfo

from stepwell.cli.acp.folder_agent import GRAPH, MOUNT, build_folder_agent, choose_folder_model, load_editor_tools
from stepwell.errors import ConfigurationError, NotFoundError
from stepwell.permission_modes import PERMISSION_MODE, RUN_MODES
from stepwell.private_files import make_private_folder, open_private
from stepwell.products import installed_products
from stepwell.runs.graphs.langgraph_json import read_langgraph_json
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.graphs.sources import GraphSource, GraphSpec
from stepwell.settings import Settings
from stepwell.terminal.acp.conversation import EditorThread
from stepwell.terminal.acp.folder import EditorFolder
from stepwell.terminal.chat.options import STREAM_MODES, USUAL
from stepwell.terminal.dialogue.engine_session import EngineSession, open_engine
from stepwell.validation import suggest

_DATABASE, _ABOUT = "thread.db", "session.json"
_PROJECT_FIELD = "current_project_id"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ChosenAgent:
    """The graph that answers, and what its sessions start with."""

    graph_id: str
    prepare: Callable[[Path, Sequence[Any]], Awaitable[GraphRegistry]]
    """The graph for a session in this folder with these MCP servers of the editor."""
    mount: str | None = None
    mode: str = USUAL


def choose_agent(graph: str | None, graphs: Path | None, model: str | None, deny: Sequence[str]) -> ChosenAgent:
    """The graph of a project or a product, or the agent that works on the editor's folder."""
    if graphs is None and graph in (None, GRAPH):
        return _folder_agent(model, deny)
    registry = _project_graphs(graphs) if graphs else _product_graphs()
    if graph is None and len(registry.names) > 1:
        raise ConfigurationError(f"'{graphs}' has several graphs. Choose one with --graph: {', '.join(registry.names)}.")
    name = graph or registry.names[0]
    if name not in registry.names:
        raise NotFoundError("graph", name, f"{suggest(name, registry.names)} There are: {', '.join(registry.names)}.".strip())

    async def prepare(folder: Path, mcp_servers: Sequence[Any]) -> GraphRegistry:
        if mcp_servers:
            _log.warning("The graph '%s' has its own tools, so the MCP servers of the editor are not used.", name)
        return registry

    return ChosenAgent(name, prepare)


def _folder_agent(model: str | None, deny: Sequence[str]) -> ChosenAgent:
    async def prepare(folder: Path, mcp_servers: Sequence[Any]) -> GraphRegistry:
        tools = await load_editor_tools(mcp_servers)
        chosen = await asyncio.to_thread(choose_folder_model, model)
        built = await asyncio.to_thread(build_folder_agent, chosen, folder, tools=tools, deny=deny)
        return GraphRegistry({GRAPH: GraphSource.of(built)})

    return ChosenAgent(GRAPH, prepare, MOUNT, mode="ask")


def _project_graphs(file: Path) -> GraphRegistry:
    project = read_langgraph_json(file)
    project.enter()
    for note in project.notes:
        _log.warning("%s", note)
    return GraphRegistry.from_project(project)


def _product_graphs() -> GraphRegistry:
    """Graphs that need nothing but a model. Those with a service of their own (research, workspaces) are on a server: `--server`."""
    sources: dict[str, GraphSource] = {}
    for product in installed_products():
        if product.service is None:
            for name, place in product.graphs.items():
                sources[name] = GraphSource.from_spec(name, GraphSpec(place), Path())
        for name, demo in product.demos.items():
            if demo.available and product.service is None:
                sources[name] = GraphSource.from_spec(name, GraphSpec(demo.place, demo.description), Path())
    return GraphRegistry(sources)


@asynccontextmanager
async def open_threads_here(settings: Settings, chosen: ChosenAgent) -> AsyncIterator[ThreadsHere]:
    threads = ThreadsHere(settings.data_folder / "acp", chosen)
    try:
        yield threads
    finally:
        await threads.close_all()


class ThreadsHere:
    """The sessions of this machine, each in its folder."""

    def __init__(self, folder: Path, chosen: ChosenAgent) -> None:
        self._folder = folder
        self._chosen = chosen
        self._open: dict[str, AsyncExitStack] = {}

    async def new(self, folder: str, mcp_servers: Sequence[Any]) -> EditorThread:
        thread_id = str(uuid4())
        about = {"cwd": folder, "graph": self._chosen.graph_id, "mode": self._chosen.mode}
        return await self._open_thread(thread_id, about, mcp_servers)

    async def open(self, thread_id: str, folder: str, mcp_servers: Sequence[Any]) -> EditorThread:
        about = self._read_about(thread_id)
        if about is None:
            raise NotFoundError("session", thread_id, "session/list names the stored ones; session/new starts one.")
        if about["cwd"] != folder:
            raise ConfigurationError(f"The session '{thread_id}' belongs to the folder '{about['cwd']}'. Open it there.")
        if about["graph"] != self._chosen.graph_id:
            raise ConfigurationError(
                f"The session '{thread_id}' belongs to the graph '{about['graph']}', and this is '{self._chosen.graph_id}'. "
                f"Start `stepwell acp` with --graph {about['graph']}."
            )
        return await self._open_thread(thread_id, about, mcp_servers)

    async def list_stored(self, folder: str | None) -> list[SessionInfo]:
        found = []
        for place in self._folder.iterdir() if self._folder.is_dir() else ():
            about = self._read_about(place.name)
            if about and about["graph"] == self._chosen.graph_id and folder in (None, about["cwd"]):
                info = SessionInfo(
                    session_id=place.name, cwd=about["cwd"], title=about.get("title"), updated_at=about.get("updated_at")
                )
                found.append(info)
        return sorted(found, key=lambda info: info.updated_at or "", reverse=True)

    async def close(self, thread_id: str) -> None:
        if (stack := self._open.pop(thread_id, None)) is not None:
            await stack.aclose()

    async def close_all(self) -> None:
        for thread_id in tuple(self._open):
            await self.close(thread_id)

    async def _open_thread(self, thread_id: str, about: dict[str, Any], mcp_servers: Sequence[Any]) -> EditorThread:
        folder, graph_id = Path(about["cwd"]), self._chosen.graph_id
        registry = await self._chosen.prepare(folder, mcp_servers)
        await registry.check()  # before the engine takes up a run that was left
        stack = AsyncExitStack()
        place = self._folder / thread_id
        opened = await stack.enter_async_context(open_engine(place / _DATABASE, graph_id, registry))
        self._open[thread_id] = stack
        modes = (await registry.run_modes()).get(graph_id) or []
        fields = await registry.input_fields(graph_id)
        configurable: dict[str, Any] = {"cwd": str(folder)}
        if modes and about["mode"] in RUN_MODES:
            configurable[PERMISSION_MODE] = about["mode"]
        session = EngineSession(opened, thread_id, STREAM_MODES, subgraphs=True, configurable=configurable)
        mount = self._chosen.mount or ("/" if fields and _PROJECT_FIELD in fields else None)

        def note(facts: dict[str, Any]) -> None:
            if "title" in facts and about.get("title"):
                facts = {key: value for key, value in facts.items() if key != "title"}
            about.update(facts)
            _write_about(place, about)

        note({})
        return EditorThread(session, EditorFolder(folder, mount), configurable, modes, note)

    def _read_about(self, thread_id: str) -> dict[str, Any] | None:
        try:
            place = self._folder / str(UUID(thread_id))
            about = json.loads((place / _ABOUT).read_text(encoding="utf-8"))
        except (ValueError, OSError):
            return None
        return about if isinstance(about, dict) and {"cwd", "graph", "mode"} <= about.keys() else None


def _write_about(place: Path, about: Mapping[str, Any]) -> None:
    """Write the file whole, or leave it as it was: a kill in between must not lose the session."""
    make_private_folder(place)
    fresh = place / f"{_ABOUT}.new"
    fresh.unlink(missing_ok=True)
    with open_private(fresh) as file:
        file.write(json.dumps({**about, "updated_at": datetime.now(UTC).isoformat()}).encode())
    fresh.replace(place / _ABOUT)
