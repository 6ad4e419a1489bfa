"""Threads: made, found, changed, copied, forgotten, each only by whom they belong to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from stepwell.database.records.types import Page, ThreadFilter
from stepwell.errors import AlreadyExistsError, InvalidRequestError, NotFoundError, ThreadBusyError

from .thread_world import ANN, BOB, World, open_world

CHOSEN = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
NOBODYS = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(tmp_path) as world:
        yield world


async def test_a_new_thread_is_idle_and_has_what_it_was_given(world: World) -> None:
    thread = await world.threads.create(ANN, metadata={"topic": "wells"}, graph_id="words")
    assert (thread.status, thread.owner, thread.values) == ("idle", ANN, None)
    assert thread.metadata == {"topic": "wells", "graph_id": "words"}
    assert await world.threads.get(ANN, thread.thread_id) == thread


@pytest.mark.parametrize("wrong", ["abc", "", "../../etc", "6f9619ff", "x" * 10_000])
async def test_an_id_that_is_no_uuid_is_refused(world: World, wrong: str) -> None:
    with pytest.raises(InvalidRequestError, match="UUID"):
        await world.threads.create(ANN, thread_id=wrong)
    assert await world.threads.count(None, ThreadFilter()) == 0


async def test_a_chosen_id_is_one_thread_however_it_is_written(world: World) -> None:
    await world.threads.create(ANN, thread_id=CHOSEN.upper())
    assert (await world.threads.get(ANN, CHOSEN)).thread_id == CHOSEN


async def test_a_taken_id_is_refused_or_given_back_as_asked(world: World) -> None:
    first = await world.threads.create(ANN, thread_id=CHOSEN, metadata={"n": 1})
    with pytest.raises(AlreadyExistsError):
        await world.threads.create(ANN, thread_id=CHOSEN)
    again = await world.threads.create(ANN, thread_id=CHOSEN, metadata={"n": 2}, if_exists="do_nothing")
    assert again == first


async def test_somebody_elses_id_is_taken_and_nothing_of_it_is_shown(world: World) -> None:
    await world.threads.create(ANN, thread_id=CHOSEN, metadata={"private": "yes"})
    with pytest.raises(AlreadyExistsError) as refused:
        await world.threads.create(BOB, thread_id=CHOSEN, if_exists="do_nothing")
    assert "private" not in str(refused.value)


async def test_an_unknown_graph_is_refused_before_there_is_a_thread(world: World) -> None:
    with pytest.raises(NotFoundError, match="graph 'nope'"):
        await world.threads.create(ANN, graph_id="nope")
    assert await world.threads.count(None, ThreadFilter()) == 0


async def test_supersteps_give_a_new_thread_its_past(world: World) -> None:
    steps = [
        {"updates": [{"values": {"messages": [{"role": "user", "content": "hi"}]}, "as_node": "__start__"}]},
        {"updates": [{"values": {"messages": [{"type": "ai", "content": "yo"}]}, "as_node": "reply"}]},
    ]
    thread = await world.threads.create(ANN, graph_id="chat", supersteps=steps)
    assert thread.status == "idle"
    assert thread.values is not None
    assert [(message["type"], message["content"]) for message in thread.values["messages"]] == [("human", "hi"), ("ai", "yo")]
    history = await world.threads.history(ANN, thread.thread_id)
    assert [state["metadata"]["source"] for state in history] == ["update", "update"]


async def test_a_superstep_may_be_a_command(world: World) -> None:
    steps = [
        {"updates": [{"values": {"words": ["asked"]}, "as_node": "__input__"}]},
        {"updates": [{"command": {"update": {"words": ["told"]}, "goto": "outer"}, "as_node": "first"}]},
    ]
    thread = await world.threads.create(ANN, graph_id="words", supersteps=steps)
    state = await world.threads.state(ANN, thread.thread_id)
    assert state["values"]["words"] == ["told"]
    assert state["next"] == ["outer"]
    assert thread.status == "interrupted"


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([{"updates": [{"values": {"words": ["x"]}, "as_node": "nowhere"}]}], "nowhere"),
        ([{"updates": [{"values": {"unknown": 1}, "as_node": "first"}]}], "unknown"),
        ([{"updates": []}], "no updates"),
        ([{}], "no updates"),
        (["text"], "no updates"),
        ([{"updates": ["text"]}], "object"),
        ([{"updates": [{"values": {"words": ["x"]}}]}], "as_node"),
        ([{"updates": [{"command": {"resume": 1}, "as_node": "first"}]}], "run"),
        ([{"updates": [{"command": {"goto": [7]}, "as_node": "first"}]}], "goto"),
    ],
)
async def test_a_past_that_does_not_fit_leaves_no_thread(world: World, steps: Any, reason: str) -> None:
    with pytest.raises(InvalidRequestError, match=reason):
        await world.threads.create(ANN, thread_id=CHOSEN, graph_id="words", supersteps=steps)
    with pytest.raises(NotFoundError):
        await world.threads.get(ANN, CHOSEN)


async def test_a_past_needs_a_graph(world: World) -> None:
    with pytest.raises(InvalidRequestError, match="graph_id"):
        await world.threads.create(ANN, supersteps=[{"updates": [{"values": {}, "as_node": "first"}]}])


async def test_a_thread_that_is_there_gets_no_second_past(world: World) -> None:
    steps = [{"updates": [{"values": {"words": ["once"]}, "as_node": "first"}]}]
    for _ in range(2):
        thread = await world.threads.create(ANN, thread_id=CHOSEN, graph_id="words", supersteps=steps, if_exists="do_nothing")
    assert thread.values == {"words": ["once"]}


async def test_metadata_is_merged(world: World) -> None:
    thread = await world.threads.create(ANN, metadata={"a": 1, "b": 1})
    assert (await world.threads.update(ANN, thread.thread_id, {"b": 2, "c": 3})).metadata == {"a": 1, "b": 2, "c": 3}


async def test_search_and_count_see_ones_own(world: World) -> None:
    for owner, topic in ((ANN, "x"), (ANN, "y"), (BOB, "x")):
        await world.threads.create(owner, metadata={"topic": topic})
    wanted = ThreadFilter(metadata={"topic": "x"})
    assert [thread.owner for thread in await world.threads.search(ANN, wanted, Page())] == [ANN]
    assert [await world.threads.count(owner, wanted) for owner in (ANN, BOB, None)] == [1, 1, 2]


async def test_a_copy_goes_its_own_way(world: World) -> None:
    thread = await world.threads.create(ANN)
    await world.run(thread.thread_id, "words", {"way": "asks", "words": []})
    copy = await world.threads.copy(ANN, thread.thread_id)
    assert copy.thread_id != thread.thread_id
    await world.answer(copy.thread_id, "words", "red")
    assert (await world.threads.state(ANN, copy.thread_id))["values"]["words"] == ["first", "red"]
    assert (await world.threads.state(ANN, thread.thread_id))["values"]["words"] == ["first"]
    assert (await world.threads.state(ANN, thread.thread_id))["interrupts"]


@pytest.mark.parametrize("thread_of", [BOB, None])
async def test_what_is_not_ones_own_is_not_found(world: World, thread_of: str | None) -> None:
    """Tenancy: another user's thread and no thread at all look the same, in every call."""
    thread_id = NOBODYS
    if thread_of is not None:
        thread_id = (await world.threads.create(thread_of, thread_id=NOBODYS)).thread_id
        await world.run(thread_id, "words", {"way": "asks"}, owner=thread_of)
    threads, said = world.threads, set()
    for call in (
        lambda: threads.get(ANN, thread_id),
        lambda: threads.update(ANN, thread_id, {"a": 1}),
        lambda: threads.delete(ANN, thread_id),
        lambda: threads.copy(ANN, thread_id),
        lambda: threads.state(ANN, thread_id),
        lambda: threads.state(ANN, thread_id, checkpoint={"checkpoint_id": "x"}, subgraphs=True),
        lambda: threads.history(ANN, thread_id),
        lambda: threads.update_state(ANN, thread_id, values={"words": ["mine"]}),
    ):
        with pytest.raises(NotFoundError) as missing:
            await call()
        said.add(str(missing.value))
    assert len(said) == 1
    assert await threads.prune(ANN, [thread_id], "delete") == await threads.prune(ANN, [thread_id], "keep_latest") == 0
    if thread_of is not None:
        assert (await threads.state(thread_of, thread_id))["values"]["words"] == ["first"]


