"""The forms in which a project may write its auth, and what becomes of each result. Nothing passes by mistake."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import Auth
from starlette.requests import Request
from tests.integration.server.auth.test_auth_server import add_key
from tests.integration.server.conftest import Server, serve

from stepwell.errors import ConfigurationError
from stepwell.server.project import ServedProject
from stepwell.server.settings import ServerSettings

HELLO = {"messages": [{"role": "user", "content": "hello"}]}


def served(folder: Path, auth: Auth) -> Any:
    return serve(folder, ServerSettings(own_auth=True), project=ServedProject(auth=auth))


def naming() -> Auth:
    """Whoever says a name has it."""
    auth = Auth()

    @auth.authenticate
    async def authenticate(authorization: str | None) -> Any:
        if not authorization:
            raise Auth.exceptions.HTTPException(status_code=401, detail="A name, please")
        return authorization

    return auth


async def ask(server: Server, path: str, body: Any = None, name: str = "anna", method: str = "POST") -> httpx.Response:
    return await server.http.request(method, path, json={} if body is None else body, headers={"authorization": name})


@dataclass
class AnObject:
    identity: str
    team: str = "red"


@pytest.mark.parametrize(
    "returned",
    ["anna", {"identity": "anna"}, (["read"], "anna"), (["read"], {"identity": "anna", "x": object()}), AnObject("anna")],
    ids=["text", "object", "pair", "pair with object", "class"],
)
async def test_authenticate_may_return_a_user_in_any_form(tmp_path: Path, returned: Any) -> None:
    auth, seen = Auth(), list[Any]()

    @auth.authenticate
    async def authenticate(request: Request, path: str, method: str, headers: dict[bytes, bytes], query_params: Any) -> Any:
        assert (request.url.path, request.method) == (path, method)
        assert headers[b"authorization"] == b"anna"
        assert dict(query_params) == {}
        return returned

    @auth.on
    async def note(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> Any:
        seen.append(
            (ctx.user.identity, ctx.user["identity"], list(ctx.permissions), "identity" in ctx.user, ctx.resource, ctx.action)
        )

    async with served(tmp_path, auth) as server:
        assert (await ask(server, "/threads/search")).status_code == 200
    permissions = ["read"] if isinstance(returned, tuple) else []
    assert seen == [("anna", "anna", permissions, True, "threads", "search")]


async def test_authenticate_may_be_sync_and_read_the_body(tmp_path: Path) -> None:
    auth = Auth()

    def authenticate(body: dict[str, Any]) -> str:
        if "name" not in body.get("metadata", {}):
            raise Auth.exceptions.HTTPException(status_code=418, detail="Not without a name")
        return str(body["metadata"]["name"])

    auth._authenticate_handler = authenticate  # the SDK's decorator takes async functions alone
    async with served(tmp_path, auth) as server:
        made = await server.http.post("/threads", json={"metadata": {"name": "anna"}})
        assert made.status_code == 200
        assert (await server.http.post("/threads", json={})).status_code == 418
        assert (await server.http.get(f"/threads/{made.json()['thread_id']}")).status_code == 418


async def test_an_unknown_parameter_is_named_at_the_start(tmp_path: Path) -> None:
    auth = Auth()

    @auth.authenticate
    async def authenticate(session: str) -> str:
        return session

    with pytest.raises(ConfigurationError, match="asks for 'session', which it cannot get"):
        async with served(tmp_path, auth):
            raise AssertionError("it started")


def _raise(error: BaseException) -> Any:
    raise error


class Broken:
    @property
    def identity(self) -> str:
        raise ValueError("secret-detail")


@pytest.mark.parametrize(
    ("result", "status"),
    [
        (lambda: None, 500),
        (lambda: 7, 500),
        (lambda: {"name": "anna"}, 500),
        (lambda: {"identity": ""}, 500),
        (lambda: "system", 403),
        (lambda: "operator", 403),
        (lambda: _raise(ValueError("secret-detail")), 500),
        (lambda: _raise(Auth.exceptions.HTTPException(status_code=401, detail="no")), 401),
        (lambda: _raise(Auth.exceptions.HTTPException(status_code=200, detail="no")), 403),
        (lambda: _raise(AssertionError("no")), 403),
        (lambda: _raise(SystemExit(1)), 500),
        (lambda: _raise(asyncio.CancelledError()), 500),
        (Broken, 500),
        (lambda: _raise(Auth.exceptions.HTTPException(status_code=401, detail="no", headers={"x-a": "1\r\nx-b: 2"})), 401),
    ],
)
async def test_no_result_of_authenticate_passes_by_mistake(tmp_path: Path, result: Callable[[], Any], status: int) -> None:
    auth = Auth()

    @auth.authenticate
    async def authenticate() -> Any:
        return result()

    async with served(tmp_path, auth) as server:
        answer = await ask(server, "/threads")
        assert answer.status_code == status, answer.text
        assert "secret-detail" not in answer.text
        assert "x-b" not in answer.headers
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("result", "status"),
    [
        (lambda: False, 403),
        (lambda: "yes", 500),
        (lambda: 1, 500),
        (lambda: {"owner": {"$like": "a%"}}, 500),
        (lambda: {"$not": {"owner": "anna"}}, 500),
        (lambda: {"$or": []}, 500),
        (lambda: {"number": float("nan")}, 500),
        (lambda: {"owner": {"$contains": {"a"}}}, 500),
        (lambda: {"owner": object()}, 500),
        (lambda: {"owner": uuid.uuid4()}, 200),
        (lambda: _raise(SystemExit(1)), 500),
        (lambda: _raise(asyncio.CancelledError()), 500),
        (lambda: _raise(KeyError("x")), 500),
        (lambda: _raise(AssertionError("not yours")), 403),
        (lambda: _raise(Auth.exceptions.HTTPException(status_code=402, detail="pay")), 402),
        (lambda: True, 200),
        (lambda: None, 200),
        (dict, 200),
    ],
)
async def test_no_result_of_a_handler_passes_by_mistake(tmp_path: Path, result: Callable[[], Any], status: int) -> None:
    auth = naming()

    @auth.on.threads
    async def decide(ctx: Auth.types.AuthContext, value: Any) -> Any:
        return result()

    async with served(tmp_path, auth) as server:
        assert (await ask(server, "/threads")).status_code == status
        assert (await ask(server, "/threads/search")).status_code == status


async def test_the_most_specific_handler_decides_alone(tmp_path: Path) -> None:
    auth = naming()

    @auth.on
    async def deny(ctx: Auth.types.AuthContext, value: Any) -> bool:
        return False

    @auth.on.threads
    async def own(ctx: Auth.types.AuthContext, value: Any) -> Any:
        return {"owner": ctx.user.identity}

    @auth.on.threads.delete
    async def nobody_deletes(ctx: Auth.types.AuthContext, value: Any) -> bool:
        return False

    async with served(tmp_path, auth) as server:
        thread_id = (await ask(server, "/threads")).json()["thread_id"]
        assert (await ask(server, "/assistants/search")).status_code == 403
        assert (await ask(server, "/store/items/search", {"namespace_prefix": []})).status_code == 403
        run = {"assistant_id": "echo", "input": HELLO}
        assert (await ask(server, f"/threads/{thread_id}/runs/wait", run)).status_code == 200, "the server's graphs can be run"
        assert (await ask(server, "/runs/wait", run)).status_code == 200
        assert (await ask(server, "/runs/batch", [run, run])).status_code == 200
        assert (await ask(server, f"/threads/{thread_id}", method="DELETE")).status_code == 403
        assert (await ask(server, f"/threads/{thread_id}/runs/wait", run, name="bert")).status_code == 404


async def put(server: Server, key: str, value: dict[str, Any]) -> httpx.Response:
    return await ask(server, "/store/items", {"namespace": ["a"], "key": key, "value": value}, method="PUT")


async def test_a_filter_of_a_store_search_is_added_to_the_requested_one(tmp_path: Path) -> None:
    auth = naming()

    @auth.on.store.search
    async def narrow(ctx: Auth.types.AuthContext, value: Any) -> Any:
        return {"$or": [{"team": "red"}, {"members": {"$contains": "anna"}}]}

    async with served(tmp_path, auth) as server:
        for key, value in {
            "r": {"team": "red", "n": 1},
            "b": {"team": "blue", "n": 1},
            "m": {"members": ["anna"], "n": 2},
        }.items():
            assert (await put(server, key, value)).status_code == 204
        for asked, found in ((None, {"r", "m"}), ({"n": 1}, {"r"}), ({"team": "blue"}, set())):
            items = (await ask(server, "/store/items/search", {"namespace_prefix": ["a"], "filter": asked})).json()["items"]
            assert {item["key"] for item in items} == found, asked


async def test_what_a_handler_of_the_store_changes_is_used(tmp_path: Path) -> None:
    auth = naming()

    @auth.on.store.put
    async def stamp(ctx: Auth.types.AuthContext, value: Any) -> None:
        value["key"], value["value"] = value["key"].upper(), {**value["value"], "by": ctx.user.identity}

    @auth.on.store.search
    async def few(ctx: Auth.types.AuthContext, value: Any) -> None:
        value["limit"], value["filter"] = min(value["limit"], 1), {**(value["filter"] or {}), "n": 1}

    @auth.on.store.get
    async def broken(ctx: Auth.types.AuthContext, value: Any) -> None:
        value["key"] = 5

    async with served(tmp_path, auth) as server:
        for key, number in (("x", 1), ("y", 1), ("z", 2)):
            assert (await put(server, key, {"n": number})).status_code == 204
        (item,) = (await ask(server, "/store/items/search", {"namespace_prefix": ["a"]})).json()["items"]
        assert (item["key"] in ("X", "Y"), item["value"]) == (True, {"n": 1, "by": "anna"})
        assert (await ask(server, "/store/items?namespace=a&key=X", None, "anna", "GET")).status_code == 500


async def test_a_filter_that_cannot_be_applied_to_the_store_is_refused(tmp_path: Path) -> None:
    auth = naming()

    @auth.on.store
    async def own(ctx: Auth.types.AuthContext, value: Any) -> Any:
        return {"owner": ctx.user.identity}

    async with served(tmp_path, auth) as server:
        refused = await put(server, "k", {})
        assert refused.status_code == 500
        assert (await ask(server, "/store/items/search", {"namespace_prefix": ["a"]})).json() == {"items": []}


@pytest.mark.parametrize("way", ["pop", "replace", "clear"])
async def test_metadata_that_a_handler_removes_is_not_stored(tmp_path: Path, way: str) -> None:
    auth = naming()

    @auth.on.threads
    @auth.on.assistants
    async def private(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> None:
        if way == "pop":
            value["metadata"].pop("public", None)
        elif way == "replace":
            value["metadata"] = {name: each for name, each in value["metadata"].items() if name != "public"}
        else:
            value.clear()

    sent, kept = {"public": True, "a": 1}, {} if way == "clear" else {"a": 1}
    async with served(tmp_path, auth) as server:
        thread = (await ask(server, "/threads", {"metadata": sent})).json()
        assert thread["metadata"] == kept
        path = f"/threads/{thread['thread_id']}"
        assert (await ask(server, path, {"metadata": sent}, method="PATCH")).json()["metadata"] == kept
        made = (await ask(server, "/assistants", {"graph_id": "echo", "metadata": sent})).json()
        assert "public" not in made["metadata"]
        run = (await ask(server, f"{path}/runs", {"assistant_id": "echo", "input": HELLO, "metadata": sent})).json()
        assert "public" not in run["metadata"]


async def test_metadata_that_a_handler_adds_to_a_search_narrows_it(tmp_path: Path) -> None:
    auth = naming()

    @auth.on.threads
    async def mark(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> None:
        value.setdefault("metadata", {})["owner"] = ctx.user.identity

    async with served(tmp_path, auth) as server:
        made = [(await ask(server, "/threads", name=name)).json()["thread_id"] for name in ("anna", "bert")]
        found = (await ask(server, "/threads/search", {"metadata": {"owner": "bert"}})).json()
        assert found == []
        assert [thread["thread_id"] for thread in (await ask(server, "/threads/search")).json()] == made[:1]
        assert (await ask(server, "/threads/count")).json() == 1


async def test_an_existing_thread_of_others_is_not_returned_by_creating_it(tmp_path: Path) -> None:
    auth = naming()

    @auth.on.threads
    async def own(ctx: Auth.types.AuthContext, value: Any) -> Any:
        return {"owner": ctx.user.identity}

    async with served(tmp_path, auth) as server:
        body = {"thread_id": str(uuid.uuid4()), "if_exists": "do_nothing", "metadata": {"note": "hers"}}
        assert (await ask(server, "/threads", body)).status_code == 200
        assert (await ask(server, "/threads", body)).status_code == 200
        refused = await ask(server, "/threads", body, name="bert")
        assert refused.status_code == 409
        assert "hers" not in refused.text


async def test_operators_use_keys_of_the_server(tmp_path: Path) -> None:
    operator = await add_key(tmp_path, "olga", operator=True)
    user = await add_key(tmp_path, "ute")
    async with served(tmp_path, naming()) as server:
        assert (await server.http.get("/metrics", headers={"x-api-key": operator.text})).status_code == 200
        assert (await server.http.get("/metrics", headers={"authorization": "anna"})).status_code == 403
        assert (await server.http.get("/metrics", headers={"x-api-key": user.text})).status_code == 401


async def test_handlers_are_told_what_is_asked_for(tmp_path: Path) -> None:
    auth, seen = naming(), list[tuple[str, str, dict[str, Any]]]()

    @auth.on
    async def note(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> None:
        seen.append((ctx.resource, ctx.action, dict(value)))

    async with served(tmp_path, auth) as server:
        thread = (await ask(server, "/threads", {"metadata": {"a": 1}})).json()["thread_id"]
        await ask(
            server, f"/threads/{thread}/runs/wait", {"assistant_id": "echo", "input": HELLO, "multitask_strategy": "reject"}
        )
        await ask(server, "/store/items", {"namespace": ["a", "b"], "key": "k", "value": {}}, method="PUT")
        await server.http.get("/store/items", params={"namespace": "a.b", "key": "k"}, headers={"authorization": "anna"})
    named = [(resource, action) for resource, action, _ in seen]
    assert named == [
        ("threads", "create"),
        ("threads", "create_run"),
        ("store", "put"),
        ("store", "get"),
    ]
    assert seen[0][2]["metadata"] == {"a": 1}
    run = seen[1][2]
    assert (run["thread_id"], run["multitask_strategy"], run["kwargs"]["input"]) == (uuid.UUID(thread), "reject", HELLO)
    assert isinstance(run["assistant_id"], uuid.UUID)
    assert [each[2]["namespace"] for each in seen[2:]] == [("a", "b"), ("a", "b")]
