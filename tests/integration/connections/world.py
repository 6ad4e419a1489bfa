"""A server with connections, a graph that talks, a graph that asks first, and a model server on loopback that notes who calls it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from tests.integration.models.answers import openai
from tests.integration.server.conftest import Server, serve
from tests.support.loopback import Asked, LoopbackServer, Reply, serving

from stepwell.models import resolve_model
from stepwell.server.settings import ServerSettings
from stepwell.settings import Settings

NOTHING = Settings.load({})
ASKING = ServerSettings(always_ask=True)
MODEL = "small-one"


def make_talk() -> Any:
    """The answer of the run's model."""
    model = resolve_model(None, settings=NOTHING)

    async def talk(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return StateGraph(MessagesState).add_node("talk", talk).add_edge(START, "talk")


def make_asking() -> Any:
    """Asks whether to go on before it calls the model."""
    model = resolve_model(None, settings=NOTHING)

    async def talk(state: MessagesState) -> dict[str, Any]:
        interrupt({"question": "Go on?"})
        return {"messages": [await model.ainvoke(state["messages"])]}

    return StateGraph(MessagesState).add_node("talk", talk).add_edge(START, "talk")


GRAPHS = {"talk": make_talk, "asking": make_asking}


@dataclass(frozen=True)
class User:
    """A signed-in user of a server, or the local one."""

    server: Server
    headers: dict[str, str] = field(default_factory=dict)

    async def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        return await self.server.http.request(method, path, headers=self.headers, **options)

    async def connect(self, address: str | None = None, key: str | None = None, **more: Any) -> dict[str, Any]:
        body = {"provider": "openai-compatible", "base_url": address, "key": key, "models": [MODEL], **more}
        response = await self.send(
            "POST", "/api/connections", json={name: value for name, value in body.items() if value is not None}
        )
        assert response.status_code == 201, response.text
        return dict(response.json())

    async def listed(self) -> dict[str, Any]:
        response = await self.send("GET", "/api/connections")
        assert response.status_code == 200, response.text
        return dict(response.json())

    async def thread(self, **metadata: Any) -> str:
        response = await self.send("POST", "/threads", json={"metadata": metadata})
        return str(response.json()["thread_id"])

    async def run(self, thread: str, graph: str = "talk", *, models: Any = None, **more: Any) -> httpx.Response:
        body: dict[str, Any] = {"assistant_id": graph, "input": {"messages": [{"role": "user", "content": "Hi"}]}, **more}
        if models is not None:
            body["config"] = {"configurable": {"stepwell_models": models}}
        return await self.send("POST", f"/threads/{thread}/runs/wait", json=body)


def chosen(connection: dict[str, Any], model: str = MODEL) -> dict[str, str]:
    return {"connection": connection["id"], "model": model}


def answer(asked: Asked) -> Reply:
    """What a server of OpenAI's protocol answers: the list of its models, or `ready`."""
    return (
        Reply(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]}) if asked.method == "GET" else openai(asked)
    )


@contextmanager
def model_server(behave: Callable[[Asked], Reply] = answer) -> Iterator[LoopbackServer]:
    with serving(behave) as server:
        yield server


def keys_used(server: LoopbackServer) -> list[str]:
    return [asked.headers.get("authorization", "").removeprefix("Bearer ") for asked in server.asked]


def address_of(server: LoopbackServer) -> str:
    return f"{server.address}/v1"


@asynccontextmanager
async def one_user(folder: Path, **options: Any) -> AsyncIterator[User]:
    async with serve(folder, graphs=GRAPHS, own_graphs=True, **options) as server:
        yield User(server)


@asynccontextmanager
async def users(folder: Path, names: dict[str, bool], **options: Any) -> AsyncIterator[dict[str, User]]:
    """A server with sign-in; name -> whether they are an operator."""
    async with serve(folder, graphs=GRAPHS, own_graphs=True) as opening:
        keys = {
            name: (await opening.http.post("/api/keys", json={"user": name, "operator": operator})).json()["key"]
            for name, operator in names.items()
        }
    async with serve(folder, ASKING, graphs=GRAPHS, own_graphs=True, **options) as server:
        yield {name: User(server, {"x-api-key": key}) for name, key in keys.items()}


def last_said(values: dict[str, Any]) -> dict[str, Any]:
    return dict(values["messages"][-1])
