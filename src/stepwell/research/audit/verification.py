"""What a check of a bundle found, part by part. Apart from `verify`, so that a server can describe results without loading the checks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from stepwell.research.audit.trail import Defect

Part = Literal[
    "file", "bytes", "trail", "manifest", "signature", "head", "members", "quotes", "claims", "checks", "report", "story", "plans",
    "requests", "origins", "strict",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class CheckedPart:
    """One part of the check: how many things were checked, and what is wrong with them."""

    part: Part
    checked: int
    problems: tuple[Defect, ...] = ()


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a check. `head` stands for the whole trail; the counts say how much there was to check."""

    ok: bool
    problems: tuple[Defect, ...] = ()
    head: str = ""
    sources: int = 0
    quotes: int = 0
    claims: int = 0
    elsewhere: int = 0
    """How many questions, plans and answers belong to other branches of the thread; the report does not rest on them."""
    parts: tuple[CheckedPart, ...] = field(default=(), compare=False)
    """The same problems, grouped by part of the check. Parts that the check did not reach are missing."""
    form: str = field(default="", compare=False)
    """The bundle's format."""
    signed_by: str | None = field(default=None, compare=False)
    """The public key that signed it; `None` without a valid signature."""
    vouched: bool | None = field(default=None, compare=False)
    """Whether that is the expected key; `None` if none was given."""
    lacks: tuple[str, ...] = field(default=(), compare=False)
    """What could not be checked because the bundle lacks it, as sentences."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What else a reader should know, as sentences; these are not problems."""
    marked_today: tuple[Defect, ...] = field(default=(), compare=False)
    """Claims that went through older checks and get another verdict today."""
    judge: str = field(default="", compare=False)
    """Which model judged the report, and how well it judges, as sentences; empty if none did."""
