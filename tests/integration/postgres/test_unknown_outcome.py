"""A database that does not say whether it has stored a message: no client repeats it by itself, and it is there once."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from langgraph_sdk.errors import LangGraphError
from tests.integration.clients.test_js_sdk import packages, run_node
from tests.integration.runs.graphs import two
from tests.integration.server.conftest import Server, serve
from tests.support.postgres import PostgresCluster

from stepwell.database.postgres import database as database_module
from stepwell.database.postgres.persistence import PostgresPersistence

__all__ = ["packages"]

PATIENCE_S = 90.0
SCRIPT = """
import { Client } from "@langchain/langgraph-sdk";

const client = new Client({ apiUrl: process.env.SERVER_URL });
try {
  await client.runs.create(process.env.THREAD, "two", { input: { words: ["say"] } });
  console.log("taken");
} catch (error) {
  console.log(`refused ${error.status}`);
}
"""


@pytest.fixture
async def server(tmp_path: Path, postgres_url: str) -> AsyncIterator[Server]:
    async with serve(tmp_path, graphs={"two": two}, persistence=PostgresPersistence(postgres_url)) as running:
        yield running


@asynccontextmanager
async def locked(url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Somebody else has locked the table of runs, for longer than the server lets a request wait."""
    monkeypatch.setattr(database_module, "_ANSWER_S", 1.0)
    async with await psycopg.AsyncConnection.connect(url) as other:
        await other.execute("LOCK TABLE runs IN SHARE ROW EXCLUSIVE MODE")
        yield
        await other.rollback()
    monkeypatch.setattr(database_module, "_ANSWER_S", PATIENCE_S)


async def messages(http: httpx.AsyncClient, thread_id: str) -> list[dict[str, Any]]:
    """The thread's runs, once what was handed in has been stored and has ended."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            runs: list[dict[str, Any]] = (await http.get(f"/threads/{thread_id}/runs")).json()
            if runs and all(run["status"] == "success" for run in runs):
                return runs
            await asyncio.sleep(0.05)


async def new_thread(http: httpx.AsyncClient) -> str:
    return str((await http.post("/threads", json={})).json()["thread_id"])


async def test_an_unknown_outcome_says_so_and_asks_nobody_to_retry(
    server: Server, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread_id = await new_thread(server.http)
    async with locked(postgres_url, monkeypatch):
        told = await server.http.post(f"/threads/{thread_id}/runs", json={"assistant_id": "two", "input": {"words": ["say"]}})
    assert (told.status_code, told.json()["type"]) == (409, "urn:stepwell:problem:outcome-unknown")
    assert "retry-after" not in told.headers
    assert "may have been stored" in told.json()["detail"]
    assert len(await messages(server.http, thread_id)) == 1


async def test_the_python_sdk_leaves_the_message_once(
    server: Server, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread_id = await new_thread(server.http)
    async with locked(postgres_url, monkeypatch):
        with pytest.raises(LangGraphError, match="may have been stored"):
            await server.client.runs.create(thread_id, "two", input={"words": ["say"]})
    assert len(await messages(server.http, thread_id)) == 1


@pytest.mark.timeout(300)
async def test_the_javascript_sdk_leaves_the_message_once(
    server: Server, postgres_url: str, monkeypatch: pytest.MonkeyPatch, packages: Path, tmp_path: Path
) -> None:
    """It repeats whatever it does not take for final, four times."""
    thread_id = await new_thread(server.http)
    (tmp_path / "send.mjs").write_text(SCRIPT)
    (tmp_path / "node_modules").symlink_to(packages / "node_modules")
    environment = {"PATH": os.environ["PATH"], "SERVER_URL": server.url, "THREAD": thread_id, "NO_PROXY": "127.0.0.1"}
    async with locked(postgres_url, monkeypatch):
        ended, told = await asyncio.to_thread(run_node, ["send.mjs"], tmp_path, environment)
    assert (ended, told.strip()) == (0, "refused 409")
    assert len(await messages(server.http, thread_id)) == 1


async def test_a_request_with_a_key_is_repeated_until_it_is_answered_and_stored_once(
    server: Server, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread_id, headers = await new_thread(server.http), {"Idempotency-Key": str(uuid.uuid4())}
    body = {"assistant_id": "two", "input": {"words": ["say"]}}
    async with locked(postgres_url, monkeypatch):
        told = [await server.http.post(f"/threads/{thread_id}/runs", json=body, headers=headers) for _ in range(3)]
        assert [each.status_code for each in told] == [409, 503, 503], (
            "the repeated ones wait behind the first, and are not sent"
        )
        assert "was not sent to it" in told[-1].json()["detail"]
    last = await server.http.post(f"/threads/{thread_id}/runs", json=body, headers=headers, timeout=PATIENCE_S)
    (run,) = await messages(server.http, thread_id)
    assert (last.status_code, last.json()["run_id"]) == (200, run["run_id"])


async def test_no_client_is_told_where_the_database_is(
    tmp_path: Path, postgres_cluster: PostgresCluster, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(tmp_path, graphs={"two": two}, persistence=PostgresPersistence(postgres_url)) as server:
        thread_id = await new_thread(server.http)
        postgres_cluster.stop()
        try:
            body = {"assistant_id": "two", "input": {"words": ["say"]}}
            told = await server.http.post(f"/threads/{thread_id}/runs", json=body, timeout=PATIENCE_S)
        finally:
            postgres_cluster.start()
        assert told.status_code in (409, 503)
        named = psycopg.conninfo.conninfo_to_dict(postgres_url)
        for place in (named.get("host"), named.get("port"), named.get("dbname"), named.get("user")):
            assert not place or str(place) not in told.text, told.text
