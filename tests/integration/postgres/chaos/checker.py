"""Looks at what a chaos run has left, in a process of its own: nothing in the memory of whoever drove people and faults counts.

    python -m tests.integration.postgres.chaos.checker BOOK ORACLE ANSWERS DATABASE

Three files and the address of the database. It prints a `Verdict` as JSON, and ends with 1 if a promise is broken.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tests.integration.durability.oracle import Calls
from tests.integration.postgres.chaos.book import read_book
from tests.integration.postgres.chaos.checks import Evidence, everything
from tests.integration.postgres.chaos.money import read_answers
from tests.integration.postgres.chaos.snapshot import recoveries, take_snapshot

ROOT = Path(__file__).parents[4]
COMPARED = (
    *(
        "messages",
        "steps_speaking",
        "steps_slow",
        "steps_asking",
        "tool_calls",
        "files",
        "runs",
        "threads",
        "streams",
        "events",
    ),
    *("attempts", "checkpoints", "keyed_effects", "once_effects", "told_by_main", "told_by_subagent", "sessions", "answers"),
)
"""What there has to be in a chaos run; of each the checker says how many it looked at."""


@dataclass(frozen=True)
class Verdict:
    wrong: list[str]
    compared: dict[str, int]
    figures: dict[str, Any]


def check(book: Path, oracle: Path, answers: Path, database: str) -> Verdict:
    """In another process."""
    command = [sys.executable, "-m", __name__, str(book), str(oracle), str(answers), database]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert ended.returncode in (0, 1), f"the checker failed:\n{ended.stderr[-3000:]}"
    verdict = Verdict(**json.loads(ended.stdout))
    assert ended.returncode == bool(verdict.wrong), "its exit code says what it found"
    return verdict


def judge(evidence: Evidence) -> Verdict:
    wrong = everything(evidence)
    return Verdict(wrong, {name: evidence.compared[name] for name in COMPARED}, _figures(evidence))


def _figures(evidence: Evidence) -> dict[str, Any]:
    book, recovered = evidence.book, recoveries(evidence.snapshot)
    attempts = {row["run_id"]: row["attempt"] for row in evidence.rows("runs")}
    slow = [attempts[said.run_id] for said in book.said if said.graph == "slow" and said.run_id in attempts]
    return {
        "runs": len(attempts),
        "driven_again": sum(count > 1 for count in attempts.values()),
        "most_attempts": max(attempts.values(), default=0),
        "slow_runs": len(slow),
        "slow_driven_again": sum(count > 1 for count in slow),
        "slow_most_attempts": max(slow, default=0),
        "taken_back_and_gone": len(book.taken_back - evidence.snapshot.events.keys()),
        "outcomes_unknown": sum(row["state"] == "begun" for row in evidence.rows("effects")),
        "charges": sum(row["kind"] == "charge" for row in evidence.rows("entries")),
        "charges_taken_back": sum(row["kind"] == "void" for row in evidence.rows("entries")),
        "recovery_median_s": round(median(recovered), 2) if recovered else None,
        "recovery_worst_s": round(recovered[-1], 2) if recovered else None,
    }


def main(arguments: Sequence[str]) -> int:
    book, oracle, answers, database = arguments
    verdict = judge(Evidence(take_snapshot(database), read_book(Path(book)), Calls(Path(oracle)), read_answers(Path(answers))))
    print(json.dumps(asdict(verdict)))
    return 1 if verdict.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
