"""Claim: many runs at once cost no more than with plain agents. 1,000 concurrent async runs of 5 no-op steps, fresh process."""

from __future__ import annotations

import asyncio
import resource
import time
from types import ModuleType
from typing import Any

from benchmarks.bench import Bench, Row, best, ratio
from benchmarks.model import noop_model, noop_tool

RUNS = 1000
STEPS = 5


def measure(contestant: ModuleType, *, runs: int) -> dict[str, Any]:
    """CPU seconds per run, and the most memory the process ever held."""
    agent = contestant.agent(noop_model(STEPS), [noop_tool()])

    async def together(count: int) -> None:
        results = await asyncio.gather(*(agent.ainvoke({"messages": [("user", "go")]}) for _ in range(count)))
        if any(len(result["messages"]) != 2 * STEPS + 2 for result in results):
            raise RuntimeError("A run ended early.")

    asyncio.run(together(5))
    started = time.process_time()
    asyncio.run(together(runs))
    spent = time.process_time() - started
    return {"cpu_s_per_run": spent / runs, "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def rows(bench: Bench) -> list[Row]:
    runs = 100 if bench.quick else RUNS
    figures = bench.rounds("concurrent_runs", {"runs": runs}, count=1, fresh=True)
    # Once more where the verdict is decided; the peer takes three times as long and is far from it.
    again = bench.rounds(
        "concurrent_runs", {"runs": runs}, count=1, who=("floor", "ours"), fresh=True, label="concurrent_runs again"
    )
    figures = {name: results + again.get(name, []) for name, results in figures.items()}
    times = {name: best(figures, name, "cpu_s_per_run") for name in figures}
    memory = {name: best(figures, name, "peak_rss_mb") for name in figures}
    floor = times["floor"]
    note = f"floor {1 / floor:.0f} runs per CPU-second, {memory['floor']:.0f} MB" if floor else ""
    return [
        Row(
            f"{runs:,} concurrent runs of 5 steps, runs per CPU-second",
            "≥ 1.2x floor",
            ratio(floor, times["ours"]),
            ratio(floor, floor),
            ratio(floor, times["peer"]),
            1.2,
            at_most=False,
            note=note,
        ),
        Row(
            "the same, peak memory",
            "≤ 1.2x floor",
            ratio(memory["ours"], memory["floor"]),
            ratio(memory["floor"], memory["floor"]),
            ratio(memory["peer"], memory["floor"]),
            1.2,
        ),
    ]
