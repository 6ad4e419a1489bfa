"""What a critic says a report lacks, read from its answer, and what its writer may therefore change.

| kind | what the writer may do |
|---|---|
| `unanswered`, `disagreement` | add sentences |
| `repetition`, `off_topic` | change or drop the sentence that the critic names |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stepwell.validation import extract_json

MOST_LACKS = 5
_ADDING = ("unanswered", "disagreement")
_CHANGING = ("repetition", "off_topic")
_MAX_WHAT = 300
_MAX_ANSWER = 200_000


@dataclass(frozen=True, slots=True)
class Lack:
    """One lack. `sentence` is a number in the draft, or 0."""

    kind: str
    sentence: int
    what: str


def read_lacks(answer: str, count: int) -> tuple[Lack, ...]:
    """The lacks in a critic's answer about a draft of `count` sentences; none if the answer cannot be read."""
    try:
        said = extract_json(answer[:_MAX_ANSWER])
    except (ValueError, RecursionError):
        return ()
    listed = said.get("lacks") if isinstance(said, dict) else None
    found = (_read(each, count) for each in listed) if isinstance(listed, list) else ()
    return tuple(lack for lack in found if lack)[:MOST_LACKS]


def allows_adding(lacks: Sequence[Lack]) -> bool:
    return any(lack.kind in _ADDING for lack in lacks)


def list_criticised(lacks: Sequence[Lack]) -> list[int]:
    """The numbers of the sentences that the writer may change because of a critic."""
    return sorted({lack.sentence for lack in lacks if lack.kind in _CHANGING})


def _read(said: Any, count: int) -> Lack | None:
    if not isinstance(said, dict) or said.get("kind") not in (*_ADDING, *_CHANGING):
        return None
    what = said.get("what")
    words = " ".join(what.split())[:_MAX_WHAT] if isinstance(what, str) else ""
    named = str(said.get("sentence") or "").strip().lower().removeprefix("c")
    number = int(named) if named.isascii() and named.isdigit() and len(named) < 6 and int(named) <= count else 0
    if not words or (said["kind"] in _CHANGING and not number):
        return None
    return Lack(said["kind"], number, words)
