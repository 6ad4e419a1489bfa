"""Delegation: two independent parts go to subagents in one turn, so that they run side by side."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from evals.outcome import Outcome
from evals.task import Task

_INCIDENTS = {"harbour": 7, "airport": 11}
_DAYS = 20

_REQUEST = """The folders /harbour/ and /airport/ each hold the log books of one month. In each of them, count the entries that
report a real incident. Drills, exercises and corrections of earlier entries are not incidents, so the entries must be read with
care. The two folders have nothing to do with one another: give each of them to a subagent. Answer with two lines,
'harbour: <number>' and 'airport: <number>'."""

_OTHERS = ("Drill: fire alarm.", "Correction of yesterday's entry.", "Quiet day, nothing to report.", "Exercise with the crew.")


def _logs() -> dict[str, str]:
    """A file a day; the first days of each place hold its incidents, mixed by the number of the day."""
    files = {}
    for place, incidents in _INCIDENTS.items():
        for day in range(_DAYS):
            happened = (day * 7) % _DAYS < incidents  # 7 and 20 have no common factor: every value occurs once
            entry = f"Incident: boat or vehicle {day} damaged a gate." if happened else _OTHERS[day % len(_OTHERS)]
            files[f"/{place}/day-{day + 1:02}.txt"] = f"Log book of the {place}, day {day + 1}.\n{entry}\n"
    return files


def check(outcome: Outcome) -> Iterator[str]:
    for place, number in _INCIDENTS.items():
        if not re.search(rf"{place}\W{{0,6}}{number}\b", outcome.answer, re.IGNORECASE):
            yield f"the number for the {place} is wrong or missing"
    turns = Counter(call.turn for call in outcome.named("task"))
    if not turns:
        yield "delegated nothing"
    elif max(turns.values()) < len(_INCIDENTS):
        yield "gave out its tasks one after the other"
    if outcome.changed:
        yield f"{outcome.changed[0]} was touched without need"


DELEGATE = Task("delegation", "gives two independent parts to `task` in one turn, answer right", _REQUEST, check, _logs())
