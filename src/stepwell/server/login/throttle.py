"""Counts wrong credentials per address, so that nobody can guess keys by trying. In memory, for this process.

Only credentials that prove nothing count. A key that was revoked or a token that is out of date was right once: counting
those would lock out an office behind one address each time a browser wakes up.
"""

from __future__ import annotations

from collections import OrderedDict

from stepwell.clock import Clock
from stepwell.errors import LimitReachedError, NotSignedInError

INVALID_CREDENTIAL = 'Bearer realm="stepwell", error="invalid_token"'

_MOST_ADDRESSES = 10_000


class BadCredentialError(NotSignedInError):
    """A credential that proves nothing: made up, mistyped or forged."""

    def __init__(self, message: str) -> None:
        super().__init__(message, INVALID_CREDENTIAL)


class CredentialThrottle:
    """At most `limit` wrong credentials from one address within `window_s`; after that, none from it is checked until the window ends."""

    def __init__(self, clock: Clock, *, limit: int = 30, window_s: int = 60) -> None:
        self._clock = clock
        self._limit = limit
        self._window_s = window_s
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def check(self, address: str) -> None:
        """Raise `LimitReachedError` while an address has to wait."""
        began, count = self._counts.get(address, (0.0, 0))
        left_s = began + self._window_s - self._now()
        if count >= self._limit and left_s > 0:
            raise LimitReachedError(f"Too many wrong keys from this address. Wait {int(left_s) + 1} s.", int(left_s) + 1)

    def count(self, address: str) -> None:
        began, count = self._counts.pop(address, (0.0, 0))
        if began + self._window_s <= self._now():
            began, count = self._now(), 0
        self._counts[address] = (began, count + 1)
        if len(self._counts) > _MOST_ADDRESSES:
            self._counts.popitem(last=False)

    def _now(self) -> float:
        return self._clock.now().timestamp()
