"""A thread's state: read at any checkpoint of the thread and no other, written only when nothing else writes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stepwell.database.queue.types import Admission
from stepwell.database.types import Run, RunRequest
from stepwell.errors import InterruptAnsweredError, InvalidRequestError, LeaseLostError, NotFoundError, ThreadBusyError
from stepwell.runs.threads.snapshots import empty_state

from .thread_world import ANN, BOB, World, open_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(tmp_path) as world:
        yield world


async def _after(world: World, way: str) -> str:
    thread = await world.threads.create(ANN)
    try:
        await world.run(thread.thread_id, "words", {"way": way, "words": []})
    except ValueError:
        assert way == "fails"
    return thread.thread_id


async def test_a_thread_without_a_graph_has_the_empty_state_and_no_history(world: World) -> None:
    thread = await world.threads.create(ANN)
    assert await world.threads.state(ANN, thread.thread_id) == empty_state()
    assert await world.threads.history(ANN, thread.thread_id) == []
    with pytest.raises(InvalidRequestError, match="graph_id"):
        await world.threads.update_state(ANN, thread.thread_id, values={"words": ["x"]})


async def test_a_graph_without_checkpoints_has_the_empty_state_too(world: World) -> None:
    thread = await world.threads.create(ANN, graph_id="words")
    assert await world.threads.state(ANN, thread.thread_id, subgraphs=True) == empty_state()


async def test_every_checkpoint_of_the_history_can_be_read_again(world: World) -> None:
    thread_id = await _after(world, "ends")
    history = await world.threads.history(ANN, thread_id)
    assert [state["values"].get("words") for state in history] == [["first", "outer"], ["first"], [], []]
    for state in history:
        assert await world.threads.state(ANN, thread_id, checkpoint=state["checkpoint"]) == state
        assert await world.threads.state(ANN, thread_id, checkpoint={"checkpoint_id": state["checkpoint_id"]}) == state


async def test_history_is_cut_filtered_and_paged(world: World) -> None:
    thread_id = await _after(world, "ends")
    ids = [state["checkpoint_id"] for state in await world.threads.history(ANN, thread_id)]

    async def listed(**wanted: Any) -> list[str]:
        return [state["checkpoint_id"] for state in await world.threads.history(ANN, thread_id, **wanted)]

    assert await listed(limit=2) == ids[:2]
    assert await listed(before=ids[1], limit=1) == ids[2:3]
    assert await listed(before={"checkpoint_id": ids[1]}) == ids[2:]
    assert await listed(before={"configurable": {"thread_id": "another", "checkpoint_id": ids[2]}}) == ids[3:]
    assert await listed(metadata={"source": "input"}) == ids[3:]
    assert await listed(metadata={"source": "nothing"}) == []


@pytest.mark.parametrize("before", [{}, {"configurable": {}}, {"configurable": "x"}, {"checkpoint_id": 7}])
async def test_a_before_that_names_no_checkpoint_is_refused(world: World, before: Any) -> None:
    thread_id = await _after(world, "ends")
    with pytest.raises(InvalidRequestError):
        await world.threads.history(ANN, thread_id, before=before)


async def test_an_unknown_checkpoint_is_not_found(world: World) -> None:
    thread_id = await _after(world, "ends")
    for checkpoint in ({"checkpoint_id": "1f0bdca6-7c24-6d0a-8001-a2ec6ae1ba0a"}, {"checkpoint_id": "x"}):
        with pytest.raises(NotFoundError, match="checkpoint"):
            await world.threads.state(ANN, thread_id, checkpoint=checkpoint)
        with pytest.raises(NotFoundError, match="checkpoint"):
            await world.threads.update_state(ANN, thread_id, values={"words": ["x"]}, checkpoint=checkpoint)


@pytest.mark.parametrize(
    "checkpoint", [{"checkpoint_id": 7}, {"checkpoint_ns": ["x"]}, {"checkpoint_map": "x"}, {"checkpoint_map": {"": 1}}]
)
async def test_a_checkpoint_of_the_wrong_form_is_refused(world: World, checkpoint: Any) -> None:
    thread_id = await _after(world, "ends")
    with pytest.raises(InvalidRequestError):
        await world.threads.state(ANN, thread_id, checkpoint=checkpoint)


async def test_another_threads_checkpoint_cannot_be_reached(world: World) -> None:
    """Tenancy: the thread is the one that was asked for, whatever thread a checkpoint names."""
    theirs = await world.threads.create(BOB)
    await world.run(theirs.thread_id, "words", {"way": "secret", "words": []}, owner=BOB)
    checkpoint = (await world.threads.state(BOB, theirs.thread_id))["checkpoint"]
    mine = await _after(world, "ends")
    with pytest.raises(NotFoundError):
        await world.threads.state(ANN, mine, checkpoint=checkpoint)
    with pytest.raises(NotFoundError):
        await world.threads.update_state(ANN, mine, values={"words": ["x"]}, checkpoint=checkpoint)
    newest = await world.threads.state(ANN, mine, checkpoint={"thread_id": theirs.thread_id})
    assert newest["values"]["way"] == "ends"
    history = await world.threads.history(ANN, mine, checkpoint={"thread_id": theirs.thread_id})
    assert {state["checkpoint"]["thread_id"] for state in history} == {mine}


async def test_a_subgraph_is_read_by_its_namespace(world: World) -> None:
    thread_id = await _after(world, "inner")
    (pointed,) = (await world.threads.state(ANN, thread_id))["tasks"]
    (nested,) = (await world.threads.state(ANN, thread_id, subgraphs=True))["tasks"]
    inside = await world.threads.state(ANN, thread_id, checkpoint=pointed["checkpoint"])
    assert inside == nested["state"]
    assert inside["next"] == ["ask"]
    (newest, *_) = await world.threads.history(ANN, thread_id, checkpoint=pointed["checkpoint"])
    assert newest["checkpoint"] == inside["checkpoint"]


async def test_a_namespace_that_is_not_there_is_not_found(world: World) -> None:
    thread_id = await _after(world, "inner")
    with pytest.raises(NotFoundError, match="namespace 'nowhere:1'"):
        await world.threads.state(ANN, thread_id, checkpoint={"checkpoint_ns": "nowhere:1"})
    with pytest.raises(NotFoundError, match="namespace"):
        await world.threads.update_state(ANN, thread_id, values={}, checkpoint={"checkpoint_ns": "nowhere:1"})
    assert await world.threads.history(ANN, thread_id, checkpoint={"checkpoint_ns": "nowhere:1"}) == []


async def test_an_agent_inside_a_tool_is_read_by_its_namespace_with_all_its_messages(world: World) -> None:
    """LangGraph finds no graph there; the checkpoints say what the subagent did, incremental channels included."""
    thread = await world.threads.create(ANN)
    await world.run(thread.thread_id, "tool", {"messages": [{"role": "user", "content": "go"}]})
    (task,) = (await world.threads.state(ANN, thread.thread_id))["tasks"]
    inside = {"checkpoint_ns": f"tools:{task['id']}"}
    state = await world.threads.state(ANN, thread.thread_id, checkpoint=inside)
    assert [message["content"] for message in state["values"]["messages"]] == ["a thing", "found 0"]
    assert "incomplete_values" not in state["metadata"]
    assert state["checkpoint"]["checkpoint_ns"] == inside["checkpoint_ns"]
    assert state["checkpoint"]["checkpoint_map"].keys() == {"", inside["checkpoint_ns"]}
    history = await world.threads.history(ANN, thread.thread_id, checkpoint=inside)
    assert [len(earlier["values"].get("messages", ())) for earlier in history] == [2, 1, 0]
    assert await world.threads.state(ANN, thread.thread_id, checkpoint=history[1]["checkpoint"]) == history[1]


async def test_values_alone_are_written_as_the_last_node(world: World) -> None:
    thread_id = await _after(world, "ends")
    before = await world.threads.state(ANN, thread_id)
    answer = await world.threads.update_state(ANN, thread_id, values={"words": ["added"]})
    state = await world.threads.state(ANN, thread_id)
    assert answer["checkpoint"] == answer["configurable"] == state["checkpoint"]
    assert answer["checkpoint_id"] == state["checkpoint_id"]
    assert state["parent_checkpoint"] == before["checkpoint"]
    assert state["values"]["words"] == ["first", "outer", "added"]
    assert state["metadata"]["source"] == "update"
    thread = await world.threads.get(ANN, thread_id)
    assert (thread.values, thread.status) == (state["values"], "idle")


async def test_an_update_as_a_node_continues_after_it(world: World) -> None:
    thread_id = await _after(world, "ends")
    await world.threads.update_state(ANN, thread_id, values=None, as_node="first")
    assert (await world.threads.state(ANN, thread_id))["next"] == ["outer"]
    assert (await world.threads.get(ANN, thread_id)).status == "interrupted"
    await world.run(thread_id, "words", None)
    assert (await world.threads.state(ANN, thread_id))["values"]["words"] == ["first", "outer", "outer"]


async def test_an_update_at_an_earlier_checkpoint_makes_a_branch(world: World) -> None:
    thread_id = await _after(world, "ends")
    history = await world.threads.history(ANN, thread_id)
    await world.threads.update_state(ANN, thread_id, values={"words": ["else"]}, checkpoint=history[1]["checkpoint"])
    state = await world.threads.state(ANN, thread_id)
    assert state["values"]["words"] == ["first", "else"]
    assert state["parent_checkpoint"] == history[1]["checkpoint"]
    assert len(await world.threads.history(ANN, thread_id)) == len(history) + 1


async def test_an_update_past_a_question_drops_it(world: World) -> None:
    thread_id = await _after(world, "asks")
    (question,) = (await world.threads.get(ANN, thread_id)).interrupts
    await world.threads.update_state(ANN, thread_id, values={"words": ["told"]}, as_node="outer")
    state = await world.threads.state(ANN, thread_id)
    assert (state["interrupts"], state["next"]) == ([], [])
    thread = await world.threads.get(ANN, thread_id)
    assert (thread.status, thread.interrupts) == ("idle", ())
    with pytest.raises(InterruptAnsweredError, match="no longer asked"):
        await world.persistence.queue.admit(_answer(thread_id, {question.interrupt_id: "late"}))


def _answer(thread_id: str, answers: Mapping[str, Any]) -> Admission:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    request = RunRequest(assistant_id="words", graph_id="words")
    return Admission(Run("late", thread_id, ANN, request, "pending", moment, moment), answers)


async def test_a_refused_update_is_not_taken_for_what_a_task_gave(world: World) -> None:
    """LangGraph stores the writes of an update under the task that is next, before it looks whether they fit."""
    thread_id = await _after(world, "asks")
    before = await world.threads.state(ANN, thread_id)
    with pytest.raises(InvalidRequestError, match="does not fit"):
        await world.threads.update_state(ANN, thread_id, values={"words": 7}, as_node="outer")
    assert await world.threads.state(ANN, thread_id) == before
    await world.answer(thread_id, "words", "red")
    assert (await world.threads.state(ANN, thread_id))["values"]["words"] == ["first", "red"]


async def test_an_update_inside_a_subgraph_leaves_the_question_of_the_thread_in_its_record(world: World) -> None:
    thread_id = await _after(world, "inner")
    (task,) = (await world.threads.state(ANN, thread_id))["tasks"]
    answer = await world.threads.update_state(
        ANN, thread_id, values={"words": ["told"]}, as_node="ask", checkpoint=task["checkpoint"]
    )
    assert answer["checkpoint"]["checkpoint_ns"] == task["checkpoint"]["checkpoint_ns"]
    inside = await world.threads.state(ANN, thread_id, checkpoint=task["checkpoint"])
    assert inside["values"]["words"] == ["first", "told"]
    thread = await world.threads.get(ANN, thread_id)
    assert thread.status == "interrupted"
    assert [question.interrupt_id for question in thread.interrupts] == [task["interrupts"][0]["id"]]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"values": {"wordz": ["x"]}}, "wordz"),
        ({"values": {"words": ["x"]}, "as_node": "nowhere"}, "nowhere"),
        ({"values": {"words": 7}}, "does not fit"),
        ({"values": [{"words": ["x"]}]}, "Expected dict"),
        ({"values": "text"}, "Expected dict"),
        ({"values": 7}, "Expected dict"),
    ],
)
async def test_what_does_not_fit_the_graph_is_refused_with_the_reason(world: World, wrong: dict[str, Any], reason: str) -> None:
    thread_id = await _after(world, "ends")
    before = await world.threads.state(ANN, thread_id)
    with pytest.raises(InvalidRequestError, match=reason) as refused:
        await world.threads.update_state(ANN, thread_id, **wrong)
    assert "http" not in str(refused.value)
    assert await world.threads.state(ANN, thread_id) == before
    await world.threads.update_state(ANN, thread_id, values={"words": ["after"]})  # nothing is held any more


async def test_a_busy_thread_is_read_but_not_written(world: World) -> None:
    thread_id = await _after(world, "ends")
    async with world.persistence.queue.hold(ANN, thread_id, "test"):
        with pytest.raises(ThreadBusyError):
            await world.threads.update_state(ANN, thread_id, values={"words": ["x"]})
        with pytest.raises(ThreadBusyError):
            await world.threads.delete(ANN, thread_id)
        assert (await world.threads.state(ANN, thread_id))["values"]["words"] == ["first", "outer"]


@pytest.mark.parametrize("graph_id", ["chat", "growing"])
async def test_messages_may_be_written_as_they_stand_on_the_wire(world: World, graph_id: str) -> None:
    thread = await world.threads.create(ANN)
    await world.run(thread.thread_id, graph_id, {"messages": [{"role": "user", "content": "one"}]})
    (first, reply) = (await world.threads.state(ANN, thread.thread_id))["values"]["messages"]
    edited = [
        {"role": "user", "content": "two"},
        {"type": "human", "content": "three"},
        {"type": "human", "id": first["id"], "content": "one, edited"},
        {"type": "remove", "id": reply["id"], "content": ""},
    ]
    await world.threads.update_state(ANN, thread.thread_id, values={"messages": edited})
    messages = (await world.threads.state(ANN, thread.thread_id))["values"]["messages"]
    assert [(message["type"], message["content"]) for message in messages] == [
        ("human", "one, edited"),
        ("human", "two"),
        ("human", "three"),
    ]


async def test_a_graph_without_messages_gets_what_was_sent(world: World) -> None:
    thread_id = await _after(world, "ends")
    sent = {"role": "user", "content": "x", "lc": 1, "type": "constructor", "id": ["langchain", "x"], "kwargs": {}}
    await world.threads.update_state(ANN, thread_id, values={"words": [sent]})
    assert (await world.threads.state(ANN, thread_id))["values"]["words"][-1] == sent


async def test_a_failed_node_shows_its_error_and_an_update_goes_past_it(world: World) -> None:
    thread_id = await _after(world, "fails")
    (task,) = (await world.threads.state(ANN, thread_id))["tasks"]
    assert "no such word" in task["error"]
    await world.threads.update_state(ANN, thread_id, values={"words": ["by hand"]}, as_node="outer")
    assert (await world.threads.get(ANN, thread_id)).status == "idle"


async def test_who_no_longer_holds_a_thread_changes_nothing_of_its_record(world: World) -> None:
    thread_id = await _after(world, "ends")
    before = await world.threads.get(ANN, thread_id)
    async with world.persistence.queue.hold(ANN, thread_id, "test") as lease:
        pass
    with pytest.raises(LeaseLostError):
        await world.persistence.records.save_thread_state(lease, values=b"{}", interrupts=(), status="error")
    assert await world.threads.get(ANN, thread_id) == before


async def test_an_update_cut_by_a_crash_leaves_nothing(world: World) -> None:
    """kill -9 mid-checkpoint: old or new, never half. LangGraph stores an update's writes before its checkpoint."""
    thread_id = await _after(world, "asks")
    before = await world.threads.state(ANN, thread_id)
    async with world.persistence.queue.hold(ANN, thread_id, "update") as lease:
        saver, (task,) = world.persistence.saver(lease), before["tasks"]
        await saver.aput_writes({"configurable": before["checkpoint"]}, [("words", ["half"])], task["id"])
        assert (await world.threads.state(ANN, thread_id))["values"]["words"] == ["first", "half"]
        await world.persistence.queue.recover(lease.worker)  # whoever held it is back, and holds nothing
    assert await world.threads.state(ANN, thread_id) == before
    await world.answer(thread_id, "words", "red")
    assert (await world.threads.state(ANN, thread_id))["values"]["words"] == ["first", "red"]


async def test_what_is_saved_outlives_a_crash_also_before_the_thread_is_given_back(world: World) -> None:
    thread_id = await _after(world, "asks")
    state = await world.threads.state(ANN, thread_id)
    async with world.persistence.queue.hold(ANN, thread_id, "update") as lease:
        saver, (task,) = world.persistence.saver(lease), state["tasks"]
        await saver.aput_writes({"configurable": state["checkpoint"]}, [("words", ["kept"])], task["id"])
        await world.persistence.records.save_thread_state(lease, values=b'{"words": ["kept"]}', interrupts=(), status="idle")
        await world.persistence.queue.recover(lease.worker)  # whoever held it is back, and holds nothing
    assert (await world.threads.get(ANN, thread_id)).values == {"words": ["kept"]}
    assert (await world.threads.state(ANN, thread_id))["values"]["words"] == ["first", "kept"]
