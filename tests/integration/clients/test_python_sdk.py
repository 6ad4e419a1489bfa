"""Every call of the `langgraph-sdk` client, against a server process.

Each test drives one part of the client through `Recording`, and fails when the client has a public method that was not called.
What the calls mean in detail is tested in tests/integration/server; here it is shown that each of them arrives and is answered.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

HI = {"messages": [{"role": "user", "content": "hi"}]}
LONG = {"count": 1000, "seconds": 0.02}

NOT_DRIVEN = {
    "threads": {"stream"},  # a protocol of its own: test_thread_stream.py
}


class Recording:
    """A part of the client that remembers which of its methods were asked for."""

    def __init__(self, part: Any) -> None:
        self._part = part
        self._called: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self._called.add(name)
        return getattr(self._part, name)

    def assert_complete(self, noun: str) -> None:
        public = {name for name in dir(self._part) if not name.startswith("_") and callable(getattr(self._part, name))}
        assert public - self._called == NOT_DRIVEN.get(noun, set())


async def test_every_call_of_assistants(client: LangGraphClient) -> None:
    assistants: Any = Recording(client.assistants)
    team = str(uuid.uuid4())
    made = await assistants.create(
        "nested",
        {"tags": ["t"], "configurable": {"tone": "dry"}},
        metadata={"team": team},
        name="Dry",
        description="says little",
    )
    assert await assistants.get(made["assistant_id"]) == made
    assert (await assistants.get("nested"))["metadata"]["created_by"] == "system"
    changed = await assistants.update(made["assistant_id"], name="Dryer", context=None, metadata={"year": 1})
    assert (changed["version"], changed["name"], changed["config"]) == (2, "Dryer", made["config"])
    assert [each["version"] for each in await assistants.get_versions(made["assistant_id"])] == [2, 1]
    assert (await assistants.set_latest(made["assistant_id"], 1))["name"] == "Dry"
    found = await assistants.search(metadata={"team": team}, graph_id="nested", name="Dry")
    assert [each["assistant_id"] for each in found] == [made["assistant_id"]]
    assert await assistants.count(metadata={"team": team}) == 1

    schemas = await assistants.get_schemas(made["assistant_id"])
    assert {"input_schema", "output_schema", "state_schema", "config_schema", "context_schema"} <= set(schemas)
    graph = await assistants.get_graph(made["assistant_id"], xray=1)
    assert any("inner" in node["id"] for node in graph["nodes"])
    assert set(await assistants.get_subgraphs(made["assistant_id"], recurse=True)) == {"inner"}
    assert set(await assistants.get_subgraphs(made["assistant_id"], namespace="inner")) == {"inner"}

    await assistants.delete(made["assistant_id"])
    with pytest.raises(NotFoundError, match=made["assistant_id"]):
        await assistants.get(made["assistant_id"])
    assistants.assert_complete("assistants")


async def test_every_call_of_threads(client: LangGraphClient) -> None:
    threads: Any = Recording(client.threads)
    mark = str(uuid.uuid4())
    thread_id = (await threads.create(metadata={"mark": mark}, ttl=60))["thread_id"]
    await client.runs.wait(thread_id, "nested", input={**HI, "count": 1})
    assert (await threads.get(thread_id))["status"] == "idle"
    assert (await threads.update(thread_id, metadata={"b": 2}))["metadata"]["mark"] == mark
    assert [each["thread_id"] for each in await threads.search(metadata={"mark": mark}, sort_by="updated_at")] == [thread_id]
    assert await threads.count(metadata={"mark": mark}) == 1

    state = await threads.get_state(thread_id, subgraphs=True)
    assert state["values"]["log"][-2:] == ["ticked", "answered"]
    history = await threads.get_history(thread_id, limit=20)
    assert history[0]["checkpoint"] == state["checkpoint"]
    written = await threads.update_state(thread_id, {"data": {"by": "hand"}}, as_node="inner")
    assert (await threads.get_state(thread_id, written["checkpoint"]))["values"]["data"] == {"by": "hand"}
    copy = await threads.copy(thread_id)
    assert (await threads.get_state(copy["thread_id"]))["values"]["data"] == {"by": "hand"}

    events = threads.join_stream(thread_id, last_event_id="-1", stream_mode=["lifecycle", "state_update"])
    async with asyncio.timeout(60):
        async for part in await events:
            if part.event == "end":
                break
    assert await threads.prune([copy["thread_id"]]) == {"pruned_count": 1}
    await threads.delete(thread_id)
    assert await threads.count(metadata={"mark": mark}) == 0
    threads.assert_complete("threads")


async def test_every_call_of_runs(client: LangGraphClient) -> None:
    runs: Any = Recording(client.runs)
    thread_id = (await client.threads.create())["thread_id"]
    asked = await runs.wait(thread_id, "asks", input=HI)
    (question,) = asked["__interrupt__"]
    parts = [part async for part in runs.stream(thread_id, "asks", command={"resume": {question["id"]: "this"}})]
    assert parts[-2].data["log"] == ["heard", "told this", "answered"]
    replayed = runs.join_stream(thread_id, parts[0].data["run_id"], last_event_id=parts[1].id)
    assert [part async for part in replayed] == parts[2:]

    run = await runs.create(thread_id, "ticks", input=LONG, metadata={"why": "test"})
    queued = await runs.create(thread_id, "echo", input=HI)
    await runs.cancel(thread_id, run["run_id"], wait=True)
    assert (await runs.join(thread_id, queued["run_id"]))["log"][-1] == "answered"
    assert (await runs.get(thread_id, run["run_id"]))["status"] == "interrupted"
    assert [each["run_id"] for each in await runs.list(thread_id, limit=2)] == [queued["run_id"], run["run_id"]]
    assert [each["run_id"] for each in await runs.list(thread_id, status="interrupted")] == [run["run_id"]]
    await runs.delete(thread_id, queued["run_id"])
    assert queued["run_id"] not in [each["run_id"] for each in await runs.list(thread_id)]

    batch = await runs.create_batch([{"assistant_id": "ticks", "input": LONG, "on_completion": "keep"} for _ in range(2)])
    await runs.cancel_many(run_ids=[batch[0]["run_id"]], thread_id=batch[0]["thread_id"])
    await runs.cancel_many(thread_id=batch[1]["thread_id"], status="all")
    for each in batch:
        await runs.join(each["thread_id"], each["run_id"])
        assert (await runs.get(each["thread_id"], each["run_id"]))["status"] == "interrupted"
    runs.assert_complete("runs")


async def test_every_call_of_store(client: LangGraphClient) -> None:
    store: Any = Recording(client.store)
    space = ["people", str(uuid.uuid4())]
    await store.put_item(space, "likes", {"drink": "tea"}, index=False, ttl=60)
    assert (await store.get_item(space, "likes", refresh_ttl=True))["value"] == {"drink": "tea"}
    found = await store.search_items(space[:1], filter={"drink": {"$eq": "tea"}})
    assert space in [each["namespace"] for each in found["items"]]
    assert space in (await store.list_namespaces(prefix=space[:1], max_depth=2))["namespaces"]
    await store.delete_item(space, "likes")
    assert await store.get_item(space, "likes") is None
    store.assert_complete("store")


async def test_the_stream_of_version_2_brings_the_same_events(client: LangGraphClient) -> None:
    thread_id = (await client.threads.create())["thread_id"]
    stream = client.runs.stream(
        thread_id, "nested", input=HI, stream_mode=["values", "updates"], stream_subgraphs=True, version="v2"
    )
    parts = [part async for part in stream]
    assert {part["type"] for part in parts} >= {"metadata", "values", "updates"}
    assert any(part["ns"] for part in parts if part["type"] == "updates")


def test_the_client_without_asyncio_does_the_same(url: str) -> None:
    with get_sync_client(url=url, api_key=None) as client:
        thread_id = client.threads.create(metadata={"by": "sync"})["thread_id"]
        parts = list(client.runs.stream(thread_id, "echo", input=HI, stream_mode=["messages-tuple", "values"]))
        pieces = [part.data[0]["content"] for part in parts if part.event == "messages"]
        assert "".join(pieces) == "You said: hi, I think"
        assert len(pieces) > 2
        run = client.runs.create(thread_id, "echo", input=HI)
        assert client.runs.join(thread_id, run["run_id"])["log"] == ["heard", "answered"] * 2
        assert [part.event for part in client.runs.join_stream(thread_id, run["run_id"])][-1] == "end"
        assert len(client.threads.get_history(thread_id, limit=50)) >= 8
        assert client.assistants.search(graph_id="echo")[0]["graph_id"] == "echo"
        client.store.put_item(["sync"], "k", {"v": 1})
        assert client.store.get_item(["sync"], "k")["value"] == {"v": 1}


async def test_every_call_of_crons(client: LangGraphClient) -> None:
    crons: Any = Recording(client.crons)
    team = str(uuid.uuid4())
    thread_id = (await client.threads.create())["thread_id"]
    made = await crons.create("nested", schedule="0 0 1 1 *", timezone="Europe/Berlin", input=HI, metadata={"team": team})
    on_thread = await crons.create_for_thread(thread_id, "nested", schedule="@yearly", input=HI, metadata={"team": team})
    found = await crons.search(metadata={"team": team}, sort_by="created_at", sort_order="asc")
    assert [each["cron_id"] for each in found] == [made["cron_id"], on_thread["cron_id"]]
    assert await crons.count(metadata={"team": team}) == 2
    assert await crons.count(thread_id=thread_id) == 1
    assert (await crons.update(made["cron_id"], enabled=False))["next_run_date"] is None
    for each in found:
        await crons.delete(each["cron_id"])
    assert await crons.count(metadata={"team": team}) == 0
    crons.assert_complete("crons")
