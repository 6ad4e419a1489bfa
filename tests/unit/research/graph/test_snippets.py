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
    read = read_snippets([snippet(), snippet(id="c2", start=90, end=107), snippet(id="c3", label="other.md", document_id="d2")])
    assert [each.id for each in read] == ["c1", "c3"]


def test_a_document_under_two_names_is_taken_once():
    assert [each.label for each in read_snippets([snippet(), snippet(label="copy.md")])] == ["notes.md"]


def test_all_snippets_together_have_a_limit():
    many = [snippet(id=f"c{n}", text=f"{n} ".ljust(MAX_SNIPPET_CHARS, "x")) for n in range(12)]
    assert len(read_snippets(many)) == 12
    with pytest.raises(
        InvalidRequestError, match=r"The snippets have 48,001 characters; the limit is 48,000 together\. Send fewer\."
    ):
        read_snippets([*many, snippet(id="more", text="y")])
    with pytest.raises(ValueError, match="the limit is 48,000 together"):
        wire.ResearchQuestion.model_validate({"query": "Why?", "snippets": [*many, snippet(id="more", text="y")]})


def test_hidden_keys_leave_a_text_within_its_limit_and_do_not_change_again():
    text = ("x" * 30 + " password=hunter2x! ") * 80
    (read,) = read_snippets([snippet(text=text[:MAX_SNIPPET_CHARS], label="password=hunter2x!", place="password=hunter2x!")])
    assert "hunter" not in f"{read}"
    assert read_snippets([read.model_dump()]) == [read]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("words", "snippets: Input should be a valid list"),
        ([{"id": "c1"}], "snippets.0.document_id: Field required"),
        ([snippet(text=" ")], "snippets.0.text: String should have at least 1 character"),
        ([snippet(text="x" * (MAX_SNIPPET_CHARS + 1))], "snippets.0.text: String should have at most 4000 characters"),
        ([snippet(place="p" * 201)], "snippets.0.place: String should have at most 200 characters"),
        ([snippet(place=3)], "snippets.0.place: Input should be a valid string"),
        ([snippet(start=-1)], "snippets.0.start: Input should be greater than or equal to 0"),
        ([snippet(start="3")], "snippets.0.start: Input should be a valid integer"),
        ([snippet(end=3)], "snippets.0: ends before it begins"),
        ([snippet(text="half \ud800")], "snippets.0.text: Input should be a valid string"),
        ([snippet(id=f"c{n}", text=f"t{n}") for n in range(MOST_SNIPPETS + 1)], "at most 200 items"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(given: Any, said: str):
    with pytest.raises(InvalidRequestError) as refused:
        read_snippets(given)
    assert said in str(refused.value)
    assert "A snippet is {id, document_id, label, place, text, start, end}" in str(refused.value)


def test_the_wire_takes_as_many_and_as_long_ones_as_the_application():
    for name in ("MOST_SNIPPETS", "MAX_SNIPPET_CHARS", "MAX_SNIPPETS_CHARS"):
        assert getattr(wire, name) == getattr(snippets, name)


def test_the_wire_says_camel_case():
    sent = {"id": "c1", "documentId": "d9", "label": "n", "text": "t", "start": 0, "end": 1}
    asked = wire.ResearchQuestion.model_validate({"query": "Why?", "snippets": [sent, {**sent, "place": "page 3"}]})
    known = {"id": "c1", "document_id": "d9", "label": "n", "text": "t", "start": 0, "end": 1}
    assert asked.fields()["snippets"] == [{**known, "place": ""}, {**known, "place": "page 3"}]
