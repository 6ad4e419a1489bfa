"""The first draft of a report, composed by code from what writers answered. Pure, so that a check of a bundle can do it again.

```
one writer        its answer; if sections were approved, no other headings
several writers   the answer at the top, then each section below its approved title
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stepwell.research.audit.writing.draft import Draft, DraftBlock, DraftSentence, keep_headings, read_draft
from stepwell.research.audit.writing.not_found import choose_topics, split_not_found
from stepwell.words import content_stems

LEAST_SECTIONS = 2
"""From so many approved sections on, each has its own writer."""
_MOST_AT_THE_TOP = 3


@dataclass(frozen=True, slots=True)
class Composed:
    """A draft, and the parts of the question on which it says that nothing was found."""

    draft: Draft
    not_found: tuple[str, ...] = ()


def compose(text: str, question: str, outline: Sequence[str]) -> Composed:
    """The draft of one writer. `outline` are the approved titles: if there are any, it has no other headings."""
    text, lines = split_not_found(text)
    draft = read_draft(text)
    return _compose(keep_headings(draft, outline) if outline else draft, lines, [question, *outline])


def compose_sections(sections: Mapping[int, str], top: str, question: str, outline: Sequence[str]) -> Composed:
    """The draft of several writers: `sections` has their answers by the number of their title, from 1; `top` is the answer to the
    question, or empty."""
    head = read_draft(split_not_found(top)[0])
    said = [sentence for block in head.blocks if block.kind != "heading" for sentence in block.sentences]
    parts = [Draft((DraftBlock("paragraph", tuple(said[:_MOST_AT_THE_TOP])),) if said else (), head.removed_links)]
    lines: list[str] = []
    for number in sorted(sections):
        text, missing = split_not_found(sections[number])
        lines += missing
        title = DraftBlock("heading", (DraftSentence(outline[number - 1], ()),), 2)
        own = keep_headings(read_draft(text), ())
        parts.append(Draft((title, *own.blocks), own.removed_links))
    return _compose(_join(parts), lines, [question, *outline])


def _compose(draft: Draft, lines: Sequence[str], asked: Sequence[str]) -> Composed:
    """A topic that is the title of a section with evidence was found, whatever its writer says."""
    found = [set(content_stems(title)) for title in _answered(draft)]
    topics = (topic for topic in choose_topics(lines, asked) if not any(set(content_stems(topic)) <= title for title in found))
    return Composed(draft, tuple(topics))


def _answered(draft: Draft) -> Iterator[str]:
    """The headings with a sentence that cites evidence below them."""
    title = ""
    for block in draft.blocks:
        if block.kind == "heading":
            title = block.sentences[0].text
        elif title and any(sentence.evidence for sentence in block.sentences):
            yield title


def _join(parts: Iterable[Draft]) -> Draft:
    drafts = list(parts)
    return Draft(tuple(block for draft in drafts for block in draft.blocks), sum(draft.removed_links for draft in drafts))
