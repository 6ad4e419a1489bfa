"""How much of a stranger's file we check, and for how long. Exceeding a limit is a problem of the bundle, reported as a sentence.

None of our reports comes near these sizes. The time is checked between short steps; a caller that cannot wait for a step to end, such
as a server, checks in another process (`checking_process.py`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from stepwell.errors import BundleError

VERIFY_S = 120.0
"""How many seconds checking a bundle may take, by default."""
MAX_REPORT_BYTES = 2_000_000
MAX_TRAIL_BYTES = 64 * 2**20
MAX_ENTRIES = 50_000
MAX_CLAIMS = 5_000
MAX_CLAIM_CHARS = 10_000
"""The most characters of a claim and its quotes together."""
MAX_NESTED = 8
"""How many levels of bundles inside bundles are checked."""


class TooLongError(BundleError):
    """The check of a bundle was stopped at a limit."""


@dataclass(frozen=True)
class Patience:
    """How long a check may take, and how deep it has gone."""

    until: float
    limit_s: float
    depth: int = 0

    @classmethod
    def of(cls, limit_s: float) -> Patience:
        return cls(time.monotonic() + limit_s, limit_s)

    def go_on(self) -> None:
        """Call it between short steps. `TooLongError` when the time is over."""
        if time.monotonic() > self.until:
            raise TooLongError(
                f"Checking the bundle took longer than {self.limit_s:g} seconds, so it was not judged. "
                "Give it more time, if you trust where it comes from."
            )

    def deeper(self) -> Patience:
        """The patience for checking a bundle inside this one."""
        if self.depth == MAX_NESTED:
            raise TooLongError(f"More than {MAX_NESTED} bundles lie inside one another, so it was not judged.")
        return Patience(self.until, self.limit_s, self.depth + 1)
