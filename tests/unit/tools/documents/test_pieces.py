"""One text from many pieces: how long it may be, and how many parts it may have."""

from __future__ import annotations

import time

import pytest

from stepwell.tools.documents.parts import place_of
from stepwell.tools.documents.pieces import MOST_PARTS, Piece, compose


@pytest.mark.parametrize(
    "pieces",
    [
        [Piece(f"row {n}", "sheet One", f"A{n}:B{n}") for n in range(1, 12_346)],
        [Piece(f"sheet {n}", f"sheet S{n}", "A1:B1") for n in range(1, 12_346)],
        [Piece(f"page {n}", f"page {n}") for n in range(1, 12_346)],
        [Piece(f"row {n}", f"sheet S{n % 7}", f"A{n}:B{n}") for n in range(1, 12_346)],
        [Piece(f"text {n}", f"message {n} (Ann Lee, 3 May 2025)") for n in range(1, 5_002)],
    ],
    ids=["rows", "sheets", "pages", "rows of sheets in turn", "messages"],
)
def test_parts_are_limited_and_every_place_still_has_a_name(pieces: list[Piece]):
    composed = compose(pieces)
    assert composed.is_whole
    assert len(composed.parts) <= MOST_PARTS
    assert [part.start for part in composed.parts] == sorted(part.start for part in composed.parts)
    assert place_of(composed.parts, len(composed.text) - 1, len(composed.text))


def test_pages_that_share_a_part_are_counted():
    composed = compose([Piece(f"page {n}", f"page {n}") for n in range(1, 5_002)])
    assert [part.name for part in composed.parts[:2]] == ["pages 1 to 2", "pages 3 to 4"]
    assert place_of(composed.parts, 0, 20) == "pages 1 to 4"


def test_a_text_that_is_too_long_is_cut_and_says_so():
    composed = compose((Piece("word " * 10, f"page {n}") for n in range(100)), most=500)
    assert not composed.is_whole
    assert len(composed.text) <= 500
    assert all(part.start <= 500 for part in composed.parts)


def test_reading_stops_at_the_deadline():
    composed = compose((Piece("word", f"page {n}") for n in range(10**9)), deadline=time.monotonic())
    assert not composed.is_whole
