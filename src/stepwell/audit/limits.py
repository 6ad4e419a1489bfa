"""How much of a file from a stranger is looked at, and for how long. What goes beyond is a problem of the bundle, in a sentence.

No report of ours comes near these sizes. The time is asked for between steps that are short each; whoever cannot wait for a step to end,
as a server, checks in another process (`verify_child.py`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from stepwell.errors import BundleError

VERIFY_S = 120.0
"""Seconds that checking a bundle may take, unless the caller says otherwise."""
MAX_REPORT_BYTES = 2_000_000
MAX_TRAIL_BYTES = 64 * 2**20
MAX_ENTRIES = 50_000
MAX_CLAIMS = 5_000
MAX_CLAIM_CHARS = 10_000
"""Of a claim and its quotes together."""
MAX_NESTED = 8
"""Bundles inside of bundles."""


class TooLongError(BundleError):
    """A bundle was not checked to its end."""


@dataclass(frozen=True)
class Patience:
    """How long somebody waits for a check, and how deep it goes."""

    until: float
    limit_s: float
    depth: int = 0

    @classmethod
    def of(cls, limit_s: float) -> Patience:
        return cls(time.monotonic() + limit_s, limit_s)

    def go_on(self) -> None:
        """Asked between short steps. `TooLongError` when the time is over."""
        if time.monotonic() > self.until:
            raise TooLongError(
                f"Checking the bundle took longer than {self.limit_s:g} seconds, so it was not judged. "
                "Give it more time, if you trust where it comes from."
            )

    def deeper(self) -> Patience:
        """For a bundle inside of this one."""
        if self.depth == MAX_NESTED:
            raise TooLongError(f"More than {MAX_NESTED} bundles lie inside one another, so it was not judged.")
        return Patience(self.until, self.limit_s, self.depth + 1)
