"""Work side by side ends together: nothing goes on for a research that has failed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from stepwell.errors import LeaseLostError
from stepwell.research.evidence.side_by_side import side_by_side
from stepwell.research.graph.nodes.tool_executor import tool_executor
from stepwell.research.graph.schemas import ResearchPlan, ResearchStep, plan_sha256
from stepwell.tools.web.search.chain import SearchChain
from stepwell.tools.web.search.outcomes import Empty, SearchOutcome
from stepwell.tools.web.transport import Web, WebRequest

from .conftest import MakeBench


async def test_results_come_in_order() -> None:
    async def later(value: int) -> int:
        for _ in range(5 - value):
            await asyncio.sleep(0)
        return value

    assert await side_by_side(later(value) for value in range(5)) == [0, 1, 2, 3, 4]
    assert await side_by_side([]) == []


async def test_the_others_are_stopped_before_a_failure_is_told() -> None:
    ended: list[str] = []

    async def waits(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    async def fails() -> None:
        await asyncio.sleep(0)
        raise LeaseLostError("another worker has it")

    with pytest.raises(LeaseLostError, match="another worker"):
        await side_by_side([waits("one"), fails(), waits("two")])
    assert sorted(ended) == ["one", "two"]


async def test_no_step_goes_on_searching_when_another_has_failed(bench: MakeBench) -> None:
    """The lease is lost in one step: the others must send nothing more, for another worker does it."""
    going = asyncio.Event()

    class Engine:
        name = "scripted"

        def __init__(self, web: Web) -> None:
            self._web = web

        async def search(self, query: str, limit: int = 10) -> SearchOutcome:
            if query == "lost":
                await going.wait()
                raise LeaseLostError("another worker has it")
            for turn in range(1000):
                await self._web.send(WebRequest(f"https://engine.example/?q={turn}", purpose="search:scripted"))
                going.set()
            return Empty("scripted")

    made = bench()
    made.equipment = replace(made.equipment, search=lambda web: SearchChain([Engine(web)]))
    plan = ResearchPlan(objective="x", steps=(ResearchStep(input="lost"), ResearchStep(input="busy")))
    state: Any = {"plan": plan, "human_approved": True, "approved_plan_sha256": plan_sha256(plan), "question_number": 1}
    with pytest.raises(LeaseLostError):
        await tool_executor(await made.inquiry(), state)
    sent = len(await made.vault.entries())
    for _ in range(50):
        await asyncio.sleep(0)
    assert len(await made.vault.entries()) == sent, "nothing is sent any more"
