"""The first draft of a report, composed by code from what the writer answered. Pure, so that a check of a bundle can do it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepwell.research.audit.writing.draft import Draft, keep_headings, read_draft
from stepwell.research.audit.writing.not_found import choose_topics, split_not_found


@dataclass(frozen=True, slots=True)
class Composed:
    """A draft, and the parts of the question on which it says that nothing was found."""

    draft: Draft
    not_found: tuple[str, ...] = ()


def compose(texts: Sequence[str], question: str, outline: Sequence[str]) -> Composed:
    """The draft from the writer's answers. `outline` are the approved titles: if there are any, it has no other headings."""
    text, lines = split_not_found(texts[0])
    draft = read_draft(text)
    return Composed(keep_headings(draft, outline) if outline else draft, choose_topics(lines, [question, *outline]))
