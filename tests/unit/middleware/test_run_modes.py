"""The mode of a run: plan, ask, accept_edits. Chosen per run, on an agent that was built without it."""

from __future__ import annotations

import asyncio

import pytest
from langchain.agents import create_agent
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from stepwell import ConfigurationError, FilesystemMiddleware, FilesystemPermission, create_deep_agent
from stepwell.errors import InvalidRequestError
from stepwell.testing import ScriptedModel, call, calls, say
from stepwell.tools.effects import with_effect

WRITE = call("write_file", file_path="/a.md", content="x")
ASK = {"messages": [("user", "go")]}


def config(mode=None):
    return {"configurable": {"thread_id": "1", **({"permission_mode": mode} if mode else {})}}


@with_effect("once")
def send_mail() -> str:
    """Send a mail."""
    return "sent"


@with_effect("read")
def look_up() -> str:
    """Look something up."""
    return "found"


def plain() -> str:
    """Declare nothing."""
    return "ran"


def agent_for(*steps, **options):
    return create_deep_agent(ScriptedModel([*steps, say("done")]), checkpointer=InMemorySaver(), **options)


def tool_texts(state):
    return [message.text for message in state["messages"] if message.type == "tool"]


def waiting(agent, mode):
    return [each for task in agent.get_state(config(mode), subgraphs=True).tasks for each in task.interrupts]


def answer(agent, mode, decision):
    given = {each.id: {"decisions": [decision]} for each in waiting(agent, mode)}
    return agent.invoke(Command(resume=given), config(mode))


def test_plan_answers_changes_with_a_sentence_and_reads_as_usual():
    steps = calls(
        WRITE,
        call("edit_file", file_path="/a.md", old_string="a", new_string="b"),
        call("send_mail"),
        call("look_up"),
        call("ls"),
        call("write_todos", todos=[{"content": "write", "status": "pending"}]),
    )
    final = agent_for(steps, tools=[send_mail, look_up]).invoke(ASK, config("plan"))
    write, edit, mail, *others = tool_texts(final)
    for refused in (write, edit, mail):
        assert "plan mode" in refused
    assert others[:2] == ["found", "(empty)"]
    assert not final.get("files")
    assert final["todos"]


@pytest.mark.parametrize("mode", ["plan", "ask"])
def test_a_tool_that_declares_nothing_asks_because_nobody_knows_what_it_does(mode):
    agent = agent_for(call("plain"), tools=[plain])
    agent.invoke(ASK, config(mode))
    assert [each.value["action_requests"][0]["name"] for each in waiting(agent, mode)] == ["plain"]
    assert tool_texts(answer(agent, mode, {"type": "approve"})) == ["ran"]


def test_a_tool_that_declares_nothing_runs_where_edits_are_accepted():
    assert tool_texts(agent_for(call("plain"), tools=[plain]).invoke(ASK, config("accept_edits"))) == ["ran"]


def test_plan_tells_the_model():
    model = ScriptedModel([say("a plan"), say("done")])
    agent = create_deep_agent(model, checkpointer=InMemorySaver())
    agent.invoke(ASK, config("plan"))
    agent.invoke(ASK, config())
    with_plan, without = (asked.messages[0].text for asked in model.asked)
    assert "plan mode" in with_plan
    assert "plan mode" not in without
    assert with_plan.startswith(without)


def test_plan_reaches_subagents():
    steps = [call("task", description="write", subagent_type="general-purpose"), WRITE, say("sub done")]
    final = agent_for(*steps).invoke(ASK, config("plan"))
    assert not final.get("files")


def test_ask_asks_before_each_change_and_runs_what_is_approved():
    agent = agent_for(calls(WRITE, call("send_mail"), call("look_up")), tools=[send_mail, look_up])
    agent.invoke(ASK, config("ask"))
    questions = waiting(agent, "ask")
    assert sorted(each.value["action_requests"][0]["name"] for each in questions) == ["send_mail", "write_file"]
    final = answer(agent, "ask", {"type": "approve"})
    assert "/a.md" in final["files"]
    assert "sent" in tool_texts(final)


def test_ask_tells_the_model_of_a_rejection():
    agent = agent_for(WRITE)
    agent.invoke(ASK, config("ask"))
    final = answer(agent, "ask", {"type": "reject", "message": "not now"})
    assert "not now" in tool_texts(final)[0]
    assert not final.get("files")


