"""Traces of runs, for an operator's collector. Nothing is traced unless an address is configured.

A `Telemetry` is one of the engine's watchers. OpenTelemetry is imported only when an address is configured. Whatever happens to the
collector, no run waits for it or fails because of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from langchain_core.callbacks import BaseCallbackHandler

from stepwell.database.types import Run, RunOutcome
from stepwell.errors import ConfigurationError, needs_extra
from stepwell.settings import TelemetrySettings


class Telemetry(Protocol):
    """Observes what runs do: the engine's `RunWatcher`, plus `close`."""

    def began(self, run: Run) -> Sequence[BaseCallbackHandler]:
        """An attempt begins: returns the handlers for the callbacks of its config."""
        ...

    def ended(self, run: Run, outcome: RunOutcome | None) -> None:
        """The attempt is over; `None` if it was abandoned."""
        ...

    async def close(self) -> None:
        """Send what is left, within a few seconds."""
        ...


class NoTelemetry:
    """Does nothing."""

    def began(self, run: Run) -> Sequence[BaseCallbackHandler]:
        return ()

    def ended(self, run: Run, outcome: RunOutcome | None) -> None:
        return None

    async def close(self) -> None:
        return None


def open_telemetry(settings: TelemetrySettings | None) -> Telemetry:
    """Telemetry according to the settings; none without settings."""
    if settings is None:
        return NoTelemetry()
    if settings.fault:
        raise ConfigurationError(settings.fault)
    with needs_extra("Sending traces", "otel"):
        from stepwell.runs.telemetry.otel import OtelTelemetry, otlp_exporter
    return OtelTelemetry(otlp_exporter(settings), content=settings.content)
