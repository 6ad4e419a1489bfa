"""Compares two checkouts of this project: what a step and the building of an agent cost after a change, in ratios to before.

```
python -m benchmarks.before_after PATH/TO/BEFORE [PATH/TO/AFTER] [--runs 9] [--server | --instructions]
```
`--server` compares what a server costs instead, in CPU time: its start, and a run over HTTP with 50 clients, on SQLite and on Postgres.
Each checkout has its own `.venv`. Runs alternate in random order, so that both see the same machine; the interval is a bootstrap over the
ratios of the pairs. `--instructions` counts what the processor does (with valgrind, some minutes): the same on a busy machine, so one run
of each is enough.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import statistics
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.scale_out import TRIVIAL, load_runs
from benchmarks.servers.installation import installation
from benchmarks.servers.load import run_load
from benchmarks.servers.process import start

CASES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("step, sync", "step", {"steps": 200, "colour": "sync"}),
    ("step, async", "step", {"steps": 200, "colour": "async"}),
    ("create", "create", {"subagents": 0, "repeats": 30}),
    ("create with 5 subagents", "create", {"subagents": 5, "repeats": 30}),
)
ROUNDS = 5
"""How often a process repeats a measurement. The smallest counts: whatever else the machine does only adds to it."""
LIMIT = 1.05
REPEATED = {"step": "steps", "create": "repeats"}
FEW, MANY = 3, 23
"""How often instructions are counted: what many cost more than few is the work itself, without imports and first times."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.before_after", description="Compare two checkouts.")
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path, nargs="?", default=Path.cwd())
    parser.add_argument("--runs", type=int, default=9, help="how many pairs of runs (default 9)")
    parser.add_argument("--server", action="store_true", help="compare servers in place of agents")
    parser.add_argument("--instructions", action="store_true", help="count instructions with valgrind in place of CPU time")
    options = parser.parse_args()
    for checkout in (options.before, options.after):
        if not _python(checkout).exists():
            parser.error(f"{checkout} has no .venv. Run make in it first.")
    compare = _compare_servers if options.server else _compare_instructions if options.instructions else _compare_time
    return 0 if compare(options.before, options.after, options.runs) < LIMIT else 1


def _compare_servers(before: Path, after: Path, runs: int) -> float:
    print("| what | after : before | 95 % interval | after |\n|---|---|---|---|")
    spent: dict[Path, list[dict[str, float]]] = {before: [], after: []}
    for _ in range(runs):
        for checkout in random.sample([before, after], 2):
            spent[checkout].append(_server_cost(checkout))
    worst = 0.0
    for label in spent[after][0]:
        ratios = [now[label] / then[label] for then, now in zip(spent[before], spent[after], strict=True)]
        low, high = _interval(ratios)
        worst = max(worst, high)
        usual = statistics.median(each[label] for each in spent[after])
        print(f"| {label} | {statistics.median(ratios):.3f} | {low:.3f} to {high:.3f} | {usual:.1f} ms |", flush=True)
    return worst


def _server_cost(checkout: Path) -> dict[str, float]:
    """Milliseconds of the server's CPU."""
    with start("ours", _python(checkout)) as server:
        costs = {"start, CPU": 1000 * (server.cpu_s() or 0)}
        run_load(server, clients=50, seconds=1.0, kind="wait")  # warm
        for kind in ("wait", "stream"):
            costs[f"50 clients, {kind}, CPU per run"] = run_load(server, clients=50, seconds=4.0, kind=kind)["cpu_ms_per_run"]
    graph, given, concurrency = TRIVIAL
    with installation(_python(checkout), workers=1, concurrency=concurrency) as it:
        each = asyncio.run(load_runs(it, graph, given, seconds=5.0))["cpu_ms"]
    return {**costs, "the same on Postgres, all processes": sum(each.values())}


def _compare_time(before: Path, after: Path, runs: int) -> float:
    """Prints a row for each case; gives the worst upper end."""
    print("| what | after : before | 95 % interval |\n|---|---|---|")
    worst = 0.0
    for label, claim, parameters in CASES:
        ratios = [_ratio(before, after, claim, parameters) for _ in range(runs)]
        low, high = _interval(ratios)
        worst = max(worst, high)
        print(f"| {label} | {statistics.median(ratios):.3f} | {low:.3f} to {high:.3f} |", flush=True)
    return worst


def _compare_instructions(before: Path, after: Path, _runs: int) -> float:
    print("| what | after : before | million instructions before | after |\n|---|---|---|---|")
    worst = 0.0
    for label, claim, parameters in CASES:
        then, now = (_instructions(checkout, claim, parameters) for checkout in (before, after))
        worst = max(worst, now / then)
        print(f"| {label} | {now / then:.3f} | {then / 1e6:.2f} | {now / 1e6:.2f} |", flush=True)
    return worst


def _instructions(checkout: Path, claim: str, parameters: dict[str, Any]) -> float:
    """What one step, or one agent, costs."""
    few, many = (_count(checkout, claim, {**parameters, REPEATED[claim]: times}) for times in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def _count(checkout: Path, claim: str, parameters: dict[str, Any]) -> int:
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    worker = [*valgrind, str(_python(checkout)), "-m", "benchmarks.worker", "ours"]
    line = json.dumps({"claim": claim, "parameters": parameters}) + "\n"
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(worker, cwd=checkout, env=environment, input=line, text=True, capture_output=True, check=False)
    counted = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if counted is None or '"result"' not in done.stdout:
        raise SystemExit(f"{checkout} could not be measured: {done.stdout[-500:]} {done.stderr[-500:]}")
    return int(counted[1].replace(",", ""))


def _ratio(before: Path, after: Path, claim: str, parameters: dict[str, Any]) -> float:
    cost = {checkout: _measure(checkout, claim, parameters) for checkout in random.sample([before, after], 2)}
    return cost[after] / cost[before]


def _measure(checkout: Path, claim: str, parameters: dict[str, Any]) -> float:
    """The smallest CPU time of one process's rounds, in milliseconds."""
    line = json.dumps({"claim": claim, "parameters": parameters}) + "\n"
    worker = [str(_python(checkout)), "-m", "benchmarks.worker", "ours"]
    done = subprocess.run(worker, cwd=checkout, input=line * ROUNDS, text=True, capture_output=True, check=True)
    answers = [json.loads(answer) for answer in done.stdout.splitlines()]
    failed = [answer["error"] for answer in answers if "error" in answer]
    if failed or len(answers) != ROUNDS:
        raise SystemExit(f"{checkout} could not be measured: {failed[0] if failed else done.stderr[-500:]}")
    return min(float(next(iter(answer["result"].values()))) for answer in answers)


def _python(checkout: Path) -> Path:
    return checkout.resolve() / ".venv" / "bin" / "python"


def _interval(ratios: list[float]) -> tuple[float, float]:
    medians = sorted(statistics.median(random.choices(ratios, k=len(ratios))) for _ in range(5000))
    return medians[125], medians[4875]


if __name__ == "__main__":
    raise SystemExit(main())
