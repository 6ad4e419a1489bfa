"""Uses one search engine politely: reuses cached results, spaces out requests, respects the engine's `Retry-After`, and stops asking for
a while after several failures in a row.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from stepwell.clock import Clock
from stepwell.tools.web.search.cache import SearchCache
from stepwell.tools.web.search.limits import Breaker, TokenBucket
from stepwell.tools.web.search.outcomes import (
    DEFAULT_RESULTS,
    Blocked,
    Empty,
    Failed,
    Found,
    SearchEngine,
    SearchOutcome,
    check_query,
    clamp_limit,
)  # fmt: skip

_LOOK_AGAIN_S = 0.25


@dataclass(frozen=True)
class EngineLimits:
    """How often an engine may be asked, and how long it may take."""

    per_s: float = 1.0
    burst: int = 3
    longest_wait_s: float = 15.0
    """A request that would wait longer is not made."""
    failures_to_open: int = 3
    open_s: float = 60.0
    one_at_a_time: bool = False
    """For an engine that allows a single connection."""
    timeout_s: float = 20.0
    """For the engine's whole answer. The transport has its own limit; this one covers third-party engines too."""


class EngineState:
    """How often an engine was asked and how that went. Guards of the same engine share one, so that the limits apply to all of them."""

    def __init__(self, limits: EngineLimits | None = None) -> None:
        self.limits = limits or EngineLimits()
        self.bucket = TokenBucket(self.limits.per_s, self.limits.burst)
        self.breaker = Breaker(self.limits.failures_to_open, self.limits.open_s)
        self.not_before = 0.0
        self.is_busy = False


class GuardedEngine:
    """A `SearchEngine` that wraps another one and keeps to its limits."""

    def __init__(
        self,
        engine: SearchEngine,
        clock: Clock,
        limits: EngineLimits | None = None,
        cache: SearchCache | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        state: EngineState | None = None,
    ) -> None:
        """`state` has its own limits; `limits` applies only without a `state`."""
        self._engine = engine
        self._clock = clock
        self._state = state or EngineState(limits)
        self._limits = self._state.limits
        self._cache = cache
        self._sleep = sleep

    @property
    def name(self) -> str:
        return self._engine.name

    async def search(self, query: str, limit: int = DEFAULT_RESULTS) -> SearchOutcome:
        query, limit = check_query(query), clamp_limit(limit)
        kept = await self._cache.get(self.name, query, limit) if self._cache else None
        if kept is not None:
            return kept
        refused = await self._admit()
        if refused is not None:
            return refused
        self._state.is_busy = True
        try:
            outcome = await self._ask(query, limit)
        finally:
            self._state.is_busy = False
        self._learn(outcome)
        if self._cache and isinstance(outcome, Found):
            await self._cache.put(outcome, query, limit)
        return outcome

    async def _admit(self) -> SearchOutcome | None:
        """Wait for a turn; returns an outcome if the engine must not be asked."""
        now = self._now()
        if now < self._state.not_before:
            pause = self._state.not_before - now
            return Blocked(self.name, f"it asked us to retry in {pause:.0f} s", pause)
        wait = self._state.bucket.wait_s(now)
        if wait > self._limits.longest_wait_s:
            return Failed(self.name, f"our rate limit for it is reached; the next request is possible in {wait:.0f} s")
        if not self._state.breaker.allows(now):
            return Failed(self.name, "it failed several times in a row and is not asked for a while")
        self._state.bucket.take(now)
        try:
            if wait > 0:
                await self._sleep(wait)
            waited = wait
            while self._limits.one_at_a_time and self._state.is_busy:
                if waited > self._limits.longest_wait_s:
                    self._state.breaker.gave_up()
                    return Failed(self.name, "it allows one request at a time, and another one is under way")
                await self._sleep(_LOOK_AGAIN_S)
                waited += _LOOK_AGAIN_S
        except asyncio.CancelledError:
            self._state.breaker.gave_up()
            raise
        return None

    async def _ask(self, query: str, limit: int) -> SearchOutcome:
        try:
            async with asyncio.timeout(self._limits.timeout_s):
                return await self._engine.search(query, limit)
        except TimeoutError:
            return Failed(self.name, f"it did not answer in {self._limits.timeout_s:g} s")
        except BaseException:
            # Cancelled, or a bug in the engine's code: the breaker must not wait for ever for the result of this attempt.
            self._state.breaker.gave_up()
            raise

    def _learn(self, outcome: SearchOutcome) -> None:
        if isinstance(outcome, Found | Empty):
            self._state.breaker.worked()
            return
        self._state.breaker.failed(self._now())
        if isinstance(outcome, Blocked) and outcome.retry_after_s:
            self._state.not_before = self._now() + outcome.retry_after_s

    def _now(self) -> float:
        return self._clock.now().timestamp()
