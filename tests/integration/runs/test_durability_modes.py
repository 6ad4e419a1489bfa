"""What `durability` may cost, and what it may not: as long as nobody kills the process, all three keep the same things."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from stepwell.database.types import Durability

from .conftest import OWNER, OpenRuns, Runs

pytestmark = pytest.mark.parametrize("durability", ["sync", "async", "exit"])


async def test_a_run_and_the_next_one_keep_all_messages(open_runs: OpenRuns, thread_id: str, durability: Durability) -> None:
    async with open_runs() as runs:
        await runs.result(await runs.start("two", thread_id, input={"words": ["1"]}, durability=durability))
    async with open_runs() as runs:
        second = await runs.start("two", thread_id, input={"words": ["2"]}, durability=durability)
        assert (await runs.result(second))["words"] == ["1", "hello", "world", "2", "hello", "world"]
        assert await _state(runs, thread_id) == ["1", "hello", "world", "2", "hello", "world"]


async def test_what_a_stopped_run_has_finished_is_kept(runs: Runs, thread_id: str, durability: Durability) -> None:
    run = await runs.start("waiting", thread_id, input={"words": ["1"]}, durability=durability)
    await _until_hello(runs, run.run_id, thread_id)
    await runs.engine.cancel(OWNER, thread_id, [run.run_id], wait=True)
    assert await _state(runs, thread_id) == ["1", "hello"]
    thread = await runs.thread(thread_id)
    assert (thread.status, thread.values) == ("interrupted", {"words": ["1", "hello"]})


async def test_what_a_failed_run_has_finished_is_kept(runs: Runs, thread_id: str, durability: Durability) -> None:
    await runs.result(await runs.start("failing", thread_id, input={"words": ["1"]}, durability=durability))
    assert await _state(runs, thread_id) == ["1", "hello"]
    assert (await runs.thread(thread_id)).values == {"words": ["1", "hello"]}


async def test_a_run_that_is_handed_on_repeats_no_finished_step(
    open_runs: OpenRuns, thread_id: str, durability: Durability
) -> None:
    async with open_runs() as runs:
        run = await runs.start("waiting", thread_id, input={"words": ["1"]}, durability=durability)
        await _until_hello(runs, run.run_id, thread_id)
    async with open_runs() as runs:
        await _until_said_again(runs, run.run_id, thread_id)
        await runs.engine.cancel(OWNER, thread_id, [run.run_id], wait=True)
        events = [event for event in await runs.events(run) if event.event in ("metadata", "values")]
    told = [orjson.loads(event.data).get("words") for event in events]
    again = told[told.index(None, 1) + 1 :]
    assert again, "there was a second attempt"
    assert all(words == ["1", "hello"] for words in again), "it begins behind the first step"


async def test_a_question_is_asked_and_answered_across_a_restart(
    open_runs: OpenRuns, thread_id: str, durability: Durability
) -> None:
    async with open_runs() as runs:
        await runs.result(await runs.start("asking", thread_id, input={"words": []}, durability=durability))
    async with open_runs() as runs:
        (question,) = (await runs.thread(thread_id)).interrupts
        answer = {"resume": {question.interrupt_id: "water"}}
        resumed = await runs.start("asking", thread_id, command=answer, durability=durability)
        assert await runs.result(resumed) == {"words": ["hello", "water"]}


async def _state(runs: Runs, thread_id: str) -> list[str]:
    found = await runs.persistence.saver().aget_tuple({"configurable": {"thread_id": thread_id}})
    assert found is not None
    return list(found.checkpoint["channel_values"]["words"])


async def _until_said_again(runs: Runs, run_id: str, thread_id: str) -> None:
    """Until the second attempt has told a state."""
    told: list[str] = []
    async with asyncio.timeout(60):
        async for batch in runs.engine.events(OWNER, thread_id, run_id):
            told += [event.event for event in batch]
            if told.count("metadata") > 1 and "values" in told[len(told) - told[::-1].index("metadata") :]:
                return


async def _until_hello(runs: Runs, run_id: str, thread_id: str) -> None:
    async with asyncio.timeout(60):
        async for batch in runs.engine.events(OWNER, thread_id, run_id):
            if any(b"hello" in event.data for event in batch):
                return
