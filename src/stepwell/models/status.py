"""What a local model is doing: one stream of events for downloads, loading and errors.

```
idle -> downloading -> loading -> ready
          any of them -> error (the message says what to do; asking again starts over)
```
The command line shows the events as a progress bar, a server forwards them. Nothing here downloads or loads.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

ModelStatus = Literal["idle", "downloading", "loading", "ready", "error"]


@dataclass(frozen=True)
class ModelEvent:
    """One status change of a model."""

    model_id: str
    status: ModelStatus
    file: str | None = None
    done_bytes: int = 0
    total_bytes: int | None = None
    dtype: str | None = None
    """How the weights are stored, such as `q4_1`."""
    message: str | None = None
    """For `error`: what happened and what to do."""

    @property
    def progress(self) -> float | None:
        """From 0 to 1, if the total is known."""
        return min(1.0, self.done_bytes / self.total_bytes) if self.total_bytes else None


class StatusBoard:
    """The latest event of each model, and a way to follow new ones. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest: dict[str, ModelEvent] = {}
        self._followers: list[queue.SimpleQueue[ModelEvent]] = []

    def publish(self, event: ModelEvent) -> None:
        """Send an event to all followers."""
        with self._lock:
            self._latest[event.model_id] = event
            for follower in self._followers:
                follower.put(event)

    def latest(self, model_id: str) -> ModelEvent:
        """The latest event of a model; `idle` if it was never used."""
        with self._lock:
            return self._latest.get(model_id, ModelEvent(model_id, "idle"))

    @contextmanager
    def following(self) -> Iterator[queue.SimpleQueue[ModelEvent]]:
        """A queue that gets every event from now on, until the block ends."""
        follower: queue.SimpleQueue[ModelEvent] = queue.SimpleQueue()
        with self._lock:
            self._followers.append(follower)
        try:
            yield follower
        finally:
            with self._lock:
                self._followers.remove(follower)
