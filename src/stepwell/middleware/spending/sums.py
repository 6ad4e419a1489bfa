"""What a run has spent. The totals are stored in the agent's state, so that they outlive the process. The channel's reducer adds them up,
since several tools of one turn may finish at the same time.

The seconds are the time that the agent's steps took. Tools of one turn run in parallel, so only the longest counts; time spent waiting
for a person does not count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypedDict

from stepwell.models.usage import UNNAMED


class Spending(TypedDict, total=False):
    """The totals of one run, or what one step adds to them."""

    turn: str
    """The run that these totals belong to. For another run they start from zero."""
    tokens: int
    usd: float
    calls: int
    seconds: float
    step: str
    """The latest step. `step_seconds` says how long it took, and `seconds` is the total before it."""
    step_seconds: float
    unpriced: list[str]
    """Models without a known price."""
    warned: bool


def add_spending(sums: Spending, more: Spending) -> Spending:
    """The reducer of the state's channel."""
    if sums.get("turn") != more.get("turn"):
        sums = Spending()
    same_step = sums.get("step") == more.get("step")
    before = sums.get("step_seconds", 0.0)
    now = more.get("step_seconds", 0.0)
    return Spending(
        turn=more.get("turn", ""),
        tokens=sums.get("tokens", 0) + more.get("tokens", 0),
        usd=sums.get("usd", 0.0) + more.get("usd", 0.0),
        calls=sums.get("calls", 0) + more.get("calls", 0),
        seconds=sums.get("seconds", 0.0) + (0.0 if same_step else before),
        step=more.get("step", ""),
        step_seconds=max(before, now) if same_step else now,
        unpriced=sorted({*sums.get("unpriced", ()), *more.get("unpriced", ())}),
        warned=sums.get("warned", False) or more.get("warned", False),
    )


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Limits of a run; None means no limit."""

    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None
    calls: int | None = None

    def shares(self, spent: Spending) -> dict[str, float]:
        """The used share of each limit; 1.0 is all of it."""
        used = {
            "tokens": (spent.get("tokens", 0), self.tokens),
            "usd": (spent.get("usd", 0.0), self.usd),
            "seconds": (total_seconds(spent), self.seconds),
            "calls": (spent.get("calls", 0), self.calls),
        }
        return {name: amount / limit for name, (amount, limit) in used.items() if limit is not None}

    def reached(self, spent: Spending) -> str | None:
        """The limit that is reached, in words; None if none is."""
        for name, share in self.shares(spent).items():
            if share >= 1.0:
                return self.in_words(name)
        return None

    def in_words(self, name: str) -> str:
        """A limit in words."""
        limit = getattr(self, name)
        match name:
            case "usd":
                return f"${limit:,.2f}"
            case "seconds":
                return f"{limit:g} seconds"
            case "calls":
                return f"{limit:,} model calls"
            case _:
                return f"{limit:,} {name}"


def used_up(ceiling: str) -> str:
    """Why a run stops at a limit."""
    return f"the budget of {ceiling} is used up"


def total_seconds(spent: Spending) -> float:
    return spent.get("seconds", 0.0) + spent.get("step_seconds", 0.0)


def in_words(spent: Spending) -> str:
    """Totals in words."""
    parts = [f"{spent.get('tokens', 0):,} tokens in {spent.get('calls', 0):,} model calls"]
    if spent.get("usd"):
        parts.append(f"about ${spent['usd']:.4f}")
    if spent.get("unpriced"):
        parts.append(f"and what {name_models(spent['unpriced'])} cost, whose price is not known")
    parts.append(f"{total_seconds(spent):.0f} s")
    return ", ".join(parts)


def name_models(labels: Iterable[str]) -> str:
    """Model labels in words."""
    return ", ".join("a model without a name" if label == UNNAMED else label for label in labels)
