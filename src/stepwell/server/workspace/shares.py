"""A tenant's share of what all tenants use: requests about files in a minute, and bytes kept. Counted for this process.

How many bytes a tenant has is found out by a listing, which is asked for again after a while; what is written meanwhile is added.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from starlette.exceptions import HTTPException

from stepwell.backends.whole_files import WholeFiles
from stepwell.clock import Clock
from stepwell.errors import LimitReachedError

_MINUTE_S = 60.0
_MEASURED_FOR_S = 60.0
_MOST_TENANTS = 10_000


@dataclass
class _Used:
    since: float
    amount: int


class Shares:
    """`None` stands for no limit."""

    def __init__(self, clock: Clock, max_bytes: int | None = None, max_operations: int | None = None) -> None:
        self._clock = clock
        self._max_bytes = max_bytes
        self._max_operations = max_operations
        self._operations: OrderedDict[str, _Used] = OrderedDict()
        self._bytes: OrderedDict[str, _Used] = OrderedDict()

    def count_operation(self, tenant: str) -> None:
        """`LimitReachedError` when the tenant has used up its minute."""
        if self._max_operations is None:
            return
        used = self._known(self._operations, tenant, _MINUTE_S) or self._keep(self._operations, tenant, 0)
        if used.amount >= self._max_operations:
            wait_s = max(1, int(used.since + _MINUTE_S - self._now()) + 1)
            raise LimitReachedError(f"This workspace has used its {self._max_operations} requests of a minute.", wait_s)
        used.amount += 1

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
