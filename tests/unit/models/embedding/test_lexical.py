"""The fallback embedder: it matches words, says so, and gives the same numbers everywhere."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.models.embedding.lexical import LexicalEmbedder


def likeness(first: str, second: str) -> float:
    one, two = LexicalEmbedder().embed([first, second])
    return sum(a * b for a, b in zip(one, two, strict=True))


def test_it_says_that_it_matches_words_and_why_it_is_used():
    embedder = LexicalEmbedder("no model is installed")
    assert not embedder.is_semantic
    assert "not texts that mean the same" in embedder.describe()
    assert embedder.describe().endswith("because no model is installed.")


def test_shared_words_are_near_and_other_words_are_far():
    question = "how deep is the old well"
    assert likeness(question, "The old well: how deep?") > 0.8
    assert likeness(question, "quarterly tax return") < 0.2


def test_forms_of_a_word_are_near():
    assert likeness("walk", "walking") > 0.3


def test_a_synonym_is_as_far_as_any_word():
    """What it cannot do; if this fails, `is_semantic` and the docs are out of date."""
    assert abs(likeness("automobile", "car")) < 0.2


@pytest.mark.parametrize(
    ("written", "same"), [("CAFÉ", "cafe"), ("cafe\u0301", "café"), ("ﬁne ＡＢＣ", "fine abc"), ("STRASSE", "straße")]
)
def test_case_accents_and_forms_do_not_count(written: str, same: str):
    assert likeness(written, same) == pytest.approx(1)


def test_names_in_code_are_taken_apart():
    assert likeness("read_file(path)", "path, read, file") == pytest.approx(1)


def test_vowel_signs_of_other_scripts_count():
    assert likeness("कि", "कु") < 0.9


@pytest.mark.parametrize("text", ["", " \n", "?!… 🪣"])
def test_a_text_without_words_is_alike_to_nothing(text: str):
    assert LexicalEmbedder().embed([text]) == [[0.0] * 512]


def test_numbers_are_the_same_on_every_machine():
    """Stored vectors outlive a process; a change here needs a new id."""
    vector = LexicalEmbedder().embed(["well"])[0]
    unit = 1 / math.sqrt(2)
    found = {place: round(value / unit, 6) for place, value in enumerate(vector) if value}
    assert (LexicalEmbedder.id, found) == ("lexical-1", {86: 0.5, 256: 0.5, 257: -0.5, 298: -1.0, 342: 0.5})


@given(st.lists(st.text(st.characters(codec=None)), max_size=4))
def test_any_text_gives_a_vector_of_length_one_or_zero(texts: list[str]):
    embedder = LexicalEmbedder()
    vectors = embedder.embed(texts)
    assert len(vectors) == len(texts)
    for vector in vectors:
        assert len(vector) == embedder.dimensions
        assert math.hypot(*vector) == pytest.approx(1) or not any(vector)


def test_a_vector_does_not_depend_on_its_neighbours():
    embedder = LexicalEmbedder()
    texts = ["a deep well", "", "tax return"]
    assert embedder.embed(texts) == [embedder.embed([text])[0] for text in texts]


async def test_both_colours_agree():
    embedder = LexicalEmbedder()
    assert await embedder.aembed(["a deep well", ""]) == embedder.embed(["a deep well", ""])


def test_one_text_is_refused_where_a_list_is_meant():
    with pytest.raises(TypeError, match=r"embed\(\[text\]\)"):
        LexicalEmbedder().embed("well")
