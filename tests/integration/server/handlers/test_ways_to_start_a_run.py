"""Every way to start a run asks the project's `threads.create_run` handler, with the assistant that would run; nothing runs without it."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import iter_route_contexts
from langgraph_sdk import Auth
from tests.integration.server.conftest import Server, serve
from tests.integration.server.graphs import GRAPHS
from tests.integration.server.handlers.test_handler_forms import HELLO, ask
from tests.integration.server.test_thread_sockets import receive_until, response, send, socket

from stepwell.database.callers import Caller
from stepwell.errors import AccessError
from stepwell.runs.assistants import default_assistant_id
from stepwell.runs.starting import RunOrder
from stepwell.server.policy import actions_of
from stepwell.server.project import ServedProject
from stepwell.server.settings import ServerSettings

RUN = {"assistant_id": "asks", "input": HELLO}
SAID = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
STARTING = {"runs:create", "crons:create", "crons:update"}


def rpc(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@dataclass
class Asked:
    """What handlers were asked, and whom they refuse."""

    calls: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)

    def auth(self) -> Auth:
        auth = Auth()

        @auth.authenticate
        async def authenticate(authorization: str | None) -> Any:
            return (authorization or "").removeprefix("Bearer ")

        @auth.on
        async def note(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> Any:
            self.calls.append((ctx.resource, ctx.action, dict(value)))
            if ctx.action == "create_run" and ctx.user.identity == "bert":
                raise Auth.exceptions.HTTPException(status_code=403, detail="Not for you")
            return None

        return auth

    @property
    def names(self) -> list[str]:
        return [f"{resource}.{action}" for resource, action, _ in self.calls]

    @property
    def runs(self) -> list[dict[str, Any]]:
        return [value for _, action, value in self.calls if action == "create_run"]


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[tuple[Server, Asked]]:
    asked = Asked()
    async with serve(folder, ServerSettings(own_auth=True), GRAPHS, project=ServedProject(auth=asked.auth())) as server:
        yield server, asked


async def waiting_thread(server: Server) -> dict[str, str]:
    """A thread of anna's whose assistant waits for an answer, a cron of hers, and their ids."""
    thread_id = (await ask(server, "/threads")).json()["thread_id"]
    await ask(server, f"/threads/{thread_id}/runs/wait", RUN)
    run_id = (await ask(server, f"/threads/{thread_id}/runs", method="GET")).json()[0]["run_id"]
    state = (await ask(server, f"/threads/{thread_id}/state", method="GET")).json()
    cron = (await ask(server, "/runs/crons", {**RUN, "schedule": "0 3 * * *"})).json()
    interrupt_id = state["interrupts"][0]["id"] if state.get("interrupts") else state["tasks"][0]["interrupts"][0]["id"]
    checkpoint_id = state["checkpoint"]["checkpoint_id"]
    return {"T": thread_id, "R": run_id, "I": interrupt_id, "C": cron["cron_id"], "P": checkpoint_id}


# The route, the request below it with names of `waiting_thread`, its body, and the graph of the assistant that would run.
WAYS: list[tuple[str, str, Any, str]] = [
    ("POST /runs", "/runs", RUN, "asks"),
    ("POST /runs/wait", "/runs/wait", RUN, "asks"),
    ("POST /runs/stream", "/runs/stream", RUN, "asks"),
    ("POST /runs/batch", "/runs/batch", [RUN, RUN], "asks"),
    ("POST /threads/{thread_id}/runs", "/threads/{T}/runs", RUN, "asks"),
    ("POST /threads/{thread_id}/runs/wait", "/threads/{T}/runs/wait", RUN, "asks"),
    ("POST /threads/{thread_id}/runs/stream", "/threads/{T}/runs/stream", RUN, "asks"),
    ("POST /threads/{thread_id}/runs/{run_id}/messages", "/threads/{T}/runs/{R}/messages", {"content": "hello"}, "asks"),
    ("POST /threads/{thread_id}/side-question", "/threads/{T}/side-question", {"question": "What?"}, "asks"),
    ("DELETE /threads/{thread_id}/waiting-messages/{message_id}", "/threads/{T}/waiting-messages/1", {}, "asks"),
    ("POST /threads/{thread_id}/rewind", "/threads/{T}/rewind", {"turn_id": "1"}, "asks"),
    ("POST /threads/{thread_id}/interrupts/{interrupt_id}/claim", "/threads/{T}/interrupts/{I}/claim", {}, "asks"),
    ("DELETE /threads/{thread_id}/interrupts/{interrupt_id}/claim", "/threads/{T}/interrupts/{I}/claim", {}, "asks"),
    ("POST /threads/{thread_id}/commands", "/threads/{T}/commands", {"id": 1, "method": "run.start", "params": RUN}, "asks"),
    (
        "POST /threads/{thread_id}/commands",
        "/threads/{T}/commands",
        {"id": 1, "method": "input.respond", "params": {"interrupt_id": "{I}", "response": "yes", "assistant_id": "echo"}},
        "asks",
    ),
    (
        "POST /threads/{thread_id}/commands",
        "/threads/{T}/commands",
        {"id": 1, "method": "state.fork", "params": {"checkpoint_id": "{P}", "input": HELLO}},
        "asks",
    ),
    ("POST /runs/crons", "/runs/crons", {**RUN, "schedule": "0 3 * * *"}, "asks"),
    ("POST /threads/{thread_id}/runs/crons", "/threads/{T}/runs/crons", {**RUN, "schedule": "0 3 * * *"}, "asks"),
    ("PATCH /runs/crons/{cron_id}", "/runs/crons/{C}", {"input": HELLO}, "asks"),
    ("POST /mcp", "/mcp", rpc("tools/call", name="asks", arguments=HELLO), "asks"),
    ("POST /mcp/", "/mcp/", rpc("tools/call", name="asks", arguments=HELLO), "asks"),
    ("POST /mcp", "/mcp", {"jsonrpc": "2.0", "id": "{T}:{I}:1", "result": {"action": "accept", "content": {}}}, "asks"),
    ("POST /v1/chat/completions", "/v1/chat/completions", {"model": "asks", **HELLO}, "asks"),
    ("POST /v1/chat/completions", "/v1/chat/completions", {"model": "asks", **HELLO, "metadata": {"thread_id": "{T}"}}, "asks"),
    ("POST /a2a/{assistant_id}", "/a2a/asks", rpc("SendMessage", message=SAID), "asks"),
    ("POST /a2a/{assistant_id}/", "/a2a/asks/", rpc("SendStreamingMessage", message=SAID), "asks"),
    ("POST /api/research", "/api/research", {"question": "What is it?"}, "research"),
    ("POST /api/research/approve", "/api/research/approve", {"threadId": "{T}", "answer": "yes"}, "asks"),
    ("POST /api/agent", "/api/agent", {**HELLO}, "workspace"),
    ("POST /api/agent", "/api/agent", {**HELLO, "assistant_id": "asks"}, "asks"),
]


