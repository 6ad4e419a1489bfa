"""What the keys of a person make of a line that is typed while a run works."""

from __future__ import annotations

import pytest

from stepwell.terminal.dialogue.drafts import Draft, End, Line


@pytest.mark.parametrize(
    ("keys", "lines"),
    [
        (b"use feet\n", [Line("use feet")]),
        (b"use feet\r", [Line("use feet")]),
        (b"one\ntwo\n", [Line("one"), Line("two")]),
        (b"feat\x7f\x7fet\n", [Line("feet")]),
        (b"\x7f\x7fa\n", [Line("a")]),
        (b"all wrong\x15right\n", [Line("right")]),
        (b"use metres\x17feet\n", [Line("use feet")]),
        (b"then rest\x1b\r", [Line("then rest", later=True)]),
        (b"a\x1b[Db\x1b[1;5Cc\x1bOPd\x1bxe\n", [Line("abcde")]),
        ("Brücke\n".encode(), [Line("Brücke")]),
        (b"  \n\n", []),
        (b"\x04", [End()]),
        (b"a\x04\n", [Line("a")]),
        (b"a\tb\x00\n", [Line("a b")]),
    ],
)
@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "key by key"])
def test_keys_become_lines(keys: bytes, lines: list[Line | End], at_once: bool):
    draft = Draft()
    pieces = [keys] if at_once else [keys[at : at + 1] for at in range(len(keys))]
    assert [line for piece in pieces for line in draft.feed(piece)] == lines


def test_what_is_not_sent_stays():
    draft = Draft()
    assert [*draft.feed(b"hal")] == []
    assert draft.text == "hal"
