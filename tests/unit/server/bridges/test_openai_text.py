"""The text of OpenAI's streams: marks of threads, and messages that are written again after a restart."""

from __future__ import annotations

import pytest

from stepwell.server.bridges.openai.completions import WrittenText
from stepwell.server.bridges.openai.marks import mark, marked_thread, without_mark

THREAD = "0d0f2a3e-3f0e-4c55-9f5e-2a4b8f6f6a10"


def test_a_mark_names_its_thread_only_at_the_end():
    marked = f"Run add?{mark(THREAD)}"
    assert marked_thread(f"{marked}\n ") == THREAD
    assert without_mark(marked) == "Run add?"
    assert marked_thread(f"{marked} and more") is None
    assert without_mark("plain ") == "plain "


def test_messages_are_apart_by_an_empty_line():
    written = WrittenText()
    assert [written.add("a", "one "), written.add("a", "two"), written.add("b", "three")] == ["one ", "two", "\n\nthree"]


@pytest.mark.parametrize(
    ("again", "sent"),
    [
        (["It ", "is ", "3."], ["", "", "3."]),
        (["It is 3."], ["3."]),
        (["The sum"], ["\n\nThe sum"]),
        (["It ", "was"], ["", "\n\nIt was"]),
    ],
)
def test_after_a_restart_the_same_words_are_not_sent_twice(again: list[str], sent: list[str]):
    written = WrittenText()
    written.add("first", "It is ")
    written.begin_again()
    assert [written.add("second", piece) for piece in again] == sent
