"""What an editor is shown of a run whose process died: real events, as an engine's journal has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stepwell.terminal.acp.folder import EditorFolder
from stepwell.terminal.acp.updates import Updates
from stepwell.terminal.dialogue.session import StreamPart

PERSON = {"type": "human", "content": "Write b.txt", "id": "1"}
CALL = {"type": "ai", "id": "2", "content": "First.", "tool_calls": [{"name": "write_file", "args": {}, "id": "toolu_1"}]}
RESULT = {"type": "tool", "id": "3", "name": "write_file", "tool_call_id": "toolu_1", "content": "Written."}
RESTARTED = [StreamPart("metadata", (), {"attempt": 2})]


def stored(*messages: dict[str, Any]) -> StreamPart:
    return StreamPart("values", (), {"messages": list(messages)})


def update(node: str, message: dict[str, Any]) -> StreamPart:
    return StreamPart("updates", (), {node: {"messages": [message]}})


def shown(tmp_path: Path, *parts: StreamPart) -> list[tuple[str, str]]:
    updates = Updates(EditorFolder(tmp_path))
    return [(each.session_update, each.status) for part in parts for each in updates.of_part(part)]


def test_a_result_whose_event_was_lost_closes_its_call(tmp_path: Path) -> None:
    parts = [update("model", CALL), *RESTARTED, stored(PERSON, CALL, RESULT)]
    assert shown(tmp_path, *parts) == [("tool_call", "pending"), ("tool_call_update", "completed")]


def test_a_call_whose_event_was_lost_is_shown_with_its_result(tmp_path: Path) -> None:
    assert shown(tmp_path, *RESTARTED, stored(PERSON, CALL), update("tools", RESULT)) == [
        ("tool_call", "pending"),
        ("tool_call_update", "completed"),
    ]


def test_what_was_shown_before_the_restart_is_not_shown_again(tmp_path: Path) -> None:
    parts = [update("model", CALL), update("tools", RESULT)]
    assert len(shown(tmp_path, *parts, *RESTARTED, stored(PERSON, CALL, RESULT))) == 2


def test_calls_of_earlier_turns_are_left_to_the_replay(tmp_path: Path) -> None:
    assert shown(tmp_path, *RESTARTED, stored(PERSON, CALL, RESULT, {"type": "human", "content": "And now?", "id": "4"})) == []
