"""What a run has spent: kept in the agent's state, so that it outlives the process, and added up by the channel's reducer, since several
tools of one turn finish side by side.

Seconds are those of the agent's steps. Tools of one turn run at the same time, so the longest of them counts; waiting for a person
counts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypedDict

from stepwell.models.usage import UNNAMED


class Spending(TypedDict, total=False):
    """The sums of one run, or what one step adds to them."""

    turn: str
    """Which run: what belongs to another one starts from nothing."""
    tokens: int
    usd: float
    calls: int
    seconds: float
    step: str
    """The latest step, and how long it took; `seconds` holds those before it."""
    step_seconds: float
    unpriced: list[str]
    """Models whose price nobody knows."""
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
    """Ceilings of a run; None is no ceiling."""

    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None
    calls: int | None = None

    def shares(self, spent: Spending) -> dict[str, float]:
        """How much of each ceiling is used, 1.0 being all of it."""
        used = {
            "tokens": (spent.get("tokens", 0), self.tokens),
            "usd": (spent.get("usd", 0.0), self.usd),
            "seconds": (total_seconds(spent), self.seconds),
            "calls": (spent.get("calls", 0), self.calls),
        }
        return {name: amount / limit for name, (amount, limit) in used.items() if limit is not None}

    def reached(self, spent: Spending) -> str | None:
        """The ceiling that is reached, in words."""
        for name, share in self.shares(spent).items():
            if share >= 1.0:
                return self.in_words(name)
        return None

    def in_words(self, name: str) -> str:
        """A ceiling as a person reads it."""
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
    """Why a run stops at a ceiling."""
    return f"the budget of {ceiling} is used up"


def total_seconds(spent: Spending) -> float:
    return spent.get("seconds", 0.0) + spent.get("step_seconds", 0.0)


def in_words(spent: Spending) -> str:
    """Sums as a person reads them."""
    parts = [f"{spent.get('tokens', 0):,} tokens in {spent.get('calls', 0):,} model calls"]
    if spent.get("usd"):
        parts.append(f"about ${spent['usd']:.4f}")
    if spent.get("unpriced"):
        parts.append(f"and what {name_models(spent['unpriced'])} cost, whose price is not known")
    parts.append(f"{total_seconds(spent):.0f} s")
    return ", ".join(parts)


def name_models(labels: Iterable[str]) -> str:
    """Models as a person reads them."""
    return ", ".join("a model without a name" if label == UNNAMED else label for label in labels)
