"""Names in a text, and which block leads to which.

A question of two steps ("Who founded the company that built the bridge?") is answered by blocks that name each other: the first names the
company, and the second, about the company, names its founder. A block leads to another if it names the other's title, or a rare name that
both have and the question does not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from stepwell.research.finding.blocks import Block
from stepwell.words import fold, is_function

TITLE_NAMED, NAMES_TITLE, SHARED = 0.4, 0.25, 0.2
"""What a link adds to a block's score, whose own is at most 1: a chosen block names its title; it names the title of a chosen one; it has
rare names in common with a chosen one."""
_ENOUGH_SHARED = 3.0
_JOINER = r"(?:of|the|de|del|der|des|du|la|le|von|van|zu|&)"
_CAPITAL = r"[A-Z\u00c0-\u00de\u0391-\u03a9\u0410-\u042f]"
_WORD_OF_NAME = rf"(?:{_CAPITAL}\.(?:{_CAPITAL}\.){{0,3}}|{_CAPITAL}[\w'’-]*)"
_NAME = re.compile(rf"(?<![\w'’-]){_WORD_OF_NAME}(?: +(?:{_JOINER} +){{0,2}}(?:{_WORD_OF_NAME}|\d[\w-]*)){{0,6}}")
_WORD = re.compile(r"\w+")
_LONGEST_TITLE = 8


def names_in(text: str) -> list[str]:
    """The names in a text in order, each once, as they are written there. A single word at the beginning of a sentence is no name."""
    found = ((match, _trim(match.group())) for match in _NAME.finditer(text))
    return list(
        dict.fromkeys(
            name
            for match, name in found
            if len(name) > 2 and "_" not in name and (" " in name or not _begins_sentence(text, match, name))
        )
    )


def _begins_sentence(text: str, match: re.Match[str], name: str) -> bool:
    """Whether a single word has its capital only because a sentence begins with it, as far as can be seen."""
    before = text[max(0, match.start() - 3) : match.start()].rstrip(" \t\"'“”‘’(")
    return match.group().startswith(name) and (not before or before[-1] in ".!?:\n•-")


def bare(text: str) -> str:
    """The words of a text alone, folded, for comparing: `The B-29's crew` becomes `the b 29s crew`."""
    return " ".join(fold(word) for word in _WORD.findall(text))


def holds(text: str, name: str) -> bool:
    """Whether a bare text has a bare name in it as whole words."""
    return f" {name} " in f" {text} "


def subject_of(title: str) -> str:
    """A title as other texts would name it, bare: without a note in brackets. Empty if it is too long to be a name."""
    before, bracket, _ = title.rstrip().rpartition("(")
    subject = bare(before if bracket and title.rstrip().endswith(")") else title)
    return subject if len(subject) > 2 and len(subject.split()) <= _LONGEST_TITLE else ""


def _trim(name: str) -> str:
    """Without function words at the beginning (`The`, `In`) and marks at the end."""
    words = name.split()
    while words and (is_function(words[0].strip(".,'’-")) or re.match(r"\w+['’](?!s\b)\w", words[0])):
        words = words[1:]
    return " ".join(words).strip(".,'’-").removesuffix("'s").removesuffix("’s")


@dataclass(frozen=True)
class Links:
    """The links between some blocks, as far as they do not only repeat the question."""

    question: str
    blocks: Sequence[Block]

    def between(self, chosen: int, other: int) -> tuple[float, str]:
        """How strongly a chosen block leads to another, and the name by which it does."""
        strength, by = 0.0, ""
        title = self._subjects[other]
        if title and self._subjects[chosen] != title and holds(self._texts[chosen], title):
            strength, by = TITLE_NAMED, title
        title = self._subjects[chosen]
        if title and self._subjects[other] != title and holds(self._texts[other], title):
            strength, by = strength + NAMES_TITLE, by or title
        shared = self._names[chosen] & self._names[other]
        if shared:
            common = sum(1 / max(1, self._spread[name] - 1) for name in shared)
            strength += SHARED * min(1.0, common / _ENOUGH_SHARED)
            by = by or min(shared, key=lambda name: (self._spread[name], -len(name), name))
        return strength, by

    @cached_property
    def _texts(self) -> list[str]:
        return [bare(block.text) for block in self.blocks]

    @cached_property
    def _subjects(self) -> list[str]:
        return [subject_of(block.title) for block in self.blocks]

    @cached_property
    def _names(self) -> list[frozenset[str]]:
        """The names of each block that the question does not have, with its own title."""
        asked = bare(self.question)
        return [
            frozenset(name for each in (*names_in(block.text), block.title) if (name := bare(each)) and not holds(asked, name))
            for block in self.blocks
        ]

    @cached_property
    def _spread(self) -> Counter[str]:
        return Counter(name for names in self._names for name in names)
