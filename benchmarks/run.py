"""Run the benchmarks: `python benchmarks/run.py [--only step,search] [--quick] [--publish]`.

Prints one table, writes `build/benchmarks.json`; `--publish` also puts the table into `docs/benchmarks.md` and redraws its chart. Exit
status 0 means that everything was measured, not that every target was met: a benchmark states a fact. Linux and macOS.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import subprocess
import sys
import time
from pathlib import Path

# The folder of this script is no place to import from: it would hide modules of the same name.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from benchmarks import chart, environments, report  # noqa: E402 -- importable only after the line above
from benchmarks.bench import Bench, Row, log  # noqa: E402

CLAIMS = (
    "step",
    "checkpointed",
    "create",
    "concurrent_runs",
    "storage",
    "growth",
    "search",
    "context",
    "tasks",
    "imports",
    "local_model",
    "server_start",
    "server_runs",
    "server_streams",
    "kept_runs",
    "thread_search",
    "research",
    "reading",
    "payments",
    "page",
    "objects",
    "queue_claims",
    "scale_out",
    "event_fanout",
)


def main() -> int:
    options = _options()
    bench = prepare(options.quick, peer=not options.no_peer)
    rows: list[Row] = []
    for claim in options.only:
        started = time.monotonic()
        found = importlib.import_module(f"benchmarks.{claim}").rows(bench)
        rows += found
        log("\n".join("  ".join(row.cells()) for row in found) + f"  ({claim}, {time.monotonic() - started:.0f} s)")
    print(report.text_table(rows))
    print("\n" + "\n".join(report.notes(rows, bench)))
    report.write_json(rows, bench)
    if options.publish:
        report.publish(rows, bench)
        chart.write()
    return 1 if bench.problems else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure Stepwell against plain LangChain (floor) and deepagents (peer).")
    parser.add_argument("--only", type=_claims, default=CLAIMS, metavar="A,B", help=f"some of: {', '.join(CLAIMS)}")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and shorter runs; ratios are rougher")
    parser.add_argument("--no-peer", action="store_true", help="leave the peer out")
    parser.add_argument("--publish", action="store_true", help="write the table into docs/benchmarks.md, and redraw the chart")
    return parser.parse_args()


def _claims(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if unknown := [name for name in names if name not in CLAIMS]:
        raise argparse.ArgumentTypeError(f"no claim {', '.join(unknown)}; there are {', '.join(CLAIMS)}")
    return names


def prepare(quick: bool, *, peer: bool = True) -> Bench:
    """Find or make the environments; a contestant that cannot run is left out and named below the table."""
    this = Path(sys.executable)
    bench = Bench(pythons={"floor": this, "ours": this, "peer": None}, quick=quick, with_peer=peer)
    try:
        if peer:
            bench.pythons["peer"] = environments.peer_python()
    except (environments.EnvironmentFailure, subprocess.TimeoutExpired) as failure:
        bench.problems["peer: environment"] = str(failure)
    try:
        bench.tokens_python = environments.tokens_python()
    except (environments.EnvironmentFailure, subprocess.TimeoutExpired) as failure:
        bench.problems["token counter: environment"] = str(failure)
    if importlib.util.find_spec("stepwell") is None:
        bench.pythons["ours"] = None
        bench.problems["ours: environment"] = "stepwell is not installed here; run `make bench`"
    return bench


if __name__ == "__main__":
    sys.exit(main())
