"""A thread's title is made of the first thing its user says."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from stepwell.runs.threads.titles import changed_titles, title_of

LONG = "How many of the stepwells that were dug between the fifth and the nineteenth century still hold water today, and where?"


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ({"messages": [{"role": "user", "content": "Why were stepwells built?"}]}, "Why were stepwells built?"),
        ({"messages": [{"type": "system", "content": "Be brief."}, {"type": "human", "content": "Hi"}]}, "Hi"),
        ({"messages": [["user", "As a pair"]]}, "As a pair"),
        ({"messages": ["As text"]}, "As text"),
        ({"messages": "As text alone"}, "As text alone"),
        ({"messages": {"role": "human", "content": "One message"}}, "One message"),
        ({"messages": [{"role": "user", "content": "\n  First   line \nsecond"}]}, "First line"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, {"type": "image"}]}]},
            "What is this?",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "image", "base64": "QUJD", "mime_type": "image/png"}]}]},
            "Picture",
        ),
        ({"user_query": "Who designed the bridge?"}, "Who designed the bridge?"),
        ({"messages": [{"role": "assistant", "content": "I begin."}]}, None),
        ({"messages": [{"role": "user", "content": ""}]}, None),
        ({"messages": [None, 3, [], ["user"]]}, None),
        ({"other": "fields"}, None),
        (None, None),
        ("text", None),
    ],
)
def test_the_title_is_the_first_line_of_the_first_message(given, title):
    assert title_of(given) == title


def test_a_long_first_line_is_cut_between_words():
    cut = title_of({"messages": [{"role": "user", "content": LONG}]})
    assert cut is not None
    assert len(cut) <= 80
    assert cut.endswith("…")
    assert LONG.startswith(f"{cut[:-1]} ")


def test_titles_of_changed_messages_change_and_those_of_withheld_ones_go():
    before = {"messages": [HumanMessage("Card 4111", id="1"), HumanMessage("Card 42", id="2"), HumanMessage("Hi", id="3")]}
    hidden = HumanMessage("[withheld]", id="1", additional_kwargs={"stepwell_withheld": True})
    after = {"messages": [hidden, HumanMessage("Card ##", id="2"), HumanMessage("Hi", id="3"), AIMessage("No.", id="4")]}
    assert changed_titles(before, after) == {"Card 4111": None, "Card 42": "Card ##"}


@pytest.mark.parametrize("values", [None, 3, {}, {"messages": "text"}, {"messages": [{"role": "user", "content": "x"}]}])
def test_states_without_messages_change_no_title(values):
    assert changed_titles(values, values) == {}
