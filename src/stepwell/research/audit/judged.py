"""Which model judged a report, how well it judges as far as that was measured, and how readers are told.

The figures stand in the report's entry in the trail, so that a reader on another machine sees them too. They are whole numbers, because a
trail holds no fractions: shares in thousandths. A check of a bundle proves that the named model gave the opinions. The figures themselves
are the word of whoever signed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from stepwell.clock import spell_time
from stepwell.research.audit.trail import Entry, scope_of

UNUSABLE_FROM = 200
"""A judge is poor if more of its answers than this are unusable, in thousandths."""
MEASURE = "models judge FOLDER"
"""The command that measures a judge."""

_MAX_NAME, _MAX_SETS = 120, 6


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured. Shares are in thousandths, of sentences whose writer is right 60 % of the time."""

    day: str
    """`2026-11-17`"""
    checks: int
    """The version of the rules."""
    prompt_sha256: str
    """What the judge was told."""
    sets: tuple[str, ...]
    claims: int
    precision: int
    """How many of the sentences that the rules and the judge call supported are true."""
    precision_low: int
    precision_high: int
    recall: int
    """How many of the true sentences they call supported."""
    rules_precision: int
    rules_recall: int
    unusable: int

    def to_data(self) -> dict[str, Any]:
        return {**asdict(self), "sets": list(self.sets)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Figures:
        return cls(**{**data, "sets": tuple(data["sets"])})

    @property
    def fault(self) -> str:
        """Why the judge is poor, as a clause; empty if it isn't."""
        if self.unusable > UNUSABLE_FROM:
            return f"{_percent(self.unusable)} of its answers were unusable"
        if not self.recall:
            return "it agreed with none of the true claims"
        if self.precision <= self.rules_precision < 1000:
            return "its agreement adds nothing to the rules"
        return ""


@dataclass(frozen=True, slots=True)
class JudgedBy:
    """The model that judged a report; `measured` is None if nobody has measured it with these rules and this prompt."""

    model: str
    measured: Figures | None = None

    def to_data(self) -> dict[str, Any]:
        return {"model": self.model, "measured": self.measured.to_data() if self.measured else None}

    @classmethod
    def from_data(cls, data: Mapping[str, Any] | None) -> JudgedBy | None:
        if data is None:
            return None
        measured = data["measured"]
        return cls(data["model"], Figures.from_data(measured) if measured is not None else None)

    def describe(self) -> str:
        """One or two sentences for a reader."""
        found = self.measured
        if found is None:
            return f"Judged by {_plain(self.model)}. How well it judges was not measured; measure it with: stepwell {MEASURE}"
        measured = f"measured {spell_time(found.day).partition(',')[0]} on {found.claims:,} claims ({_join(found.sets)})"
        reach = f"{found.precision_low / 10:.0f} to {_percent(found.precision_high)}"
        shown = f"Of the sentences that it and the rules call supported, {_percent(found.precision)} are true ({reach}; rules alone "
        told = f"{shown}{_percent(found.rules_precision)}), {measured}." if found.recall else f"{measured.capitalize()}."
        poor = f" It is a poor judge, because {found.fault}: choose another one under Settings > Models." if found.fault else ""
        return f"Judged by {_plain(self.model)}. {told}{poor}"


def judge_of(report: Entry | None) -> JudgedBy | None:
    """The judge that a report's entry names."""
    return JudgedBy.from_data(report.data.get("judge")) if report is not None else None


def judging_model(entries: Iterable[Entry], scope: str) -> str | None:
    """The model that gave the last opinion on a question's sentences; None if none was asked. `scope` is the question's in the trail."""
    calls = [each for each in entries if is_opinion(each) and scope_of(each) == scope]
    return str(calls[-1].data["answer"].get("model", "")) if calls else None


def is_opinion(entry: Entry) -> bool:
    """Whether an entry is a judge's answer."""
    return entry.kind == "model_call" and ":judge:" in entry.data["request"] and "asked_sha256" in entry.data


def _percent(thousandths: int) -> str:
    return f"{thousandths / 10:.0f} %"


def _join(names: Sequence[str]) -> str:
    shown = [_plain(name) for name in names[:_MAX_SETS]]
    if more := len(names) - len(shown):
        shown.append(f"{more} more")
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else "".join(shown)


def _plain(name: str) -> str:
    """A name from a stranger's bundle, without characters that would control how it is shown."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in name[:_MAX_NAME])
