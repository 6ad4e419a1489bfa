"""Excerpts of one document become one text: in order, without overlaps, with places; and each quote is found again on the device."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.research.audit.excerpts import DeviceDocument, Passage, documents_of
from stepwell.tools.documents.parts import Part

TEXT = "The pier was built of oak. It has forty-one cracked beams. Nobody has walked on it since spring. A new one is planned."


def cut(start: int, end: int, place: str = "", text: str = TEXT, **changes: Any) -> dict[str, Any]:
    words = text[start:end]
    given = {"id": f"c{start}", "document_id": "d1", "label": "survey.pdf", "place": place, "text": words}
    return {**given, "start": start, "end": end, **changes}


def one(*excerpts: dict[str, Any]) -> DeviceDocument:
    (document,) = documents_of(excerpts)
    return document


def found(document: DeviceDocument, words: str) -> Passage | None:
    start = document.text.index(words)
    return document.passage_at(start, start + len(words))


def test_excerpts_are_joined_in_the_order_of_the_document():
    document = one(cut(97, 118, "page 4"), cut(0, 26, "page 2"))
    assert document.text == "The pier was built of oak.\n\nA new one is planned."
    assert document.parts == (Part(0, "page 2"), Part(28, "page 4"))
    assert (document.title, document.document_id) == ("survey.pdf", "d1")


def test_what_overlaps_is_there_once():
    document = one(cut(0, 58, "page 2"), cut(27, 96, "page 2"), cut(30, 40, "page 9"), cut(0, 58, "page 2"))
    assert document.text == TEXT[:96]
    assert [part.start for part in document.parts] == [0, 27]
    assert document.passage_at(27, 96) == Passage("c27", "d1", 27, 96)


def test_a_quote_over_two_overlapping_excerpts_leads_to_both():
    assert one(cut(0, 40), cut(27, 96)).passage_at(4, 58) == Passage("c0", "d1", 4, 58)


def test_offsets_that_do_not_fit_the_text_join_nothing():
    document = one(cut(0, 58), {**cut(27, 96), "start": 30, "end": 99})
    assert document.text == f"{TEXT[:58]}\n\n{TEXT[27:96]}"


def test_every_quote_leads_to_its_place_on_the_device():
    document = one(cut(97, 118), cut(27, 58), cut(0, 26))
    for words in ("built of oak", "forty-one cracked beams", "A new one"):
        start = TEXT.index(words)
        assert found(document, words) == Passage(found(document, words).snippet_id, "d1", start, start + len(words))  # type: ignore[union-attr]


def test_a_browser_counts_in_utf_16():
    text = "𝒜𝒷𝒸 the tide comes. 𝒜𝒷𝒸 the tide goes. It comes again."
    units = lambda offset: len(text[:offset].encode("utf-16-le")) // 2  # noqa: E731
    first, second = cut(0, 36, text=text), cut(20, 54, text=text)
    document = one(*({**each, "start": units(each["start"]), "end": units(each["end"])} for each in (first, second)))
    assert document.text == text
    for words in ("tide goes", "comes again", "𝒜𝒷𝒸"):
        start = text.index(words)
        passage = found(document, words)
        assert passage is not None
        assert (passage.start, passage.end) == (units(start), units(start + len(words)))


def test_an_excerpt_of_unknown_length_is_opened_whole():
    """A key was hidden in it, so its offsets are those of another text."""
    passage = found(one(cut(0, 26), {**cut(27, 57, text=TEXT.replace("forty-one", "[hidden]")), "end": 60}), "cracked")
    assert passage == Passage("c27", "d1", 27, 60)


def test_two_excerpts_that_make_a_key_together_do_not_show_it():
    text = "The key is Bearer abcdefghijklmnopqrstuvwxyz0123456789 and nothing else."
    document = one(cut(0, 17, text=text), cut(18, 72, text=text))
    assert "abcdefghijkl" not in document.text
    assert found(document, "nothing else") is None


@pytest.mark.parametrize(
    ("places", "parts"),
    [
        (["", ""], []),
        (["page 2", ""], ["page 2", "passage 2"]),
        (["sheet Sales, A2:F4", "sheet Sales, A9:F9"], ["sheet Sales", "sheet Sales"]),
    ],
)
def test_parts_come_from_places(places: list[str], parts: list[str]):
    document = one(cut(0, 26, places[0]), cut(59, 96, places[1]))
    assert [part.name for part in document.parts] == parts


def test_cells_are_known_as_cells():
    document = one(cut(0, 26, "sheet Sales, A2:F4"), cut(59, 96, "sheet Sales, A9:F9"))
    assert [part.cells for part in document.parts] == ["A2:F4", "A9:F9"]


def test_documents_of_the_same_name_are_kept_apart():
    same = [cut(0, 26), cut(27, 58, document_id="d2"), cut(59, 96, document_id="d3", label="/home/me/survey.pdf")]
    assert [each.title for each in documents_of(same)] == ["survey.pdf", "survey.pdf, 2", "survey.pdf, 3"]
    assert [each.title for each in documents_of(same[1:], earlier=same[:1])] == ["survey.pdf, 2", "survey.pdf, 3"]
    assert [each.title for each in documents_of(same[:1], earlier=same[:1])] == ["survey.pdf"]
    assert all(each.may_be_called(each.title) for each in documents_of(same))
    assert not any(each.may_be_called("other.pdf") for each in documents_of(same))


def test_long_names_are_kept_apart_where_a_list_of_sources_cuts_them():
    long = "n" * 200
    first, second = documents_of([cut(0, 26, label=long), cut(0, 26, label=long, document_id="d2")])
    assert first.title[:200] != second.title[:200]
    assert second.may_be_called(second.title)
