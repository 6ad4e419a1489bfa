"""Counts wrong credentials per address, so that guessing is slow, visible, and cheap for the database.

Only credentials that were never valid count. A revoked key or an expired token was valid once: counting those would lock out an office
behind one address each time a browser wakes up.
"""

from __future__ import annotations

from collections import OrderedDict

from stepwell.clock import Clock
from stepwell.database.shared_counts import SharedCounts
from stepwell.errors import LimitReachedError, NotSignedInError

INVALID_CREDENTIAL = 'Bearer realm="stepwell", error="invalid_token"'

_MOST_ADDRESSES = 10_000


class BadCredentialError(NotSignedInError):
    """A credential that was never valid: invented, mistyped or forged."""

    def __init__(self, message: str) -> None:
        super().__init__(message, INVALID_CREDENTIAL)


class CredentialThrottle:
    """Allows `limit` wrong credentials per address within `window_s`; further wrong ones have to wait until the window ends. Valid ones
    never wait: nobody can lock out other users at the same address.

    All servers share the count. A server learns the count of the others with the first wrong credential that it sees itself, so each
    additional server may answer one wrong credential more than the limit; valid credentials cost no query."""

    def __init__(self, clock: Clock, counts: SharedCounts, *, limit: int = 30, window_s: int = 60) -> None:
        self._clock = clock
        self._counts = counts
        self._limit = limit
        self._window_s = window_s
        self._refused_until: OrderedDict[str, float] = OrderedDict()

    def check(self, address: str) -> None:
        """Raise `LimitReachedError` while an address has to wait. Called after a credential turned out to be wrong."""
        left_s = self._refused_until.get(address, 0.0) - self._now()
        if left_s > 0:
            raise _too_many(left_s)

    async def count(self, address: str) -> None:
        """Count one more wrong credential. `LimitReachedError` if that exceeds the limit."""
        counted = await self._counts.count(f"wrong keys from {address}", self._window_s)
        if counted.number < self._limit:
            return
        self._refused_until.pop(address, None)
        self._refused_until[address] = self._now() + counted.left_s
        if len(self._refused_until) > _MOST_ADDRESSES:
            self._refused_until.popitem(last=False)
        if counted.number > self._limit:
            raise _too_many(counted.left_s)

    def _now(self) -> float:
        return self._clock.now().timestamp()


def _too_many(left_s: float) -> LimitReachedError:
    return LimitReachedError(f"Too many wrong keys from this address. Wait {int(left_s) + 1} s.", int(left_s) + 1)
