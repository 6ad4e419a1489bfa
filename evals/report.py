"""The results as a page. It is written whole or not at all, so an interrupted run leaves the last page as it was."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median

from evals.task import Task
from evals.trial import Trial

Results = Sequence[tuple[Task, Sequence[Trial]]]
HEAD = ("task", "it passes if the agent ...", "passed", "model calls", "tokens", "seconds")


@dataclass(frozen=True)
class Facts:
    """What a reader must know to believe the table."""

    model: str
    day: date
    times: int
    version: str
    """Of Stepwell."""


def line(task: Task, trials: Sequence[Trial]) -> tuple[str, ...]:
    """A row: how many trials passed, and the medians of what they took."""
    passed = f"{sum(trial.passed for trial in trials)} of {len(trials)}"
    calls, tokens, seconds = (median(getattr(trial, key) for trial in trials) for key in ("model_calls", "tokens", "seconds"))
    return task.name, task.about, passed, f"{calls:.0f}", f"{tokens:,.0f}", f"{seconds:.1f}"


def page(results: Results, facts: Facts) -> str:
    """The whole page in Markdown."""
    rows = [HEAD, ("---",) * len(HEAD), *(line(task, trials) for task, trials in results)]
    table = "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)
    passed = sum(trial.passed for _, trials in results for trial in trials)
    everything = sum(len(trials) for _, trials in results)
    at_least = 0.05 ** (1 / facts.times)
    return f"""# Evaluation

How well an agent of this harness, with default settings, does real tasks. This page is written by `make eval`.

- model: `{facts.model}`
- date: {facts.day.isoformat()}
- Stepwell {facts.version}, {facts.times} trials of each task, {passed} of {everything} passed
- command: `STEPWELL_MODEL={facts.model} make eval ARGS="--times {facts.times}"`

{table}

Model calls, tokens and seconds are medians; calls and tokens include those of subagents. Every check is a program that looks at what
the agent did (calls, files, plan, last message): no model judges another one. A trial that reaches the ceiling of its budget has
failed. Few trials say little: a task that passed {facts.times} of {facts.times} times may still fail {1 - at_least:.0%} of the
time (95 % confidence).

## What failed

{_failures(results)}
"""


def write_page(text: str, path: Path) -> None:
    """Put the page in its place in one step."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(draft).chmod(0o644)  # a temporary file is its owner's only
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _failures(results: Results) -> str:
    lines = [
        f"- {task.name}, trial {number}: {'; '.join(trial.faults)}"
        for task, trials in results
        for number, trial in enumerate(trials, start=1)
        if trial.faults
    ]
    return "\n".join(lines) or "Nothing."
