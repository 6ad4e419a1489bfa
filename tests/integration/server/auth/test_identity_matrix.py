"""Every route of the OpenAPI page, for its owner, for somebody else and for nobody; on what is there, foreign or absent.

Made from the page itself, so a new route takes part without a line here. What is somebody else's looks exactly like what is not
there: the same status and, but for the id, the same words.
"""

from __future__ import annotations

import json
import re
import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.integration.server.auth.test_auth_server import ASKING, HELLO, add_key, client_of
from tests.integration.server.conftest import Server, serve

from stepwell.server.addresses import PUBLIC_PATHS
from stepwell.server.policy import routes_without_policy

SECRET = "annas-own-words"
# They answer only when something happens; a foreign or absent thread is refused before that.
_STREAMS = ("/stream", "/stream/events", "/join")
_NAMED = re.compile(r"\{(thread_id|threadId|run_id|assistant_id)[^}]*\}")
# A body that passes validation where one is needed; {} does elsewhere.
_BODIES: dict[str, Any] = {
    "/runs": {"assistant_id": "echo", "input": HELLO},
    "/runs/stream": {"assistant_id": "echo", "input": HELLO},
    "/runs/wait": {"assistant_id": "echo", "input": HELLO},
    "/state": {"values": {"messages": []}},
    "/state/checkpoint": {"checkpoint": {}},
    "/latest": {"version": 1},
    "/commands": {"id": 1, "method": "state.get", "params": {}},
    "/stream/events": {"channels": ["values"]},
    "/messages": {"message": {"content": "hello"}},
    "/side-question": {"question": "hello"},
    "/rewind": {"turn_id": "hello", "dry_run": True},
}


def _operations(page: dict[str, Any]) -> list[tuple[str, str]]:
    methods = ("get", "post", "put", "patch", "delete")
    found = [(method.upper(), path) for path, item in page["paths"].items() for method in item if method in methods]
    return sorted(found, key=lambda operation: operation[0] == "DELETE")  # what is deleted would be missing afterwards


def _body(path: str) -> Any:
    ending = next((ending for ending in sorted(_BODIES, key=len, reverse=True) if path.endswith(ending)), None)
    return _BODIES[ending] if ending else {}


def _fill(path: str, ids: dict[str, str]) -> str:
    filled = _NAMED.sub(lambda match: ids[match[1]], path)
    return re.sub(r"\{[^}]+\}", str(uuid.UUID(int=7)), filled)


def _told(answer: httpx.Response, ids: dict[str, str]) -> tuple[int, str]:
    """The status and the words, with ids taken out."""
    text = answer.text
    for value in sorted(set(ids.values()), key=len, reverse=True):
        text = text.replace(value, "<id>")
    return answer.status_code, text


@pytest.fixture
async def world(tmp_path: Path):
    anna, bert = await add_key(tmp_path, "anna"), await add_key(tmp_path, "bert")
    async with serve(tmp_path, ASKING) as server, client_of(server, anna) as client:
        thread = await client.threads.create(metadata={"note": SECRET})
        run = await client.runs.create(thread["thread_id"], "echo", input={"messages": [{"role": "user", "content": SECRET}]})
        await client.runs.join(thread["thread_id"], run["run_id"])
        own = await client.assistants.create("echo", name=SECRET, metadata={"note": SECRET})
        ids = {"thread_id": thread["thread_id"], "run_id": run["run_id"], "assistant_id": own["assistant_id"]}
        yield server, anna, bert, {**ids, "threadId": ids["thread_id"]}


async def test_no_route_tells_one_tenant_of_another(world):
    """W9, and the issue's matrix: own, other, absent x owner, stranger, nobody. Nothing leaks."""
    server, anna, bert, ids = world
    await probe(server, {"x-api-key": anna.text}, {"x-api-key": bert.text}, ids)


async def probe(server: Server, anna: dict[str, str], bert: dict[str, str], ids: dict[str, str]) -> None:
    """Send every request as nobody, as Bert and as Anna; `ids` are Anna's. The dictionaries are headers."""
    page = (await server.http.get("/openapi.json")).json()
    absent = {name: str(uuid.uuid4()) for name in ids}
    absent["threadId"] = absent["thread_id"]
    asked, compared = 0, 0
    for method, path in _operations(page):
        body = None if method == "GET" else _body(path)

        async def ask(
            names: dict[str, str], headers: dict[str, str] | None, method=method, path=path, body=body
        ) -> httpx.Response:
            return await server.http.request(method, _fill(path, names), json=body, headers=headers)

        if path not in PUBLIC_PATHS:
            nobody = await ask(ids, None)
            assert nobody.status_code == 401, (method, path, nobody.status_code)
            assert SECRET not in nobody.text
            asked += 1
        if not _NAMED.search(path):
            continue
        foreign, missing = await ask(ids, bert), await ask(absent, bert)
        assert SECRET not in foreign.text, (method, path)
        assert _told(foreign, ids) == _told(missing, absent), (method, path, foreign.text, missing.text)
        assert foreign.status_code in (404, 422, 400, 409, 426), (method, path, foreign.status_code, foreign.text)
        compared += 1
        if method != "DELETE" and not path.endswith(_STREAMS):
            mine = await ask(ids, anna)
            assert mine.status_code != 401, (method, path)
    assert asked > 40
    assert compared > 25
    kept = await server.http.get(f"/threads/{ids['thread_id']}", headers=anna)
    assert kept.status_code == 200, "nobody else could delete it"
    assert json.loads(kept.text)["metadata"]["note"] == SECRET


async def test_a_route_without_a_policy_is_noticed(world):
    server, *_ = world
    assert routes_without_policy(server.app) == []

    async def forgotten() -> str:
        return "anybody may read this"

    server.app.add_api_route("/forgotten", forgotten, methods=["GET"])
    assert any("/forgotten" in str(route) for route in routes_without_policy(server.app))
