"""Traces to a real collector on the loopback, to one that hangs and to one that is gone: a run never notices (faults, R15)."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from stepwell import create_deep_agent
from stepwell.database.types import Run, RunOutcome, RunRequest
from stepwell.runs.telemetry import open_telemetry, otel
from stepwell.settings import Secret, Settings, TelemetrySettings
from stepwell.testing import ScriptedModel, call, each_run, say

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SUCCESS = RunOutcome(status="success", thread_status="idle")
EXPORT_S = 3600.0
"""How long the exporter waits for a collector here: a test in which anybody waits for the exporter does not end."""


@pytest.fixture(autouse=True)
def patient_exporter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otel, "EXPORT_TIMEOUT_S", EXPORT_S)


def run_number(n: int) -> Run:
    return Run(f"r{n}", "t", "me", RunRequest(assistant_id="a", graph_id="clerk"), "running", NOW, NOW, attempt=1)


async def drive(telemetry, runs: int) -> None:
    agent = create_deep_agent(ScriptedModel(each_run([call("ls"), say("ok")])))
    for n in range(runs):
        run = run_number(n)
        await agent.ainvoke({"messages": [("user", "go")]}, {"callbacks": list(telemetry.began(run))})
        telemetry.ended(run, SUCCESS)


async def close(telemetry) -> None:
    async with asyncio.timeout(120):
        await telemetry.close()


@contextmanager
def collector() -> Iterator[tuple[str, list[tuple[str, dict[str, str], ExportTraceServiceRequest]]]]:
    """A collector that keeps what it is sent: path, headers, spans."""
    heard = []

    class Keeps(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            heard.append(
                (self.path, {k.lower(): v for k, v in self.headers.items()}, ExportTraceServiceRequest.FromString(body))
            )
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Keeps)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", heard
    finally:
        server.shutdown()
        server.server_close()
        thread.join(60)


async def test_a_collector_gets_the_spans_with_the_headers():
    with collector() as (address, heard):
        telemetry = open_telemetry(TelemetrySettings(address, Secret("authorization=Bearer%20x")))
        await drive(telemetry, 2)
        await close(telemetry)
    assert {path for path, _, _ in heard} == {"/v1/traces"}
    assert all(headers["authorization"] == "Bearer x" for _, headers, _ in heard)
    names = [
        span.name
        for _, _, request in heard
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert names.count("invoke_agent clerk") == 2
    assert names.count("execute_tool ls") == 2


@pytest.mark.parametrize(
    ("variables", "path", "header"),
    [
        (
            {"STEPWELL_TRACES": "langfuse", "LANGFUSE_PUBLIC_KEY": "pk", "LANGFUSE_SECRET_KEY": "sk", "LANGFUSE_HOST": "HERE"},
            "/api/public/otel/v1/traces",
            ("authorization", "Basic cGs6c2s="),
        ),
        (
            {"STEPWELL_TRACES": "langsmith", "LANGSMITH_API_KEY": "key", "LANGSMITH_ENDPOINT": "HERE"},
            "/otel/v1/traces",
            ("x-api-key", "key"),
        ),
        (
            {"STEPWELL_TRACES": "phoenix", "PHOENIX_API_KEY": "key", "PHOENIX_COLLECTOR_ENDPOINT": "HERE"},
            "/v1/traces",
            ("authorization", "Bearer key"),
        ),
    ],
)
async def test_a_product_gets_the_spans_where_it_takes_them(variables: dict[str, str], path: str, header: tuple[str, str]):
    with collector() as (address, heard):
        settings = Settings.load({name: value.replace("HERE", address) for name, value in variables.items()})
        telemetry = open_telemetry(settings.telemetry)
        await drive(telemetry, 1)
        await close(telemetry)
    assert {asked for asked, _, _ in heard} == {path}
    assert all(headers[header[0]] == header[1] for _, headers, _ in heard)


async def test_a_collector_that_hangs_holds_nothing_up():
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, answers none
        telemetry = open_telemetry(TelemetrySettings(f"http://127.0.0.1:{silent.getsockname()[1]}"))
        await drive(telemetry, 100)
        await close(telemetry)


async def test_a_collector_that_is_gone_holds_nothing_up():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    telemetry = open_telemetry(TelemetrySettings(f"http://127.0.0.1:{port}"))
    await drive(telemetry, 100)
    await close(telemetry)
