"""The progress of driving a graph, step by step: the type that `graph.stream_graph` yields and an attempt records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from stepwell.database.types import NewEvent, PendingInterrupt


@dataclass(frozen=True)
class PartialMessage:
    """An answer of the root graph, with all of its text so far. `done`: the answer is complete."""

    message_id: str
    node: str
    text: str
    done: bool = False


class Progress(NamedTuple):
    """The result of one chunk of LangGraph's stream."""

    events: tuple[NewEvent, ...] = ()
    """The events the caller requested, encoded, to be journaled in this order."""
    values: Any | None = None
    """The root graph's newest values, as Python objects and without `__interrupt__`."""
    interrupts: tuple[PendingInterrupt, ...] = ()
    """Interrupts seen for the first time in this attempt, with plain values."""
    partial: PartialMessage | None = None
