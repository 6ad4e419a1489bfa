"""Answers whose run did not come to its end: what a task has taken stays with it, everything else can be answered again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepwell.clock import SystemClock
from stepwell.errors import InterruptAnsweredError
from stepwell.runs.threads.operations import Threads

from . import hostile_graphs
from .conftest import OWNER, OpenRuns, Runs, new_id


async def ask(runs: Runs, thread_id: str, graph: str = "both", **order: Any) -> dict[str, str]:
    """Have the thread ask; gives question -> id."""
    await runs.result(await runs.start(graph, thread_id, input={"words": []}, **order))
    return await open_questions(runs, thread_id)


async def open_questions(runs: Runs, thread_id: str) -> dict[str, str]:
    """As the thread's record tells, which must be what its state tells."""
    thread = await runs.thread(thread_id)
    recorded = {question.interrupt_id: question.value for question in thread.interrupts}
    state = await Threads(runs.persistence, runs.registry, SystemClock(), new_id).state(OWNER, thread_id, subgraphs=True)
    shown = {each["id"]: each["value"] for each in state["interrupts"]}
    assert recorded.items() <= shown.items()
    return {value: name for name, value in recorded.items()}


async def answer(runs: Runs, thread_id: str, answers: dict[str, str], graph: str = "both", **order: Any) -> Any:
    return await runs.result(await runs.start(graph, thread_id, command={"resume": answers}, **order))


async def until_slow(thread_id: str) -> None:
    """Until the answer has reached its task: the other one has been asked again meanwhile."""
    async with asyncio.timeout(60):
        while thread_id not in hostile_graphs.SLOW:  # noqa: ASYNC110 - a graph has no event that a test could wait for
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)  # nobody tells when the other one has been asked


async def test_a_question_whose_graph_cannot_be_made_is_still_open(runs: Runs, thread_id: str) -> None:
    asked = await ask(runs, thread_id, "broken")
    config = {"configurable": {"broken": True}}
    failed = await answer(runs, thread_id, {asked["a?"]: "1"}, "broken", config=config)
    assert "could not be built" in failed["__error__"]["message"]
    assert await open_questions(runs, thread_id) == asked, "neither the one that was answered nor the other is lost"
    assert (await runs.thread(thread_id)).status == "error"
    await answer(runs, thread_id, {asked["a?"]: "2"}, "broken")
    assert await open_questions(runs, thread_id) == {"b?": asked["b?"]}


@pytest.mark.parametrize("graph", ["both", "inner"])
async def test_a_run_that_is_stopped_while_it_answers_leaves_the_other_question_open(
    runs: Runs, thread_id: str, graph: str
) -> None:
    asked = await ask(runs, thread_id, graph)
    slow = await runs.start(graph, thread_id, command={"resume": {asked["b?"]: "slow"}})
    await until_slow(thread_id)
    await runs.engine.cancel(OWNER, thread_id, [slow.run_id], wait=True)
    assert (await runs.thread(thread_id)).status == "interrupted"
    assert await open_questions(runs, thread_id) == {"a?": asked["a?"]}
    on = await runs.start(graph, thread_id, command={"resume": {asked["a?"]: "2"}})
    assert on.resumes is not None
    await runs.engine.cancel(OWNER, thread_id, [on.run_id], wait=True)


async def test_an_answer_that_a_task_has_failed_with_stays_with_it(runs: Runs, thread_id: str) -> None:
    """LangGraph gives it to the task again, whatever else is sent: another answer would be taken for the next question's."""
    asked = await ask(runs, thread_id)
    assert "b has failed" in (await answer(runs, thread_id, {asked["b?"]: "fail"}))["__error__"]["message"]
    assert await open_questions(runs, thread_id) == {"a?": asked["a?"]}
    with pytest.raises(InterruptAnsweredError):
        await runs.start("both", thread_id, command={"resume": {asked["b?"]: "1"}})
    again = await runs.result(await runs.start("both", thread_id, input=None))
    assert "b has failed" in again["__error__"]["message"]
    assert await open_questions(runs, thread_id) == {"a?": asked["a?"]}


async def test_rolling_back_brings_back_what_a_task_had_asked_and_been_answered_before(runs: Runs, thread_id: str) -> None:
    """The run that is rolled back has answered the second question of a task; the answer to the first is the thread's."""
    asked = await ask(runs, thread_id)
    await answer(runs, thread_id, {asked["b?"]: "1"})
    before = await open_questions(runs, thread_id)
    assert set(before) == {"a?", "really?"}
    answers = {before["really?"]: "wrong", before["a?"]: "slow"}
    doomed = await runs.start("both", thread_id, command={"resume": answers}, stream_modes=["updates"])
    async with asyncio.timeout(60):
        async for batch in runs.engine.events(OWNER, thread_id, doomed.run_id):
            if any(b"b:wrong" in event.data for event in batch):
                break
    await runs.engine.cancel(OWNER, thread_id, [doomed.run_id], action="rollback", wait=True)
    assert await open_questions(runs, thread_id) == before
    await answer(runs, thread_id, {before["really?"]: "2", before["a?"]: "3"})
    thread = await runs.thread(thread_id)
    assert thread.values is not None
    assert (thread.status, sorted(thread.values["words"])) == ("idle", ["a:3", "b:1", "b:2"])


async def test_an_answer_to_a_run_that_was_handed_back_is_given_by_a_run_of_its_own(
    open_runs: OpenRuns, thread_id: str
) -> None:
    """A run that goes on from its checkpoint gives no answers any more: one that joined it would be lost."""
    async with open_runs() as runs:
        asked = await ask(runs, thread_id)
        first = await runs.start("both", thread_id, command={"resume": {asked["b?"]: "slow"}})
        await until_slow(thread_id)
    async with open_runs(concurrency=0) as runs:  # nobody drives
        assert (await runs.run(first)).status == "pending"
        second = await runs.start("both", thread_id, command={"resume": {asked["a?"]: "2"}})
        assert second.run_id != first.run_id
        assert (await runs.run(second)).request.resume == {asked["a?"]: "2"}


async def test_an_answer_that_a_message_before_it_has_overtaken_is_refused_and_does_nothing(runs: Runs, thread_id: str) -> None:
    """Both were taken while a run was under way; the message came first and took the thread past the question."""
    asked = await ask(runs, thread_id)
    slow = await runs.start("both", thread_id, command={"resume": {asked["b?"]: "slow"}})
    await until_slow(thread_id)
    message = await runs.start("two", thread_id, input={"words": ["new"]})
    late = await runs.start("both", thread_id, command={"resume": {asked["a?"]: "late"}})
    await runs.engine.cancel(OWNER, thread_id, [slow.run_id], wait=True)
    words = (await runs.result(message))["words"]
    assert words == ["new", "hello", "world"]
    refused = (await runs.result(late))["__error__"]
    assert (refused["error"], asked["a?"] in refused["message"]) == ("InterruptAnsweredError", True)
    assert await open_questions(runs, thread_id) == {}
    with pytest.raises(InterruptAnsweredError):
        await runs.start("both", thread_id, command={"resume": {asked["a?"]: "late"}})
    assert (await runs.thread(thread_id)).values == {"words": words}
