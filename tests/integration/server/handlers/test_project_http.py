"""`http` and `webhooks` of a langgraph.json, on a real server: the project's own routes, what is switched off, headers, prefix, origins."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from langgraph_sdk import get_sync_client
from tests.integration.served.process import Server, serve
from websockets.sync.client import connect

from stepwell.errors import ConfigurationError
from stepwell.runs.graphs.project.auth import read_auth
from stepwell.runs.graphs.project.http import ProjectHttp
from stepwell.server.custom_routes import open_app
from stepwell.server.project import load_project

AGENT = """
from typing import Annotated, Any, TypedDict
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

class State(TypedDict):
    messages: Annotated[list[Any], add_messages]

def answer(state: State, config: RunnableConfig) -> dict[str, Any]:
    known = {name: value for name, value in config["configurable"].items() if name.startswith("x-") or name == "authorization"}
    return {"messages": [("ai", repr(sorted(known.items())))]}

graph = StateGraph(State).add_node(answer).add_edge(START, "answer").add_edge("answer", END).compile()
"""
AUTH = """
from langgraph_sdk import Auth

auth = Auth()

@auth.authenticate
async def authenticate(authorization: str | None, path: str, method: str, query_params, request, scope) -> str:
    assert request.headers.get("authorization") == authorization and scope["path"] == path
    if not authorization:
        raise Auth.exceptions.HTTPException(status_code=401, detail="Say who you are", headers={"WWW-Authenticate": "Bearer"})
    return authorization.removeprefix("Bearer ")
"""
ROUTES = """
from contextlib import asynccontextmanager
from pathlib import Path
from fastapi import FastAPI, Request, UploadFile
from fastapi.responses import PlainTextResponse

@asynccontextmanager
async def lifespan(app):
    Path("opened").touch()
    yield {"greeting": "hello"}
    Path("closed").touch()

app = FastAPI(lifespan=lifespan)

@app.middleware("http")
async def mark(request: Request, call_next):
    response = await call_next(request)
    response.headers["x-marked"] = "user" if "user" in request.scope else "nobody"
    return response

@app.get("/")
def front() -> PlainTextResponse:
    return PlainTextResponse("theirs")

@app.get("/custom/hello")
def hello(request: Request) -> dict:
    return {"said": request.state.greeting, "user": request.user.identity if "user" in request.scope else None}

@app.post("/custom/upload")
async def upload(request: Request) -> int:
    return len(await request.body())

@app.get("/ok")
def ok() -> str:
    return "not reached"

@app.get("/custom/fails")
def fails() -> None:
    raise RuntimeError("broken")

@app.get("/custom/where")
async def where(request: Request):
    return [str(request.url), str(request.url_for("hello"))]
