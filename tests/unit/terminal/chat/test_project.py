"""A folder in the browser's place: what a run asks of the user's device."""

from __future__ import annotations

import asyncio
import io

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from stepwell.terminal.chat.loop import Chat
from stepwell.terminal.chat.project import FolderProject
from stepwell.terminal.dialogue.graph_session import GraphConversations, GraphSession
from stepwell.terminal.dialogue.terminal import Terminal

WRITE = {
    "type": "client_tool_execution",
    "requires_approval": True,
    "tool_calls": [
        {"id": "1", "name": "write_file", "args": {"title": "a.md", "path": "/a.md", "content": "one\n", "file_type": "note"}},
        {
            "id": "2",
            "name": "write_file",
            "args": {"title": "log.md", "path": "/log.md", "content": "two\n", "file_type": "note"},
        },
    ],
}
READ = {
    "type": "client_tool_execution",
    "requires_approval": False,
    "tool_calls": [{"id": "1", "name": "read_file", "args": {"file_id": "/a.md"}}],
}


def project(folder, *typed):
    screen = io.StringIO()
    lines = iter(typed)
    terminal = Terminal(io.StringIO(), screen)
    return FolderProject(folder, terminal, ask=lambda text: next(lines)), screen


def claiming(claims):
    def claim():
        claims.append("claimed")
        return "c1"

    return claim


def test_a_change_is_shown_asked_for_once_and_claimed_after_the_yes(tmp_path):
    device, screen = project(tmp_path, "perhaps", "y")
    claims: list[str] = []
    answer = device.answer(WRITE, claiming(claims))
    assert (tmp_path / "a.md").read_text() == "one\n"
    assert (tmp_path / "log.md").read_text() == "two\n"
    assert claims == ["claimed"]
    assert answer["claim_id"] == "c1"
    assert "Save a.md (+1 -0), log.md (+1 -0)\n+one\n+two\n" in screen.getvalue()


def notes(*paths, **more):
    calls = [
        {"id": path, "name": "write_file", "args": {"title": path, "path": path, "content": "{}", "file_type": "note"}}
        for path in paths
    ]
    about = {"folder": "tutor", "text": "Your claim: Cars are loud."}
    return {"type": "client_tool_execution", "requires_approval": True, "tool_calls": calls, "notes": about, **more}


def test_notes_are_asked_for_as_sentences(tmp_path):
    device, screen = project(tmp_path, "perhaps", "y")
    device.answer(notes("/tutor/a.json"), claiming([]))
    assert (tmp_path / "tutor" / "a.json").read_text() == "{}"
    assert "May it keep its notes in the folder 'tutor'" in screen.getvalue()
    assert "Your claim: Cars are loud." in screen.getvalue()
    assert "+{}" not in screen.getvalue()


def test_notes_that_are_not_wanted_are_not_written(tmp_path):
    device, _ = project(tmp_path, "n")
    answer = device.answer(notes("/tutor/a.json"), claiming([]))
    assert answer["tool_results"][0]["error"]["code"] == "rejected"
    assert list(tmp_path.iterdir()) == []


def test_a_file_outside_of_the_folder_is_no_note(tmp_path):
    device, screen = project(tmp_path, "n")
    device.answer(notes("/tutor/a.json", "/mine.md"), claiming([]))
    assert "Save tutor/a.json (+1 -0), mine.md (+1 -0)" in screen.getvalue()
    assert list(tmp_path.iterdir()) == []


def test_a_no_changes_nothing_claims_nothing_and_gives_its_reason(tmp_path):
    device, _ = project(tmp_path, "n not today")
    claims: list[str] = []
    answer = device.answer(WRITE, claiming(claims))
    assert list(tmp_path.iterdir()) == []
    assert claims == []
    assert [result["error"]["code"] for result in answer["tool_results"]] == ["rejected", "rejected"]
    assert "not today" in answer["tool_results"][0]["error"]["message"]


def test_always_allows_later_changes_and_reads_are_never_asked_for(tmp_path):
    device, _ = project(tmp_path, "a")
    device.answer(WRITE, claiming([]))
    (tmp_path / "a.md").unlink()
    (tmp_path / "log.md").unlink()
    device.answer(WRITE, claiming([]))
    claims: list[str] = []
    assert device.answer(READ, claiming(claims))["tool_results"][0]["content"]["text"] == "one\n"
    assert claims == ["claimed"]


def test_a_device_that_was_not_fast_enough_does_nothing(tmp_path):
    device, _ = project(tmp_path, "y")

    def too_late():
        raise LookupError("another device")

    with pytest.raises(LookupError):
        device.answer(WRITE, too_late)
    assert list(tmp_path.iterdir()) == []


def test_without_a_project_what_is_asked_of_the_device_goes_on_waiting():
    def read(state):
        interrupt(READ)

    graph = StateGraph(dict).add_sequence([read]).add_edge(START, "read").compile(checkpointer=InMemorySaver())
    screen = io.StringIO()
    with asyncio.Runner() as runner:
        session = GraphSession(graph, "t")
        chat = Chat(runner, Terminal(io.StringIO(), screen), GraphConversations(graph), session=session)
        assert chat.only("Read a.md") == 1
        assert len(runner.run(session.interrupts())) == 1
    assert "with --project FOLDER to let it work in a folder here." in screen.getvalue()
