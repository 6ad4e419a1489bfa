"""What to search for next: names that the first round found and the question does not contain.

The same question and texts give the same follow-ups.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from stepwell.research.audit.facts.names import Name, names
from stepwell.research.audit.facts.words import content_stems
from stepwell.research.audit.sentences import passages


class FollowUp(NamedTuple):
    """A further search: what to search for, the words it came from, and the text that has them."""

    query: str
    because: str
    source_id: str


def follow_ups(question: str, texts: Mapping[str, str], asked: Collection[str], most: int) -> list[FollowUp]:
    """At most `most` further searches, the best first. `texts` are what was found, by source id; `asked` are the queries already made."""
    wanted, said = frozenset(content_stems(question)), [question, *asked]
    best: dict[str, tuple[int, FollowUp]] = {}
    for source_id, text in texts.items():
        for name, shared in _find_names(text, wanted):
            if not any(name.casefold() in each.casefold() for each in said):
                known = best.get(name.casefold())
                if known is None or shared > known[0]:
                    best[name.casefold()] = shared, FollowUp(name, name, source_id)
    return [found for _, found in sorted(best.values(), key=lambda each: -each[0])][:most]


def _find_names(text: str, wanted: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Names in sentences that share words with the question, each with how many they share."""
    for passage in passages(text):
        if shared := len(wanted.intersection(content_stems(passage.text))):
            for name in names(passage.text):
                if _is_telling(name):
                    yield passage.text[name.start : name.end], shared


def _is_telling(name: Name) -> bool:
    """A name of one word is often the first word of a sentence, a month or a title."""
    return len(name.parts) > 1