"""

Start = Callable[..., Server]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Serve a project with these keys in its langgraph.json."""
    with ExitStack() as opened:

        def serve_project(**keys: Any) -> Server:
            folder = tmp_path / "project"
            folder.mkdir()
            for name, text in {"agent.py": AGENT, "auth.py": AUTH, "routes.py": ROUTES}.items():
                (folder / name).write_text(text)
            content = {"dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}, **keys}
            (folder / "langgraph.json").write_text(json.dumps(content))
            return opened.enter_context(serve(tmp_path, graphs=folder / "langgraph.json"))

        yield serve_project


def test_the_projects_routes_come_first_with_lifespan_middleware_and_uploads(start: Start, tmp_path: Path) -> None:
    server = start(http={"app": "./routes.py:app"})
    with httpx.Client(base_url=server.url, timeout=60) as http:
        assert http.get("/custom/hello").json() == {"said": "hello", "user": None}
        assert http.get("/").text == "theirs", "their root takes the place of the page"
        assert http.get("/ok").json() != "not reached", "probes stay ours"
        assert http.post("/custom/upload", content=b"x" * 10_000_000).json() == 10_000_000, "our limits are for our routes"
        assert http.get("/custom/hello", headers={"host": "evil.example"}).status_code == 400, "hosts are checked for all"
        found = http.post("/threads/search", json={})
        assert (found.status_code, found.headers["x-marked"]) == (200, "nobody"), "their middleware sees our routes too"
        failed = http.get("/custom/fails")
        assert failed.status_code == 500
        assert "broken" not in failed.text
        nothing = http.get("/custom/nothing")
        assert (nothing.status_code, nothing.headers["content-type"]) == (404, "application/problem+json")
        with get_sync_client(url=server.url, api_key=None) as client:
            thread = client.threads.create()
            parts = list(client.runs.stream(thread["thread_id"], "agent", input={"messages": [("user", "hi")]}))
            assert parts[-1].event in ("values", "end")
    assert (tmp_path / "opened").exists()
    assert not (tmp_path / "closed").exists()
    server.stop()
    assert (tmp_path / "closed").exists()


@pytest.mark.parametrize(("order", "marked"), [("middleware_first", "nobody"), ("auth_first", "user")])
def test_custom_routes_can_ask_who_calls(start: Start, order: str, marked: str) -> None:
    server = start(
        http={"app": "./routes.py:app", "enable_custom_route_auth": True, "middleware_order": order},
        auth={"path": "./auth.py:auth", "disable_studio_auth": True, "cache": {"cache_keys": ["authorization"]}},
    )
    with httpx.Client(base_url=server.url, timeout=60) as http:
        refused = http.get("/custom/hello")
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert ("x-marked" in refused.headers) is (order == "middleware_first")
        assert refused.json()["detail"] == "Say who you are"
        for _ in range(2):
            known = http.get("/custom/hello", headers={"authorization": "Bearer anna"})
            assert known.json()["user"] == "anna"
        assert http.post("/threads/search", json={}).status_code == 401
        mine = http.post("/threads/search", json={}, headers={"authorization": "Bearer anna"})
        assert mine.status_code == 200
        if order == "auth_first":
            assert mine.headers["x-marked"] == marked


def test_disabled_routes_are_gone_with_everything_that_does_the_same(start: Start) -> None:
    disabled = ("assistants", "store", "runs", "meta", "ui", "mcp", "a2a", "webhooks")
    server = start(http={f"disable_{part}": True for part in disabled})
    with httpx.Client(base_url=server.url, timeout=60) as http:
        thread_id = http.post("/threads", json={}).json()["thread_id"]
        for method, path in (
            ("POST", "/assistants/search"),
            ("POST", "/runs/wait"),
            ("POST", f"/threads/{thread_id}/runs"),
            ("POST", f"/threads/{thread_id}/commands"),
            ("POST", f"/threads/{thread_id}/side-question"),
            ("POST", "/api/research"),
            ("POST", "/store/items/search"),
            ("GET", "/info"),
            ("GET", "/docs"),
            ("GET", "/openapi.json"),
            ("GET", "/"),
            ("POST", "/mcp"),
        ):
            assert http.request(method, path, json={}).status_code in (404, 405), (method, path)
        assert http.get("/ok").status_code == 200
        assert http.get(f"/threads/{thread_id}").status_code == 200
        assert "openapi" not in http.get("/nothing").json()["detail"]
    with connect(f"{server.url.replace('http', 'ws', 1)}/threads/{thread_id}/stream/events") as socket:
        socket.send(
            json.dumps({"id": 1, "method": "run.start", "params": {"assistant_id": "agent", "input": {"messages": []}}})
        )
        answer = json.loads(socket.recv(timeout=60))
        assert "http.disable_runs" in answer["message"]
        socket.send(json.dumps({"id": 2, "method": "state.get"}))
        assert json.loads(socket.recv(timeout=60))["type"] == "success"


def test_the_sdk_says_itself_what_is_wrong_with_a_handler(tmp_path: Path) -> None:
    (tmp_path / "auth.py").write_text(f"{AUTH}\n@auth.on\ndef sync(ctx, value):\n    return None\n")
    rules = read_auth({"auth": {"path": "./auth.py:auth"}}, "langgraph.json")
    with pytest.raises(ConfigurationError, match="async function"):
        load_project(rules, ProjectHttp(), tmp_path)


async def test_a_lifespan_that_fails_is_said_in_a_sentence() -> None:
    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        raise RuntimeError("no database at postgres://user:secret@host")
        yield

    with pytest.raises(
        ConfigurationError, match=r"^The lifespan of the application in 'http.app' failed with RuntimeError\. The log"
    ):
        async with open_app(FastAPI(lifespan=lifespan)):
            raise AssertionError("it started")


def test_agents_of_others_find_nothing_where_a2a_is_disabled(start: Start) -> None:
    server = start(http={"disable_a2a": True})
    with httpx.Client(base_url=server.url, timeout=60) as http:
        body = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}
        for path in ("/a2a/agent", "/a2a/agent/"):
            assert http.post(path, json=body).status_code == 404, path
        for path in ("/.well-known/agent-card.json", "/a2a/agent/.well-known/agent-card.json"):
            assert http.get(path).status_code == 404, path
        assert not [path for path in http.get("/openapi.json").json()["paths"] if "a2a" in path]
        assert (
            http.post("/runs/wait", json={"assistant_id": "agent", "input": {"messages": [["user", "hi"]]}}).status_code == 200
        )


def test_what_a_switch_turned_off_is_named_with_the_switch(start: Start) -> None:
    server = start(http={"disable_runs": True, "disable_store": True})
    with httpx.Client(base_url=server.url, timeout=60) as http:
        for path, part in (
            ("/a2a/agent/.well-known/agent-card.json", "runs"),
            ("/.well-known/agent-card.json", "runs"),
            ("/runs/wait", "runs"),
            ("/store/items/search", "store"),
        ):
            answer = http.get(path) if "well-known" in path else http.post(path, json={})
            said = answer.json()["detail"]
            assert said.startswith(f"Nothing is served at '{path}': the project's langgraph.json has 'http.disable_{part}'.")
        assert "disable" not in http.get("/nothing").json()["detail"]


