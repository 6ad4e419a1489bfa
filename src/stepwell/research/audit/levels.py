"""The level of a sentence: what its verdict is called where a person reads it, and how many such sentences are true.

How many are true was measured on public pairs of claim and evidence. `python -m benchmarks.claims` writes the figures to `levels.json`,
which the page reads as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from stepwell.research.audit.evidence import VERDICTS, Verdict

LEVELS: dict[Verdict, str] = {
    "verbatim": "word for word or nearly",
    "supported": "supported",
    "partial": "not settled",
    "unsupported": "not in its source",
    "contradicted": "differs",
}
FILE = "levels.json"
_TWO_VALUES = re.compile(r"the claim says '(.+)', the source '(.+?)'(?:: another unit)?", re.DOTALL)
_QUOTED = re.compile(r"(?<![^\s(])'([^\n]*?)'(?=[\s,.;:)]|$)")


@dataclass(frozen=True, slots=True)
class Measured:
    """How many of 100 sentences of a level are true: the mean over the data sets, and the lowest and highest of a set. `None` if no set has
    enough sentences of the level. `claims` is how many were counted."""

    claims: int
    true: int | None = None
    lowest: int | None = None
    highest: int | None = None
    sets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measurement:
    """The figures of all levels, the version of the checks they were measured with, and how many claims each data set has. `right` is how
    many of 100 sentences of the assumed writer are true."""

    checks: int
    right: int
    sets: dict[str, int]
    levels: dict[Verdict, Measured]


@cache
def measurement() -> Measurement:
    data: dict[str, Any] = json.loads(files(__package__).joinpath(FILE).read_text(encoding="utf-8"))
    levels = {each: Measured(**{**data["levels"][each], "sets": tuple(data["levels"][each]["sets"])}) for each in VERDICTS}
    return Measurement(data["checks"], data["right"], data["sets"], levels)


def name_level(verdict: Verdict) -> str:
    """The level with a capital letter, for the beginning of a line."""
    return LEVELS[verdict].capitalize()


def describe_meaning(verdict: Verdict) -> str:
    """How many sentences of a level are true, as a sentence."""
    found = measurement().levels[verdict]
    if found.true is None:
        return "Not measured: the public data sets have too few such sentences."
    return f"On public data, {found.true} of 100 such sentences are true ({_spread(found)})."


def describe_method() -> str:
    """What a legend's figures say and what they were measured on, to be followed by `legend`."""
    found = measurement()
    return (
        f"How many of 100 such sentences are true, on public data ({len(found.sets)} data sets with {sum(found.sets.values()):,} claims, "
        f"for a writer who is right {found.right} % of the time; in brackets the lowest and the highest set):"
    )


def legend(shown: Container[Verdict]) -> list[tuple[str, str]]:
    """The levels that a report has, from the best, each with its share of true sentences: `("Supported", "88 (78 to 93)")`."""
    return [(name_level(each), _share(measurement().levels[each])) for each in VERDICTS if each in shown]


def _share(found: Measured) -> str:
    return "not measured, too few in public data" if found.true is None else f"{found.true} ({_spread(found)})"


def _spread(found: Measured) -> str:
    return "one data set" if len(found.sets) == 1 else f"{found.lowest} to {found.highest}"


def spell_reason(reason: str) -> str:
    """A reason of the checks as a person reads it. One with two values shows both: “30 metres”; the source says “about 20”."""
    if two := _TWO_VALUES.fullmatch(reason):
        return f"“{two[1]}”; the source says “{two[2]}”"
    return _QUOTED.sub(r"“\1”", reason)
