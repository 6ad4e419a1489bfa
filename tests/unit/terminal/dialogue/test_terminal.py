"""What the screen shows."""

from __future__ import annotations

import io

import pytest

from stepwell.terminal.dialogue.events import Called, Checked, Planned, Returned
from stepwell.terminal.dialogue.interleaving import Said, Voice
from stepwell.terminal.dialogue.terminal import Terminal


def shown(*events, typed: str = "") -> str:
    screen = io.StringIO()
    terminal = Terminal(io.StringIO(typed), screen)
    for event in events:
        terminal.show(event)
    terminal.end_text()
    return screen.getvalue()


def test_pieces_of_text_make_one_line():
    assert shown(Said("main", "Hel"), Said("main", "lo")) == "Hello\n"


def test_another_speaker_starts_a_line_with_its_name():
    assert shown(Said("main", "a"), Said("scout", "b"), Said("scout", "c"), Said("main", "d")) == "a\n[scout] bc\nd\n"


def test_another_message_of_the_same_speaker_starts_a_line():
    first, second = Voice((), "1"), Voice((), "2")
    assert shown(Said("main", "a", first), Said("main", "b", first), Said("main", "c", second)) == "ab\nc\n"


def test_a_tool_call_ends_the_text_before_it():
    assert shown(Said("main", "a"), Called("main", "ls", {"path": "/"})) == 'a\n→ ls(path="/")\n'


def test_a_long_result_is_one_short_line():
    [line] = shown(Returned("main", "grep", "x" * 500 + "\nsecond\nthird", failed=False)).splitlines()
    assert line.endswith("… (+2 lines)")
    assert len(line) < 130


def test_a_failed_call_is_marked():
    assert shown(Returned("main", "ls", "No folder", failed=True)) == "✗ No folder\n"


def test_a_plan_is_shown_instead_of_the_call_that_made_it():
    todos = ({"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"})
    events = [
        Called("main", "write_todos", {}),
        Planned("main", todos),
        Returned("main", "write_todos", "Updated", failed=False),
    ]
    assert shown(*events) == "[x] a\n[>] b\n"


def test_checks_of_an_answer_are_lines():
    passed, missing = {"name": "source", "passed": True}, {"name": "kind", "passed": False, "gap": "it shouts"}
    assert shown(Said("main", "a"), Checked("main", "satisfied", (passed,))) == "a\n✓ 1 of 1 check passed.\n"
    events = [Checked("main", "needs_revision", (passed, missing)), Checked("main", "grader_error", (), "No credit.")]
    assert (
        shown(*events) == "✗ 1 of 2 checks passed.\n  - kind: it shouts\n✗ The answer could not be checked.\n  - No credit.\n"
    )


@pytest.mark.parametrize("nasty", ["\x1b[2J", "\r", "\x07", "\x9b", "\u202e"])
def test_control_characters_from_a_model_do_not_reach_the_screen(nasty: str):
    text = shown(
        Said("main", f"a{nasty}b"), Called("main", "t", {"x": nasty}), Returned("main", "t", f"r{nasty}r", failed=False)
    )
    assert nasty not in text
    assert text.startswith("a?")


def test_a_screen_that_knows_only_ascii_still_works():
    buffer = io.BytesIO()
    screen = io.TextIOWrapper(buffer, encoding="ascii", write_through=True)
    Terminal(io.StringIO(), screen).show(Called("main", "ls", {"path": "/ü"}))
    assert buffer.getvalue() == b'? ls(path="/?")\n'


def test_the_end_of_input_is_told():
    terminal = Terminal(io.StringIO("one\n"), io.StringIO())
    assert terminal.read("> ") == "one"
    with pytest.raises(EOFError):
        terminal.read("> ")
