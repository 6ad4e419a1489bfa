"""Sends spans to an OTLP collector, from a bounded queue and in a separate thread.

If the collector is slow or unreachable, the queue fills up and the oldest spans are dropped: nothing waits. The tracer provider is our own,
not the process's global one, so the traces of a program that embeds Stepwell stay separate from ours.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from importlib.metadata import version
from urllib.parse import unquote, urlsplit

from langchain_core.callbacks import BaseCallbackHandler
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from stepwell.database.types import Run, RunOutcome
from stepwell.errors import ConfigurationError
from stepwell.runs.telemetry.spans import RunSpans
from stepwell.settings import TelemetrySettings

QUEUE_SPANS = 4096
BATCH_SPANS = 512
BATCH_WAIT_MS = 1000
EXPORT_TIMEOUT_S = 5.0
CLOSE_TIMEOUT_S = 3.0
PATH = "/v1/traces"


def otlp_exporter(settings: TelemetrySettings) -> SpanExporter:
    """The exporter that sends spans to the collector. Creating it sends nothing and does not check whether the collector is there."""
    headers = parse_headers(settings.headers.reveal()) if settings.headers else {}
    return OTLPSpanExporter(traces_address(settings.endpoint), headers=headers, timeout=EXPORT_TIMEOUT_S)


class OtelTelemetry:
    """Records what runs do as spans. With `content`, spans include messages, arguments and results."""

    def __init__(self, exporter: SpanExporter, *, content: bool = False, close_timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        self._content = content
        self._close_timeout_s = close_timeout_s
        self._open: dict[str, RunSpans] = {}
        resource = Resource.create({"service.name": "stepwell", "service.version": version("stepwell")})
        # The process's exit handlers must not close the provider, because a dead collector would delay the exit by half a minute.
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(
            BatchSpanProcessor(
                exporter,
                max_queue_size=QUEUE_SPANS,
                max_export_batch_size=BATCH_SPANS,
                schedule_delay_millis=BATCH_WAIT_MS,
                export_timeout_millis=EXPORT_TIMEOUT_S * 1000,
            )
        )
        self._tracer = self._provider.get_tracer("stepwell")

    def began(self, run: Run) -> Sequence[BaseCallbackHandler]:
        spans = self._open[run.run_id] = RunSpans(self._tracer, run, content=self._content)
        return (spans,)

    def ended(self, run: Run, outcome: RunOutcome | None) -> None:
        if spans := self._open.pop(run.run_id, None):
            spans.finish(outcome)

    async def close(self) -> None:
        # The SDK's own limit is half a minute. A daemon thread ends with the process, however long the collector takes.
        closing = threading.Thread(target=self._provider.shutdown, name="stepwell-telemetry-close", daemon=True)
        closing.start()
        await asyncio.to_thread(closing.join, self._close_timeout_s)


def traces_address(endpoint: str) -> str:
    """The full address for traces, from a collector's base address or the full address itself."""
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ConfigurationError(
            "The address for traces does not begin with http:// or https://. Write STEPWELL_OTEL_ENDPOINT like http://127.0.0.1:4318."
        )
    path = parts.path.rstrip("/")
    return parts._replace(path=path if path.endswith(PATH) else path + PATH).geturl()


def parse_headers(text: str) -> dict[str, str]:
    """`name=value,name=value` with percent-encoded values."""
    headers = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, found, value = pair.partition("=")
        if not found or not name.strip():
            raise ConfigurationError(
                "The headers for traces cannot be read. Write STEPWELL_OTEL_HEADERS like name=value,other=value."
            )
        headers[name.strip().lower()] = unquote(value.strip())
    return headers
