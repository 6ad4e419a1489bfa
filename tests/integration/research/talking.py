"""Talking to `/api/research` over HTTP, on a server as the command line puts it together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import orjson
from tests.integration.server.conftest import listening

from stepwell.cli.compose import Graphs, open_server
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.graphs.sources import GraphSource
from stepwell.server.settings import ServerSettings
from stepwell.settings import Settings


@dataclass(frozen=True)
class Told:
    """One message of a stream."""

    id: int | None
    name: str
    node: str
    state: dict[str, Any]


@asynccontextmanager
async def serving(folder: Path, graphs: Mapping[str, Any], **settings: Any) -> AsyncIterator[httpx.AsyncClient]:
    registry = GraphRegistry({name: GraphSource.of(graph) for name, graph in graphs.items()})
    server_settings = ServerSettings(**{"drain_s": 0, **settings})
    async with (
        open_server(Settings(data_dir=folder), server_settings, Graphs(registry), folder / "server.db") as opened,
        listening(opened.app) as url,
        httpx.AsyncClient(base_url=url, timeout=60) as http,
    ):
        try:
            yield http
        finally:
            opened.services.streams.end_all()


def read(text: str) -> list[Told]:
    found = []
    for frame in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in frame.splitlines() if line and not line.startswith(":"))
        if fields:
            data = orjson.loads(fields["data"])
            assert set(data) == {"node", "state"}
            found.append(Told(int(fields["id"]) if "id" in fields else None, fields["event"], data["node"], data["state"]))
    return found


async def post(http: httpx.AsyncClient, path: str, **body: Any) -> list[Told]:
    response = await http.post(path, json=body)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/event-stream")
    return read(response.text)


async def ask(http: httpx.AsyncClient, query: str = "Why wells?", **body: Any) -> list[Told]:
    return await post(http, "/api/research", query=query, **body)


async def approve(http: httpx.AsyncClient, waiting: Told, **body: Any) -> list[Told]:
    return await post(http, "/api/research/approve", threadId=waiting.state["threadId"], **body)


async def refused(http: httpx.AsyncClient, status: int, path: str, body: Any) -> str:
    response = await http.post(path, json=body)
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    return str(response.json()["detail"])


def shape(messages: list[Told]) -> list[tuple[str, str, str | None]]:
    return [(each.name, each.node, each.state.get("status")) for each in messages]
