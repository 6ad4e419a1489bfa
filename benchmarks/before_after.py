"""Compares two checkouts of this project: what a step and the building of an agent cost after a change, in ratios to before.

```
python -m benchmarks.before_after PATH/TO/BEFORE [PATH/TO/AFTER] [--runs 9]
```
Each checkout has its own `.venv`. Runs alternate in random order, so that both see the same machine; the interval is a bootstrap over the
ratios of the pairs.
"""

from __future__ import annotations

import argparse
import json
import random
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


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.before_after", description="Compare two checkouts.")
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path, nargs="?", default=Path.cwd())
    parser.add_argument("--runs", type=int, default=9, help="how many pairs of runs (default 9)")
    options = parser.parse_args()
    for checkout in (options.before, options.after):
        if not _python(checkout).exists():
            parser.error(f"{checkout} has no .venv. Run make in it first.")
    print("| what | after : before | 95 % interval |\n|---|---|---|")
    worst = 0.0
    for label, claim, parameters in CASES:
        ratios = [_ratio(options.before, options.after, claim, parameters) for _ in range(options.runs)]
        low, high = _interval(ratios)
        worst = max(worst, high)
        print(f"| {label} | {statistics.median(ratios):.3f} | {low:.3f} to {high:.3f} |", flush=True)
    return 0 if worst < LIMIT else 1


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
