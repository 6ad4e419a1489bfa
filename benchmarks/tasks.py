"""Claim: parallel subagents really run in parallel. Wall time of 20 `task` calls in one turn, each with a model of 100 ms."""

from __future__ import annotations

import asyncio
import time
from types import ModuleType
from typing import Any

from benchmarks.bench import Bench, Row, best
from benchmarks.model import TurnsModel, noop_model

TASKS = 20
DELAY_S = 0.1


def measure(contestant: ModuleType) -> dict[str, Any]:
    """Wall milliseconds of the whole run, from a warm agent."""
    calls = [("task", {"description": f"Part {n}.", "subagent_type": "worker-0"}) for n in range(TASKS)]
    model = TurnsModel(turns=[calls])
    agent = contestant.agent(model, [], subagents=1, subagent_model=noop_model(0, delay_s=DELAY_S))

    async def run() -> tuple[float, float]:
        await agent.ainvoke({"messages": [("user", "go")]})
        started, cpu = time.perf_counter(), time.process_time()
        result = await agent.ainvoke({"messages": [("user", "go")]})
        wall, spent = time.perf_counter() - started, time.process_time() - cpu
        answers = [message.content for message in result["messages"] if message.type == "tool"]
        if len(answers) != TASKS or any("Done." not in str(answer) for answer in answers):
            raise RuntimeError(f"{len(answers)} answers; the first: {answers[:1]}")
        return 1000 * wall, 1000 * spent

    wall, spent = asyncio.run(run())
    return {"wall_ms": wall, "cpu_ms": spent}


def rows(bench: Bench) -> list[Row]:
    figures = bench.rounds("tasks", {}, count=4 if bench.quick else 8)
    times = {name: best(figures, name, "wall_ms") for name in figures}
    busy = ", ".join(f"{name} {spent:.0f} ms" for name in figures if (spent := best(figures, name, "cpu_ms")))
    note = f"CPU of the run: {busy}; wall time cannot be below 100 ms plus that, and grows with whatever else the machine does"
    return [
        Row(
            "20 parallel `task` calls of 100 ms, wall time",
            "≤ 200 ms",
            times["ours"],
            times["floor"],
            times["peer"],
            200,
            form="{:.0f} ms".format,
            note=note,
        )
    ]
