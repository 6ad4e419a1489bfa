"""Counting runs: what is counted, and that no id and no flood of names becomes a series."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from stepwell.database.types import ModelUsage, Run, RunOutcome, RunRequest
from stepwell.server.monitoring.metrics import MOST_MODELS, OTHER, Metrics

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def run_of(run_id: str = "run-1", attempt: int = 1) -> Run:
    return Run(run_id, "thread-1", "ada", RunRequest("a", "graph-1"), "running", NOW, NOW, attempt=attempt, due_at=NOW)


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def test_runs_are_counted_by_graph_and_status(metrics: Metrics) -> None:
    for run_id, attempt, outcome in [
        ("1", 1, RunOutcome("success", "idle")),
        ("2", 1, RunOutcome("error", "error")),
        ("3", 1, None),
        ("3", 2, RunOutcome("success", "idle")),
    ]:
        metrics.runs.began(run_of(run_id, attempt))
        metrics.runs.ended(run_of(run_id, attempt), outcome)
    assert value(metrics, "stepwell_runs_started_total", graph="graph-1") == 3
    assert value(metrics, "stepwell_runs_driven_again_total", graph="graph-1") == 1
    assert value(metrics, "stepwell_attempts_given_up_total", graph="graph-1") == 1
    assert value(metrics, "stepwell_runs_finished_total", graph="graph-1", status="success") == 2
    assert value(metrics, "stepwell_runs_finished_total", graph="graph-1", status="error") == 1
    assert value(metrics, "stepwell_run_seconds_count", graph="graph-1") == 4


def test_waiting_counts_from_when_a_run_was_due() -> None:
    from prometheus_client import CollectorRegistry

    from stepwell.server.monitoring.metrics import RunMetrics

    registry = CollectorRegistry()
    runs = RunMetrics(registry, now=lambda: (NOW + timedelta(seconds=3)).timestamp())
    runs.began(run_of())
    assert registry.get_sample_value("stepwell_run_wait_seconds_sum", {"graph": "graph-1"}) == 3


def test_tokens_and_cost_are_counted_by_model_and_an_unknown_price_is_no_cost(metrics: Metrics) -> None:
    metrics.runs.began(run_of())
    usage = (ModelUsage("a:b", 2, 10, 20, 0.25), ModelUsage("c:d", 1, 3, 4))
    metrics.runs.ended(run_of(), RunOutcome("success", "idle", usage=usage))
    assert value(metrics, "stepwell_model_tokens_total", model="a:b", kind="input") == 10
    assert value(metrics, "stepwell_model_tokens_total", model="a:b", kind="output") == 20
    assert value(metrics, "stepwell_model_cost_usd_total", model="a:b") == 0.25
    assert value(metrics, "stepwell_model_cost_usd_total", model="c:d") is None
    assert value(metrics, "stepwell_model_unpriced_tokens_total", model="c:d") == 7


async def test_models_beyond_the_bound_are_one_series_and_ids_are_none(metrics: Metrics) -> None:
    for number in range(MOST_MODELS + 20):
        run = run_of(f"run-{number}")
        metrics.runs.began(run)
        metrics.runs.ended(run, RunOutcome("success", "idle", usage=[ModelUsage(f"m{number}", 1, 1, 1)]))
    assert value(metrics, "stepwell_model_calls_total", model=OTHER) == 20
    text = (await metrics.text()).decode()
    assert "run-1" not in text
    assert "thread-1" not in text
    assert "ada" not in text.replace("# ", "")


async def test_two_servers_in_one_process_do_not_mix(metrics: Metrics) -> None:
    other = Metrics()
    metrics.count_response("GET", "/ok", 200, 0.01)
    assert value(metrics, "stepwell_http_requests_total", method="GET", route="/ok", status="200") == 1
    assert value(other, "stepwell_http_requests_total", method="GET", route="/ok", status="200") is None
