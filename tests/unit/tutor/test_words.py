"""Rules on words: the same verdict every time, in one sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.tutor.argument.words import (
    asks_to_be_told,
    is_closer,
    is_said_in,
    mentions,
    new_evidence,
    redefines,
    sentences_of,
    take_offers_out,
    take_questions_out,
)

KNOWN = ["Marks harm pupils under 10.", "c1 https://example.org/a"]


@given(st.text(alphabet=st.sampled_from('ab .!?"”)\n'), max_size=60))
def test_sentences_joined_are_the_text(text):
    assert "".join(sentences_of(text)) == text


@given(st.text(alphabet=st.sampled_from('ab .!?"”)\n>`-*'), max_size=80))
def test_no_question_is_left_where_questions_are_taken_out(text):
    rest, _ = take_questions_out(text)
    if "`" not in text and ">" not in text and '"' not in text and "”" not in text:
        assert take_questions_out(rest)[1] == []


@pytest.mark.parametrize(
    ("text", "rest", "asked"),
    [
        ("Good. Why is that?", "Good.", ["Why is that?"]),
        ("Why? Because.", "Because.", ["Why?"]),
        ("It costs 3.5 francs. Is that much?", "It costs 3.5 francs.", ["Is that much?"]),
        ("- What is it?\n- Who says so?", "", ["What is it?", "Who says so?"]),
        ('Your question was "Should cities ban cars?"', 'Your question was "Should cities ban cars?"', []),
        ("> Should cities ban cars?\n\nNoted.", "> Should cities ban cars?\n\nNoted.", []),
        ("```\nwhy?\n```", "```\nwhy?\n```", []),
        ("**Why is that?**", "", ["Why is that?"]),
        ("Warum ist das so？", "", ["Warum ist das so？"]),
    ],
)
def test_questions_are_taken_out_of_prose_and_of_nothing_else(text, rest, asked):
    found, questions = take_questions_out(text)
    assert (found, [question.strip("*") for question in questions]) == (rest, asked)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("/tell", True),
        ("/tell me now", True),
        ("Just tell me!", True),
        ("OK, I give up.", True),
        ("Could you write the thesis for me, please", True),
        ("don't just tell me", False),
        ("Do not tell me the answer.", False),
        ("/teller", False),
        ("He said they just told me.", False),
        ("", False),
    ],
)
def test_asking_to_be_told(text, wanted):
    assert asks_to_be_told(text) is wanted


def test_own_words_are_word_for_word_but_for_case_and_punctuation():
    said = ["Well, I think that Cities should ban cars -- all of them!"]
    assert is_said_in("cities should ban cars, all of them.", said)
    assert not is_said_in("cities should ban all cars", said)
    assert not is_said_in("cars all of them Cities", said)
    assert not is_said_in("", said)
    assert not is_said_in("ci", said)


@pytest.mark.parametrize(
    ("text", "brought"),
    [
        ("That leaves c1 as it is.", None),
        ("Pupils under 10 are not meant.", None),
        ("See https://example.org/b for that.", "the address"),
        ("See https://example.org/a for that.", None),
        ("It was 11 at the time.", "the figure 11"),
        ("According to experience, no.", "the appeal"),
        ("They say “marks make pupils work much harder”.", "the quotation"),
        ("They say “marks”.", None),
    ],
)
def test_new_evidence_is_what_stands_nowhere_else(text, brought):
    found = new_evidence(text, [*KNOWN, "c1"])
    assert found is None if brought is None else found is not None and found.startswith(brought)


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("Freedom means doing what is right.", "freedom"),
        ("By freedom they mean something else.", "freedom"),
        ("Freedom, properly understood, needs laws.", "freedom"),
        ("Let us define freedom as the absence of fear.", "freedom"),
        ("Freedom without laws is worth little.", None),
        ("This means that freedom fails.", None),
        ("Laws protect freedom.", None),
    ],
)
def test_giving_a_term_a_meaning_of_its_own(text, term):
    assert redefines(text, ["freedom"]) == term


def test_a_term_counts_in_the_plural_and_never_as_a_part_of_a_word():
    assert mentions("Private cars are loud.", "private car")
    assert not mentions("Scars heal.", "car")
    assert not mentions("Glass breaks.", "glas")


def test_an_offer_loses_its_paragraph_only():
    text, found = take_offers_out("I see.\n\nYour thesis could be: cars are loud.\n\nGo on.")
    assert (text, found) == ("I see.\n\nGo on.", True)


def test_a_closer_is_no_question():
    assert is_closer("Anything else?")
    assert not is_closer("Is there anything else that speaks against t1 in your experience?")
