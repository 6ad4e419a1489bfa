"""Connections outlast a restart, a new installation key and a killed worker, on SQLite and on Postgres."""

from __future__ import annotations

import base64
import json
import os
import stat
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.integration.connections.world import MODEL, address_of, answer, chosen, keys_used, last_said, model_server, one_user
from tests.integration.postgres.test_servers_and_worker import starting
from tests.integration.served.process import serve
from tests.support.loopback import Asked, Reply
from tests.support.waiting import wait_until

from stepwell.connections.encryption import FILE
from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.errors import ConfigurationError

KEY = "sk-lasting-0123456789"


def new_key() -> str:
    return base64.b64encode(os.urandom(32)).decode()


async def test_a_connection_is_there_after_a_restart_and_its_file_is_for_its_owner_alone(tmp_path: Path):
    with model_server() as server:
        async with one_user(tmp_path) as user:
            made = await user.connect(address_of(server), KEY)
            await user.send("PUT", "/api/connections/choice", json={"scope": "mine", "plan": chosen(made)})
        async with one_user(tmp_path) as user:
            said = await user.run(await user.thread())
            listed = await user.listed()
    assert last_said(said.json())["content"] == "ready"
    assert listed["choice"]["plan"]["connection"] == made["id"]
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


async def test_a_lost_installation_key_is_named_and_entering_the_key_again_helps(tmp_path: Path):
    with model_server() as server:
        async with one_user(tmp_path) as user:
            made = await user.connect(address_of(server), KEY, label="Ours")
        (tmp_path / FILE).unlink()
        async with one_user(tmp_path) as user:
            failed = await user.run(await user.thread())
            await user.send("PATCH", f"/api/connections/{made['id']}", json={"key": KEY})
            said = await user.run(await user.thread())
    assert failed.json()["__error__"]["message"] == (
        "The key of the connection 'Ours' cannot be read: it was encrypted with another STEPWELL_SECRETS_KEY, or is damaged. "
        "Enter the key again."
    )
    assert last_said(said.json())["content"] == "ready"


def _replace(file: Path, content: bytes | None) -> None:
    file.unlink()
    if content is None:
        file.mkdir()
    else:
        file.write_bytes(content)


@pytest.mark.parametrize("content", [b"garbage", b"", b"\xff\xfe", None], ids=["garbage", "empty", "not text", "a folder"])
async def test_a_damaged_installation_key_is_named_everywhere(tmp_path: Path, content: bytes | None):
    with model_server() as server:
        async with one_user(tmp_path) as user:
            made = await user.connect(address_of(server), KEY, label="Ours")
        _replace(tmp_path / FILE, content)
        async with one_user(tmp_path) as user:
            body = {"provider": "openai-compatible", "base_url": address_of(server), "key": KEY}
            stored = [
                await user.send("POST", "/api/connections", json=body),
                await user.send("PATCH", f"/api/connections/{made['id']}", json={"key": KEY}),
            ]
            tested = await user.send("POST", "/api/connections/test", json=chosen(made))
            run = await user.run(await user.thread())
            await user.listed()
    assert [each.status_code for each in stored] == [422, 422]
    assert tested.status_code == 503
    for said in (*stored, tested, run):
        assert "the file 'secrets.key' in the data folder is damaged" in said.text
    assert not server.asked


async def test_on_postgres_keys_are_stored_only_with_an_installation_key(postgres_url: str, tmp_path: Path):
    with model_server() as server:
        async with one_user(tmp_path, persistence=PostgresPersistence(postgres_url)) as user:
            body = {"provider": "openai-compatible", "base_url": address_of(server), "models": [MODEL]}
            refused = await user.send("POST", "/api/connections", json={**body, "key": KEY})
            listed = await user.listed()
            without_key = await user.send("POST", "/api/connections", json=body)
    assert refused.status_code == 422
    assert "STEPWELL_SECRETS_KEY" in refused.json()["detail"]
    assert (listed["can_store"], listed["why_not"]) == (False, refused.json()["detail"])
    assert without_key.status_code == 201
    assert not (tmp_path / FILE).exists()


async def test_on_postgres_an_installation_key_is_replaced_without_entering_keys_again(postgres_url: str, tmp_path: Path):
    old, new = new_key(), new_key()
    with model_server() as server:
        for number, keys in enumerate((old, f"{new},{old}", new)):
            environment = {"STEPWELL_SECRETS_KEY": keys}
            persistence = PostgresPersistence(postgres_url)
            async with one_user(tmp_path, persistence=persistence, environment=environment) as user:
                if number == 0:
                    await user.connect(address_of(server), KEY)
                said = await user.run(await user.thread())
                assert last_said(said.json())["content"] == "ready"
    assert keys_used(server) == [KEY] * 3


async def test_a_server_with_an_invalid_installation_key_does_not_start(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="STEPWELL_SECRETS_KEY"):
        async with one_user(tmp_path, environment={"STEPWELL_SECRETS_KEY": "too short"}):
            pass


PROJECT = """
from langgraph.graph import START, MessagesState, StateGraph
from stepwell.models import resolve_model

def make():
    model = resolve_model(None)

    async def talk(state):
        return {"messages": [await model.ainvoke(state["messages"])]}

    return StateGraph(MessagesState).add_node("talk", talk).add_edge(START, "talk")
"""


def test_a_run_of_a_killed_worker_is_finished_by_another_with_the_same_connection(postgres_url: str, tmp_path: Path):
    first, release = threading.Event(), threading.Event()

    def behave(asked: Asked) -> Reply:
        if asked.method == "POST" and not first.is_set():
            first.set()
            release.wait(120)
        return answer(asked)

    graphs = tmp_path / "langgraph.json"
    graphs.write_text(json.dumps({"graphs": {"talk": "./talk.py:make"}, "dependencies": ["."]}))
    (tmp_path / "talk.py").write_text(PROJECT)
    folders = [tmp_path / name for name in ("server", "one", "other")]
    installation_key = new_key()
    for folder in folders:
        folder.mkdir()
        (folder / ".env").write_text(f"STEPWELL_SECRETS_KEY={installation_key}\n")
    only = ("--database-url", postgres_url, "--concurrency", "0")
    try:
        with (
            ExitStack() as opened,
            model_server(behave) as models,
            serve(folders[0], *only, graphs=graphs) as server,
        ):
            http = opened.enter_context(httpx.Client(base_url=server.url, timeout=60))
            body = {"provider": "openai-compatible", "base_url": address_of(models), "key": KEY, "models": [MODEL]}
            assert http.post("/api/connections", json=body).status_code == 201
            thread = http.post("/threads", json={}).json()["thread_id"]
            order: dict[str, Any] = {"assistant_id": "talk", "input": {"messages": [{"role": "user", "content": "Hi"}]}}
            run = http.post(f"/threads/{thread}/runs", json=order).json()["run_id"]
            with starting(folders[1], postgres_url, "--graphs", str(graphs)) as (worker, said):
                wait_until(first.is_set, f"the first worker calls the model: {said.read_text()}")
                worker.kill()
            release.set()
            with starting(folders[2], postgres_url, "--graphs", str(graphs)):
                ended = http.get(f"/threads/{thread}/runs/{run}/join", timeout=120).json()
    finally:
        release.set()
    assert last_said(ended)["response_metadata"]["stepwell_model"]["model"] == MODEL, ended
    assert set(keys_used(models)) == {KEY}
    assert len(keys_used(models)) >= 2
