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
    wanted, said = frozenset(content_stems(question)), [each.casefold() for each in (question, *asked)]
    found = [
        (shared, FollowUp(name, name, source_id))
        for source_id, text in texts.items()
        for name, shared in _find_names(text, wanted)
    ]
    # Names in sentences that are less about the question lead elsewhere, even when the best ones were already searched for.
    nearest = max((shared for shared, _ in found), default=0)
    fresh = {each.query.casefold(): each for shared, each in reversed(found) if shared == nearest}
    return [each for name, each in reversed(fresh.items()) if not any(name in text for text in said)][:most]


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