def filled(template: Any, names: dict[str, str]) -> Any:
    text = json.dumps(template)
    for name, value in names.items():
        text = text.replace("{" + name + "}", value)
    return json.loads(text)


async def count_runs(server: Server) -> tuple[int, int]:
    def read(connection: Any) -> tuple[int, int]:
        return tuple(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("runs", "crons"))  # type: ignore[return-value]

    return await server.services.persistence.database.read(read)


async def test_every_way_to_start_a_run_is_decided_with_its_assistant(tmp_path: Path) -> None:
    async with served(tmp_path) as (server, asked):
        names = await waiting_thread(server)
        before = await count_runs(server)
        for route, path, body, graph in WAYS:
            asked.calls.clear()
            answer = await ask(server, filled(path, names), filled(body, names), "bert", route.split()[0])
            assert answer.status_code == 403, (route, answer.status_code, answer.text)
            assert [str(value["assistant_id"]) for value in asked.runs] == [default_assistant_id(graph)], (route, body)
            assert isinstance(asked.runs[0]["kwargs"], dict)
        assert await count_runs(server) == before


async def test_no_route_that_starts_a_run_is_missing_above(tmp_path: Path) -> None:
    async with served(tmp_path) as (server, _):
        starting = {
            f"{method} {route.path}"
            for route in iter_route_contexts(server.app.routes)
            if actions_of(route) & STARTING
            for method in getattr(route, "methods", None) or ()
        }
    assert starting == {route for route, *_ in WAYS}


@pytest.mark.parametrize("method", ["run.start", "input.respond", "state.fork"])
async def test_every_command_over_a_websocket_is_decided(tmp_path: Path, method: str) -> None:
    async with served(tmp_path) as (server, asked):
        names = await waiting_thread(server)
        before = await count_runs(server)
        asked.calls.clear()
        params = {
            "run.start": RUN,
            "input.respond": {"interrupt_id": names["I"], "response": "yes"},
            "state.fork": {"checkpoint_id": names["P"], "input": HELLO},
        }[method]
        async with socket(server, names["T"], authorization="bert") as opened:
            await send(opened, 1, method, **params)
            answer = (await receive_until(opened, response(1)))[-1]
            await send(opened, 2, "state.get")
            read = (await receive_until(opened, response(2)))[-1]
        assert (answer["type"], answer["error"], answer["message"]) == ("error", "refused", "Not for you")
        assert read["type"] == "success"
        assert asked.names == ["threads.read", "threads.create_run", "threads.read"]
        assert str(asked.runs[0]["assistant_id"]) == default_assistant_id("asks")
        assert await count_runs(server) == before


