"""Chooses the passages of documents that are worth reading for a question, within a budget of passages and characters.

Neighbouring blocks become one passage, so that what belongs together stays together and the budget is used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from stepwell.models.embedding.embedder import Embedder
from stepwell.research.finding.blocks import Block, cut_blocks
from stepwell.research.finding.choosing import Limits, choose_blocks
from stepwell.tools.documents.parts import Part

LONGEST = 2_000
_GAP = 120
"""Blocks with at most this many characters between them, such as a heading, are neighbours."""
_BLOCKS_PER_PASSAGE = 4


@dataclass(frozen=True)
class Document:
    """A text to search. `name` identifies it."""

    name: str
    text: str
    title: str = ""
    parts: tuple[Part, ...] = ()


async def choose_passages(
    queries: Sequence[str],
    documents: Sequence[Document],
    embedder: Embedder,
    *,
    most: int,
    characters: int,
    follow: bool = True,
) -> list[Block]:
    """At most `most` passages with at most `characters` in all, the best first. `queries` are the question and further queries."""
    blocks = await asyncio.to_thread(lambda: [block for each in documents for block in _cut(each)])
    limits = Limits(most * _BLOCKS_PER_PASSAGE, follow=follow)
    found = await choose_blocks(queries, blocks, embedder, limits)
    return _join((each.block for each in found), {each.name: each.text for each in documents}, most, characters)


def _cut(document: Document) -> list[Block]:
    return cut_blocks(document.name, document.text, title=document.title, parts=document.parts)


def _join(blocks: Iterable[Block], texts: Mapping[str, str], most: int, characters: int) -> list[Block]:
    passages: list[Block] = []
    for block in blocks:
        beside = next((at for at, each in enumerate(passages) if _are_neighbours(each, block)), None)
        if beside is None and len(passages) == most:
            continue
        joined = block if beside is None else _span(passages[beside], block, texts[block.source_id])
        longer = len(joined.text) - (0 if beside is None else len(passages[beside].text))
        if longer > characters:
            continue
        characters -= longer
        if beside is None:
            passages.append(joined)
        else:
            passages[beside] = joined
    return passages


def _are_neighbours(one: Block, other: Block) -> bool:
    first, second = sorted((one, other), key=lambda block: block.start)
    gap = second.start - first.end
    return one.source_id == other.source_id and gap <= _GAP and second.end - first.start <= LONGEST


def _span(one: Block, other: Block, text: str) -> Block:
    first, second = sorted((one, other), key=lambda block: block.start)
    return replace(first, end=second.end, text=text[first.start : second.end])
