"""An answer that names no question reaches only the question that its sender must have seen."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from stepwell.clock import Clock
from stepwell.database.types import PendingInterrupt
from stepwell.errors import AnswerShapeError, InterruptAnsweredError, ResumeError

from .conftest import OpenRuns, Runs

APPROVE = {"decisions": [{"type": "approve"}]}


class Held(Clock):
    """A clock that stands still."""

    def __init__(self) -> None:
        self._now = datetime.now(UTC)

    def now(self) -> datetime:
        return self._now


async def answer(runs: Runs, graph: str, thread_id: str, resume: Any, **more: Any) -> Any:
    return await runs.result(await runs.start(graph, thread_id, command={"resume": resume}, **more))


async def question(runs: Runs, thread_id: str) -> PendingInterrupt:
    (asked,) = (await runs.thread(thread_id)).interrupts
    return asked


async def newest_checkpoint(runs: Runs, thread_id: str) -> str:
    saved = await runs.persistence.saver().aget_tuple({"configurable": {"thread_id": thread_id}})
    assert saved is not None
    return str(saved.checkpoint["id"])


async def test_a_repetition_does_not_answer_the_next_question_of_the_same_checkpoint(runs: Runs, thread_id: str) -> None:
    """However long ago that was asked: nobody has been shown it."""
    await runs.result(await runs.start("asking_twice", thread_id, input={"words": []}))
    checkpoint = await newest_checkpoint(runs, thread_id)
    first = await runs.start("asking_twice", thread_id, command={"resume": "yes"}, checkpoint_id=checkpoint)
    await runs.persistence.queue.finished(first.run_id, 60)
    second = await question(runs, thread_id)
    for carried in ({}, {"checkpoint_id": checkpoint}):
        with pytest.raises(ResumeError, match="nobody had seen it") as refused:
            await answer(runs, "asking_twice", thread_id, "yes", **carried)
        assert refused.value.interrupt_ids == (second.interrupt_id,)
    assert await question(runs, thread_id) == second, "nothing was taken"
    await runs.result(first)
    assert await answer(runs, "asking_twice", thread_id, "no") == {"words": ["yes", "no"]}


async def test_whoever_was_told_the_next_question_answers_it_at_once(open_runs: OpenRuns, thread_id: str) -> None:
    async with open_runs(clock=Held()) as runs:
        await runs.result(await runs.start("asking_twice", thread_id, input={"words": []}))
        await answer(runs, "asking_twice", thread_id, "yes")
        assert await answer(runs, "asking_twice", thread_id, "yes") == {"words": ["yes", "yes"]}


async def test_a_named_answer_need_not_wait(open_runs: OpenRuns, thread_id: str) -> None:
    async with open_runs(clock=Held()) as runs:
        await runs.result(await runs.start("asking_twice", thread_id, input={"words": []}))
        await answer(runs, "asking_twice", thread_id, "yes")
        asked = await question(runs, thread_id)
        assert await answer(runs, "asking_twice", thread_id, {asked.interrupt_id: "no"}) == {"words": ["yes", "no"]}


async def test_an_answer_is_bound_to_the_checkpoint_it_carries(open_runs: OpenRuns, thread_id: str) -> None:
    """Two approvals, one step after the other: the page still shows the first when its second click is sent."""
    async with open_runs(clock=Held()) as runs:
        await runs.result(await runs.start("paying", thread_id, input={"words": []}))
        first = await newest_checkpoint(runs, thread_id)
        await answer(runs, "paying", thread_id, APPROVE, checkpoint_id=first)
        asked = await question(runs, thread_id)
        in_config = {"config": {"configurable": {"checkpoint_id": first}}}
        for resume in (APPROVE, {asked.interrupt_id: APPROVE}):
            for carried in ({"checkpoint_id": first}, {"checkpoint": {"checkpoint_id": first}}, in_config):
                with pytest.raises(ResumeError, match="checkpoint is not the one that asks") as refused:
                    await answer(runs, "paying", thread_id, resume, **carried)
                assert refused.value.interrupt_ids == (asked.interrupt_id,)
        second = await newest_checkpoint(runs, thread_id)
        assert await answer(runs, "paying", thread_id, APPROVE, checkpoint_id=second) == {"words": ["baker", "stranger"]}


async def test_the_first_question_takes_a_bare_answer_at_once(open_runs: OpenRuns, thread_id: str) -> None:
    async with open_runs(clock=Held()) as runs:
        await runs.result(await runs.start("asking", thread_id, input={"words": []}))
        assert await answer(runs, "asking", thread_id, "water") == {"words": ["hello", "water"]}


async def test_a_server_may_refuse_bare_answers_altogether(open_runs: OpenRuns, thread_id: str) -> None:
    async with open_runs(refuse_bare_answers=True) as runs:
        await runs.result(await runs.start("asking", thread_id, input={"words": []}))
        asked = await question(runs, thread_id)
        with pytest.raises(ResumeError, match="accepts no answer without an id") as refused:
            await answer(runs, "asking", thread_id, "water")
        assert refused.value.interrupt_ids == (asked.interrupt_id,)
        assert await answer(runs, "asking", thread_id, {asked.interrupt_id: "water"}) == {"words": ["hello", "water"]}


@pytest.mark.parametrize("named", [False, True], ids=["bare", "by id"])
@pytest.mark.parametrize("wrong", [True, "approve", [], {"decisions": []}, {"decisions": [{"type": "edit"}]}])
async def test_a_wrong_answer_is_refused_before_it_is_taken(runs: Runs, thread_id: str, wrong: Any, named: bool) -> None:
    await runs.result(await runs.start("paying", thread_id, input={"words": []}))
    asked = await question(runs, thread_id)
    with pytest.raises(AnswerShapeError) as refused:
        await answer(runs, "paying", thread_id, {asked.interrupt_id: wrong} if named else wrong)
    assert refused.value.interrupt_ids == (asked.interrupt_id,)
    thread = await runs.thread(thread_id)
    assert (thread.status, thread.interrupts) == ("interrupted", (asked,))
    await answer(runs, "paying", thread_id, {asked.interrupt_id: APPROVE})
    assert (await question(runs, thread_id)).interrupt_id != asked.interrupt_id


async def test_a_typed_question_is_held_against_its_schema(runs: Runs, thread_id: str) -> None:
    await runs.result(await runs.start("typed", thread_id, input={"words": []}))
    asked = await question(runs, thread_id)
    for wrong in ("five", {"amount": "5"}, {}):
        with pytest.raises(AnswerShapeError, match="does not fit the question's schema"):
            await answer(runs, "typed", thread_id, {asked.interrupt_id: wrong})
    assert await answer(runs, "typed", thread_id, {asked.interrupt_id: {"amount": 5}}) == {"words": [5]}


async def test_a_free_question_takes_anything(runs: Runs, thread_id: str) -> None:
    await runs.result(await runs.start("asking", thread_id, input={"words": []}))
    assert await answer(runs, "asking", thread_id, [1, {"two": True}]) == {"words": ["hello", [1, {"two": True}]]}


async def test_a_late_wrong_answer_is_told_that_it_is_late(runs: Runs, thread_id: str) -> None:
    """What it looks like does not matter any more."""
    await runs.result(await runs.start("paying", thread_id, input={"words": []}))
    asked = await question(runs, thread_id)
    await answer(runs, "paying", thread_id, {asked.interrupt_id: APPROVE})
    with pytest.raises(InterruptAnsweredError):
        await answer(runs, "paying", thread_id, {asked.interrupt_id: True})


async def test_a_large_answer_to_a_typed_question_does_not_hold_up_other_runs(runs: Runs, thread_id: str) -> None:
    """Checking it takes a while, outside of the only writer and of the event loop."""
    await runs.result(await runs.start("typed", thread_id, input={"words": []}))
    asked = await question(runs, thread_id)
    slow = asyncio.create_task(
        answer(runs, "typed", thread_id, {asked.interrupt_id: {"amount": 5, "notes": list(range(100_000))}})
    )
    await asyncio.sleep(0)
    ended = await runs.result(await runs.start("two", None, input={"words": []}))
    assert ended == {"words": ["hello", "world"]}
    assert not slow.done(), "the other run has overtaken the check"
    assert await slow == {"words": [5]}
