"""Logs one line per run that ends, and adds the run's id to every line logged inside it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler

from stepwell.database.types import ModelUsage, Run, RunOutcome
from stepwell.server.monitoring.log_context import enter_run, leave_run
from stepwell.server.monitoring.log_lines import RUNS

_log = logging.getLogger(RUNS)


class RunLog:
    """A `RunWatcher`. Both methods are called in the task that executes the run, which is how its lines are attributed."""

    def __init__(self, seconds: Callable[[], float] = perf_counter) -> None:
        self._seconds = seconds
        self._begun: dict[str, float] = {}

    def began(self, run: Run) -> Sequence[BaseCallbackHandler]:
        enter_run(run)
        self._begun[run.run_id] = self._seconds()
        return ()

    def ended(self, run: Run, outcome: RunOutcome | None) -> None:
        took = self._seconds() - self._begun.pop(run.run_id)
        status = outcome.status if outcome else "given up"
        waiting = len(outcome.interrupts or ()) if outcome and outcome.status == "success" else 0
        fields = {"status": status, "attempt": run.attempt, "seconds": round(took, 4)} | (
            {"questions": waiting} if waiting else {}
        )
        _log.info(
            "run ended" if outcome else "attempt given up", extra={**fields, **_sum_usage(outcome.usage if outcome else ())}
        )
        leave_run()


def _sum_usage(usage: Sequence[ModelUsage]) -> dict[str, Any]:
    if not usage:
        return {}
    costs = [used.cost_usd for used in usage]
    return {
        "input_tokens": sum(used.input_tokens for used in usage),
        "output_tokens": sum(used.output_tokens for used in usage),
        # If one price is unknown, so is the sum.
        "cost_usd": None if None in costs else sum(cost for cost in costs if cost is not None),
    }
