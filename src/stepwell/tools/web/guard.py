"""One engine with its manners: what is kept is not asked again, not too often, not while it says "later", not when it is broken."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from stepwell.clock import Clock
from stepwell.tools.web.cache import SearchCache
from stepwell.tools.web.limits import Breaker, TokenBucket
from stepwell.tools.web.outcomes import (
    DEFAULT_RESULTS,
    Blocked,
    Empty,
    Failed,
    Found,
    Outcome,
    SearchEngine,
    bounded,
    checked_query,
)  # fmt: skip


@dataclass(frozen=True)
class EngineLimits:
    """What an engine is asked at most."""

    per_s: float = 1.0
    burst: int = 3
    longest_wait_s: float = 15.0
    """A request that would wait longer is not made."""
    failures_to_open: int = 3
    open_s: float = 60.0
    timeout_s: float = 20.0
    """For the engine's whole answer. The transport has its own; this holds for engines of other people's too."""


class GuardedEngine:
    """A `SearchEngine` around another."""

    def __init__(
        self,
        engine: SearchEngine,
        clock: Clock,
        limits: EngineLimits | None = None,
        cache: SearchCache | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._limits = limits or EngineLimits()
        self._cache = cache
        self._sleep = sleep
        self._bucket = TokenBucket(self._limits.per_s, self._limits.burst)
        self._breaker = Breaker(self._limits.failures_to_open, self._limits.open_s)
        self._not_before = 0.0

    @property
    def name(self) -> str:
        return self._engine.name

    async def search(self, query: str, limit: int = DEFAULT_RESULTS) -> Outcome:
        query, limit = checked_query(query), bounded(limit)
        kept = await self._cache.get(self.name, query, limit) if self._cache else None
        if kept is not None:
            return kept
        refused = await self._admit()
        if refused is not None:
            return refused
        outcome = await self._ask(query, limit)
        self._learn(outcome)
        if self._cache and isinstance(outcome, Found):
            await self._cache.put(outcome, query, limit)
        return outcome

    async def _admit(self) -> Outcome | None:
        """Wait for a turn; an outcome when there is none to be had."""
        now = self._now()
        if now < self._not_before:
            pause = self._not_before - now
            return Blocked(self.name, f"it asked us to come again in {pause:.0f} s", pause)
        wait = self._bucket.wait_s(now)
        if wait > self._limits.longest_wait_s:
            return Failed(self.name, f"it is asked as often as we allow; the next turn is in {wait:.0f} s")
        if not self._breaker.allows(now):
            return Failed(self.name, "it did not work several times in a row and is left alone for a while")
        self._bucket.take(now)
        if wait > 0:
            try:
                await self._sleep(wait)
            except asyncio.CancelledError:
                self._breaker.gave_up()
                raise
        return None

    async def _ask(self, query: str, limit: int) -> Outcome:
        try:
            async with asyncio.timeout(self._limits.timeout_s):
                return await self._engine.search(query, limit)
        except TimeoutError:
            return Failed(self.name, f"it did not answer in {self._limits.timeout_s:g} s")
        except BaseException:
            # Cancelled, or a defect of the engine's code: the breaker must not wait for ever for the end of this try.
            self._breaker.gave_up()
            raise

    def _learn(self, outcome: Outcome) -> None:
        if isinstance(outcome, Found | Empty):
            self._breaker.worked()
            return
        self._breaker.failed(self._now())
        if isinstance(outcome, Blocked) and outcome.retry_after_s:
            self._not_before = self._now() + outcome.retry_after_s

    def _now(self) -> float:
        return self._clock.now().timestamp()
