"""Limits per tenant: file requests per minute, and bytes stored.

All servers share the count of requests, in portions: a server takes a few requests at a time out of those that the tenant has in a minute,
and uses them up without further queries.

```
bytes held (files, and parts of uploads)  +  bytes on their way, reserved as they come  <=  the tenant's share
  by a listing, kept for a while             stored: they are held now; failed: given back; without what they replace
```
A listing is repeated after a while, and before anything is refused; what this server stores in between is added to its sum. What other
servers store shows in the next listing, which comes sooner where there are several servers. What they are receiving at this very moment
does not show, so a tenant can exceed its share by that much.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.exceptions import HTTPException

from stepwell.clock import Clock
from stepwell.database.shared_counts import ProcessCounts, SharedCounts
from stepwell.errors import LimitReachedError

Measure = Callable[[], Awaitable[int]]
"""Measures how many bytes a tenant has stored."""

_MINUTE_S = 60.0
_MEASURED_FOR_S = 60.0
_MEASURED_FOR_ALL_S = 5.0
"""How long a measurement is used if other servers store files too."""
_MEASURED_AGAIN_AFTER_S = 1.0
_MOST_TENANTS = 10_000
_PORTIONS = 50
"""The number of portions in a tenant's minute. Other servers cannot use what a server leaves of its portion."""


@dataclass
class _Used:
    since: float
    amount: int


@dataclass
class _Allowed:
    """The requests that this server may still accept in a tenant's minute."""

    until: float
    left: int
    used_up: bool
    """Whether no portion is left for any server."""


class Room:
    """The part of a tenant's share that one request uses."""

    def __init__(self, shares: Shares, tenant: str, measure: Measure) -> None:
        self._shares = shares
        self._tenant = tenant
        self._measure = measure
        self.held = 0
        self.replaced: tuple[str, Measure] | None = None
        """What these bytes replace when they are stored: a name that identifies it, and a function that measures its size."""
        self._replaces = 0

    async def look(self) -> None:
        """Measure what is replaced, before bytes come and again before they are stored, since it may have changed by then."""
        if self.replaced and self._shares.may_replace(self, self.replaced[0]):
            self._replaces = await self.replaced[1]()

    async def require(self, size: int) -> None:
        """Require room for `size` bytes in total; 507 if they do not fit."""
        more = max(0, size - self._replaces) - self.held
        if more > 0:
            await self._shares.reserve(self._tenant, more, self._measure)
            self.held += more

    async def check(self) -> None:
        """507 if the tenant already exceeds its share."""
        await self._shares.reserve(self._tenant, 0, self._measure)

    def keep(self, size: int) -> None:
        """Note that `size` bytes are stored now and replace the old ones."""
        if size < self._replaces:
            self._shares.note_deletion(self._tenant)
        else:
            self._shares.note_more(self._tenant, size - self._replaces)


