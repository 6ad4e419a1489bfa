"""`python -m benchmarks.claims FOLDER [--half odd]` prints what becomes of the claims of each set, in percent with 95 % intervals."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

from benchmarks.claims.score import Score, score
from stepwell.research.judges.pairs import FALSE, Half, PairsError, find_sets, read_pairs
from stepwell.research.judges.shares import RIGHT

ROWS: dict[str, Callable[[Score], object]] = {
    "true: unmarked": lambda found: found.of(["supported"], "supported"),
    "true: marked": lambda found: found.of(["supported"], "partial"),
    "true: left out": lambda found: found.of(["supported"], "unsupported", "contradicted"),
    "false: unmarked": lambda found: found.of(FALSE, "supported"),
    "of these refuted": lambda found: found.of(["refuted"], "supported"),
    "of these not in the evidence": lambda found: found.of(["nei"], "supported"),
    "of these partly in it": lambda found: found.of(["partial"], "supported"),
    "refuted: shown at all": lambda found: found.of(["refuted"], "supported", "partial"),
    "false: shown with a mark": lambda found: found.of(FALSE, "partial"),
    f"precision, writer {RIGHT:.0%} right": lambda found: found.precision,
    "true and false claims": lambda found: f"{found.of(['supported']).of} and {found.of(FALSE).of}",
    "CPU per check, µs": lambda found: f"{found.cpu_us:.0f}",
}


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    try:
        scores = {name: score(read_pairs(file, options.half)) for name, file in find_sets(options.folder).items()}
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
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
