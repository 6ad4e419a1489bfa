"""`stepwell acp` as an editor uses it: a process, the official client, a folder, and a provider on loopback."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from acp.exceptions import RequestError
from tests.integration.acp.editor import PATIENCE_S, Editor, editing, words
from tests.integration.served.process import Server, environment
from tests.support.providers import Call, FakeProvider, Reply
from tests.support.providers.anthropic import ANTHROPIC

NOISY = """
import sys
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph

def answer(state, config):
    print("a print of the graph")
    said = f"in {config['configurable']['cwd']}, with {len(sys.stdin.read())} bytes of input"
    return {"messages": [AIMessage(said)]}

graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").add_edge("answer", END).compile()
"""

SLOW = """
import time
from pathlib import Path
time.sleep(1)  # an import that takes as long as those of real projects

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

HERE = Path(__file__).parent

def work(state):
    (HERE / "reached").touch()
    while not (HERE / "go").exists():
        time.sleep(0.05)
    if (HERE / "fail").exists():
        raise ValueError("The disk is on fire.")
    return {"messages": [AIMessage("late")]}

slow = StateGraph(MessagesState).add_node("work", work).add_edge(START, "work").compile()
"""


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


async def test_killed_process_loses_nothing(provider: FakeProvider, project: Path, tmp_path: Path) -> None:
    """Killed while the model thinks: the session is loaded again by another process, shown from the start, and goes on."""
    hanging, go_on = threading.Event(), threading.Event()

    def think(body: Mapping[str, Any]) -> Reply:
        if not go_on.is_set():
            hanging.set()
            go_on.wait(PATIENCE_S)
        return Reply("Written once.")

    provider.plan(
        Reply("First.", calls=[Call("write_file", {"file_path": "/workspace/b.txt", "content": "two"}, id="toolu_1")])
    )
    provider.answer = think
    async with editing(Editor(), tmp_path / "data", **provider.variables) as (agent, process):
        session = (await agent.new_session(cwd=str(project), mcp_servers=[])).session_id
        prompt = asyncio.create_task(agent.prompt(session_id=session, prompt=words("Write b.txt")))
        await asyncio.to_thread(hanging.wait, PATIENCE_S)
        process.kill()
        with pytest.raises((ConnectionError, RequestError)):
            await prompt
    go_on.set()
    editor = Editor()
    async with editing(editor, tmp_path / "data", **provider.variables) as (agent, _):
        await agent.load_session(cwd=str(project), session_id=session, mcp_servers=[])
        await editor.until(lambda: editor.text() == "First.Written once.")
    assert editor.text("user_message_chunk") == "Write b.txt"
    assert [each.status for each in editor.of("tool_call_update")] == ["completed"]
    assert not editor.asked
    assert (project / "b.txt").read_text() == "two"


async def kill_in_a_turn(folder: Path, project: Path) -> str:
    """A session whose turn has begun, in a process that is no more."""
    (folder / "slow.py").write_text(SLOW)
    (folder / "langgraph.json").write_text('{"dependencies": ["."], "graphs": {"slow": "./slow.py:slow"}}')
    async with editing(Editor(), folder / "data", "--graphs", str(folder / "langgraph.json")) as (agent, process):
        session = str((await agent.new_session(cwd=str(project), mcp_servers=[])).session_id)
        prompt = asyncio.create_task(agent.prompt(session_id=session, prompt=words("Work")))
        async with asyncio.timeout(PATIENCE_S):
            while not (folder / "reached").exists():  # noqa: ASYNC110 - another process makes the file
                await asyncio.sleep(0.05)
        process.kill()
        with pytest.raises((ConnectionError, RequestError)):
            await prompt
    return session


async def test_killed_turn_of_a_project_goes_on(project: Path, tmp_path: Path) -> None:
    session = await kill_in_a_turn(tmp_path, project)
    editor = Editor()
    async with editing(editor, tmp_path / "data", "--graphs", str(tmp_path / "langgraph.json")) as (agent, _):
        await agent.load_session(cwd=str(project), session_id=session, mcp_servers=[])
        assert editor.text("user_message_chunk") == "Work"
        (tmp_path / "go").touch()
        await editor.until(lambda: editor.text() == "late")


async def test_killed_turn_that_fails_later_is_told(project: Path, tmp_path: Path) -> None:
    session = await kill_in_a_turn(tmp_path, project)
    (tmp_path / "fail").touch()
    (tmp_path / "go").touch()
    for _ in range(2):  # in the process that goes on, and in a later one
        editor = Editor()
        async with editing(editor, tmp_path / "data", "--graphs", str(tmp_path / "langgraph.json")) as (agent, _):
            await agent.load_session(cwd=str(project), session_id=session, mcp_servers=[])
            await editor.until(lambda: "The disk is on fire." in editor.text())  # noqa: B023 - awaited here
            assert editor.text("user_message_chunk") == "Work"
    (tmp_path / "fail").unlink()
    async with editing(editor := Editor(), tmp_path / "data", "--graphs", str(tmp_path / "langgraph.json")) as (agent, _):
        await agent.load_session(cwd=str(project), session_id=session, mcp_servers=[])
        await agent.prompt(session_id=session, prompt=words("Again"))
        assert editor.text().endswith("late")


async def test_a_print_in_a_graph_does_not_break_the_connection(project: Path, tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text(NOISY)
    (tmp_path / "langgraph.json").write_text('{"dependencies": ["."], "graphs": {"noisy": "./noisy.py:graph"}}')
    editor = Editor()
    async with editing(editor, tmp_path / "data", "--graphs", str(tmp_path / "langgraph.json")) as (agent, _):
        session = await agent.new_session(cwd=str(project), mcp_servers=[])
        assert (await agent.prompt(session_id=session.session_id, prompt=words("Hi"))).stop_reason == "end_turn"
    assert editor.text() == f"in {project}, with 0 bytes of input"


async def test_assistant_on_a_server(server_process: Server, project: Path, tmp_path: Path) -> None:
    editor = Editor()
    arguments = ("--server", server_process.url, "--graph", "echo")
    async with editing(editor, tmp_path / "editor", *arguments) as (agent, _):
        session = (await agent.new_session(cwd=str(project), mcp_servers=[])).session_id
        assert (await agent.prompt(session_id=session, prompt=words("Hi"))).stop_reason == "end_turn"
        said = editor.text()
    again = Editor()
    async with editing(again, tmp_path / "editor", *arguments) as (agent, _):
        listed = (await agent.list_sessions(cwd=str(project))).sessions
        assert [each.session_id for each in listed] == [session]
        await agent.load_session(cwd=str(project), session_id=session, mcp_servers=[])
        assert again.text("user_message_chunk") == "Hi"
        assert again.text() == said != ""


def test_terminal_and_wrong_arguments_get_a_sentence(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "stepwell", "acp", *arguments]
        own = environment(STEPWELL_DATA_DIR=str(tmp_path))
        return subprocess.run(command, env=own, input="", capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    assert "A graph has its own model and rules" in run("--graph", "x", "--model", "openai:y").stderr
    assert "No graph 'nothing'" in run("--graph", "nothing").stderr
    gone = run()
    assert (gone.returncode, gone.stdout) == (0, "")
