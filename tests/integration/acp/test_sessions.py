"""Sessions of an editor, over the official client and agent connections in one process, with scripted models."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from acp import connect_to_agent, run_agent
from acp.exceptions import RequestError
from acp.schema import (
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from tests.integration.acp.editor import Editor, words

from stepwell import create_deep_agent
from stepwell.cli.acp.folder_agent import GRAPH, MOUNT, build_folder_agent
from stepwell.cli.acp.here import ChosenAgent, ThreadsHere
from stepwell.middleware.clarify import ClarifyWithHumanMiddleware
from stepwell.middleware.client_tools import ClientToolsMiddleware
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.graphs.sources import GraphSource
from stepwell.terminal.acp.agent import EditorAgent
from stepwell.testing import Asked, ScriptedModel, call, calls, raw, reply, say


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    return folder


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def folder_agent(*turns: Any, deny: Sequence[str] = (), mode: str = "ask") -> ChosenAgent:
    model = ScriptedModel(list(turns))

    async def prepare(folder: Path, servers: Sequence[Any]) -> GraphRegistry:
        return GraphRegistry({GRAPH: GraphSource.of(build_folder_agent(model, folder, deny=deny))})

    return ChosenAgent(GRAPH, prepare, MOUNT, mode)


def graph_agent(graph: Any, name: str = "graph") -> ChosenAgent:
    async def prepare(folder: Path, servers: Sequence[Any]) -> GraphRegistry:
        return GraphRegistry({name: GraphSource.of(graph)})

    return ChosenAgent(name, prepare)


@asynccontextmanager
async def connected(chosen: ChosenAgent, data: Path, editor: Editor) -> AsyncIterator[Any]:
    """The editor's side of a connection to an agent in this process."""
    ours, theirs = socket.socketpair()
    here = await asyncio.open_connection(sock=ours, limit=50_000_000)
    there = await asyncio.open_connection(sock=theirs, limit=50_000_000)
    threads = ThreadsHere(data, chosen)
    agent = EditorAgent(threads)
    serving = asyncio.create_task(run_agent(agent, there[1], there[0]))  # type: ignore[arg-type]
    client = connect_to_agent(editor, here[1], here[0])  # type: ignore[arg-type]
    try:
        yield client
    finally:
        await client.close()
        here[1].close()
        await here[1].wait_closed()
        await serving
        there[1].close()
        await there[1].wait_closed()
        await agent.leave()
        await threads.close_all()


async def start(client: Any, project: Path) -> str:
    return str((await client.new_session(cwd=str(project), mcp_servers=[])).session_id)


async def send(client: Any, session: str, text: str) -> str:
    return str((await client.prompt(session_id=session, prompt=words(text))).stop_reason)


async def test_initialize_says_what_it_can_do(project: Path, tmp_path: Path) -> None:
    async with connected(folder_agent(), tmp_path / "data", Editor()) as client:
        said = await client.initialize(protocol_version=99)
        assert said.protocol_version == 1
        assert said.agent_capabilities.load_session
        assert said.agent_capabilities.prompt_capabilities.image
        modes = (await client.new_session(cwd=str(project), mcp_servers=[])).modes
        assert [mode.id for mode in modes.available_modes] == ["plan", "ask", "accept_edits", "usual"]


