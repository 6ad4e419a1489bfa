"""Untrusted text cannot leave its fence, whatever it says."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.injections import INJECTIONS

from stepwell.tools.web.fencing import fence

FENCE = re.compile(r"\[(end of )?untrusted text ([0-9a-f]{16})\]")


def edges(fenced: str) -> list[tuple[str, str]]:
    return FENCE.findall(fenced)


@pytest.mark.parametrize("text", INJECTIONS, ids=range(len(INJECTIONS)))
def test_no_injection_of_the_corpus_leaves_the_fence(text: str):
    fenced = fence(f"Before.\n{text}\nAfter.", about=text)
    lines = fenced.splitlines()
    (_, mark), (end, end_mark) = edges(fenced)
    assert (mark, end) == (end_mark, "end of ")
    assert lines[0].startswith(f"[untrusted text {mark}]")
    assert lines[-1] == f"[end of untrusted text {mark}]"
    for control in (
        "<|",
        "|>",
        "[INST]",
        "[/INST]",
        "<<SYS",
        "<s>",
        "</s>",
        "<start_of_turn>",
        "<tool_call>",
        "<function_calls>",
    ):
        assert control not in fenced
    assert not re.search(r"^(human|assistant|system|user)\s*:", fenced, re.I | re.M)
    assert all(letter in "\n\t" or unicodedata.category(letter)[0] != "C" for letter in fenced)
    assert "Before." in lines
    assert "After." in lines


def test_the_mark_is_drawn_again_until_the_text_does_not_hold_it():
    marks = iter(["aaaa", "bbbb", "cccc"])
    fenced = fence("aaaa is a guess", about="bbbb too", new_mark=lambda: next(marks))
    assert fenced.endswith("[end of untrusted text cccc]")


def test_each_call_has_a_mark_of_its_own():
    assert len({edges(fence("text"))[0][1] for _ in range(50)}) == 50


def test_characters_that_do_not_show_are_counted():
    assert "2 characters that do not show were left out." in fence("a\u200bb\u202e")
    assert "do not show" not in fence("plain text, Zürich, 東京, 👩‍🚀")


def test_what_readers_see_stays():
    text = "Prices < 5 and > 3, a|b, x<y, [1] and 'quotes' – naïve 東京 👩‍🚀\tTab"
    assert text in fence(text)


@given(st.text(), st.text(max_size=50))
def test_any_text_has_exactly_one_end(text: str, about: str):
    fenced = fence(text, about)
    assert len(edges(fenced)) == 2
    assert fenced.splitlines()[-1].startswith("[end of untrusted text ")
