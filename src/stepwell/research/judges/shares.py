"""Shares with their 95 % intervals (Wilson's, which hold for small counts and near 0 and 1)."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

RIGHT = 0.6
"""A precision is for a writer who is right this often."""
_Z = 1.959964


@dataclass(frozen=True)
class Share:
    """A share and the interval it lies in with 95 % confidence; `of` is what it was counted on."""

    value: float
    low: float
    high: float
    of: int

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} ({100 * self.low:.1f}–{100 * self.high:.1f})" if self.of else "–"


def share(part: int, whole: int) -> Share:
    if not whole:
        return Share(0.0, 0.0, 1.0, 0)
    value, spread = part / whole, _Z * _Z / whole
    middle = (value + spread / 2) / (1 + spread)
    reach = _Z * sqrt(value * (1 - value) / whole + spread / (4 * whole)) / (1 + spread)
    return Share(value, max(0.0, middle - reach), min(1.0, middle + reach), whole)


def precision(true_shown: Share, false_shown: Share, right: float) -> Share:
    """How many of the sentences shown in one way are true, if a share `right` of what is written is. `true_shown` and `false_shown` are
    the shares of the true and of the false sentences that are shown so.

    The interval takes both shares at their worse and at their better ends, so it is wider than it need be.
    """

    def at(true: float, false: float) -> float:
        shown = right * true + (1 - right) * false
        return right * true / shown if shown else 0.0

    if not true_shown.of or not false_shown.of or not true_shown.value + false_shown.value:
        return Share(0.0, 0.0, 1.0, 0)
    return Share(
        at(true_shown.value, false_shown.value),
        at(true_shown.low, false_shown.high),
        at(true_shown.high, false_shown.low),
        true_shown.of + false_shown.of,
    )
