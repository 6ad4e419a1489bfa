"""Keys on the real server over real sockets: who sees what, what is refused, and that no secret is left lying about."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from tests.integration.server.conftest import Server, serve
from tests.support.stored_rows import files_holding

from stepwell.clock import SystemClock
from stepwell.database.keys_and_sessions import AccessRecords
from stepwell.database.sqlite.database import Database
from stepwell.errors import ConfigurationError
from stepwell.server import sse
from stepwell.server.login.api_keys import NewKey, make_key
from stepwell.server.policy import routes_without_policy
from stepwell.server.settings import ServerSettings

ASKING = ServerSettings(always_ask=True, max_streams=2)
HELLO = {"messages": [{"role": "user", "content": "hello"}]}


async def add_key(folder: Path, user: str, *, operator: bool = False) -> NewKey:
    """What `stepwell keys create` does, also while a server runs on the file."""
    clock = SystemClock()
    key = make_key(user, operator=operator, expires_in=None, now=clock.now(), random_bytes=secrets.token_bytes)
    database = Database(folder / "server.db")
    try:
        await AccessRecords(database, clock).add_key(key.record)
    finally:
        database.close()
    return key


@dataclass(frozen=True)
class Asking:
    server: Server
    anna: LangGraphClient
    bert: LangGraphClient
    key: NewKey


@pytest.fixture
async def asking(tmp_path: Path) -> AsyncIterator[Asking]:
    anna, bert = await add_key(tmp_path, "anna"), await add_key(tmp_path, "bert")
    async with serve(tmp_path, ASKING) as server, client_of(server, anna) as first, client_of(server, bert) as second:
        yield Asking(server, first, second, anna)


@asynccontextmanager
async def client_of(server: Server, key: NewKey) -> AsyncIterator[LangGraphClient]:
    client = get_client(url=server.url, api_key=key.text)
    try:
        yield client
    finally:
        await client.aclose()


async def test_every_route_has_a_policy(asking: Asking):
    assert routes_without_policy(asking.server.app) == []


async def test_a_server_that_asks_does_not_start_without_keys(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="stepwell keys create"):
        async with serve(tmp_path, ServerSettings(host="0.0.0.0")):
            raise AssertionError("it started")


async def test_what_is_annas_is_not_found_by_bert(asking: Asking):
    thread = await asking.anna.threads.create()
    await asking.anna.runs.wait(thread["thread_id"], "echo", input=HELLO)
    assert [each["thread_id"] for each in await asking.anna.threads.search()] == [thread["thread_id"]]
    assert await asking.bert.threads.search() == []
    with pytest.raises(httpx.HTTPStatusError) as refused:
        await asking.bert.threads.get(thread["thread_id"])
    assert refused.value.response.status_code == 404


async def test_nobody_gets_nothing(asking: Asking):
    for path in ("/threads/search", "/assistants/search", "/runs/stream", "/store/items/search"):
        answer = await asking.server.http.post(path, json={})
        assert (path, answer.status_code) == (path, 401)
        assert answer.headers["content-type"] == "application/problem+json"
        assert "www-authenticate" in answer.headers
    assert (await asking.server.http.get("/ok")).status_code == 200


async def test_a_key_made_while_the_server_runs_counts_and_a_revoked_one_stops(asking: Asking, tmp_path: Path):
    key = await add_key(tmp_path, "carla")
    ask = {"x-api-key": key.text}
    assert (await asking.server.http.post("/threads/search", json={}, headers=ask)).status_code == 200
    await asking.server.services.persistence.access.revoke_key(key.record.key_id)
    assert (await asking.server.http.post("/threads/search", json={}, headers=ask)).status_code == 401


async def test_metrics_are_for_operators(asking: Asking, tmp_path: Path):
    operator = await add_key(tmp_path, "root", operator=True)
    answers = [
        (await asking.server.http.get("/metrics", headers={"x-api-key": key.text})).status_code
        for key in (asking.key, operator)
    ]
    assert answers == [403, 200]


async def test_ten_megabytes_and_a_thousand_brackets_are_answered_over_a_real_connection(asking: Asking):
    headers = {"x-api-key": asking.key.text, "content-type": "application/json"}
    large = await asking.server.http.post("/threads", content=b'{"a":"' + b"x" * 10_000_000 + b'"}', headers=headers)
    deep = await asking.server.http.post(
        "/threads", content=b'{"metadata":' + b"[" * 1000 + b"]" * 1000 + b"}", headers=headers
    )
    fine = await asking.server.http.post("/threads", json={}, headers=headers)
    assert (large.status_code, deep.status_code, fine.status_code) == (413, 422, 200)
    assert {each.headers["content-type"] for each in (large, deep)} == {"application/problem+json"}


async def test_a_third_stream_is_refused_until_one_ends(asking: Asking):
    thread = await asking.anna.threads.create()
    url, headers = f"/threads/{thread['thread_id']}/stream", {"x-api-key": asking.key.text}
    http = asking.server.http
    async with http.stream("GET", url, headers=headers) as first:
        assert first.status_code == 200
        async with http.stream("GET", url, headers=headers) as second:
            assert second.status_code == 200
            refused = await http.get(url, headers=headers)
            assert (refused.status_code, refused.headers["content-type"]) == (429, "application/problem+json")


async def test_waiting_for_a_run_counts_like_a_stream(asking: Asking):
    """Otherwise one user could hold any number of connections open on one run."""
    thread_id = (await asking.anna.threads.create())["thread_id"]
    run = await asking.anna.runs.create(thread_id, "ticks", input={"count": 1, "seconds": 60})
    url, headers = f"/threads/{thread_id}/runs/{run['run_id']}", {"x-api-key": asking.key.text}
    http = asking.server.http
    async with http.stream("GET", f"{url}/stream", headers=headers), http.stream("GET", f"{url}/stream", headers=headers):
        assert (await http.get(f"{url}/join", headers=headers)).status_code == 429
    await asking.anna.runs.cancel(thread_id, run["run_id"], wait=True)


async def test_a_revoked_key_ends_the_streams_it_opened(asking: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sse, "RECHECK_S", 0.05)
    key = await add_key(tmp_path, "anna")
    thread_id = (await asking.anna.threads.create())["thread_id"]
    http, url = asking.server.http, f"/threads/{thread_id}/stream"
    async with (
        asyncio.timeout(60),
        http.stream("GET", url, headers={"x-api-key": asking.key.text}) as kept,
        http.stream("GET", url, headers={"x-api-key": key.text}) as revoked,
    ):
        await asking.server.services.persistence.access.revoke_key(key.record.key_id)
        with pytest.raises(httpx.RemoteProtocolError):  # broken off; coming back is refused
            await revoked.aread()
        await asking.anna.runs.wait(thread_id, "echo", input=HELLO)
        assert any([b"hello" in piece async for piece in _until(kept, b"hello")])


async def _until(stream: httpx.Response, text: bytes) -> AsyncIterator[bytes]:
    async for piece in stream.aiter_bytes():
        yield piece
        if text in piece:
            return


async def test_a_key_is_in_no_log_no_answer_and_no_file(asking: Asking, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """Mission: secrets never in logs, traces, errors or checkpoints."""
    caplog.set_level(logging.DEBUG)
    key, http = asking.key, asking.server.http
    wrong = key.text[:-4] + "AAAA"
    answers = [await http.get("/threads/nothing", headers={"x-api-key": each}) for each in (key.text, wrong)]
    answers.append(await http.get("/nothing/here", headers={"authorization": f"Bearer {wrong}"}))
    thread = await asking.anna.threads.create()
    answers.append(await http.post(f"/threads/{thread['thread_id']}/runs/wait", json={"assistant_id": "echo", "input": HELLO},
                                   headers={"authorization": f"Bearer {key.text}"}))  # fmt: skip
    answers.append(await http.post(f"/threads/{thread['thread_id']}/runs/wait", json={"assistant_id": "fails", "input": HELLO},
                                   headers={"x-api-key": key.text}))  # fmt: skip
    answers.append(await http.get(f"/threads/{thread['thread_id']}/history", headers={"x-api-key": key.text}))
    secret = key.text.split("_", 2)[2]
    said = "".join(json.dumps(dict(each.headers)) + each.text for each in answers)
    assert secret not in said
    assert caplog.records
    assert [record.name for record in caplog.records if secret in record.getMessage()] == []
    assert files_holding(tmp_path, secret.encode()) == []
    assert files_holding(tmp_path, b"hello") != [], "the search finds what is there"