async def test_a_deleted_thread_leaves_no_checkpoint_behind(world: World) -> None:
    thread = await world.threads.create(ANN, thread_id=CHOSEN)
    await world.run(thread.thread_id, "words", {"way": "ends"})
    await world.threads.delete(ANN, CHOSEN)
    await world.threads.create(ANN, thread_id=CHOSEN, graph_id="words")
    assert (await world.threads.state(ANN, CHOSEN))["values"] == {}
    assert await world.threads.history(ANN, CHOSEN) == []


@pytest.mark.parametrize("graph_id", ["chat", "growing"])
async def test_pruning_keeps_the_newest_state_whole(world: World, graph_id: str) -> None:
    """Also where messages are stored step by step: their beginning is in the checkpoints that go."""
    thread = await world.threads.create(ANN)
    for text in ("one", "two", "three"):
        await world.run(thread.thread_id, graph_id, {"messages": [{"role": "user", "content": text}]})
    before = await world.threads.state(ANN, thread.thread_id)
    assert len(await world.threads.history(ANN, thread.thread_id, limit=100)) == 9
    assert await world.threads.prune(ANN, [thread.thread_id, NOBODYS, thread.thread_id], "keep_latest") == 1
    after = await world.threads.state(ANN, thread.thread_id)
    assert after["values"] == before["values"]
    assert len(after["values"]["messages"]) == 6
    assert len(await world.threads.history(ANN, thread.thread_id, limit=100)) == 1
    await world.run(thread.thread_id, graph_id, {"messages": [{"role": "user", "content": "four"}]})
    assert len((await world.threads.state(ANN, thread.thread_id))["values"]["messages"]) == 8


async def test_pruning_does_what_it_can_and_names_what_is_busy(world: World) -> None:
    free, busy = [await world.threads.create(ANN, graph_id="words") for _ in range(2)]
    async with world.persistence.queue.hold(ANN, busy.thread_id, "test"):
        with pytest.raises(ThreadBusyError, match=busy.thread_id):
            await world.threads.prune(ANN, [busy.thread_id, free.thread_id], "delete")
    assert await world.threads.count(ANN, ThreadFilter()) == 1
    assert await world.threads.prune(ANN, [busy.thread_id, free.thread_id], "delete") == 1
