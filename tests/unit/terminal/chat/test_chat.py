"""The conversation as a person sees it: typed lines in, a screen out."""

from __future__ import annotations

import asyncio
import io
import signal
from typing import TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from stepwell import RewindMiddleware, create_deep_agent
from stepwell.terminal.chat.loop import TASKS_GO_ON, Chat
from stepwell.terminal.dialogue.graph_session import GraphConversations
from stepwell.terminal.dialogue.terminal import Terminal
from stepwell.testing import ScriptedModel, call, fail, reply, say


def converse(typed: str, *turns, interrupt_on=None) -> tuple[int, str]:
    """Type these lines to an agent that plays these turns; the exit code and the screen."""
    model = ScriptedModel(list(turns))
    agent = create_deep_agent(model=model, checkpointer=InMemorySaver(), interrupt_on=interrupt_on)
    screen = io.StringIO()
    with asyncio.Runner() as runner:
        code = Chat(runner, Terminal(io.StringIO(typed), screen), GraphConversations(agent)).converse()
    model.assert_finished()
    return code, screen.getvalue()


def test_a_message_is_answered_and_the_end_of_input_leaves():
    code, screen = converse("hello\n", say("Good day."))
    assert code == 0
    assert "Good day.\n" in screen


def test_the_agent_remembers_earlier_turns():
    _, screen = converse("I am Ada\nwho?\n", say("Hello."), reply(lambda asked: f"You said: {asked.first_human}"))
    assert "You said: I am Ada" in screen


def test_files_are_listed_and_shown():
    turns = [call("write_file", file_path="/a.md", content="one\ntwo"), say("done")]
    _, screen = converse("go\n/files\n/files /a.md\n/files /b.md\n", *turns)
    assert "/a.md  7 bytes\n" in screen
    assert "one\ntwo\n" in screen
    assert "No file '/b.md'. /files lists them." in screen


def test_todos_are_shown():
    turns = [call("write_todos", todos=[{"content": "look", "status": "pending"}]), say("done")]
    _, screen = converse("/todos\ngo\n/todos\n", *turns)
    assert "No plan yet." in screen
    assert screen.count("[ ] look") == 2


def test_subagents_are_listed_and_what_one_did_is_shown():
    turns = [
        call("task", description="Look for\nthe key", subagent_type="general-purpose"),
        call("ls", path="/drawer"),
        say("It is in the drawer."),
        say("done"),
    ]
    _, screen = converse("/subagents\ngo\n/subagents\n/subagents 1\n/subagents 2\n", *turns)
    assert "No subagents yet." in screen
    assert "1  general-purpose  Look for the key\n" in screen
    assert "task> Look for\nthe key\n  → ls /drawer\n" in screen
    assert "It is in the drawer.\n" in screen
    assert "No subagent '2'. /subagents lists them." in screen


def test_quit_leaves_what_follows_unread():
    code, screen = converse("/quit\nhello\n")
    assert code == 0
    assert "hello" not in screen


def test_an_unknown_command_is_named():
    assert "No command '/fly'. /help lists them." in converse("/fly\n")[1]


def test_a_tool_runs_only_after_yes():
    turns = [call("write_file", file_path="/a.md", content="x"), say("done")]
    _, screen = converse("go\ny\n/files\n", *turns, interrupt_on={"write_file": True})
    assert screen.index("Run write_file(") < screen.index("← Wrote /a.md") < screen.index("/a.md  1 bytes")


def test_a_refused_tool_does_not_run():
    turns = [call("write_file", file_path="/a.md", content="x"), say("as you wish")]
    _, screen = converse("go\nn leave it\n/files\n", *turns, interrupt_on={"write_file": True})
    assert "leave it" in screen
    assert "No files yet." in screen


def test_a_failing_turn_does_not_end_the_conversation():
    _, screen = converse("one\ntwo\n", fail(ConnectionError("line is down")), say("back again"))
    assert "The turn failed: ConnectionError: line is down" in screen
    assert "back again" in screen


