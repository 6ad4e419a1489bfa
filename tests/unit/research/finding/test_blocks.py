"""Blocks of documents: exact places, whole rows and sentences, title and section with them."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from stepwell.research.finding.blocks import cut_blocks
from stepwell.tools.documents.parts import Part

SENTENCE = "The pier was repaired by the harbour office in the spring of that year. "


@given(st.text(alphabet="Ab .\n#:é漢0", max_size=400), st.integers(20, 200))
def test_blocks_are_their_places_and_lose_no_word(text: str, most: int):
    blocks = cut_blocks("s1", text, most=most)
    end = 0
    for block in blocks:
        assert block.start >= end
        assert block.text == text[block.start : block.end]
        end = block.end


def test_sections_are_not_mixed_and_headings_go_with_their_text():
    text = f"# Harbour\n\n## Costs\n\n{SENTENCE * 4}\n\n## History\n\n{SENTENCE * 4}"
    blocks = cut_blocks("s1", text, title="Annual report")
    assert [block.section for block in blocks] == ["Harbour > Costs", "Harbour > History"]
    assert blocks[0].in_context.startswith("Annual report. Harbour > Costs. The pier was repaired")


def test_a_row_is_never_cut_and_rows_of_a_sheet_share_a_block():
    rows = [f"Item: pier {n}; Cost: {n} crowns; Note: repaired by the harbour office" for n in range(40)]
    text = "\n\n".join(rows)
    starts = [text.index(row) for row in rows]
    parts = [Part(start, "sheet Costs", f"A{n + 2}:C{n + 2}") for n, start in enumerate(starts)]
    blocks = cut_blocks("s1", text, parts=parts, most=400)
    assert all(row in rows for block in blocks for row in block.text.split("\n\n"))
    assert 5 <= len(blocks) <= 14


def test_a_block_stays_on_its_slide_unless_that_is_very_short():
    texts = [SENTENCE * 4, SENTENCE * 4, "A short one.", "Another short one."]
    text = "\n\n".join(texts)
    parts = [Part(text.index(SENTENCE), "slide 1"), Part(len(texts[0]) + 2, "slide 2")]
    parts += [Part(text.index("A short"), "slide 3"), Part(text.index("Another"), "slide 4")]
    blocks = cut_blocks("s1", text, parts=parts)
    assert [block.text.count("repaired") for block in blocks] == [4, 4, 0]
    assert blocks[2].text == "A short one.\n\nAnother short one."


def test_a_short_line_of_a_pdf_is_a_heading():
    text = f"The state of the pier\n{SENTENCE}\nCosts and dates\n{SENTENCE * 3}"
    assert cut_blocks("s1", text, most=300)[-1].section == "Costs and dates"


def test_a_long_paragraph_takes_little_memory():
    text = "word " * 100_000
    tracemalloc.start()
    try:
        cut_blocks("s1", text)
        assert tracemalloc.get_traced_memory()[1] < 20 * len(text)
    finally:
        tracemalloc.stop()


def test_a_heading_as_long_as_a_chapter_is_not_repeated_with_every_block():
    text = f"# {'Wells ' * 5_000}\n\n" + "\n\n".join("A well is deep. " * 50 for _ in range(20))
    blocks = cut_blocks("s1", text)
    assert len(blocks) == 20
    assert sum(len(block.in_context) for block in blocks) < len(text)
    assert blocks[0].section.startswith("Wells Wells")


def test_a_deck_of_titles_alone_is_not_lost():
    blocks = cut_blocks("s1", "# Harbour\n\n# The pier costs 40 crowns\n\n# Thank you")
    assert "The pier costs 40 crowns" in "\n".join(block.text for block in blocks)
