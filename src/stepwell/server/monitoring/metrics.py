"""The server's metrics, in Prometheus's text format, for `/metrics`. They never make anything fail.

Labels are few and bounded: the route's pattern and never its path, served graphs, a limited number of models. An id never becomes a
series. Each server has its own registry, so two servers in one process do not mix.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter, time
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepwell.database.types import ModelUsage, Run, RunOutcome
from stepwell.database.upkeep.maintenance import Backlog, Maintenance
from stepwell.errors import StorageUnavailableError
from stepwell.server.monitoring.request_log import route_of
from stepwell.supervision import Supervisor

MOST_MODELS = 50
"""Callers may be able to choose models by name; beyond this many different ones, the rest count as `other`."""
OTHER = "other"

_WAITS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 120)
_RUN_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"})
_UNKNOWN = float("nan")


class Metrics:
    """The metrics of one server. Created first and passed to the code that counts; `watch` adds values that are queried on each read."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        self.runs = RunMetrics(registry)
        self._requests = Counter(
            "stepwell_http_requests", "Requests answered", ["method", "route", "status"], registry=registry
        )
        self._seconds = Histogram(
            "stepwell_http_first_byte_seconds",
            "Time to the first byte of an answer",
            ["method", "route"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._first_event = Histogram(
            "stepwell_stream_first_event_seconds",
            "Time from a request to the first event of its stream",
            (),
            buckets=_SECONDS,
            registry=registry,
        )
        self._group_size = Histogram(
            "stepwell_database_group_size",
            "Pieces of work in one commit",
            (),
            buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
            registry=registry,
        )
        self._commit = Histogram(
            "stepwell_database_commit_seconds", "Time of one commit", (), buckets=_SECONDS, registry=registry
        )
        self._webhooks = Counter("stepwell_webhook_tries", "Tries to deliver a webhook", ["outcome"], registry=registry)
        self._pending = Gauge("stepwell_runs_pending", "Runs that could run now and wait for their turn", registry=registry)
        self._oldest = Gauge("stepwell_runs_oldest_pending_seconds", "How long the first of them has waited", registry=registry)
        self._unreadable = Gauge(
            "stepwell_runs_set_aside", "Runs that were set aside: their rows are broken", registry=registry
        )
        self._running = Gauge("stepwell_runs_running", "Runs under way in all processes of the database", registry=registry)
        self._workers = Gauge(
            "stepwell_workers", "Processes that drive runs of the database, and are heard of", registry=registry
        )
        self._lease_age = Gauge(
            "stepwell_lease_age_seconds",
            "How long ago the worker was heard of that has been silent for longest, among those that drive something",
            registry=registry,
        )
        self._maintenance: Maintenance | None = None

    def watch(self, maintenance: Maintenance, *, streams: Callable[[], int], driving: Callable[[], int]) -> None:
        """Query the storage and the numbers of streams and runs whenever the metrics are read."""
        self._maintenance = maintenance
        self.registry.register(_StorageFigures(maintenance))
        self.show("stepwell_streams_open", "Event streams that are open now", streams)
        self.show("stepwell_runs_driving", "Runs under way in this process", driving)

    def watch_duties(self, supervisor: Supervisor) -> None:
        """Query which duties of the server are failing whenever the metrics are read."""
        self.registry.register(_DutyFigures(supervisor))

    def show(self, name: str, words: str, read: Callable[[], float]) -> None:
        """Add a value that is queried whenever the metrics are read."""
        Gauge(name, words, registry=self.registry).set_function(read)

    async def text(self) -> bytes:
        """All metrics. Values that the database cannot provide now are NaN."""
        await self._ask_backlog()
        # In a thread: formatting thousands of values takes milliseconds, which would delay streams.
        return await asyncio.to_thread(generate_latest, self.registry)

    async def samples(self) -> dict[str, list[dict[str, Any]]]:
        """All metrics as JSON: the name of each, with its labels and values. Values that the database cannot provide now are null."""
        await self._ask_backlog()

        def collect() -> dict[str, list[dict[str, Any]]]:
            found: dict[str, list[dict[str, Any]]] = {}
            for sample in (sample for metric in self.registry.collect() for sample in metric.samples):
                found.setdefault(sample.name, []).append({"labels": dict(sample.labels), "value": sample.value})
            return found

        return await asyncio.to_thread(collect)

    async def _ask_backlog(self) -> None:
        if self._maintenance is not None:
            try:
                self._show_backlog(await self._maintenance.backlog())
            except StorageUnavailableError:
                self._show_backlog(None)

    def _show_backlog(self, backlog: Backlog | None) -> None:
        self._pending.set(backlog.pending if backlog else _UNKNOWN)
        self._oldest.set(backlog.oldest_s if backlog else _UNKNOWN)
        self._unreadable.set(backlog.unreadable if backlog else _UNKNOWN)
        self._running.set(backlog.running if backlog else _UNKNOWN)
        self._workers.set(backlog.workers if backlog else _UNKNOWN)
        self._lease_age.set(backlog.lease_age_s if backlog else _UNKNOWN)

    def count_response(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def first_event(self, seconds: float) -> None:
        self._first_event.observe(seconds)

    def group_written(self, size: int, seconds: float) -> None:
        """Called by the database, in its writer's thread."""
        self._group_size.observe(size)
        self._commit.observe(seconds)

    def webhook_tried(self, outcome: str) -> None:
        self._webhooks.labels(outcome).inc()


class _StorageFigures:
    """Metrics that the storage counts itself."""

    def __init__(self, maintenance: Maintenance) -> None:
        self._maintenance = maintenance

    def collect(self) -> list[CounterMetricFamily | GaugeMetricFamily]:
        figures = self._maintenance.figures()
        return [
            CounterMetricFamily("stepwell_events_journaled", "Events written to the log", value=figures.events_written),
            GaugeMetricFamily(
                "stepwell_database_waiting_writes", "Pieces of work the writer has not begun", figures.waiting_writes
            ),
            GaugeMetricFamily("stepwell_database_bytes", "Size of the database on disk", figures.size_bytes),
        ]


class _DutyFigures:
    """Which duties are failing, and how often they have failed."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    def collect(self) -> list[CounterMetricFamily | GaugeMetricFamily]:
        failing = GaugeMetricFamily("stepwell_duty_failing", "1 while the last step of a duty has failed", labels=["duty"])
        failures = CounterMetricFamily("stepwell_duty_failures", "Steps of a duty that failed", labels=["duty"])
        for duty in self._supervisor.duties:
            failing.add_metric([duty.name], float(duty.failing is not None))
            failures.add_metric([duty.name], duty.failures)
        return [failing, failures]


class CountRequests:
    """ASGI layer: reports every response to `Metrics` when its first byte is sent, and for a stream also its first event."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = perf_counter()
        waiting_for_event = False

        def send_counted(message: Message) -> Awaitable[None]:
            nonlocal waiting_for_event
            if message["type"] == "http.response.start":
                method = scope["method"] if scope["method"] in _METHODS else "other"
                self._metrics.count_response(method, route_of(scope), message["status"], perf_counter() - began)
                waiting_for_event = any(
                    name == b"content-type" and value.startswith(b"text/event-stream") for name, value in message["headers"]
                )
            elif waiting_for_event and message["body"].startswith(b"id:"):
                waiting_for_event = False
                self._metrics.first_event(perf_counter() - began)
            return send(message)

        await self._app(scope, receive, send_counted)


class RunMetrics:
    """A `RunWatcher` that measures attempts, outcomes, durations, tokens and costs, by graph or by model."""

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
