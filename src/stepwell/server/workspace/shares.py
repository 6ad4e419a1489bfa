"""A tenant's share of what all tenants use: requests about files in a minute, and bytes kept.

Requests are counted for all servers together, in portions: a server takes a few at a time from the tenant's minute and uses them up without
asking. How many bytes a tenant has is found out by a listing, which is asked for again after a while; what this server writes meanwhile is
added, what another one writes is found with the next listing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from starlette.exceptions import HTTPException

from stepwell.backends.whole_files import WholeFiles
from stepwell.clock import Clock
from stepwell.errors import LimitReachedError
from stepwell.runs.shared_counts import ProcessCounts, SharedCounts

_MINUTE_S = 60.0
_MEASURED_FOR_S = 60.0
_MOST_TENANTS = 10_000
_PORTIONS = 50
"""Into how many a tenant's minute is cut: what is left unused of one is lost to the other servers."""


@dataclass
class _Used:
    since: float
    amount: int


@dataclass
class _Allowed:
    """What this server may still do of a tenant's minute."""

    until: float
    left: int
    used_up: bool
    """No server has any more of it."""


class Shares:
    """`None` stands for no limit."""

    def __init__(
        self,
        clock: Clock,
        max_bytes: int | None = None,
        max_operations: int | None = None,
        counts: Callable[[], SharedCounts] | None = None,
    ) -> None:
        """`counts` are those of all servers together, where there are several."""
        self._clock = clock
        self._max_bytes = max_bytes
        self._max_operations = max_operations
        alone = ProcessCounts(clock)
        self._counts = counts or (lambda: alone)
        self._allowed: OrderedDict[str, _Allowed] = OrderedDict()
        self._bytes: OrderedDict[str, _Used] = OrderedDict()

    async def count_operation(self, tenant: str) -> None:
        """`LimitReachedError` when the tenant has used up its minute."""
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
        """Take a portion of the tenant's minute, as far as it is not used up."""
        portion = max(1, most // _PORTIONS)
        counted = await self._counts().count(f"requests of {tenant}", _MINUTE_S, portion)
        more = max(0, portion - max(0, counted.number - most))
        known = self._allowed.pop(tenant, None)
        left = known.left if known and self._now() < known.until else 0  # another request may have asked meanwhile
        self._allowed[tenant] = allowed = _Allowed(self._now() + counted.left_s, left + more, used_up=more < portion)
        if len(self._allowed) > _MOST_TENANTS:
            self._allowed.popitem(last=False)
        return allowed

    async def require_room(self, files: WholeFiles, tenant: str, more: int) -> None:
        """507 when `more` bytes do not fit into what the tenant may keep."""
        if self._max_bytes is None:
            return
        used = self._known(self._bytes, tenant, _MEASURED_FOR_S)
        if used is None:
            used = self._keep(self._bytes, tenant, await files.measure(f"/{tenant}/"))
        if used.amount + more > self._max_bytes:
            raise HTTPException(
                507, f"This workspace may keep {self._max_bytes:,} bytes and holds {used.amount:,}. Delete what is not needed."
            )

    def note_change(self, tenant: str, more: int) -> None:
        """What was written or, with less than nothing, deleted."""
        if used := self._bytes.get(tenant):
            used.amount += more

    def _known(self, kept: OrderedDict[str, _Used], tenant: str, lasts_s: float) -> _Used | None:
        used = kept.get(tenant)
        return used if used and self._now() < used.since + lasts_s else None

    def _keep(self, kept: OrderedDict[str, _Used], tenant: str, amount: int) -> _Used:
        kept.pop(tenant, None)
        kept[tenant] = used = _Used(self._now(), amount)
        if len(kept) > _MOST_TENANTS:
            kept.popitem(last=False)
        return used

    def _now(self) -> float:
        return self._clock.now().timestamp()