def test_ctrl_c_stops_the_turn_and_not_the_conversation():
    async def press(asked):
        signal.raise_signal(signal.SIGINT)
        await asyncio.Event().wait()  # only the cancellation ends this

    _, screen = converse("one\ntwo\n", reply(press), say("still here"))
    assert screen.index("(stopped)") < screen.index("still here")


def test_ctrl_c_at_a_question_drops_the_turn():
    """The pending approval is left unanswered, and the next message starts afresh."""
    turns = [call("write_file", file_path="/a.md", content="x"), say("never mind")]
    model = ScriptedModel(turns)
    agent = create_deep_agent(model=model, checkpointer=InMemorySaver(), interrupt_on={"write_file": True})
    screen = io.StringIO()

    def press(question: str) -> str:
        raise KeyboardInterrupt

    with asyncio.Runner() as runner:
        chat = Chat(runner, Terminal(io.StringIO(), screen), GraphConversations(agent), ask=press)
        assert chat.once("go") == 130
        assert chat.once("what now?") == 0
    assert "never mind" in screen.getvalue()
    assert "← Wrote" not in screen.getvalue()


def test_threads_are_begun_listed_and_continued():
    _, screen = converse("one\n/new\ntwo\n/threads\n/thread nothing\n", say("first"), say("second"))
    first, second = screen.index("  one\n"), screen.index("  two\n")
    assert second < first, "the newest comes first"
    assert "No thread 'nothing'. List them with /threads." in screen


def test_a_new_thread_knows_nothing_of_the_one_before():
    turns = [call("write_file", file_path="/a.md", content="x"), say("done")]
    _, screen = converse("go\n/new\n/files\n", *turns)
    assert "No files yet." in screen


def test_a_question_that_nobody_can_answer_ends_a_single_message():
    model = ScriptedModel([call("write_file", file_path="/a.md", content="x")])
    agent = create_deep_agent(model=model, checkpointer=InMemorySaver(), interrupt_on={"write_file": True})
    screen = io.StringIO()
    with asyncio.Runner() as runner:
        assert Chat(runner, Terminal(io.StringIO(""), screen), GraphConversations(agent)).only("go") == 1
    assert "there is nobody to answer" in screen.getvalue()


def test_a_question_at_the_end_of_piped_input_is_said_and_is_no_success():
    code, screen = converse("go\n", call("write_file", file_path="/a.md", content="x"), interrupt_on={"write_file": True})
    assert code == 1
    assert screen.endswith("The agent asks a question, but there is nobody to answer.\n")


def test_a_turn_without_a_word_is_said():
    class Topic(TypedDict, total=False):
        topic: str

    graph = StateGraph(Topic).add_node("think", lambda _: {"topic": "wells"}).add_edge(START, "think")
    screen = io.StringIO()
    with asyncio.Runner() as runner:
        conversations = GraphConversations(graph.compile(checkpointer=InMemorySaver()))
        assert Chat(runner, Terminal(io.StringIO(), screen), conversations).only("go") == 0
    assert screen.getvalue().startswith("(The turn ended without output.")


class Gone(io.StringIO):
    """A screen whose reader goes away in the middle of an answer."""

    def write(self, text: str) -> int:
        if "three" in text:
            raise BrokenPipeError
        return super().write(text)


def test_a_reader_that_goes_away_ends_the_turn_and_leaves_nothing_open(caplog: pytest.LogCaptureFixture):
    agent = create_deep_agent(ScriptedModel([say("one two three four five")]), checkpointer=InMemorySaver())
    with asyncio.Runner() as runner:
        chat = Chat(runner, Terminal(io.StringIO(), Gone()), GraphConversations(agent))
        chat.only("go")
    assert [record.getMessage() for record in caplog.records] == []


def test_a_mode_holds_for_the_runs_that_follow():
    write = call("write_file", file_path="/a.md", content="x")
    typed = "/mode\n/mode plan\ngo\n/files\n/mode yolo\n/mode usual\ngo\n/files\n"
    _, screen = converse(typed, write, say("planned"), write, say("written"))
    before, after = screen.split("written")[0], screen.split("written")[1]
    assert "Mode: usual" in before
    assert "Mode: plan" in before
    assert "No files yet." in before
    assert "No mode 'yolo'. Use one of: plan, ask, accept_edits, usual." in before
    assert "/a.md" in after


