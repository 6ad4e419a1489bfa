"""What a chat shows of a turn that does not end as usual."""

from __future__ import annotations

import io

from stepwell.terminal.chat.view import ChatView
from stepwell.terminal.dialogue.session import StreamPart
from stepwell.terminal.dialogue.terminal import Terminal


def piece(task: str, text: str) -> StreamPart:
    message = {"type": "AIMessageChunk", "id": f"message of {task}", "content": text}
    return StreamPart("messages", (task,), [message, {"lc_agent_name": task}])


def test_what_was_held_back_is_shown_when_a_turn_is_left_and_not_in_the_next():
    screen = io.StringIO()
    view = ChatView(Terminal(io.StringIO(), screen))
    view.show(piece("first", "I speak,"))
    view.show(piece("second", "and I wait."))
    assert "and I wait." not in screen.getvalue()
    view.close()
    assert screen.getvalue() == "[first] I speak,\n[second] and I wait.\n"
    view.close()
    assert screen.getvalue().count("and I wait.") == 1


def test_a_run_that_begins_again_is_said_once():
    screen = io.StringIO()
    view = ChatView(Terminal(io.StringIO(), screen))
    assert view.show(StreamPart("metadata", (), {"run_id": "r", "attempt": 1})) is False
    assert view.show(StreamPart("metadata", (), {"run_id": "r", "attempt": 2})) is True
    assert "restarted this turn" in screen.getvalue()


def test_messages_that_are_no_messages_are_passed_over():
    view = ChatView(Terminal(io.StringIO(), io.StringIO()))
    assert view.show(StreamPart("updates", (), {"node": {"messages": [["user", "hi"], "text", None]}})) is False