async def test_text_in_content_blocks_is_streamed(project: Path, tmp_path: Path) -> None:
    blocks = [{"type": "text", "text": "Hello "}, {"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "you"}]
    editor = Editor()
    async with connected(folder_agent(raw(AIMessage(blocks))), tmp_path / "data", editor) as client:
        assert await send(client, await start(client, project), "Hi") == "end_turn"
    assert editor.text() == "Hello you"
    assert editor.text("agent_thought_chunk") == "hm"


async def test_plan_follows_the_todos(project: Path, tmp_path: Path) -> None:
    todos = [{"content": "Look", "status": "completed"}, {"content": "Mend", "status": "in_progress"}]
    editor = Editor()
    chosen = folder_agent(call("write_todos", todos=todos), say("Planned."))
    async with connected(chosen, tmp_path / "data", editor) as client:
        await send(client, await start(client, project), "Plan it")
    (plan,) = editor.of("plan")
    assert [(entry.content, entry.status) for entry in plan.entries] == [("Look", "completed"), ("Mend", "in_progress")]
    assert not editor.of("tool_call")


async def test_rejected_call_changes_nothing(project: Path, tmp_path: Path) -> None:
    editor = Editor()
    editor.decide = lambda asked, options: "reject"
    chosen = folder_agent(call("write_file", file_path="/workspace/b.txt", content="two"), say("Then not."))
    async with connected(chosen, tmp_path / "data", editor) as client:
        assert await send(client, await start(client, project), "Write b") == "end_turn"
    assert not (project / "b.txt").exists()
    assert [each.status for each in editor.of("tool_call_update")] == ["failed"]


async def test_allowed_always_asks_once(project: Path, tmp_path: Path) -> None:
    editor = Editor()
    editor.decide = lambda asked, options: "allow_always"
    writes = [call("write_file", file_path=f"/workspace/{name}", content="x") for name in ("b.txt", "c.txt")]
    async with connected(folder_agent(*writes, say("Done.")), tmp_path / "data", editor) as client:
        await send(client, await start(client, project), "Write both")
    assert len(editor.asked) == 1
    assert names(project) == {"a.txt", "b.txt", "c.txt"}


async def test_parallel_calls_are_asked_one_each(project: Path, tmp_path: Path) -> None:
    editor = Editor()
    editor.decide = lambda asked, options: "reject" if "b.txt" in asked.title else "allow"
    both = calls(*(call("write_file", file_path=f"/workspace/{name}", content=name) for name in ("b.txt", "c.txt")))
    async with connected(folder_agent(both, say("Done.")), tmp_path / "data", editor) as client:
        await send(client, await start(client, project), "Write both")
    assert len({asked.tool_call_id for asked, _ in editor.asked}) == 2
    assert names(project) == {"a.txt", "c.txt"}


async def test_denied_files_stay_hidden_in_every_mode(project: Path, tmp_path: Path) -> None:
    (project / ".env").write_text("KEY=secret-value")
    editor = Editor()
    chosen = folder_agent(
        calls(call("read_file", file_path="/workspace/.env"), call("grep", pattern="secret", path="/workspace")),
        call("write_file", file_path="/workspace/.env", content="KEY="),
        say("I cannot."),
        deny=[".env"],
    )
    async with connected(chosen, tmp_path / "data", editor) as client:
        session = await start(client, project)
        await client.set_session_mode(session_id=session, mode_id="accept_edits")
        await send(client, session, "Read the key")
    assert (project / ".env").read_text() == "KEY=secret-value"
    assert "secret-value" not in str([each.model_dump() for each in editor.updates])


@pytest.mark.parametrize("pattern", [".env", "sub/", "/sub", "*.env", "**/.env", "sub/.env"])
async def test_denied_names_hold_in_every_folder(project: Path, tmp_path: Path, pattern: str) -> None:
    (project / "sub").mkdir()
    (project / "sub" / ".env").write_text("KEY=secret-value")
    editor = Editor()
    chosen = folder_agent(
        calls(call("read_file", file_path="/workspace/sub/.env"), call("grep", pattern="secret", path="/workspace")),
        call("execute", command="cat sub/.env; cd sub && cat .env"),
        say("I cannot."),
        deny=[pattern],
    )
    async with connected(chosen, tmp_path / "data", editor) as client:
        await send(client, await start(client, project), "Read the key")
    assert editor.text() == "I cannot."
    assert "secret-value" not in str([each.model_dump() for each in editor.updates])


@pytest.mark.parametrize(("pattern", "commands"), [("/.env", True), ("secrets/**", True), (".env", False), ("*.pem", False)])
async def test_commands_are_left_out_if_a_sandbox_cannot_hide_what_is_denied(
    tmp_path: Path, pattern: str, commands: bool
) -> None:
    asked: list[set[str]] = []

    def look(request: Asked) -> Any:
        asked.append({tool.name for tool in request.tools})
        return say("Hello.")

    graph = build_folder_agent(ScriptedModel([reply(look)]), tmp_path, deny=[pattern])
    await graph.ainvoke({"messages": [("user", "Hello")]})
    assert [("execute" in names) for names in asked] == [commands]


async def test_plan_mode_changes_nothing(project: Path, tmp_path: Path) -> None:
    editor = Editor()
    chosen = folder_agent(call("write_file", file_path="/workspace/b.txt", content="x"), say("This is the plan."))
    async with connected(chosen, tmp_path / "data", editor) as client:
        session = await start(client, project)
        await client.set_session_mode(session_id=session, mode_id="plan")
        await send(client, session, "Write b")
        with pytest.raises(RequestError, match="No mode 'wild'"):
            await client.set_session_mode(session_id=session, mode_id="wild")
    assert not editor.asked
    assert not (project / "b.txt").exists()


async def test_cancel_stops_the_run_and_the_session_goes_on(project: Path, tmp_path: Path) -> None:
    reached = asyncio.Event()

    async def hang(asked: Asked) -> Any:
        reached.set()
        await asyncio.Event().wait()

    async with connected(folder_agent(reply(hang), say("Here again.")), tmp_path / "data", editor := Editor()) as client:
        session = await start(client, project)
        turn = asyncio.create_task(send(client, session, "Think for ever"))
        await reached.wait()
        await client.cancel(session_id=session)
        assert await turn == "cancelled"
        assert await send(client, session, "And now?") == "end_turn"
    assert editor.text() == "Here again."


async def test_cancelled_question_ends_the_turn_and_stays_open(project: Path, tmp_path: Path) -> None:
    editor = Editor()
    editor.decide = lambda asked, options: None
    write = call("write_file", file_path="/workspace/b.txt", content="x")
    async with connected(folder_agent(write, say("Written.")), tmp_path / "data", editor) as client:
        session = await start(client, project)
        assert await send(client, session, "Write b") == "cancelled"
        assert not (project / "b.txt").exists()
        editor.decide = lambda asked, options: "allow"
        await client.load_session(cwd=str(project), session_id=session, mcp_servers=[])
        await editor.until(lambda: editor.text().endswith("Written."))
    assert (project / "b.txt").read_text() == "x"


async def test_load_shows_the_stored_thread_again(project: Path, tmp_path: Path) -> None:
    todos = [{"content": "Read", "status": "completed"}]
    chosen = folder_agent(
        raw(
            AIMessage(
                [{"type": "reasoning", "reasoning": "Let me see."}, {"type": "text", "text": "Reading."}],
                tool_calls=[{"name": "read_file", "args": {"file_path": "/workspace/a.txt"}, "id": "c1"}],
            )
        ),
        call("write_todos", todos=todos),
        say("It says one."),
        say("Still one."),
    )
    async with connected(chosen, tmp_path / "data", first := Editor()) as client:
        session = await start(client, project)
        await client.set_session_mode(session_id=session, mode_id="accept_edits")
        await send(client, session, "What is in a.txt?")
    async with connected(chosen, tmp_path / "data", again := Editor()) as client:
        listed = (await client.list_sessions(cwd=str(project))).sessions
        assert [(each.session_id, each.title) for each in listed] == [(session, "What is in a.txt?")]
        loaded = await client.load_session(cwd=str(project), session_id=session, mcp_servers=[])
        assert loaded.modes.current_mode_id == "accept_edits"
        assert again.text("user_message_chunk") == "What is in a.txt?"
        assert again.text() == first.text() == "Reading.It says one."
        assert again.text("agent_thought_chunk") == "Let me see."
        assert [each.tool_call_id for each in again.of("tool_call")] == [each.tool_call_id for each in first.of("tool_call")]
        assert [each.status for each in again.of("tool_call_update")] == ["completed"]
        assert [entry.content for entry in again.of("plan")[-1].entries] == ["Read"]
        await send(client, session, "Sure?")
        assert again.text().endswith("Still one.")


async def test_only_stored_sessions_of_this_folder_are_loaded(project: Path, tmp_path: Path) -> None:
    async with connected(folder_agent(), tmp_path / "data", Editor()) as client:
        session = await start(client, project)
        with pytest.raises(RequestError, match="belongs to the folder"):
            await client.load_session(cwd=str(tmp_path), session_id=session, mcp_servers=[])
        for unknown in ("00000000-0000-0000-0000-000000000000", "../../etc"):
            with pytest.raises(RequestError, match="No session"):
                await client.load_session(cwd=str(project), session_id=unknown, mcp_servers=[])
        with pytest.raises(RequestError, match="No session"):
            await send(client, "00000000-0000-0000-0000-000000000000", "Hi")
        with pytest.raises(RequestError, match="is not a folder"):
            await client.new_session(cwd="relative", mcp_servers=[])


async def test_files_and_pictures_reach_the_model(project: Path, tmp_path: Path) -> None:
    heard: list[Asked] = []

    def keep(asked: Asked) -> Any:
        heard.append(asked)
        return say("Seen.")

    prompt = [
        TextContentBlock(type="text", text="Compare "),
        ResourceContentBlock(type="resource_link", name="a.txt", uri=(project / "a.txt").as_uri()),
        EmbeddedResourceContentBlock(type="resource", resource=TextResourceContents(uri="file:///elsewhere/b.md", text="two")),
        ImageContentBlock(type="image", data="iVBORw0KGgo=", mime_type="image/png"),
    ]
    async with connected(folder_agent(reply(keep)), tmp_path / "data", Editor()) as client:
        await client.prompt(session_id=await start(client, project), prompt=prompt)
    said = str(heard[0].messages)
    assert "[a.txt](/workspace/a.txt)" in said
    assert '<file path="/elsewhere/b.md">' in said


async def test_question_in_words_is_answered_by_the_next_prompt(project: Path, tmp_path: Path) -> None:
    editor = Editor()
    chosen = folder_agent(call("ask_user", question="Which colour?"), say("Blue it is."))
    async with connected(chosen, tmp_path / "data", editor) as client:
        session = await start(client, project)
        assert await send(client, session, "Paint it") == "end_turn"
        assert editor.text().strip() == "Which colour?"
        assert not editor.asked
        assert await send(client, session, "blue") == "end_turn"
    assert editor.text().endswith("Blue it is.")
    assert "blue" in str([each.raw_output for each in editor.of("tool_call_update")])


async def test_question_with_options_is_a_permission_request(project: Path, tmp_path: Path) -> None:
    editor = Editor()
    editor.decide = lambda asked, options: next(each.option_id for each in options if each.name == "Green")
    ask = call("ask_choices", question="Which colour?", options=["Blue", "Green"])
    async with connected(folder_agent(ask, say("Green it is.")), tmp_path / "data", editor) as client:
        await send(client, await start(client, project), "Paint it")
    ((asked, options),) = editor.asked
    assert asked.title == "Which colour?"
    assert [option.name for option in options] == ["Blue", "Green", "Answer in my own words"]
    assert editor.text() == "Green it is."


async def test_agent_of_others_works_and_its_error_is_a_sentence(project: Path, tmp_path: Path) -> None:
    def weather(city: str) -> str:
        """The weather."""
        return f"sunny in {city}"

    model = ScriptedModel([call("weather", city="Bonn"), say("Sunny.")])
    editor = Editor()
    async with connected(graph_agent(create_agent(model, [weather])), tmp_path / "data", editor) as client:
        session = await client.new_session(cwd=str(project), mcp_servers=[])
        assert session.modes is None
        assert await send(client, session.session_id, "Weather?") == "end_turn"
        with pytest.raises(RequestError, match="script"):
            await send(client, session.session_id, "Once more")
    (shown,) = editor.of("tool_call")
    assert (shown.title, shown.kind, shown.locations) == ('weather {"city": "Bonn"}', "other", None)
    assert editor.text() == "Sunny."


async def test_subagents_speak_as_thoughts(project: Path, tmp_path: Path) -> None:
    model = ScriptedModel.by_agent(
        {
            "main": [call("task", description="Look", subagent_type="general-purpose"), say("Found it.")],
            "general-purpose": [call("ls", path="/"), say("I looked.")],
        }
    )
    editor = Editor()
    async with connected(graph_agent(create_deep_agent(model)), tmp_path / "data", editor) as client:
        await send(client, await start(client, project), "Look for it")
    assert editor.text() == "Found it."
    assert "I looked." in editor.text("agent_thought_chunk")
    assert [each.title for each in editor.of("tool_call")] == ["task Look", "general-purpose: ls /"]
    assert {each.status for each in editor.of("tool_call_update")} == {"completed"}


async def test_agent_on_the_device_works_in_the_folder(project: Path, tmp_path: Path) -> None:
    """An agent with client tools, as served elsewhere: it reads and changes the editor's folder, with a diff to approve."""
    change = call("edit_file", file_path="/project/a.txt", old_string="one", new_string="two")
    model = ScriptedModel([call("read_file", file_path="/project/a.txt"), change, say("Changed.")])
    graph = create_deep_agent(model, middleware=[ClientToolsMiddleware(mount="/project/"), ClarifyWithHumanMiddleware()])
    editor = Editor()
    async with connected(graph_agent(graph), tmp_path / "data", editor) as client:
        await send(client, await start(client, project), "Change it")
    assert editor.text() == "Changed."
    assert (project / "a.txt").read_text() == "two\n"
    ((asked, _),) = editor.asked
    assert (asked.content[0].path, asked.content[0].old_text, asked.content[0].new_text) == (
        str(project / "a.txt"),
        "one\n",
        "two\n",
    )
