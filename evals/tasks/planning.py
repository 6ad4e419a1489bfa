"""Planning: a request of several steps is planned before it is worked on, and the plan is kept up to date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evals.outcome import CHANGES, Call, Outcome
from evals.task import Task

_FILES = {"/data/north.txt": "items: 17\n", "/data/south.txt": "items: 42\n", "/data/west.txt": "items: 8\n"}
_RESULTS = {"/out/total.txt": "67", "/out/largest.txt": "south", "/out/order.txt": "west, north, south"}

_REQUEST = """The files in /data/ hold the number of items in three warehouses. Please do the following:
1. Write the total of all items to /out/total.txt, only the number.
2. Write the name of the warehouse with the most items to /out/largest.txt, only the name as in its file's name.
3. Write the three names, fewest items first, to /out/order.txt, on one line, separated by a comma and a space.
4. Read the three results again and check them against the data."""


def check(outcome: Outcome) -> Iterator[str]:
    yield from outcome.wrong_files(_RESULTS)
    yield from _order(outcome.calls)
    left = [todo for todo in outcome.todos if todo["status"] != "completed"]
    if left:
        yield f"{len(left)} steps of the plan were left open"


def _order(calls: Sequence[Call]) -> Iterator[str]:
    """Looking around before planning is fine; changing something is work."""
    plan: Sequence[Mapping[str, str]] | None = None
    for call in calls:
        if call.failed:
            continue
        if call.name == "write_todos":
            plan = call.args["todos"]
            if _in_progress(plan) > 1:
                yield f"{_in_progress(plan)} steps were in progress at once"
        elif call.name in CHANGES | {"task"}:
            if plan is None:
                yield f"worked ({call.name}) before planning"
                return
            if _in_progress(plan) == 0:
                yield f"worked ({call.name}) with no step in progress"
    if plan is None:
        yield "made no plan"


def _in_progress(plan: Sequence[Mapping[str, str]]) -> int:
    return sum(todo.get("status") == "in_progress" for todo in plan)


PLAN = Task(
    "planning",
    "plans before it works, one step in progress at a time, all completed at the end, results right",
    _REQUEST,
    check,
    _FILES,
)
