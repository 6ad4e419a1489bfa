"""Which excerpts of a device are taken along with a question."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.errors import InvalidRequestError
from stepwell.research.graph import snippets
from stepwell.research.graph.snippets import MAX_SNIPPET_CHARS, MOST_SNIPPETS, read_snippets
from stepwell.research.http import question_schemas as wire


def snippet(**changes: Any) -> dict[str, Any]:
    return {"id": "c1", "document_id": "d1", "label": "notes.md", "text": "The well is deep.", "start": 3, "end": 20, **changes}


def test_nothing_is_fine():
    assert read_snippets(None) == read_snippets([]) == []


def test_the_same_words_of_one_document_are_taken_once():
    read = read_snippets([snippet(), snippet(id="c2", start=90, end=107), snippet(id="c3", label="other.md")])
    assert [each.id for each in read] == ["c1", "c3"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("words", "snippets: Input should be a valid list"),
        ([{"id": "c1"}], "snippets.0.document_id: Field required"),
        ([snippet(text=" ")], "snippets.0.text: String should have at least 1 character"),
        ([snippet(text="x" * (MAX_SNIPPET_CHARS + 1))], "snippets.0.text: String should have at most 4000 characters"),
        ([snippet(start=-1)], "snippets.0.start: Input should be greater than or equal to 0"),
        ([snippet(start="3")], "snippets.0.start: Input should be a valid integer"),
        ([snippet(end=3)], "snippets.0: ends before it begins"),
        ([snippet(text="half \ud800")], "snippets.0.text: Input should be a valid string"),
        ([snippet(id=f"c{n}", text=f"t{n}") for n in range(MOST_SNIPPETS + 1)], "at most 16 items"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(given: Any, said: str):
    with pytest.raises(InvalidRequestError) as refused:
        read_snippets(given)
    assert said in str(refused.value)
    assert "A snippet is {id, document_id, label, text, start, end}" in str(refused.value)


def test_the_wire_takes_as_many_and_as_long_ones_as_the_application():
    assert (wire.MOST_SNIPPETS, wire.MAX_SNIPPET_CHARS) == (snippets.MOST_SNIPPETS, snippets.MAX_SNIPPET_CHARS)


def test_the_wire_says_camel_case():
    sent = {"id": "c1", "documentId": "d9", "label": "n", "text": "t", "start": 0, "end": 1}
    asked = wire.ResearchQuestion.model_validate({"query": "Why?", "snippets": [sent]})
    assert asked.fields()["snippets"] == [{"id": "c1", "document_id": "d9", "label": "n", "text": "t", "start": 0, "end": 1}]
