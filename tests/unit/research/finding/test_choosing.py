"""Choosing blocks: words and meaning together, a second round along names, and limits that hold."""

from __future__ import annotations

from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.research.evidence.selecting import select_quotes
from stepwell.research.finding.blocks import Block, cut_blocks
from stepwell.research.finding.choosing import Limits, choose_blocks
from stepwell.research.finding.names import names_in
from stepwell.research.finding.passages import Document, choose_passages

EMBEDDER = LexicalEmbedder()
QUESTION = "Which office did the architect of the Vardal bridge hold?"
PAGES = {
    "Vardal bridge": "The Vardal bridge crosses the fjord and was drawn by Ada Kessel after the great flood.",
    "Ada Kessel": "Ada Kessel studied in Lund. From 1931 she held an office for nine years.",
    "Selmouth bridge": "The Selmouth bridge crosses a river. Its towers are made of grey stone from the hills.",
    "Window plants": "Plants need light. Which plant is right depends on the windows of a room and its owner.",
}


def blocks() -> list[Block]:
    return [block for title, text in PAGES.items() for block in cut_blocks(title, text, title=title)]


async def test_a_name_in_the_first_block_leads_to_the_second():
    one_round = await choose_blocks([QUESTION], blocks(), EMBEDDER, Limits(2, follow=False))
    assert {found.by for found in one_round} == {""}
    two_rounds = await choose_blocks([QUESTION], blocks(), EMBEDDER, Limits(2))
    assert [found.block.source_id for found in two_rounds] == ["Vardal bridge", "Ada Kessel"]
    assert two_rounds[1].by == "ada kessel"


async def test_quotes_of_both_hops_are_chosen():
    quotes = await select_quotes(QUESTION, PAGES, EMBEDDER, titles={name: name for name in PAGES}, most=3, sources=2)
    assert {quote.source_id for quote in quotes} == {"Vardal bridge", "Ada Kessel"}


async def test_each_part_of_a_question_is_answered_before_any_is_answered_again():
    texts = {
        "s1": "The pier costs 40 crowns. The cost of the pier rose. Costs of a pier are high.",
        "s2": "Gulls nest on the roof of the customs house in spring.",
    }
    quotes = await select_quotes(
        "What does the pier cost, and where do gulls nest?", texts, EMBEDDER, parts=["pier cost", "where do gulls nest"]
    )
    assert {quote.source_id for quote in quotes[:2]} == {"s1", "s2"}


async def test_passages_keep_to_the_budget_and_join_neighbours():
    text = "\n\n".join(
        f"Paragraph {n} tells how the pier was repaired in year {n}, and what that did cost. " * 4 for n in range(60)
    )
    document = Document("a", text, "The pier")
    chosen = await choose_passages(["cost of repairing the pier"], [document], EMBEDDER, most=5, characters=6_000)
    assert len(chosen) <= 5
    assert 4_000 <= sum(len(block.text) for block in chosen) <= 6_000
    assert all(block.text == text[block.start : block.end] for block in chosen)


def test_names_are_whole_and_single_words_at_the_beginning_are_none():
    said = (
        "I’ve seen New Year. We've met Shirley Temple in Paris. Temple was late. The Bank of England's note by K. A. Applegate."
    )
    assert names_in(said) == ["New Year", "Shirley Temple", "Paris", "Bank of England", "K. A. Applegate"]
