"""Large results: what is too long for the context lies in a file, and the agent looks there instead of guessing or asking again."""

from __future__ import annotations

from collections.abc import Iterator

from evals.outcome import LARGE_RESULTS, Outcome
from evals.task import Task

_ENTRIES = 12_000
_FAILED = 7_321
_ID = f"job-{_FAILED * 17 % 99_991:05}"


def export_jobs() -> str:
    """All jobs of the last month, one per line: id, duration in ms, status."""
    lines = (
        f"job-{number * 17 % 99_991:05} {number % 900 + 100} {'FAILED' if number == _FAILED else 'OK'}"
        for number in range(_ENTRIES)
    )
    return "\n".join(lines)


def check(outcome: Outcome) -> Iterator[str]:
    if _ID not in outcome.answer:
        yield "the answer does not name the failed job"
    exports = len(outcome.named("export_jobs"))
    if exports != 1:
        yield f"exported the jobs {exports} times"
    looked = (
        call for call in outcome.named("grep", "read_file") if LARGE_RESULTS in f"{list(call.args.values())}{call.result}"
    )
    if not any(looked):
        yield "did not look into the file that holds the long result"


POINTER = Task(
    "large-result",
    "reads on in the file behind a long result, without calling the tool again",
    "Export the jobs of the last month. Exactly one of them failed: what is its id?",
    check,
    tools=(export_jobs,),
)
