"""Claim: a step costs a deep agent hardly more than a plain one. CPU per step over a run of 200 no-op steps, sync and async."""

from __future__ import annotations

import asyncio
import time
from types import ModuleType
from typing import Any

from benchmarks.bench import Bench, Row, best, ratio
from benchmarks.model import noop_model, noop_tool

STEPS = 200
ASK = {"messages": [("user", "go")]}


def measure(
    contestant: ModuleType, *, steps: int, colour: str, checkpointed: bool = False, convert: bool = False
) -> dict[str, Any]:
    """CPU milliseconds per step of one run; a short run before it warms every cache."""
    model = noop_model(steps, convert_schemas=convert)
    agent = contestant.agent(model, [noop_tool()], checkpointer=_saver() if checkpointed else None)
    warm = contestant.agent(noop_model(3, convert_schemas=convert), [noop_tool()])
    _run(warm, colour, "warm")
    started = time.process_time()
    messages = _run(agent, colour, "run")
    spent = time.process_time() - started
    if messages != 2 * steps + 2:
        raise RuntimeError(f"The run ended with {messages} messages instead of {2 * steps + 2}.")
    return {"ms_per_step": 1000 * spent / steps}


def _saver() -> Any:
    from langgraph.checkpoint.memory import InMemorySaver

    return InMemorySaver()


def _run(agent: Any, colour: str, thread: str) -> int:
    config = {"recursion_limit": 10_000, "configurable": {"thread_id": thread}}
    if colour == "sync":
        return len(agent.invoke(ASK, config)["messages"])
    return len(asyncio.run(agent.ainvoke(ASK, config))["messages"])


def compare(bench: Bench, colour: str, *, limit: float | None, claim: str, target: str, label: str, **options: Any) -> Row:
    """Rounds of one form of the measurement, as a row of ratios to the floor."""
    figures = bench.rounds("step", {"steps": STEPS, "colour": colour, **options}, count=1 if bench.quick else 3, label=label)
    times = {name: best(figures, name, "ms_per_step") for name in figures}
    floor = times["floor"]
    note = f"floor {floor:.2f} ms per step" if floor else ""
    return Row(claim, target, ratio(times["ours"], floor), ratio(floor, floor), ratio(times["peer"], floor), limit, note=note)


def rows(bench: Bench) -> list[Row]:
    found = [
        compare(
            bench, colour, limit=0.65, claim=f"CPU per no-op step, {colour}", target="≤ 0.65x floor", label=f"step {colour}"
        )
        for colour in ("sync", "async")
    ]
    if not bench.quick:
        claim = "the same, async, model converts tool schemas per call"
        found.append(compare(bench, "async", limit=None, claim=claim, target="–", label="step convert", convert=True))
    return found