def test_a_side_question_is_answered_and_forgotten():
    _, screen = converse("go\n/aside what now?\n/btw\nagain\n", say("one"), say("aside"), say("two"))
    assert "aside" in screen
    assert "Write the question after the command" in screen
    assert screen.index("aside") < screen.index("two")


def rewinding(typed: str, *turns) -> str:
    agent = create_deep_agent(ScriptedModel(list(turns)), checkpointer=InMemorySaver(), middleware=[RewindMiddleware()])
    screen = io.StringIO()
    with asyncio.Runner() as runner:
        Chat(runner, Terminal(io.StringIO(typed), screen), GraphConversations(agent)).converse()
    return screen.getvalue()


def test_a_turn_is_taken_back_and_brought_back():
    turns = [call("write_file", file_path="/a.md", content="x"), say("one"), say("two")]
    screen = rewinding("write\nmore\n/rewind\n/rewind 1\ny\n/files\n/rewind undo\n/files\n", *turns)
    assert "  1  write\n  2  more\n" in screen
    assert "/a.md is deleted (+0 -1)" in screen
    assert screen.index("No files yet.") < screen.index("/a.md  1 bytes")


def test_only_messages_that_began_turns_are_listed():
    from stepwell.middleware.steering import STEERED
    from stepwell.terminal.chat.rewinding import listing, messages_of
    from stepwell.tools.background import NOTE

    def said(text: str, **marks: object) -> dict[str, object]:
        return {"type": "human", "id": text, "content": text, "additional_kwargs": marks}

    messages = [said("begin"), said("on the way", **{STEERED: True}), said("it is done", **{NOTE: {"agent_name": "scout"}})]
    assert list(listing(messages_of({"messages": messages}))) == ["  1  begin", "  2  (scout came back)"]


def test_a_rewind_asks_first():
    screen = rewinding("hello\n/rewind 1\nn\n/rewind\n/rewind 7\n/rewind undo\n", say("Good day."))
    assert "Nothing was changed." in screen
    assert "  1  hello" in screen
    assert "No message '7'." in screen
    assert "There is no rewind of this chat to undo." in screen


def test_a_change_on_a_device_is_said_to_stay():
    from stepwell.terminal.chat.rewinding import describe

    stays = [{"kind": "device", "what": "write /a.md", "times": 2}]
    lines = [*describe({"messages_removed": 2, "files": [], "problem": None, "not_undone": stays})]
    assert lines[-1] == "  write /a.md on your device, which keeps earlier versions itself (2 times)"


def test_an_agent_that_keeps_nothing_says_so():
    assert "RewindMiddleware" in converse("hello\n/rewind 1\n", say("Good day."))[1]


def test_background_tasks_are_listed_waited_for_and_heard_of():
    model = ScriptedModel.by_agent(
        {
            "main": [
                call("start_async_task", description="find it", subagent_type="researcher"),
                say("Started."),
                reply(lambda asked: f"Heard: {asked.messages[-1].text.splitlines()[2]}"),
            ],
            "researcher": [say("forty-two")],
        }
    )
    spec = {"name": "researcher", "description": "finds", "system_prompt": "Find.", "mode": "background"}
    agent = create_deep_agent(model, subagents=[spec], checkpointer=InMemorySaver())
    screen = io.StringIO()
    with asyncio.Runner() as runner:
        typed = io.StringIO("/tasks\ngo\n/tasks\n/tasks wait\n/tasks stop\n/tasks stop nothing\n/tasks\n")
        Chat(runner, Terminal(typed, screen), GraphConversations(agent)).converse()
    shown = screen.getvalue()
    assert "No background tasks yet." in shown
    assert "  researcher  " in shown
    assert shown.count(TASKS_GO_ON) == 1
    assert shown.count("Heard: forty-two") == 1
    assert "Use /tasks, /tasks stop ID or /tasks wait." in shown
    assert "background task 'nothing'" in shown
    assert "  researcher  success" in shown.splitlines()[-2] + shown.splitlines()[-1]
