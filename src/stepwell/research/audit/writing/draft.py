"""A model's text, cut into headings and sentences with the evidence ids they cite. Links are removed, ids are not yet checked. Every
sentence outside a heading is a claim. A heading that states something, because it has a figure or a full stop or is long, counts as a
sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from stepwell.research.audit.evidence import Claim
from stepwell.research.audit.sentences import passages
from stepwell.research.audit.writing.links import CITATION, EVIDENCE_IDS, strip_links

MAX_HEADING = 80
# Sections that only code writes, because a model's own list of sources would look like the real one.
_RESERVED_HEADINGS = "sources source references bibliography citations links quellen références fuentes"
_RESERVED = frozenset(
    [
        *_RESERVED_HEADINGS.split(),
        "works cited",
        "what was skipped",
        "not found",
        "nicht gefunden",
        "further reading",
        "insufficient evidence",
    ]
)
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
_ITEM = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s+(.*)")
_RULE = re.compile(r"[-*_=|:\s`~]*$")
_LOOSE_CITATION = re.compile(CITATION.pattern + r"(?![(\[:])")  # other names may be disguised as links
_AFTER_MARK = re.compile(rf"([.!?…。！？][\"'”’»)]*)\s*((?:\[\s*{EVIDENCE_IDS}\s*\][ \t]*)+)([.!?…]?)")
_POINTS_NOWHERE = re.compile(
    r"(?:(?:see|cf|source|link|read|more|visit|via|at|here|also|details|for|and|or)s?\b|[\W_])*", re.IGNORECASE
)
"""What is left of "See also [here](address)" without the address; also matches mere punctuation."""
_FALSE_CITATION = re.compile(r"\[\^?\d{1,4}(?:\s*[,;–-]\s*\d{1,4})*\]|【[^】\n]{0,40}】")


@dataclass(frozen=True, slots=True)
class DraftSentence:
    """A sentence and the ids it cites, in order, each once."""

    text: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DraftBlock:
    """A heading (whose text is its only sentence), a paragraph, or a list item."""

    kind: Literal["heading", "paragraph", "item"]
    sentences: tuple[DraftSentence, ...]
    level: int = 0


@dataclass(frozen=True, slots=True)
class Draft:
    """A parsed draft. `removed_links` counts the links that the model had put into it."""

    blocks: tuple[DraftBlock, ...]
    removed_links: int = 0

    def claims(self) -> tuple[Claim, ...]:
        """Every sentence outside headings, in order, not yet judged: `c1`, `c2` ..."""
        said = [sentence for block in self.blocks if block.kind != "heading" for sentence in block.sentences]
        return tuple(Claim(f"c{number}", sentence.text, sentence.evidence) for number, sentence in enumerate(said, 1))


def read_draft(text: str) -> Draft:
    """Parse a model's text."""
    # We put spaces around citations, so that removing them does not join two halves of an address.
    stripped = strip_links(_LOOSE_CITATION.sub(r" [\1] ", _FALSE_CITATION.sub(" ", text)))
    blocks = tuple(block for block in _blocks(_FALSE_CITATION.sub(" ", stripped.text)) if block.sentences)
    return Draft(blocks, stripped.removed)


def _blocks(text: str) -> Iterator[DraftBlock]:
    paragraph: list[str] = []
    for line in [*text.split("\n"), ""]:
        bare = line.strip().lstrip(">").strip().strip("|").strip()
        heading, item = _HEADING.match(bare), _ITEM.match(bare)
        if (not bare or heading or item) and paragraph:
            yield DraftBlock("paragraph", _sentences(" ".join(paragraph)))
            paragraph = []
        if heading:
            yield _heading(heading[2], len(heading[1]))
        elif item:
            yield DraftBlock("item", _sentences(item[1]))
        elif bare and not _RULE.match(bare):
            paragraph.append(bare.strip("`"))


def _heading(text: str, level: int) -> DraftBlock:
    words = strip_links(CITATION.sub(" ", text)).text.strip(" *_`")
    unnumbered = re.sub(r"^\d{1,2}(?:\.\d{1,2})*[.)]?\s+", "", words)
    if unnumbered.casefold().strip(" :") in _RESERVED:
        return DraftBlock("heading", ())
    if states_something(words, unnumbered):
        return DraftBlock("paragraph", _sentences(text))
    return DraftBlock("heading", (DraftSentence(unnumbered, ()),) if unnumbered else (), min(level, 4))


def is_heading(text: str) -> bool:
    """Whether a text can be the heading of a section as it is: a few words that state nothing, and no name that only code uses."""
    blocks = read_draft(f"## {text}").blocks
    return len(blocks) == 1 and blocks[0].kind == "heading" and blocks[0].sentences[0].text == text


def keep_headings(draft: Draft, titles: Sequence[str]) -> Draft:
    """The draft with no headings but these, as they are written here."""
    known = {title.casefold(): title for title in titles}
    blocks = (
        DraftBlock("heading", (DraftSentence(title, ()),), 2) if title else block
        for block in draft.blocks
        if (title := known.get(_name(block), "")) or block.kind != "heading"
    )
    return Draft(tuple(blocks), draft.removed_links)


def _name(block: DraftBlock) -> str:
    return block.sentences[0].text.casefold().strip(" :") if block.kind == "heading" else ""


def states_something(heading: str, unnumbered: str | None = None) -> bool:
    """Whether a heading is more than a heading: a whole sentence, or a heading with a figure. `unnumbered` is the heading without its own
    number."""
    bare = heading if unnumbered is None else unnumbered
    return len(heading) > MAX_HEADING or heading.endswith((".", "!")) or any(character.isdigit() for character in bare)


def _sentences(text: str) -> tuple[DraftSentence, ...]:
    """The sentences of a block. A citation after a full stop belongs to the sentence before it."""
    moved = _AFTER_MARK.sub(lambda match: f" {match[2].strip()}{match[1]} ", text)
    read = (_sentence(passage.text) for passage in passages(moved))
    return tuple(sentence for sentence in read if not _POINTS_NOWHERE.fullmatch(sentence.text))


def _sentence(text: str) -> DraftSentence:
    ids = [each for match in CITATION.finditer(text) for each in re.findall(r"e\d{1,6}", match[1])]
    words = re.sub(r" ([.,;:!?…])", r"\1", re.sub(r"\s+", " ", CITATION.sub(" ", text)))
    return DraftSentence(" ".join(strip_links(words).text.split()), tuple(dict.fromkeys(ids)))
