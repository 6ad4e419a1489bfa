"""Gates: what a product may say about a run, on a real engine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from tests.integration.runs.conftest import OWNER, OpenRuns

from stepwell.database.types import Lease, Run, RunStatus
from stepwell.errors import AccessError
from stepwell.runs.gates import Arrival, Attendance, Gate, SaidUntilStopped
from stepwell.runs.starting import Place


@dataclass(frozen=True)
class Noting(Attendance):
    told: list[Any]

    @property
    def given(self) -> Mapping[str, Any]:
        return {"__noted": True}

    async def before_end(self, *, delivered: bool) -> None:
        self.told.append(("before", delivered))

    async def after_end(self, status: RunStatus) -> None:
        self.told.append(("after", status))


@dataclass
class NotingGate(Gate):
    told: list[Any] = field(default_factory=list)

    async def admit(self, arrival: Arrival) -> Arrival:
        self.told.append(("admit", arrival.caller, arrival.owner, arrival.assistant.graph_id, arrival.grants))
        return arrival

    def attend(self, run: Run, lease: Lease, said_until_stopped: SaidUntilStopped) -> Attendance:
        return Noting(self.told)


class Pinning(Gate):
    async def admit(self, arrival: Arrival) -> Arrival:
        place = Place({"langgraph_auth_pinned": "ours"}, tenant="/acme", max_runs=1)
        return replace(arrival, order=replace(arrival.order, metadata={"seen": True}), place=place)


class Refusing(Gate):
    async def admit(self, arrival: Arrival) -> Arrival:
        raise AccessError("Not today.")


async def test_a_gate_sees_a_run_from_its_order_to_its_end(open_runs: OpenRuns, thread_id: str):
    gate = NotingGate()
    async with open_runs(gates=[gate]) as runs:
        run = await runs.start("two", thread_id, input={"words": []})
        await runs.result(run)
        failed = await runs.start("failing", thread_id, input={"words": []})
        assert "__error__" in await runs.result(failed)
    assert gate.told == [
        ("admit", OWNER, OWNER, "two", None),
        ("before", True),
        ("after", "success"),
        ("admit", OWNER, OWNER, "failing", None),
        ("before", False),
        ("after", "error"),
    ]


async def test_each_gate_gets_what_the_one_before_it_made(open_runs: OpenRuns, thread_id: str):
    gate = NotingGate()
    async with open_runs(gates=[Pinning(), gate]) as runs:
        run = await runs.start("two", thread_id, config={"configurable": {"langgraph_auth_pinned": "theirs"}})
        stored = await runs.run(run)
    assert stored.metadata["seen"] is True
    assert stored.request.config["configurable"]["langgraph_auth_pinned"] == "ours", "a caller cannot set what a gate pins"


async def test_nothing_is_stored_of_a_run_that_a_gate_refuses(open_runs: OpenRuns, thread_id: str):
    async with open_runs(gates=[Refusing(), NotingGate()]) as runs:
        with pytest.raises(AccessError, match="Not today"):
            await runs.start("two", thread_id, input={"words": []})
        assert await runs.persistence.records.open_runs(None, None, None) == []
        assert not await _has_thread(runs.persistence, thread_id)


async def _has_thread(persistence: Any, thread_id: str) -> bool:
    return await persistence.database.read(
        lambda connection: connection.execute("SELECT 1 FROM threads WHERE thread_id = ?", (thread_id,)).fetchone() is not None
    )


class Failing(Gate):
    """Breaks where it is told to."""

    def __init__(self, where: str) -> None:
        self._where = where

    def attend(self, run: Run, lease: Lease, said_until_stopped: SaidUntilStopped) -> Attendance:
        if self._where == "attend":
            raise ValueError("a product is broken")
        return FailingAttendance(self._where)


@dataclass(frozen=True)
class FailingAttendance(Attendance):
    where: str

    async def before_end(self, *, delivered: bool) -> None:
        if self.where == "before_end":
            raise ValueError("a product is broken")

    async def after_end(self, status: RunStatus) -> None:
        if self.where == "after_end":
            raise ValueError("a product is broken")


@pytest.mark.parametrize(("where", "status"), [("attend", "error"), ("before_end", "success"), ("after_end", "success")])
async def test_a_run_ends_even_if_a_product_is_broken(open_runs: OpenRuns, thread_id: str, where: str, status: str):
    async with open_runs(gates=[Failing(where)]) as runs, asyncio.timeout(60):
        run = await runs.start("two", thread_id, input={"words": []})
        await runs.result(run)
        assert (await runs.run(run)).status == status
        again = await runs.start("two", thread_id, input={"words": []})
        await runs.result(again)
        assert (await runs.run(again)).status == status, "the engine goes on"
