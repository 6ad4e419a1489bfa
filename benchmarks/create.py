"""Claim: building an agent is cheap. CPU of a warm `create_*`, alone and with five subagents.

The floor is one plain agent in both rows. Subagents may be compiled on first use; what that defers is shown by the third row,
which builds the agent and delegates once to each of the five.
"""

from __future__ import annotations

import asyncio
import time
from types import ModuleType
from typing import Any

from benchmarks.bench import Bench, Row, best, ratio
from benchmarks.model import TurnsModel, noop_model, noop_tool

SUBAGENTS = 5
USED_FLOOR = "floor: five plain agents behind a hand-written tool"


def measure(contestant: ModuleType, *, subagents: int, repeats: int, used: bool = False) -> dict[str, Any]:
    """CPU milliseconds per creation, after two that warm the caches."""
    model = _delegating_model() if used else noop_model(1)
    tools = [noop_tool()]

    def once() -> None:
        agent = contestant.agent(model, tools, subagents=subagents, **({"subagent_model": noop_model(0)} if used else {}))
        if used:
            asyncio.run(agent.ainvoke({"messages": [("user", "go")]}))

    once()
    once()
    started = time.process_time()
    for _ in range(repeats):
        once()
    return {"ms": 1000 * (time.process_time() - started) / repeats}


def _delegating_model() -> TurnsModel:
    calls = [("task", {"description": "Work.", "subagent_type": f"worker-{n}"}) for n in range(SUBAGENTS)]
    return TurnsModel(turns=[calls])


def rows(bench: Bench) -> list[Row]:
    alone = _times(bench, subagents=0)
    with_five = _times(bench, subagents=SUBAGENTS)
    used = _times(bench, subagents=SUBAGENTS, used=True)
    floor = alone["floor"]
    note = f"floor {floor:.2f} ms" if floor else ""
    return [
        _row("create, warm", "≤ 1.3x floor", alone, floor, 1.3, note),
        _row("create with 5 subagents", "≤ 1.3x floor", with_five, floor, 1.3, note),
        _row("create with 5 subagents and delegate once to each", "–", used, used["floor"], None, USED_FLOOR),
    ]


def _times(bench: Bench, **parameters: Any) -> dict[str, float | None]:
    label = "create " + " ".join(f"{key}={value}" for key, value in parameters.items())
    figures = bench.rounds("create", {"repeats": 10, **parameters}, count=1 if bench.quick else 3, label=label)
    return {name: best(figures, name, "ms") for name in figures}


def _row(claim: str, target: str, times: dict[str, float | None], floor: float | None, limit: float | None, note: str) -> Row:
    ours, plain, peer = (ratio(times[name], floor) for name in ("ours", "floor", "peer"))
    return Row(claim, target, ours, plain, peer, limit, note=note)
