"""A clock that is set back or forward loses nothing and holds nothing up."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from langgraph.checkpoint.base import id as langgraph_ids

from stepwell.clock import Clock

from .conftest import OpenRuns, new_id


class Shifted(Clock):
    """The machine's clock, set back or forward while it runs."""

    def __init__(self) -> None:
        self.by = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.by


@pytest.fixture
def new_process(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Forget what this process knows of the time, and see another one from now on: LangGraph's ids come from the machine's."""
    really = time.time_ns

    def begin(hours: float) -> None:
        monkeypatch.setattr(langgraph_ids, "_last_v6_timestamp", None)
        monkeypatch.setattr(time, "time_ns", lambda: really() + int(hours * 3600e9))

    return begin


async def test_a_message_after_the_clock_was_set_back_is_the_threads_newest(
    open_runs: OpenRuns, thread_id: str, new_process: Callable[[float], None]
) -> None:
    new_process(5)
    async with open_runs() as runs:
        await runs.result(await runs.start("two", thread_id, input={"words": ["first"]}))
    new_process(0)
    async with open_runs() as runs:
        await runs.result(await runs.start("two", thread_id, input={"words": ["second"]}))
        third = await runs.result(await runs.start("two", thread_id, input={"words": ["third"]}))
    assert [word for word in third["words"] if word not in ("hello", "world")] == ["first", "second", "third"]


async def test_runs_that_wait_do_not_wait_longer_because_the_clock_was_set_back(open_runs: OpenRuns, thread_id: str) -> None:
    clock = Shifted()
    async with open_runs(clock=clock, concurrency=0) as runs:
        first = await runs.start("two", thread_id, input={"words": ["first"]})
    clock.by = -timedelta(hours=3)
    async with open_runs(clock=clock) as runs:
        second = await runs.start("two", thread_id, input={"words": ["second"]})
        assert (await runs.result(second))["words"] == ["first", "hello", "world", "second", "hello", "world"]
        assert (await runs.run(first)).status == "success"


async def test_a_run_for_later_begins_when_the_clock_says_so_also_after_a_restart(open_runs: OpenRuns, thread_id: str) -> None:
    clock = Shifted()
    async with open_runs(clock=clock) as runs:
        later = await runs.start("two", thread_id, input={"words": ["later"]}, after_seconds=3600)
        other = await runs.start("two", new_id(), input={"words": []})
        await runs.result(other)
        assert (await runs.run(later)).status == "pending"
        assert (await runs.thread(thread_id)).status == "idle", "nothing goes on yet"
    clock.by = timedelta(hours=2)
    async with open_runs(clock=clock) as runs:
        assert (await runs.result(later))["words"] == ["later", "hello", "world"]
