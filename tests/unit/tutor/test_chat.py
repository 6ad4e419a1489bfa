"""`stepwell chat tutor`: a folder in the browser's place, and whole seminars on the screen."""

from __future__ import annotations

import asyncio
import importlib.util
import io
import json
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from stepwell.cli import main
from stepwell.terminal.chat.loop import Chat
from stepwell.terminal.chat.project import FolderProject
from stepwell.terminal.dialogue.graph_session import GraphConversations, GraphSession
from stepwell.terminal.dialogue.terminal import Terminal

ROOT = Path(__file__).parents[3]
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


def load_page():
    spec = importlib.util.spec_from_file_location("seminar_page", ROOT / "scripts" / "seminar_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_recorded_seminars_play_again_as_they_stand_in_the_docs():
    """T8: a whole seminar with a model's voice and one without a model, from frame to close."""
    module = load_page()
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), "if the change is meant: python scripts/seminar_page.py"


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
    assert "Save a.md (+1 -0), log.md (+1 -0)\n+one\n" in screen.getvalue()


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


def test_the_command_leads_a_seminar_in_a_folder_without_a_model(tmp_path, monkeypatch, capsys):
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "STEPWELL_MODEL", "OLLAMA_MODEL_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("Should cities ban cars?\na\nCities should ban cars.\n/hint\n70\n"))
    assert main(["chat", "tutor", "--project", "project"]) == 1  # the input ends where the tutor waits for an answer
    shown = capsys.readouterr().out
    assert "Created the folder 'project'" in shown
    assert "my questions come from the method itself" in shown
    assert "Hint 1 of 4" in shown
    assert json.loads((tmp_path / "project" / "argument.json").read_text())["nodes"]["t1"]["confidence"] == 70


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["chat", "--project", "."], "--project is for an agent that works on your files"),
        (["chat", "tutor", "--project", "nowhere/notes"], "there is no folder 'nowhere'"),
        (["chat", "cook"], "there is no 'cook'. Choose from: tutor."),
    ],
)
def test_arguments_that_cannot_be_meant_are_refused(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(arguments)
    assert said in capsys.readouterr().err


def test_the_demonstration_plays_in_a_folder_of_its_own(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["chat", "tutor", "--demo"]) == 0
    assert "k1 stands" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
