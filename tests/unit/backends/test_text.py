"""What all backends do with text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.backends import text
from stepwell.backends.protocol import ErrorText


@given(st.text())
def test_splitting_and_joining_give_the_text_back(content: str) -> None:
    assert text.join_lines(text.split_lines(content)) == content
    assert text.join_lines(content) == content


@given(st.text(), st.text())
def test_a_version_names_exactly_one_content(one: str, other: str) -> None:
    assert (text.version_of(one) == text.version_of(other)) == (one == other)


def test_a_window_says_what_is_left() -> None:
    shown = text.number_lines("/a.md", ["1", "2", "3", ""], 1, 1)
    assert shown == "     2\t2\n(1 more lines; go on with offset=2)"


def test_a_long_line_says_how_long_it_is() -> None:
    shown = text.number_lines("/a.md", ["x" * 3_000], 0, 1)
    assert shown.endswith("(cut: the line has 3,000 characters)")


def test_an_edit_cannot_grow_without_bound() -> None:
    """The size is worked out before memory is taken for it."""
    outcome = text.replace_exact("/a.md", "a" * 1_000_000, "a", "b" * 1_000_000, True)
    assert isinstance(outcome, ErrorText)
    assert "1,000,000,000,000" in outcome


@pytest.mark.parametrize("content", ["plain", "ünï", "🏺", "\x00", ""])
def test_whole_characters_are_content(content: str) -> None:
    assert text.content_complaint("/a.md", content) is None


@pytest.mark.parametrize("content", ["\ud800", "ok \udfff", 5, None, b"x", "x" * (text.MAX_FILE_CHARS + 1)])
def test_what_cannot_be_stored_is_refused(content: object) -> None:
    assert "'/a.md'" in str(text.content_complaint("/a.md", content))
