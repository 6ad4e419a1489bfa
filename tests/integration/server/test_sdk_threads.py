"""Every call of the Python SDK's `threads`, against a real server."""

from __future__ import annotations

import uuid

import pytest
from langgraph_sdk.errors import ConflictError, NotFoundError, UnprocessableEntityError
from tests.integration.server.conftest import Server

HI = {"messages": [{"role": "user", "content": "hi"}]}


async def test_a_thread_is_created_read_changed_and_erased(server: Server) -> None:
    threads = server.client.threads
    made = await threads.create(metadata={"a": 1}, graph_id="echo")
    assert made["status"] == "idle"
    assert made["metadata"] == {"a": 1, "graph_id": "echo"}
    changed = await threads.update(made["thread_id"], metadata={"b": 2})
    assert changed["metadata"] == {"a": 1, "b": 2, "graph_id": "echo"}
    assert await threads.update(made["thread_id"], metadata={"c": 3}, return_minimal=True) is None
    assert (await threads.get(made["thread_id"]))["metadata"]["c"] == 3
    await threads.delete(made["thread_id"])
    with pytest.raises(NotFoundError, match=made["thread_id"]):
        await threads.get(made["thread_id"])


async def test_a_thread_id_is_taken_once(server: Server) -> None:
    thread_id = str(uuid.uuid4())
    await server.client.threads.create(thread_id=thread_id)
    with pytest.raises(ConflictError):
        await server.client.threads.create(thread_id=thread_id)
    assert (await server.client.threads.create(thread_id=thread_id, if_exists="do_nothing"))["thread_id"] == thread_id


async def test_a_thread_id_that_is_no_uuid_is_refused_by_field(server: Server) -> None:
    with pytest.raises(UnprocessableEntityError, match="thread_id"):
        await server.client.threads.get("not-a-uuid")
    with pytest.raises(UnprocessableEntityError, match="thread_id"):
        await server.client.threads.create(thread_id="not-a-uuid")


async def test_a_thread_has_the_title_of_its_first_message_unless_it_was_given_one(server: Server) -> None:
    plain = await server.client.threads.create(graph_id="echo")
    named = await server.client.threads.create(metadata={"title": "Mine"}, graph_id="echo")
    for said in ("Why were stepwells built?", "And when?"):
        for thread in (plain, named):
            await server.client.runs.wait(thread["thread_id"], "echo", input={"messages": [{"role": "user", "content": said}]})
    titles = [(await server.client.threads.get(thread["thread_id"]))["metadata"]["title"] for thread in (plain, named)]
    assert titles == ["Why were stepwells built?", "Mine"]


async def test_threads_are_found_by_metadata_values_ids_and_status(server: Server) -> None:
    threads = server.client.threads
    one, two = await threads.create(metadata={"n": 1}), await threads.create(metadata={"n": 2})
    await server.client.runs.wait(one["thread_id"], "echo", input={**HI, "count": 7})

    assert [found["thread_id"] for found in await threads.search(metadata={"n": 2})] == [two["thread_id"]]
    assert [found["thread_id"] for found in await threads.search(metadata={"graph_id": "echo"})] == [one["thread_id"]]
    assert [found["thread_id"] for found in await threads.search(values={"count": 7})] == [one["thread_id"]]
    assert len(await threads.search(ids=[one["thread_id"], two["thread_id"]], status="idle")) == 2
    assert await threads.count(metadata={"n": 1}) == 1
    ordered = await threads.search(sort_by="updated_at", sort_order="desc", select=["thread_id"])
    assert ordered[0] == {"thread_id": one["thread_id"]}


async def test_a_search_extracts_parts_by_path(server: Server) -> None:
    thread = await server.client.threads.create()
    await server.client.runs.wait(thread["thread_id"], "echo", input=HI)
    found = await server.client.threads.search(
        select=["thread_id"], extract={"last": "values.messages[-1].content", "none": "values.missing[3].x"}
    )
    assert found == [{"thread_id": thread["thread_id"], "extracted": {"last": "You said: hi", "none": None}}]


