"""`stepwell acp` as an editor uses it: a process, the official client, a folder, and a provider on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.acp.editor import Editor, editing, words
from tests.support.providers import Call, FakeProvider, Reply
from tests.support.providers.anthropic import ANTHROPIC


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider(ANTHROPIC) as provider:
        yield provider


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "greeting.py").write_text('print("hello")\n')
    return folder


async def test_an_agent_edits_a_file_after_permission(provider: FakeProvider, project: Path, tmp_path: Path) -> None:
    edit = {"file_path": "/workspace/greeting.py", "old_string": "hello", "new_string": "good day"}
    provider.plan(
        Reply(
            "Let me look.",
            thinking="A greeting.",
            calls=[Call("read_file", {"file_path": "/workspace/greeting.py"}, id="toolu_1")],
        ),
        Reply("", calls=[Call("edit_file", edit, id="toolu_2")]),
        Reply("It is polite now."),
    )
    editor = Editor()
    async with editing(editor, tmp_path / "data", **provider.variables) as (agent, _):
        session = await agent.new_session(cwd=str(project), mcp_servers=[])
        answer = await agent.prompt(session_id=session.session_id, prompt=words("Be more polite."))
    assert answer.stop_reason == "end_turn"
    assert editor.text() == "Let me look.It is polite now."
    assert editor.text("agent_thought_chunk") == "A greeting."
    assert (project / "greeting.py").read_text() == 'print("good day")\n'
    read, edited = editor.of("tool_call")
    assert (read.kind, edited.kind) == ("read", "edit")
    assert [each.path for each in edited.locations] == [str(project / "greeting.py")]
    ((asked, options),) = editor.asked
    assert asked.tool_call_id == edited.tool_call_id == "toolu_2"
    assert [option.kind for option in options] == ["allow_once", "allow_always", "reject_once"]
    assert (asked.content[0].old_text, asked.content[0].new_text) == ('print("hello")\n', 'print("good day")\n')
    assert [each.status for each in editor.of("tool_call_update") if each.tool_call_id == "toolu_2"] == [
        "in_progress",
        "completed",
    ]
    assert session.modes.current_mode_id == "ask"
