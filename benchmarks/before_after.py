"""Compares two checkouts of this project: what a step and the building of an agent cost after a change, in ratios to before.

```
python -m benchmarks.before_after PATH/TO/BEFORE [PATH/TO/AFTER] [--runs 9 | --instructions]
```
Each checkout has its own `.venv`. Runs alternate in random order, so that both see the same machine; the interval is a bootstrap over the
ratios of the pairs. `--instructions` counts what the processor does (with valgrind, some minutes): the same on a busy machine, so one run
of each is enough.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
from pathlib import Path
from typing import Any

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
    parser.add_argument("--instructions", action="store_true", help="count instructions with valgrind in place of CPU time")
    options = parser.parse_args()
    for checkout in (options.before, options.after):
        if not _python(checkout).exists():
            parser.error(f"{checkout} has no .venv. Run make in it first.")
    compare = _compare_instructions if options.instructions else _compare_time
    return 0 if compare(options.before, options.after, options.runs) < LIMIT else 1


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