async def test_state_history_and_a_branch_from_the_past(server: Server) -> None:
    client, threads = server.client, server.client.threads
    thread_id = (await threads.create())["thread_id"]
    await client.runs.wait(thread_id, "echo", input=HI)

    state = await threads.get_state(thread_id)
    assert state["next"] == []
    assert state["values"]["log"] == ["heard", "answered"]
    history = await threads.get_history(thread_id, limit=10)
    assert history[0]["checkpoint"] == state["checkpoint"]
    before_answer = next(entry for entry in history if entry["next"] == ["answer"])
    assert (await threads.get_state(thread_id, before_answer["checkpoint"]))["values"]["log"] == ["heard"]
    by_id = await threads.get_state(thread_id, checkpoint_id=before_answer["checkpoint"]["checkpoint_id"])
    assert by_id["values"]["log"] == ["heard"]
    older = await threads.get_history(thread_id, before=before_answer["checkpoint"])
    assert older
    assert all(entry["metadata"]["step"] < before_answer["metadata"]["step"] for entry in older)
    assert set(await threads.get_state(thread_id, select=["values.log", "next"])) == {"values", "next"}

    written = await threads.update_state(thread_id, {"log": ["by hand"]}, as_node="hear")
    assert written["checkpoint"]["checkpoint_id"]
    assert (await threads.get_state(thread_id))["values"]["log"] == ["heard", "answered", "by hand"]
    again = await client.runs.wait(thread_id, "echo", checkpoint=before_answer["checkpoint"])
    assert again["log"] == ["heard", "answered"]


async def test_a_copy_has_the_history_and_a_life_of_its_own(server: Server) -> None:
    thread_id = (await server.client.threads.create())["thread_id"]
    await server.client.runs.wait(thread_id, "echo", input=HI)
    copy = await server.client.threads.copy(thread_id)
    assert copy["thread_id"] != thread_id
    await server.client.runs.wait(copy["thread_id"], "echo", input=HI)
    assert len((await server.client.threads.get_state(copy["thread_id"]))["values"]["messages"]) == 4
    assert len((await server.client.threads.get_state(thread_id))["values"]["messages"]) == 2


async def test_a_thread_is_created_with_a_past(server: Server) -> None:
    steps = [
        {"updates": [{"values": HI, "as_node": "__start__"}]},
        {"updates": [{"values": {"log": ["x"]}, "as_node": "hear"}]},
    ]
    thread = await server.client.threads.create(graph_id="echo", supersteps=steps)
    state = await server.client.threads.get_state(thread["thread_id"])
    assert state["values"]["log"] == ["x"]
    assert state["next"] == ["answer"]


async def test_pruning_keeps_the_latest_or_deletes(server: Server) -> None:
    threads = server.client.threads
    thread_id = (await threads.create())["thread_id"]
    await server.client.runs.wait(thread_id, "echo", input=HI)
    assert await threads.prune([thread_id], strategy="keep_latest") == {"pruned_count": 1}
    assert len(await threads.get_history(thread_id)) == 1
    assert await threads.prune([thread_id, str(uuid.uuid4())]) == {"pruned_count": 1}
    with pytest.raises(NotFoundError):
        await threads.get(thread_id)


async def test_a_thread_stream_tells_of_all_runs(server: Server) -> None:
    thread_id = (await server.client.threads.create())["thread_id"]
    await server.client.runs.wait(thread_id, "echo", input=HI)
    await server.client.runs.wait(thread_id, "echo", input=HI)
    ends = []
    async for part in await server.client.threads.join_stream(thread_id, last_event_id="-1", stream_mode="lifecycle"):
        assert part.event in ("metadata", "end")
        ends += [part] if part.event == "end" else []
        if len(ends) == 2:
            break
    assert ends[0].data["run_id"] != ends[1].data["run_id"]
