"""Whatever a graph does, its run ends, its caller hears of it, and nobody else notices."""

from __future__ import annotations

import asyncio

import pytest

from .conftest import OWNER, OpenRuns, Runs

WRONG = {
    "raises_base": "odd",
    "raises_group": "several (1 sub-exception)",
    "raises_mute": "has no text",
    "raises_half_a_character": "half ? of it",
    "raises_cancelled": "CancelledError",
    "raises_stop": "",
    "raises_memory": "no more",
    "gives_a_lock": "not msgpack serializable",
    "gives_a_generator": "not msgpack serializable",
    "gives_itself": "Recursion limit reached",
    "gives_a_huge_number": "Integer exceeds 64-bit range",
    "loops": "Recursion limit of 25 reached",
}


@pytest.mark.parametrize("modes", [["values"], []], ids=["streamed", "not streamed"])
@pytest.mark.parametrize("graph", WRONG)
async def test_a_run_of_a_hostile_graph_ends_with_its_error(runs: Runs, thread_id: str, graph: str, modes: list[str]) -> None:
    config = {"recursion_limit": 25}
    run = await runs.start(graph, thread_id, input={"words": ["kept"]}, stream_modes=modes, config=config)
    async with asyncio.timeout(120):
        result = await runs.result(run)
    assert WRONG[graph] in result["__error__"]["message"]
    assert [event.event for event in (await runs.events(run))[-2:]] == ["error", "end"]
    assert ((await runs.run(run)).status, (await runs.thread(thread_id)).status) == ("error", "error")
    again = await runs.result(await runs.start("two", thread_id, input={"words": ["next"]}))
    assert again["words"][-3:] == ["next", "hello", "world"], "the thread goes on"
    assert again["words"][0] == "kept"


async def test_half_a_character_in_the_state_is_shown_as_a_replacement(runs: Runs, thread_id: str) -> None:
    run = await runs.start("gives_half_a_character", thread_id, input={"words": []})
    assert await runs.result(run) == {"words": ["hello", "half \ufffd of it"]}


async def test_a_node_that_does_not_listen_is_left_behind(runs: Runs, thread_id: str) -> None:
    run = await runs.start("never_ends", thread_id, input={"words": []})
    await _until_running(runs, run.run_id, thread_id)
    async with asyncio.timeout(120):
        await runs.engine.cancel(OWNER, thread_id, [run.run_id], wait=True)
    assert (await runs.run(run)).status == "interrupted"
    assert (await runs.result(await runs.start("two", thread_id, input={"words": []})))["words"][-1] == "world"


async def test_a_run_whose_graph_is_still_being_made_can_be_stopped(runs: Runs, thread_id: str) -> None:
    run = await runs.start("slow_to_make", thread_id, input={"words": []})
    while (await runs.run(run)).status == "pending":  # noqa: ASYNC110 - nobody tells when it has begun
        await asyncio.sleep(0.01)
    async with asyncio.timeout(120):
        await runs.engine.cancel(OWNER, thread_id, [run.run_id], wait=True)
    assert ((await runs.run(run)).status, (await runs.thread(thread_id)).status) == ("interrupted", "interrupted")
    assert [event.event for event in await runs.events(run)] == ["end"]


async def test_a_run_that_is_to_be_stopped_does_not_go_on_in_the_next_process(open_runs: OpenRuns, thread_id: str) -> None:
    """The order to stop came in the same moment as the order to leave."""
    async with open_runs() as runs:
        run = await runs.start("never_ends", thread_id, input={"words": []})
        await _until_running(runs, run.run_id, thread_id)
        await runs.persistence.queue.cancel(OWNER, [run.run_id], "interrupt")
    async with open_runs() as runs:
        ended = await runs.run(run)
        assert (ended.status, ended.attempt) == ("interrupted", 1)
        assert (await runs.thread(thread_id)).status == "interrupted"
        assert (await runs.events(run))[-1].event == "end"


async def _until_running(runs: Runs, run_id: str, thread_id: str) -> None:
    async with asyncio.timeout(120):
        async for batch in runs.engine.events(OWNER, thread_id, run_id):
            if any(b"hello" in event.data for event in batch):
                return