def test_ask_runs_what_a_person_edits_and_rules_still_hold():
    permissions = [FilesystemPermission(["write"], ["/vault/**"], "deny")]
    for path, is_stored in (("/b.md", True), ("/vault/b.md", False)):
        agent = agent_for(WRITE, permissions=permissions)
        agent.invoke(ASK, config("ask"))
        edited = {"name": "write_file", "args": {"file_path": path, "content": "x"}}
        final = answer(agent, "ask", {"type": "edit", "edited_action": edited})
        assert (path in (final.get("files") or {})) == is_stored


def test_ask_works_in_async_code_and_in_subagents():
    steps = [call("task", description="write", subagent_type="general-purpose"), WRITE, say("sub done")]
    agent = agent_for(*steps)

    async def go():
        await agent.ainvoke(ASK, config("ask"))
        given = {each.id: {"decisions": [{"type": "approve"}]} for each in waiting(agent, "ask")}
        return await agent.ainvoke(Command(resume=given), config("ask"))

    assert "/a.md" in asyncio.run(go())["files"]


def test_ask_does_not_ask_twice_about_what_the_agent_asks_anyway():
    agent = agent_for(WRITE, interrupt_on={"write_file": True})
    agent.invoke(ASK, config("ask"))
    final = answer(agent, "ask", {"type": "approve"})
    assert "__interrupt__" not in final
    assert "/a.md" in final["files"]


def test_ask_needs_a_checkpointer():
    agent = create_deep_agent(ScriptedModel([WRITE, say("done")]))
    with pytest.raises(ConfigurationError, match="checkpointer"):
        agent.invoke(ASK, config("ask"))


def asked_about(agent, mode):
    return [
        (action["name"], action["description"]) for each in waiting(agent, mode) for action in each.value["action_requests"]
    ]


def test_accept_edits_changes_files_without_asking_and_keeps_other_approvals():
    agent = agent_for(
        calls(
            WRITE,
            call("send_mail"),
            call("write_file", file_path="/vault/b", content="x"),
            call("move", source="/old.md", destination="/new.md"),
            call("delete", file_path="/gone.md"),
        ),
        tools=[send_mail],
        interrupt_on={"write_file": True, "move": True, "delete": True, "send_mail": True},
        permissions=[FilesystemPermission(["write"], ["/vault/**"], "deny")],
    )
    agent.invoke({**ASK, "files": {"/old.md": "x", "/gone.md": "x"}}, config("accept_edits"))
    assert [name for name, _ in asked_about(agent, "accept_edits")] == ["send_mail", "delete"]
    (question,) = waiting(agent, "accept_edits")
    given = {question.id: {"decisions": [{"type": "approve"}] * 2}}
    final = agent.invoke(Command(resume=given), config("accept_edits"))
    assert sorted(final["files"]) == ["/a.md", "/new.md"]


@pytest.mark.parametrize("mode", [None, "ask", "accept_edits"])
def test_a_rule_that_asks_does_so_in_every_mode_and_says_why(mode):
    rules = [FilesystemPermission(["write"], ["/a.md"], "interrupt"), FilesystemPermission(["read"], ["/s/**"], "interrupt")]
    steps = calls(WRITE, call("move", source="/s/key", destination="/p"), call("read_file", file_path="/s/key"))
    agent = agent_for(steps, permissions=rules, interrupt_on={"write_file": True})
    agent.invoke({**ASK, "files": {"/s/key": "42"}}, config(mode))
    assert asked_about(agent, mode) == [
        ("write_file", "A rule asks before /a.md is changed."),
        ("move", "A rule asks before /s/** is read."),
        ("read_file", "A rule asks before /s/** is read."),
    ]


def test_a_plan_asks_about_reading_by_a_rule_and_refuses_changes_without_asking():
    rules = [FilesystemPermission(["read", "write"], ["/s/**"], "interrupt")]
    steps = calls(
        call("read_file", file_path="/s/key"),
        call("write_file", file_path="/s/b", content="x"),
        call("send_mail"),
        call("look_up"),
    )
    agent = agent_for(steps, permissions=rules, tools=[send_mail, look_up], interrupt_on={"send_mail": True, "look_up": True})
    agent.invoke({**ASK, "files": {"/s/key": "42"}}, config("plan"))
    asked = asked_about(agent, "plan")
    assert sorted(name for name, _ in asked) == ["look_up", "read_file"]
    assert ("read_file", "A rule asks before /s/** is read.") in asked
    read, write, mail, looked = tool_texts(answer(agent, "plan", {"type": "approve"}))
    assert ("42" in read, looked) == (True, "found")
    assert "plan mode" in write
    assert "plan mode" in mail


