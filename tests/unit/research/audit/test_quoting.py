"""Passages and quotes: always the source's own words at their own place."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.errors import EvidenceError
from stepwell.research.audit.evidence import Source
from stepwell.research.audit.quoting import locate, make_quote, passages, quote_at
from stepwell.research.audit.sentences import MAX_PASSAGE


def cut(text: str) -> list[str]:
    return [passage.text for passage in passages(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One is here. Two is there! Three? Yes.", ["One is here.", "Two is there!", "Three?", "Yes."]),
        ("Dr. Smith paid 3.5 million. He left.", ["Dr. Smith paid 3.5 million.", "He left."]),
        ("J. R. Ewing came at 5 p.m. on Friday. He left.", ["J. R. Ewing came at 5 p.m. on Friday.", "He left."]),
        ("See Fig. 3 and No. 5. Then stop.", ["See Fig. 3 and No. 5.", "Then stop."]),
        ("Am 3. Mai kam er an. Dann ging er.", ["Am 3. Mai kam er an.", "Dann ging er."]),
        ("Es gab z.B. Brunnen. Sie waren tief.", ["Es gab z.B. Brunnen.", "Sie waren tief."]),
        ("She said “Stop.” Then she left.", ["She said “Stop.”", "Then she left."]),
        ("The U.S. economy grew. It was fast.", ["The U.S. economy grew.", "It was fast."]),
        (
            "A heading\nA paragraph that says something.\n\nAnother.",
            ["A heading", "A paragraph that says something.", "Another."],
        ),
        (
            "This line of a page was wrapped by a machine in the middle of the\nEuropean Union. Next one.",
            ["This line of a page was wrapped by a machine in the middle of the\nEuropean Union.", "Next one."],
        ),
        ("井は深い。水は冷たい。", ["井は深い。", "水は冷たい。"]),
        ("Wait... what? No… Yes.", ["Wait... what?", "No…", "Yes."]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences_are_cut_where_they_end(text: str, expected: list[str]):
    assert cut(text) == expected


@given(st.text(max_size=3000))
def test_passages_are_the_text_in_order_without_loss(text: str):
    found = passages(text)
    assert all(text[passage.start : passage.end] == passage.text for passage in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert "".join("".join(cut(text)).split()) == "".join(text.split())
    assert all(quote_at(text, passage.start, passage.end) == passage.text for passage in found)


def test_a_passage_without_any_mark_is_cut_at_a_space():
    long = "word " * 1000
    assert all(passage.text.endswith("word") for passage in passages(long))
    assert all(len(passage.text) <= MAX_PASSAGE for passage in passages(long))


def test_a_word_is_never_cut_however_long():
    assert cut("x" * 5000) == ["x" * 5000]


def test_a_script_without_spaces_is_cut_anyway():
    assert [len(piece) for piece in cut("水" * 2000)] == [800, 800, 400]


SOURCE = Source(
    "s1", "web", "https://a.test/", "https://a.test/", "A", "text/html", 200, "2026-01-01T00:00:00+00:00", "0" * 64, "0" * 64
)


def test_a_quote_holds_the_words_at_its_place():
    quote = make_quote("e1", SOURCE, "The well is 12 m deep.", 4, 16)
    assert (quote.text, quote.source_id) == ("well is 12 m", "s1")


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (0, 0), (3, 2), (0, 99)])
def test_a_quote_outside_its_text_is_refused(start: int, end: int):
    with pytest.raises(EvidenceError, match="does not lie"):
        quote_at("The well", start, end)


@pytest.mark.parametrize(
    ("text", "part"),
    [("15 % of all", "5 % of all"), ("1,500 wells", "500 wells"), ("unsafe water", "safe water"), ("at -5 °C", "5 °C")],
)
def test_a_quote_never_cuts_a_word_or_a_number(text: str, part: str):
    assert locate(text, part) is None
    start = text.index(part)
    with pytest.raises(EvidenceError, match="inside"):
        quote_at(text, start, start + len(part))


def test_a_later_whole_occurrence_is_found():
    assert locate("15 % here, 5 % there", "5 %") == (11, 14)


@pytest.mark.parametrize(
    ("text", "wanted", "found"),
    [
        ("He said “it’s deep” — truly.", 'He said "it\'s deep" - truly.', "He said “it’s deep” — truly."),
        ("The well\n  is\u00a0deep.", "The well is deep.", "The well\n  is\u00a0deep."),
        ("The well is deep.", "“The well is deep.”", "The well is deep."),
        ("Deep\u00ad er wells…", "Deep er wells...", "Deep\u00ad er wells…"),
        ("The well is deep.", "  well is ", "well is"),
    ],
)
def test_spaces_and_marks_are_looked_past(text: str, wanted: str, found: str):
    place = locate(text, wanted)
    assert place is not None
    assert text[place[0] : place[1]] == found


@pytest.mark.parametrize(
    "wanted", ["The wells is deep.", "the well is deep.", "The well is deep!", "well deep", "", "  ", "“”"]
)
def test_nothing_else_is_forgiven(wanted: str):
    assert locate("The well is deep.", wanted) is None


@given(st.text(alphabet="ab 1.,'’“” \n\u00a0…-–", max_size=60), st.data())
def test_every_passage_is_located_with_its_own_words(text: str, data: st.DataObject):
    for passage in passages(text):
        place = locate(text, passage.text)
        assert place is None or text[place[0] : place[1]] == passage.text
