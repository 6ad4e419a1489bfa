"""A real server on a port of loopback, over a real database in a temporary folder, in the test's own event loop."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
import uvicorn
from fastapi import FastAPI
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from tests.integration.server.graphs import GRAPHS

from stepwell.clock import Clock, SystemClock
from stepwell.connections.service import open_connections
from stepwell.database.persistence import Persistence
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.models import DEFAULT_LOCAL_MODEL, LocalModels
from stepwell.payments.configuration import Charging
from stepwell.payments.service import charging_with
from stepwell.research.gate import EvidenceGate
from stepwell.research.service import Research
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.graphs.sources import GraphSource
from stepwell.server.app import create_app
from stepwell.server.assembly import open_services
from stepwell.server.listening import open_websocket
from stepwell.server.model_loading import ModelLoading
from stepwell.server.parts import OpenProduct, Parts, ProductService, Services
from stepwell.server.project import ServedProject
from stepwell.server.settings import ServerSettings
from stepwell.settings import Settings
from stepwell.supervision import Supervisor
from stepwell.workspace.files.place import Workspace
from stepwell.workspace.service import Workspaces


@dataclass(frozen=True)
class Server:
    url: str
    app: FastAPI
    services: Services
    http: httpx.AsyncClient
    client: LangGraphClient


@asynccontextmanager
async def serve(
    folder: Path,
    settings: ServerSettings | None = None,
    graphs: Mapping[str, Any] = GRAPHS,
    clock: Clock | None = None,
    charging: Charging | None = None,
    workspace: Workspace | None = None,
    persistence: Persistence | None = None,
    before_driving: Callable[[], None] = lambda: None,
    environment: Mapping[str, str] | None = None,
    project: ServedProject | None = None,
    **more: Any,
) -> AsyncIterator[Server]:
    settings = replace(settings or ServerSettings(), drain_s=1)
    clock = clock or SystemClock()
    registry = GraphRegistry({name: GraphSource.of(graph) for name, graph in graphs.items()})
    loading = ModelLoading(lambda: LocalModels(folder / "models"), DEFAULT_LOCAL_MODEL)
    persistence = persistence or EmbeddedPersistence(folder / "server.db", clock=clock)
    connections = open_connections(Settings.load({"STEPWELL_DATA_DIR": str(folder), **(environment or {})}))
    research = opening(lambda parts: Research(EvidenceGate(parts.persistence)))
    products = [charging_with(charging), research, opening(lambda parts: Workspaces(workspace, parts)), connections]
    parts = Parts(persistence, registry, settings, clock, lambda: str(uuid.uuid4()), loading, products=products, **more)
    async with open_services(parts, before_driving) as services:
        app = create_app(services, settings, project=project)
        async with listening(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
            client = get_client(url=url, api_key=None)
            try:
                yield Server(url, app, services, http, client)
            finally:
                await client.aclose()
                services.streams.end_all()


def opening(build: Callable[[Parts], ProductService]) -> OpenProduct:
    @asynccontextmanager
    async def opened(parts: Parts, supervisor: Supervisor) -> AsyncIterator[ProductService]:
        yield build(parts)

    return opened


@asynccontextmanager
async def listening(app: FastAPI) -> AsyncIterator[str]:
    config = uvicorn.Config(app, port=0, log_level="warning", lifespan="off", ws=open_websocket, timeout_graceful_shutdown=2)  # type: ignore[arg-type]
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server._serve())  # `serve` would take over the test's signals
    async with asyncio.timeout(60):
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    """One server for all tests of a module, for those that leave nothing behind that another would see."""
    async with serve(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    async with serve(tmp_path) as running:
        yield running
