"""Rate limit and circuit breaker for an engine. Pure arithmetic: the caller passes the time, and nothing waits here.

```
breaker     closed ──failures in a row──> open ──after a while──> half open ──one try──┬─ worked ──> closed
                                            ^                                          └─ failed ──> open
```
"""

from __future__ import annotations

from dataclasses import dataclass


class TokenBucket:
    """At most `burst` requests at once, and `per_s` per second over time."""

    def __init__(self, per_s: float, burst: int) -> None:
        self._per_s = per_s
        self._burst = float(burst)
        self._tokens = float(burst)
        self._at: float | None = None

    def wait_s(self, now: float) -> float:
        """How long to wait before a token may be taken."""
        self._refill(now)
        return 0.0 if self._tokens >= 1 else (1 - self._tokens) / self._per_s

    def take(self, now: float) -> None:
        """Take a token. A caller may take one that is not there yet and wait for it; later callers then wait longer."""
        self._refill(now)
        self._tokens -= 1

    def _refill(self, now: float) -> None:
        # If the clock is set back, no tokens are added or removed.
        passed = max(0.0, now - self._at) if self._at is not None else 0.0
        self._at = now
        self._tokens = min(self._burst, self._tokens + passed * self._per_s)


@dataclass
class Breaker:
    """Stops asking an engine that keeps failing."""

    failures_to_open: int = 3
    open_s: float = 60.0
    _failures: int = 0
    _opened_at: float | None = None
    _trying: bool = False

    def allows(self, now: float) -> bool:
        """Whether to ask. In the half-open state only the first caller may; every allowed caller must report back."""
        if self._opened_at is None:
            return True
        if self._trying or 0 <= now - self._opened_at < self.open_s:
            return False
        self._trying = True
        return True

    def worked(self) -> None:
        self._failures, self._opened_at, self._trying = 0, None, False

    def failed(self, now: float) -> None:
        self._failures += 1
        if self._trying or self._failures >= self.failures_to_open:
            self._opened_at = now
        self._trying = False

    def gave_up(self) -> None:
        """The attempt was cancelled and says nothing about the engine."""
        self._trying = False
