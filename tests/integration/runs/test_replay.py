"""What is told again is what was told: every mode, with subgraphs, to whoever reads later, after a restart, after forgetting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import orjson
import pytest

from stepwell.database.types import RunEvent
from stepwell.runs.streaming.modes import PROTOCOL, STREAM_MODES

from .conftest import OWNER, OpenRuns, Runs, new_id

TEXT = "A state that is long enough to be kept as what changes of it. " * 30
TALK = {"messages": [{"role": "user", "content": "water"}]}
GRAPHS = ("talker", "deep")  # one with a subagent, which ends; one that asks
MODES = [[mode] for mode in STREAM_MODES] + [[*STREAM_MODES, PROTOCOL], ["messages"]]


async def follow_live(runs: Runs, graph: str, thread_id: str, modes: list[str]) -> list[RunEvent]:
    """A run's events as somebody gets them who follows the thread from before its beginning."""
    gathered: list[RunEvent] = []

    async def take() -> None:
        async for batch in runs.engine.thread_events(OWNER, thread_id):
            gathered.extend(batch)
            if batch[-1].event == "end":
                return

    taking = asyncio.create_task(take())
    await until(lambda: runs.persistence.events.following > 0)
    await runs.start(graph, thread_id, input=TALK, stream_modes=modes, stream_subgraphs=True)
    await asyncio.wait_for(taking, 60)
    return gathered


async def until(fact: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not fact():  # noqa: ASYNC110  the engine has no event for it
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("modes", MODES, ids=lambda modes: "+".join(modes)[:30])
async def test_every_mode_is_told_again_byte_for_byte(
    open_runs: OpenRuns, thread_id: str, graph: str, modes: list[str]
) -> None:
    async with open_runs() as runs:
        await runs.result(await runs.start("talker", thread_id, input=TALK))
        live = await follow_live(runs, graph, thread_id, modes)
        run_id = live[0].run_id
        assert len(live) > (1 if modes == ["custom"] else 2)
        assert [event async for batch in runs.engine.events(OWNER, thread_id, run_id) for event in batch] == live
    async with open_runs() as runs:
        again = [event async for batch in runs.engine.events(OWNER, thread_id, run_id) for event in batch]
        assert again == live
        for place in range(0, len(live), 7):
            rest = [
                event async for batch in runs.engine.events(OWNER, thread_id, run_id, after=live[place].seq) for event in batch
            ]
            assert rest == live[place + 1 :]


async def test_what_nobody_followed_is_told_all_the_same(open_runs: OpenRuns, thread_id: str) -> None:
    async with open_runs() as runs:
        run = await runs.start("two", thread_id, input={"words": [TEXT]}, stream_modes=["values"])
        result = await runs.result(run)
    async with open_runs() as runs:
        told = [orjson.loads(event.data) for event in await runs.events(run) if event.event == "values"]
        assert told == [{"words": [TEXT]}, {"words": [TEXT, "hello"]}, {"words": [TEXT, "hello", "world"]}]
        assert result == await runs.result(run) == told[-1] == (await runs.thread(thread_id)).values


async def test_a_question_stays_in_what_was_told_and_not_in_the_values(runs: Runs, thread_id: str) -> None:
    run = await runs.start("asking", thread_id, input={"words": [TEXT]}, stream_modes=["values"])
    result = await runs.result(run)
    assert result["words"] == [TEXT, "hello"]
    assert "__interrupt__" in result
    assert (await runs.thread(thread_id)).values == {"words": [TEXT, "hello"]}
    told = [orjson.loads(event.data) for event in await runs.events(run) if event.event == "values"]
    assert told[-1] == result


async def test_forgetting_other_runs_and_checkpoints_changes_nothing_that_is_kept(runs: Runs, thread_id: str) -> None:
    first = await runs.start("two", thread_id, input={"words": [TEXT]})
    await runs.result(first)
    second = await runs.start("two", thread_id, input={"words": ["more"]})
    before = await runs.result(second), await runs.events(second), (await runs.thread(thread_id)).values
    rolled = await runs.start("waiting", thread_id, input={"words": ["never"]})
    await until(lambda: runs.engine.driving > 0)
    await runs.engine.cancel(OWNER, thread_id, [rolled.run_id], action="rollback", wait=True)
    await runs.persistence.records.delete_run(OWNER, thread_id, first.run_id)
    async with runs.persistence.queue.hold(OWNER, thread_id, "prune") as lease:
        await runs.persistence.saver(lease).aprune([thread_id])
    assert (await runs.result(second), await runs.events(second), (await runs.thread(thread_id)).values) == before
    third = await runs.result(await runs.start("two", thread_id, input={"words": ["again"]}))
    assert third["words"] == [TEXT, "hello", "world", "more", "hello", "world", "again", "hello", "world"]


async def test_a_copy_of_a_thread_shows_the_same_values(runs: Runs, thread_id: str) -> None:
    await runs.result(await runs.start("two", thread_id, input={"words": [TEXT]}))
    copy = await runs.persistence.records.copy_thread(OWNER, thread_id, new_id())
    await runs.persistence.records.delete_thread(OWNER, thread_id)
    assert copy.values == (await runs.thread(copy.thread_id)).values == {"words": [TEXT, "hello", "world"]}


async def test_an_attempt_after_a_crash_goes_on_with_what_was_journaled(open_runs: OpenRuns, thread_id: str) -> None:
    async with open_runs() as runs:
        await runs.result(await runs.start("two", thread_id, input={"words": [TEXT]}))
        run = await runs.start("waiting", thread_id, input={"words": ["more"]}, stream_modes=["values"])
        async for batch in runs.engine.events(OWNER, thread_id, run.run_id):
            if any(event.event == "values" for event in batch):
                break
    async with open_runs() as runs:
        await until(lambda: runs.engine.driving > 0)
        await runs.engine.cancel(OWNER, thread_id, [run.run_id], wait=True)
        told = [orjson.loads(event.data) for event in await runs.events(run) if event.event == "values"]
        assert told
        assert all(values["words"][:3] == [TEXT, "hello", "world"] for values in told)