@pytest.mark.parametrize("gated", [True, False])
def test_what_a_person_edits_in_a_plan_changes_nothing_either(gated):
    agent = agent_for(call("plain"), tools=[plain], interrupt_on={"plain": True} if gated else None)
    agent.invoke(ASK, config("plan"))
    edited = {"name": "write_file", "args": {"file_path": "/a.md", "content": "x"}}
    final = answer(agent, "plan", {"type": "edit", "edited_action": edited})
    assert "plan mode" in tool_texts(final)[0]
    assert not final.get("files")


def test_a_question_says_why_it_is_asked():
    for mode, why in (("plan", "Plan mode: "), ("ask", "Ask mode: ")):
        agent = agent_for(call("plain"), tools=[plain])
        agent.invoke(ASK, config(mode))
        assert asked_about(agent, mode) == [("plain", f"{why}this tool does not say whether it changes something.")]
    agent = agent_for(WRITE)
    agent.invoke(ASK, config("ask"))
    assert asked_about(agent, "ask") == [("write_file", "Ask mode: this changes something.")]


@pytest.mark.parametrize("name", ["search", "list_files", "glob_files"])
def test_a_tool_is_known_by_what_it_declares_and_not_by_its_name(name):
    tool = StructuredTool.from_function(lambda: "sent", name=name, description="Send.")
    refused = agent_for(call(name), tools=[with_effect("once")(tool)]).invoke(ASK, config("plan"))
    assert "plan mode" in tool_texts(refused)[0]
    agent = agent_for(call(name), tools=[tool])
    agent.invoke(ASK, config("plan"))
    assert [asked for asked, _ in asked_about(agent, "plan")] == [name]


def test_edits_are_accepted_for_our_file_tools_only():
    """A tool of the caller's may have the name of a file tool that the agent does not have."""
    arm = StructuredTool.from_function(lambda: "moved", name="move", description="Move the arm.")
    files = FilesystemMiddleware(tools=["read_file"])
    agent = agent_for(call("move"), tools=[arm], middleware=[files], interrupt_on={"move": True})
    agent.invoke(ASK, config("accept_edits"))
    assert [name for name, _ in asked_about(agent, "accept_edits")] == ["move"]
    assert tool_texts(answer(agent, "accept_edits", {"type": "approve"})) == ["moved"]


@pytest.mark.parametrize("mode", ["plan", "ask"])
def test_a_compiled_subagent_that_knows_no_modes_asks_first(mode):
    ours = create_deep_agent(ScriptedModel([WRITE, say("nothing written")]))
    theirs = create_agent(ScriptedModel([call("plain"), say("ran")]), [plain])
    compiled = [
        {"name": "ours", "description": "d", "runnable": ours},
        {"name": "theirs", "description": "d", "runnable": theirs},
    ]
    agent = agent_for(call("task", description="go", subagent_type="theirs"), subagents=compiled)
    agent.invoke(ASK, config(mode))
    ((name, why),) = asked_about(agent, mode)
    assert (name, "subagent theirs is not held to modes" in why) == ("task", True)
    if mode == "plan":
        final = agent_for(call("task", description="go", subagent_type="ours"), subagents=compiled).invoke(ASK, config(mode))
        assert tool_texts(final) == ["nothing written"]
        assert not final.get("files")


def test_one_agent_runs_in_every_mode():
    """The mode belongs to the run; the agent is built once."""
    agent = agent_for(WRITE, say("planned"), WRITE)
    agent.invoke(ASK, config("plan"))
    final = agent.invoke(ASK, config())
    assert "/a.md" in final["files"]


@pytest.mark.parametrize("bad", ["yolo", "", 3, ["plan"]])
def test_an_unknown_mode_is_refused(bad):
    with pytest.raises(InvalidRequestError, match="plan, ask, accept_edits"):
        agent_for().invoke(ASK, {"configurable": {"thread_id": "1", "permission_mode": bad}})


def test_modes_add_no_node():
    assert set(agent_for().nodes) == {"__start__", "model", "tools"}
