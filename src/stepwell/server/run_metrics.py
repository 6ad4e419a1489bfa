"""Counts runs: a `RunWatcher` for `/metrics`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter, time

from langchain_core.callbacks import BaseCallbackHandler
from prometheus_client import CollectorRegistry, Counter, Histogram

from stepwell.runs.records import ModelUsage, Run, RunOutcome

MOST_MODELS = 50
"""A caller may be able to choose models by name; beyond so many different ones, the rest is counted as `other`."""
OTHER = "other"

_WAITS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 120)
_RUN_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)


class RunMetrics:
    """Attempts, ends, times, tokens and money, by graph or by model."""

    def __init__(
        self, registry: CollectorRegistry, *, seconds: Callable[[], float] = perf_counter, now: Callable[[], float] = time
    ) -> None:
        self._clock = seconds
        self._now = now
        self._begun: dict[str, float] = {}
        self._models: set[str] = set()
        graph = ["graph"]
        self._started = Counter("stepwell_runs_started", "Runs begun", graph, registry=registry)
        self._again = Counter("stepwell_runs_driven_again", "Attempts after the first", graph, registry=registry)
        self._finished = Counter("stepwell_runs_finished", "Runs ended", ["graph", "status"], registry=registry)
        self._given_up = Counter(
            "stepwell_attempts_given_up", "Attempts that left their run to another", graph, registry=registry
        )
        self._waited = Histogram(
            "stepwell_run_wait_seconds", "From admission to begin", graph, registry=registry, buckets=_WAITS
        )
        self._took = Histogram("stepwell_run_seconds", "Time of an attempt", graph, registry=registry, buckets=_RUN_SECONDS)
        self._calls = Counter("stepwell_model_calls", "Calls of models", ["model"], registry=registry)
        self._tokens = Counter("stepwell_model_tokens", "Tokens of models", ["model", "kind"], registry=registry)
        self._cost = Counter("stepwell_model_cost_usd", "Cost where the price is known", ["model"], registry=registry)
        self._unpriced = Counter(
            "stepwell_model_unpriced_tokens", "Tokens whose price is not known", ["model"], registry=registry
        )

    def began(self, run: Run) -> Sequence[BaseCallbackHandler]:
        graph = run.request.graph_id
        self._begun[run.run_id] = self._clock()
        if run.attempt > 1:
            self._again.labels(graph).inc()
        else:
            self._started.labels(graph).inc()
            admitted = max(run.created_at, run.due_at) if run.due_at else run.created_at
            self._waited.labels(graph).observe(max(self._now() - admitted.timestamp(), 0.0))
        return ()

    def ended(self, run: Run, outcome: RunOutcome | None) -> None:
        graph = run.request.graph_id
        self._took.labels(graph).observe(self._clock() - self._begun.pop(run.run_id))
        if outcome is None:
            self._given_up.labels(graph).inc()
            return
        self._finished.labels(graph, outcome.status).inc()
        for used in outcome.usage:
            self._count_model(used)

    def _count_model(self, used: ModelUsage) -> None:
        model = self._label(used.model)
        self._calls.labels(model).inc(used.calls)
        self._tokens.labels(model, "input").inc(used.input_tokens)
        self._tokens.labels(model, "output").inc(used.output_tokens)
        if used.cost_usd is None:
            self._unpriced.labels(model).inc(used.input_tokens + used.output_tokens)
        else:
            self._cost.labels(model).inc(used.cost_usd)

    def _label(self, model: str) -> str:
        if model not in self._models and len(self._models) >= MOST_MODELS:
            return OTHER
        self._models.add(model)
        return model
