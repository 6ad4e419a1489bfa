"""What goes wrong in the fake object store, and when: by hand, for the next matching request, or at random with a seed.

| kind | what the client sees |
|---|---|
| `unavailable` | 503, nothing done |
| `busy` | 429, nothing done |
| `collision` | 409, nothing done: S3's answer to conflicting writes |
| `cut` | the connection ends before anything is done |
| `lost` | the request is carried out, and the connection ends before the response |
| `slow` | the request waits for `seconds` before it is carried out |

`meanwhile` is called at the critical moment: before a slow request is carried out, and after a lost one has been.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

FaultKind = Literal["unavailable", "busy", "collision", "cut", "lost", "slow"]

WRITES = ("PUT", "POST", "DELETE")
READS = ("GET", "HEAD")


@dataclass(frozen=True)
class Fault:
    """One fault, for requests with one of `methods` whose URL contains `part`."""

    kind: FaultKind
    methods: tuple[str, ...] = WRITES + READS
    part: str = ""
    seconds: float = 0.0
    meanwhile: Callable[[], object] = lambda: None


class Faults:
    """Decides, once per request, which fault it meets. Thread-safe."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._queue: list[Fault] = []
        self._die: random.Random | None = None
        self._rates: Mapping[FaultKind, float] = {}
        self._methods: tuple[str, ...] = ()
        self.met: list[FaultKind] = []
        """The faults that have occurred so far."""

    def add(
        self,
        kind: FaultKind,
        times: int = 1,
        *,
        methods: tuple[str, ...] = WRITES + READS,
        part: str = "",
        seconds: float = 0.0,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> None:
        """Apply this fault to the next `times` matching requests."""
        with self._guard:
            self._queue += [Fault(kind, methods, part, seconds, meanwhile)] * times

    def roll(self, rates: Mapping[FaultKind, float], *, seed: int, methods: tuple[str, ...] = WRITES + READS) -> None:
        """From now on each request fails with these probabilities; the order of the requests decides which ones fail."""
        with self._guard:
            self._die, self._rates, self._methods = random.Random(seed), rates, methods

    def stop(self) -> None:
        """End all faults."""
        with self._guard:
            self._die = None
            self._queue.clear()

    def draw(self, method: str, address: str) -> Fault | None:
        """The fault for this request, if any."""
        with self._guard:
            fault = self._draw(method, address)
            if fault:
                self.met.append(fault.kind)
            return fault

    def _draw(self, method: str, address: str) -> Fault | None:
        for place, fault in enumerate(self._queue):
            if method in fault.methods and fault.part in address:
                return self._queue.pop(place)
        if self._die is None or method not in self._methods:
            return None
        thrown = self._die.random()
        for kind, rate in self._rates.items():
            thrown -= rate
            if thrown < 0:
                return Fault(kind, seconds=0.2)
        return None
