"""A thread's title is made of the first thing its user says."""

from __future__ import annotations

import pytest

from stepwell.runs.threads.titles import title_of

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