def test_headers_reach_runs_and_a_prefix_serves_everything(start: Start) -> None:
    choice = {"includes": ["x-*", "authorization"], "excludes": ["x-secret*"]}
    logged = {"includes": ["x-*", "authorization"]}
    server = start(http={"configurable_headers": choice, "logging_headers": logged, "mount_prefix": "/agents/v1"})
    headers = {"x-tenant": "red", "x-secret-code": "1234", "authorization": "Bearer anna"}
    assert server.url.endswith("/agents/v1"), "the address that the server prints is the one to use"
    with get_sync_client(url=server.url, api_key=None, headers=headers) as client:
        said = client.runs.wait(None, "agent", input={"messages": [("user", "hi")]})
        text = said["messages"][-1]["content"]
        assert "('x-tenant', 'red')" in text
        assert "('authorization', 'Bearer anna')" in text
        assert "1234" not in text
        thread = client.threads.create()
        assert list(client.runs.stream(thread["thread_id"], "agent", input={"messages": [("user", "hi")]}))
    root = server.url.removesuffix("/agents/v1")
    assert httpx.get(f"{root}/ok").status_code == 200
    outside = httpx.post(f"{root}/threads/search", json={})
    assert outside.status_code == 404
    assert (
        outside.json()["detail"] == "Nothing is served at '/threads/search'. On this server everything is below '/agents/v1'."
    )


@pytest.mark.parametrize("prefix", ["/agents/v1", "/api"])
def test_whatever_names_an_address_has_the_prefix(start: Start, prefix: str) -> None:
    server = start(http={"mount_prefix": prefix, "app": "./routes.py:app"})
    with httpx.Client(base_url=server.url, timeout=60) as http:
        assert http.get("/custom/where").json() == [f"{server.url}/custom/where", f"{server.url}/custom/hello"]
        assert http.get("/openapi.json").json()["servers"] == [{"url": prefix}]
        (interface,) = http.get("/a2a/agent/.well-known/agent-card.json").json()["supportedInterfaces"]
        assert interface["url"].startswith(f"{server.url}/a2a/")
        call = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}
        assert "result" in httpx.post(interface["url"], json=call, headers={"A2A-Version": "1.0"}).json()
        assert http.get("/api/me").status_code == 200
        missing = http.get("/nothing").json()["detail"]
        assert missing == f"Nothing is served at '{prefix}/nothing'. {prefix}/openapi.json lists all routes."
        wrong = http.delete("/threads")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
        assert http.get("/login", headers={"accept": "text/html"}).status_code == 404
        assert "error" in http.get("/v1/models/nothing").json(), "OpenAI's form of an error"
        thread_id = http.post("/threads", json={}).json()["thread_id"]
        with connect(f"{server.url.replace('http', 'ws', 1)}/threads/{thread_id}/stream/events"):
            pass
    assert "the web page and its sign-in are not served" in server.output
    assert "page      open" not in server.output
    assert f"API       {server.url}/docs" in server.output


def test_cors_of_the_project_lets_a_named_page_in(start: Start) -> None:
    server = start(http={"cors": {"allow_origins": ["https://app.example", "*"], "allow_headers": ["x-tenant"], "max_age": 7}})
    with httpx.Client(base_url=server.url, timeout=60) as http:
        asked = {"access-control-request-method": "POST", "access-control-request-headers": "x-tenant"}
        allowed = http.options("/threads/search", headers={"origin": "https://app.example", **asked})
        assert (allowed.status_code, allowed.headers["access-control-max-age"]) == (200, "7")
        assert http.post("/threads/search", json={}, headers={"origin": "https://app.example"}).status_code == 200
        assert http.post("/threads/search", json={}, headers={"origin": "https://other.example"}).status_code == 403
    assert "'*' in 'http.cors.allow_origins' is not honoured on a server without sign-in" in server.output


def test_webhooks_go_where_the_project_allows(start: Start) -> None:
    server = start(webhooks={"url": {"allowed_domains": ["*.hooks.example"], "require_https": True, "allowed_ports": [443]}})
    body = {"assistant_id": "agent", "input": {"messages": []}}
    with httpx.Client(base_url=server.url, timeout=60) as http:
        for webhook, word in {
            "https://other.example/x": "host",
            "http://a.hooks.example/x": "https",
            "https://a.hooks.example:8443/x": "port",
        }.items():
            refused = http.post("/runs", json={**body, "webhook": webhook})
            assert refused.status_code == 422
            assert word in refused.json()["detail"]
        assert http.post("/runs", json={**body, "webhook": "https://a.hooks.example/x"}).status_code == 200
