"""What goes wrong in the fake object store, and when: by hand, one fault for the next request that fits, or by a seeded die.

| kind | what the client meets |
|---|---|
| `unavailable` | 503, nothing done |
| `busy` | 429, nothing done |
| `collision` | 409, nothing done: how S3 answers a write that met another one |
| `cut` | the connection ends before anything is done |
| `lost` | the request is carried out, and the connection ends before the response |
| `slow` | the request waits for `seconds` before it is carried out |

`meanwhile` is called in the moment that matters: before a slow request is carried out, after a lost one was.
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
    """One piece of trouble, for requests with one of `methods` whose address holds `part`."""

    kind: FaultKind
    methods: tuple[str, ...] = WRITES + READS
    part: str = ""
    seconds: float = 0.0
    meanwhile: Callable[[], object] = lambda: None


class Faults:
    """Asked once for each request. Thread-safe."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._queue: list[Fault] = []
        self._die: random.Random | None = None
        self._rates: Mapping[FaultKind, float] = {}
        self._methods: tuple[str, ...] = ()
        self.met: list[FaultKind] = []
        """What has gone wrong so far."""

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
        """The next `times` requests that fit meet this."""
        with self._guard:
            self._queue += [Fault(kind, methods, part, seconds, meanwhile)] * times

    def roll(self, rates: Mapping[FaultKind, float], *, seed: int, methods: tuple[str, ...] = WRITES + READS) -> None:
        """From now on each request meets trouble by these probabilities; the order of the requests decides which."""
        with self._guard:
            self._die, self._rates, self._methods = random.Random(seed), rates, methods

    def stop(self) -> None:
        """No more trouble."""
        with self._guard:
            self._die = None
            self._queue.clear()

    def draw(self, method: str, address: str) -> Fault | None:
        """What this request meets."""
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
