"""`python -m benchmarks.claims FOLDER [--half odd]` prints what becomes of the claims of each set, in percent with 95 % intervals.

The first rows say how many sentences of a level are true, if the writer is right 60 % of the time. `--write FILE` stores them for the
legend of reports: `--half odd --write src/stepwell/research/audit/levels.json`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

from benchmarks.claims.levels import to_json
from benchmarks.claims.score import Score, score
from stepwell.research.audit.evidence import HELD, KEPT, Verdict
from stepwell.research.audit.levels import LEVELS
from stepwell.research.judges.pairs import FALSE, TRUE, Half, PairsError, find_sets, read_pairs


def _row_of(verdict: Verdict) -> Callable[[Score], object]:
    return lambda found: found.precision(verdict)


ROWS: dict[str, Callable[[Score], object]] = {
    **{f"*{words}*: true": _row_of(verdict) for verdict, words in LEVELS.items()},
    "*differs* right": lambda found: found.differs_right,
    "unmarked (the first two): true": lambda found: found.unmarked,
    "true claims not shown as supported": lambda found: found.of(TRUE, "partial", "unsupported", "contradicted"),
    "true: unmarked": lambda found: found.of(TRUE, *HELD),
    "true: not settled": lambda found: found.of(TRUE, "partial"),
    "true: left out": lambda found: found.of(TRUE, "unsupported", "contradicted"),
    "false: unmarked": lambda found: found.of(FALSE, *HELD),
    "of these refuted": lambda found: found.of(["refuted"], *HELD),
    "of these not in the evidence": lambda found: found.of(["nei"], *HELD),
    "of these partly in it": lambda found: found.of(["partial"], *HELD),
    "refuted: shown at all": lambda found: found.of(["refuted"], *KEPT),
    "false: not settled": lambda found: found.of(FALSE, "partial"),
    "true and false claims": lambda found: f"{found.of(TRUE).of} and {found.of(FALSE).of}",
    "CPU per check, µs": lambda found: f"{found.cpu_us:.0f}",
}


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    try:
        scores = {name: score(read_pairs(file, options.half)) for name, file in find_sets(options.folder).items()}
        if options.write:
            options.write.write_text(to_json(scores), encoding="utf-8")
    except (PairsError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(table(scores))
    return 0


def table(scores: dict[str, Score]) -> str:
    """The figures as a Markdown table, a column a set."""
    lines = [["", *scores], ["---"] * (1 + len(scores))]
    lines += [[name, *(str(figure(found)) for found in scores.values())] for name, figure in ROWS.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claims", description=__doc__)
    parser.add_argument(
        "folder", type=Path, help="a folder of .jsonl files, or one of them; see stepwell.research.judges.pairs.py"
    )
    parser.add_argument("--half", choices=get_args(Half), default="all", help="which lines count (tune on even, report odd)")
    parser.add_argument("--write", type=Path, metavar="FILE", help="store the share of true sentences per level in this file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