async def test_a_thread_made_over_a_websocket_is_its_creators(tmp_path: Path) -> None:
    auth = Asked().auth()
    auth._global_handlers.clear()

    @auth.on
    async def own(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> Any:
        return {"owner": ctx.user.identity}

    async with serve(tmp_path, ServerSettings(own_auth=True), project=ServedProject(auth=auth)) as server:
        thread_id = str(uuid.uuid4())
        async with socket(server, thread_id, authorization="anna") as opened:
            await send(opened, 1, "run.start", assistant_id="echo", input=HELLO)
            assert (await receive_until(opened, response(1)))[-1]["type"] == "success"
        found = await ask(server, f"/threads/{thread_id}", method="GET")
        assert found.status_code == 200
        assert found.json()["metadata"]["owner"] == "anna"
        assert (await ask(server, f"/threads/{thread_id}", method="GET", name="bert")).status_code == 404


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/runs/wait", {**RUN, "assistant_id": "echo"}),
        ("/runs/batch", [{**RUN, "assistant_id": "echo"}, RUN]),
        ("/threads/{T}/commands", {"id": 1, "method": "input.respond", "params": {"interrupt_id": "{I}", "response": "yes"}}),
        ("/mcp", rpc("tools/call", name="echo", arguments=HELLO)),
        ("/mcp", {"jsonrpc": "2.0", "id": "{T}:{I}:1", "result": {"action": "decline"}}),
        ("/v1/chat/completions", {"model": "echo", **HELLO}),
        ("/v1/chat/completions", {"model": "echo", **HELLO, "metadata": {"thread_id": "{T}"}}),
        ("/a2a/echo", rpc("SendMessage", message=SAID)),
        ("/a2a/echo", rpc("SendMessage", message={**SAID, "contextId": "{T}"})),
        ("/runs/crons", {**RUN, "schedule": "0 3 * * *"}),
        ("/api/agent", {**HELLO, "assistant_id": "echo"}),
    ],
)
async def test_what_handlers_accept_runs(tmp_path: Path, path: str, body: Any) -> None:
    async with served(tmp_path) as (server, _):
        names = await waiting_thread(server)
        answer = await ask(server, filled(path, names), filled(body, names))
        assert answer.status_code in (200, 202), answer.text
        assert "not asked" not in answer.text
        assert '"error"' not in answer.text


async def test_the_engine_starts_no_run_about_which_nobody_was_asked(tmp_path: Path) -> None:
    async with served(tmp_path) as (server, _):
        caller = Caller("anna", may_run=frozenset({default_assistant_id("echo")}))
        with pytest.raises(AccessError, match="was not asked"):
            await server.services.engine.start(caller, RunOrder("asks", input=HELLO))
        assert (await server.services.engine.start(caller, RunOrder("echo", input=HELLO))).run.owner == "anna"


async def test_every_assistant_of_a_batch_must_be_readable(tmp_path: Path) -> None:
    auth, mine = Asked().auth(), set[str]()

    @auth.on.assistants.read
    async def read(ctx: Auth.types.AuthContext, value: Any) -> Any:
        if ctx.user.identity == "bert" and str(value["assistant_id"]) in mine:
            raise Auth.exceptions.HTTPException(status_code=403, detail="Hers")

    @auth.on.threads.create_run
    async def anybody(ctx: Auth.types.AuthContext, value: Any) -> Any:
        return None

    async with serve(tmp_path, ServerSettings(own_auth=True), project=ServedProject(auth=auth)) as server:
        made = (await ask(server, "/assistants", {"graph_id": "echo", "name": "hers"})).json()["assistant_id"]
        mine.add(made)
        bodies = [{**RUN, "assistant_id": "echo"}, {**RUN, "assistant_id": made}]
        for batch in (bodies, bodies[::-1]):
            assert (await ask(server, "/runs/batch", batch, "bert")).status_code == 403
        assert (await ask(server, "/runs/batch", bodies[:1], "bert")).status_code == 200
        assert (await ask(server, "/runs/batch", bodies)).status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "names"),
    [
        (
            "/mcp",
            rpc("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "x", "version": "1"}),
            [],
        ),
        ("/mcp", rpc("ping"), []),
        ("/mcp", rpc("tools/list"), ["assistants.search"]),
        ("DELETE /mcp", {}, []),
        ("/a2a/asks", rpc("ListTasks"), ["assistants.read", "threads.search"]),
        ("/a2a/asks", rpc("GetTask", id="{T}.{R}"), ["assistants.read", "threads.read"]),
        ("GET /a2a/asks/.well-known/agent-card.json", {}, ["assistants.read"]),
        ("GET /.well-known/agent-card.json", {}, ["assistants.read"]),
        ("GET /v1/models", {}, ["assistants.search"]),
        ("/threads/{T}/commands", {"id": 1, "method": "state.get", "params": {}}, ["threads.read"]),
    ],
)
async def test_whoever_may_read_but_not_run_may_read_over_every_protocol(
    tmp_path: Path, path: str, body: Any, names: list[str]
) -> None:
    async with served(tmp_path) as (server, asked):
        known = await waiting_thread(server)
        asked.calls.clear()
        method, path = path.split() if " " in path else ("POST", path)
        answer = await ask(server, filled(path, known), filled(body, known), "bert", method)
        assert answer.status_code in (200, 204), answer.text
        assert asked.names == names
        assert all(
            value["assistant_id"] for resource, action, value in asked.calls if (resource, action) == ("assistants", "read")
        )
