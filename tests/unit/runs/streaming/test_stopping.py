"""Stopping a drive: the node and the model call under way end at once, and nothing is left behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from .stream_world import HELLO, Words, chain, chat, fan, stream

MODES = ["values", "messages-tuple", "messages-tuple events", "values debug tools lifecycle"]


class Stuck:
    """A wait without end that notes when it began and how it ended."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.ended: list[str] = []

    async def wait(self) -> None:
        try:
            self.began.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        finally:
            self.ended.append("finally")


async def consume(progresses: Any) -> None:
    async for _ in progresses:
        pass


def others() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]  # a test runs in a task


@pytest.mark.parametrize("modes", MODES)
async def test_cancelling_the_consumer_stops_the_model_call(modes: str) -> None:
    stuck = Stuck()
    task = asyncio.create_task(consume(stream(chat(Words(between=stuck.wait)), modes, input=HELLO)))
    await asyncio.wait_for(stuck.began.wait(), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 60)
    assert stuck.ended == ["cancelled", "finally"]
    assert others() == set()


@pytest.mark.parametrize("modes", ["messages-tuple", "messages-tuple events"])
async def test_closing_the_iterator_stops_the_model_call_and_leaves_no_task(modes: str) -> None:
    stuck = Stuck()
    progresses = stream(chat(Words(between=stuck.wait)), modes, input=HELLO)
    async for progress in progresses:
        if progress.partial:
            break
    await asyncio.wait_for(stuck.began.wait(), 60)
    await asyncio.wait_for(progresses.aclose(), 60)
    assert stuck.ended == ["cancelled", "finally"]
    assert others() == set()


async def test_cancelling_stops_every_node_of_the_step_also_in_subgraphs() -> None:
    first, second = Stuck(), Stuck()

    async def one(_: Any) -> None:
        await first.wait()

    async def two(_: Any) -> None:
        await second.wait()

    task = asyncio.create_task(consume(stream(fan(a=one, b=chain(("q", two)).compile()), "values")))
    await asyncio.wait_for(asyncio.gather(first.began.wait(), second.began.wait()), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 60)
    assert first.ended == second.ended == ["cancelled", "finally"]
    assert others() == set()


async def test_a_time_out_around_the_drive_stops_it() -> None:
    stuck = Stuck()

    async def node(_: Any) -> None:
        limit.reschedule(asyncio.get_running_loop().time())  # the time is up as soon as the node has begun
        await stuck.wait()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(None) as limit:
            await consume(stream(chain(("node", node)), "values"))
    assert stuck.ended == ["cancelled", "finally"]
    assert others() == set()


async def test_a_finished_drive_leaves_no_task() -> None:
    await consume(stream(chat(), "messages-tuple events values", input=HELLO))
    assert others() == set()