class Shares:
    """The shares of all tenants, and what they use of them. `None` means no limit."""

    def __init__(
        self,
        clock: Clock,
        max_bytes: int | None = None,
        max_operations: int | None = None,
        counts: Callable[[], SharedCounts] | None = None,
    ) -> None:
        """`counts` are shared by all servers, if there are several."""
        self._clock = clock
        self._max_bytes = max_bytes
        self._max_operations = max_operations
        alone = ProcessCounts(clock)
        self._counts = counts or (lambda: alone)
        self._allowed: OrderedDict[str, _Allowed] = OrderedDict()
        self._measured_for_s = _MEASURED_FOR_S if counts is None else _MEASURED_FOR_ALL_S
        self._bytes: OrderedDict[str, _Used] = OrderedDict()
        self._reserved: Counter[str] = Counter()
        self._replacing: dict[str, Room] = {}
        self._measuring: dict[str, asyncio.Lock] = {}
        self._stored_meanwhile: dict[str, int] = {}

    async def count_operation(self, tenant: str) -> None:
        """Count one request; `LimitReachedError` when the tenant has used up its requests for this minute."""
        if self._max_operations is None:
            return
        allowed = self._allowed.get(tenant)
        if allowed is None or self._now() >= allowed.until or (allowed.left < 1 and not allowed.used_up):
            allowed = await self._allow_more(tenant, self._max_operations)
        if allowed.left < 1:
            wait_s = max(1, int(allowed.until - self._now()) + 1)
            raise LimitReachedError(f"This workspace has used its {self._max_operations} requests of a minute.", wait_s)
        allowed.left -= 1

    async def _allow_more(self, tenant: str, most: int) -> _Allowed:
        """Take a portion of the tenant's requests for this minute, or what is left of them."""
        portion = max(1, most // _PORTIONS)
        counted = await self._counts().count(f"requests of {tenant}", _MINUTE_S, portion)
        more = max(0, portion - max(0, counted.number - most))
        known = self._allowed.pop(tenant, None)
        left = known.left if known and self._now() < known.until else 0  # another request may have asked meanwhile
        self._allowed[tenant] = allowed = _Allowed(self._now() + counted.left_s, left + more, used_up=more < portion)
        if len(self._allowed) > _MOST_TENANTS:
            self._allowed.popitem(last=False)
        return allowed

    @asynccontextmanager
    async def room(self, tenant: str, measure: Measure) -> AsyncIterator[Room]:
        """Reserve room for bytes as they arrive. Room that was not used is released at the end of the block."""
        room = Room(self, tenant, measure)
        try:
            yield room
        finally:
            self._reserve(tenant, -room.held)
            if room.replaced and self._replacing.get(room.replaced[0]) is room:
                del self._replacing[room.replaced[0]]

    def may_replace(self, room: Room, name: str) -> bool:
        """Whether a request may use the room of what it replaces. Of several requests at the same time only the first may,
        because their bodies are on disk together until they are stored."""
        return self._max_bytes is not None and self._replacing.setdefault(name, room) is room

    async def reserve(self, tenant: str, more: int, measure: Measure) -> None:
        """Reserve `more` bytes; 507 if they do not fit into the tenant's share together with everything its users are sending now."""
        if self._max_bytes is not None and not await self._fits(tenant, more, measure, self._max_bytes):
            raise HTTPException(
                507, f"This workspace may keep {self._max_bytes:,} bytes, and this does not fit. Delete what is not needed."
            )
        self._reserve(tenant, more)  # nothing else has run since the check

    async def _fits(self, tenant: str, more: int, measure: Measure, most: int) -> bool:
        for lasts_s in (self._measured_for_s, _MEASURED_AGAIN_AFTER_S):  # again before rejecting: files may be deleted by now
            used = await self._measured(tenant, measure, lasts_s)
            if used.amount + self._reserved[tenant] + more <= most:
                return True
        return False

    def note_more(self, tenant: str, more: int) -> None:
        """Note that `more` bytes were stored."""
        if used := self._bytes.get(tenant):
            used.amount += more
        if tenant in self._stored_meanwhile:
            self._stored_meanwhile[tenant] += more

    def note_deletion(self, tenant: str) -> None:
        """Note that something was deleted, of whatever size: the tenant's bytes are measured anew before anything is rejected."""
        if used := self._bytes.get(tenant):
            used.since = min(used.since, self._now() - _MEASURED_AGAIN_AFTER_S)

    async def _measured(self, tenant: str, measure: Measure, lasts_s: float) -> _Used:
        """The tenant's stored bytes, measured at most `lasts_s` ago. Concurrent callers share one measurement."""
        async with self._measuring.setdefault(tenant, asyncio.Lock()):
            known = self._bytes.pop(tenant, None)
            if known is None or self._now() >= known.since + lasts_s:
                since = self._now()
                self._stored_meanwhile[tenant] = 0  # counts what is stored from now on, which the listing may miss
                try:
                    amount = await measure()
                finally:
                    meanwhile = self._stored_meanwhile.pop(tenant)
                known = _Used(since, amount + meanwhile)
            self._bytes[tenant] = known
            if len(self._bytes) > _MOST_TENANTS:
                forgotten, _ = self._bytes.popitem(last=False)
                self._measuring.pop(forgotten, None)
            return known

    def _reserve(self, tenant: str, more: int) -> None:
        self._reserved[tenant] += more
        if not self._reserved[tenant]:
            del self._reserved[tenant]

    def _now(self) -> float:
        return self._clock.now().timestamp()
