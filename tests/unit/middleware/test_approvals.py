"""D10: `interrupt_on` in the main agent and inside subagents, and what happens to several at once."""

from __future__ import annotations

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from stepwell import ConfigurationError, DeepAgentState, create_deep_agent
from stepwell.errors import AnswerShapeError
from stepwell.testing import ScriptedModel, call, calls, reply, say

ASK = {"messages": [("user", "go")]}
THREAD = {"configurable": {"thread_id": "1"}}
WRITE = call("write_file", file_path="/a.md", content="draft")


def spec(name, **more):
    return {"name": name, "description": f"does {name}", "system_prompt": f"You are {name}.", **more}


def pending(agent):
    return [interrupt for task in agent.get_state(THREAD, subgraphs=True).tasks for interrupt in task.interrupts]


def answer(agent, *decisions, interrupt=None):
    waiting = interrupt or pending(agent)[0]
    return agent.invoke(Command(resume={waiting.id: {"decisions": list(decisions)}}), THREAD)


def agent_for(model, **options):
    return create_deep_agent(model, checkpointer=InMemorySaver(), interrupt_on={"write_file": True}, **options)


def test_nothing_runs_before_the_answer():
    """D10."""
    agent = agent_for(ScriptedModel([WRITE, say("ok")]))
    paused = agent.invoke(ASK, THREAD)
    assert paused["__interrupt__"][0].value["action_requests"][0]["name"] == "write_file"
    assert not paused.get("files")


def test_approve_runs_it_once():
    """D10: approve."""
    agent = agent_for(ScriptedModel([WRITE, say("ok")]))
    agent.invoke(ASK, THREAD)
    final = answer(agent, {"type": "approve"})
    assert final["files"]["/a.md"]["content"] == ["draft"]
    assert final["messages"][-1].text == "ok"


def test_edit_runs_what_the_person_wrote():
    """D10: edit."""
    agent = agent_for(ScriptedModel([WRITE, say("ok")]))
    agent.invoke(ASK, THREAD)
    edited = {"name": "write_file", "args": {"file_path": "/b.md", "content": "better"}}
    final = answer(agent, {"type": "edit", "edited_action": edited})
    assert list(final["files"]) == ["/b.md"]


def test_reject_tells_the_model_why():
    """D10: reject."""
    agent = agent_for(ScriptedModel([WRITE, say("ok")]))
    agent.invoke(ASK, THREAD)
    final = answer(agent, {"type": "reject", "message": "not in this folder"})
    assert not final.get("files")
    assert "not in this folder" in final["messages"][-2].content


def test_a_rejected_write_does_not_count_for_edits_of_the_same_turn():
    """D10 and call order."""
    turn = calls(WRITE, call("edit_file", file_path="/a.md", old_string="draft", new_string="final"))
    agent = agent_for(ScriptedModel([turn, say("ok")]))
    agent.invoke(ASK, THREAD)
    final = answer(agent, {"type": "reject", "message": "no"})
    results = {message.name: message for message in final["messages"] if message.type == "tool"}
    assert results["edit_file"].status == "error"
    assert not final.get("files")


def test_an_edited_write_counts_as_edited_for_edits_of_the_same_turn():
    """D10 and call order: what the person wrote is what the next call finds."""
    turn = calls(WRITE, call("edit_file", file_path="/a.md", old_string="better", new_string="best"))
    agent = agent_for(ScriptedModel([turn, say("ok")]))
    agent.invoke(ASK, THREAD)
    edited = {"name": "write_file", "args": {"file_path": "/a.md", "content": "better"}}
    final = answer(agent, {"type": "edit", "edited_action": edited})
    assert final["files"]["/a.md"]["content"] == ["best"]


def test_a_new_message_instead_of_an_answer_closes_the_call():
    """D9 and D10: the person types something else."""
    model = ScriptedModel([WRITE, say("fine, something else")])
    agent = agent_for(model)
    agent.invoke(ASK, THREAD)
    final = agent.invoke({"messages": [("user", "never mind")]}, THREAD)
    assert [message.type for message in final["messages"]] == ["human", "ai", "tool", "human", "ai"]
    assert not final.get("files")


def test_approvals_inside_a_subagent_pause_and_resume_it():
    """D10: inside subagents, which take the main agent's approvals."""
    model = ScriptedModel.by_agent(
        {"main": [call("task", description="write", subagent_type="writer"), say("done")], "writer": [WRITE, say("written")]}
    )
    agent = agent_for(model, subagents=[spec("writer")])
    paused = agent.invoke(ASK, THREAD)
    assert paused["__interrupt__"][0].value["action_requests"][0]["args"]["content"] == "draft"
    final = answer(agent, {"type": "approve"})
    assert final["files"]["/a.md"]["content"] == ["draft"]
    assert [message.content for message in final["messages"] if message.type == "tool"] == ["written"]
    model.assert_finished()


def test_a_subagent_s_own_approvals_replace_the_inherited():
    """D10."""
    model = ScriptedModel.by_agent(
        {"main": [call("task", description="write", subagent_type="free"), say("done")], "free": [WRITE, say("written")]}
    )
    final = agent_for(model, subagents=[spec("free", interrupt_on={})]).invoke(ASK, THREAD)
    assert final["files"]["/a.md"]


async def test_two_subagents_wait_at_once_and_are_answered_one_by_one():
    """D10: each interrupt by its id, in any order, nothing twice."""

    def writes(asked):
        name = asked.first_human
        return call("write_file", file_path=f"/{name}.md", content=name) if asked.turn == 0 else say(f"{name} done")

    model = ScriptedModel.by_agent(
        {
            "main": [calls(*(call("task", description=n, subagent_type="writer") for n in ("left", "right"))), say("done")],
            "writer": [reply(writes)] * 4,
        }
    )
    agent = agent_for(model, subagents=[spec("writer")])
    paused = await agent.ainvoke(ASK, THREAD)
    waiting = {i.value["action_requests"][0]["args"]["content"]: i for i in paused["__interrupt__"]}
    assert set(waiting) == {"left", "right"}
    half = await agent.ainvoke(Command(resume={waiting["right"].id: {"decisions": [{"type": "approve"}]}}), THREAD)
    assert [i.id for i in half["__interrupt__"]] == [waiting["left"].id]
    final = await agent.ainvoke(
        Command(resume={waiting["left"].id: {"decisions": [{"type": "reject", "message": "no"}]}}), THREAD
    )
    assert [m.content for m in final["messages"] if m.type == "tool"] == ["left done", "right done"]
    assert list(final["files"]) == ["/right.md"]
    model.assert_finished()


def test_a_misspelt_tool_is_refused_when_built():
    """A name that nobody has would let the real tool run without approval."""
    with pytest.raises(ConfigurationError, match="names unknown tools: write_fil"):
        create_deep_agent(ScriptedModel(), interrupt_on={"write_fil": True})
    with pytest.raises(ConfigurationError, match="subagent 'a' names unknown tools: x"):
        create_deep_agent(ScriptedModel(), subagents=[spec("a", interrupt_on={"x": True})])


def test_a_subagent_s_tool_may_be_named_by_the_main_agent():
    def deploy() -> str:
        """Deploy."""
        return "deployed"

    agent = create_deep_agent(ScriptedModel(), subagents=[spec("a", tools=[deploy])], interrupt_on={"deploy": True})
    assert "tools" in agent.nodes


APPROVE = {"type": "approve"}
WRONG = {
    "true": True,
    "text": "approve",
    "list": [APPROVE],
    "no decisions": {"approved": True},
    "none of one": {"decisions": []},
    "two for one": {"decisions": [APPROVE, APPROVE]},
    "no type": {"decisions": [{}]},
    "plain word": {"decisions": ["approve"]},
    "unknown type": {"decisions": [{"type": "accept"}]},
    "edit of nothing": {"decisions": [{"type": "edit"}]},
    "edit without arguments": {"decisions": [{"type": "edit", "edited_action": {"name": "write_file"}}]},
    "respond without a text": {"decisions": [{"type": "respond"}]},
    "reason that is no text": {"decisions": [{"type": "reject", "message": 5}]},
}


@pytest.fixture(params=["memory", "sqlite"])
def saver(request, tmp_path):
    if request.param == "memory":
        yield InMemorySaver()
        return
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as kept:
        yield kept


@pytest.mark.parametrize("named", [False, True], ids=["bare", "by id"])
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_an_answer_of_the_wrong_shape_leaves_the_question_open(saver, wrong, named):
    agent = create_deep_agent(ScriptedModel([WRITE, say("ok")]), checkpointer=saver, interrupt_on={"write_file": True})
    asked = agent.invoke(ASK, THREAD)["__interrupt__"][0]
    for _ in range(2):
        with pytest.raises(AnswerShapeError, match="The interrupt is still open"):
            agent.invoke(Command(resume={asked.id: wrong} if named else wrong), THREAD)
        assert [one.id for one in agent.get_state(THREAD).interrupts] == [asked.id]
    assert answer(agent, APPROVE)["files"]["/a.md"]["content"] == ["draft"]


async def test_a_decision_that_is_not_allowed_is_named_with_those_that_are():
    only = {"write_file": {"allowed_decisions": ["approve", "reject"]}}
    agent = create_deep_agent(ScriptedModel([WRITE, say("ok")]), checkpointer=InMemorySaver(), interrupt_on=only)
    await agent.ainvoke(ASK, THREAD)
    edit = {"type": "edit", "edited_action": {"name": "write_file", "args": {}}}
    with pytest.raises(AnswerShapeError, match=r"Decision 1, on 'write_file'.*Allowed are: approve, reject\."):
        await agent.ainvoke(Command(resume={"decisions": [edit]}), THREAD)
    assert answer(agent, {"type": "reject"})["messages"][-1].text == "ok"


def two_writers():
    def writes(asked):
        name = asked.first_human
        return call("write_file", file_path=f"/{name}.md", content=name) if asked.turn == 0 else say(f"{name} done")

    tasks = calls(*(call("task", description=name, subagent_type="writer") for name in ("left", "right")))
    return ScriptedModel.by_agent({"main": [tasks, say("done")], "writer": [reply(writes)] * 4})


def test_a_wrong_answer_to_one_subagent_does_not_disturb_the_other(saver):
    """Both are answered in one resume: the right answer is carried out once, the other question stays open under its id."""
    model = two_writers()
    agent = create_deep_agent(model, checkpointer=saver, interrupt_on={"write_file": True}, subagents=[spec("writer")])
    paused = agent.invoke(ASK, THREAD)
    waiting = {one.value["action_requests"][0]["args"]["content"]: one.id for one in paused["__interrupt__"]}
    with pytest.raises(AnswerShapeError):
        agent.invoke(Command(resume={waiting["left"]: True, waiting["right"]: {"decisions": [APPROVE]}}), THREAD)
    assert waiting["left"] in [one.id for one in pending(agent)]
    final = agent.invoke(Command(resume={waiting["left"]: {"decisions": [APPROVE]}}), THREAD)
    assert sorted(final["files"]) == ["/left.md", "/right.md"]
    assert [message.content for message in final["messages"] if message.type == "tool"] == ["left done", "right done"]
    model.assert_finished()


@pytest.mark.parametrize("first", [[APPROVE], [APPROVE, APPROVE]], ids=["refused", "taken"])
def test_a_bare_answer_is_not_given_to_a_later_question(first):
    """LangGraph keeps it with the checkpoint of the parent, which stays the same while a subagent asks several times."""
    writes = [calls(*(call("write_file", file_path=f"/{n}.md", content="x") for n in pair)) for pair in ("ab", "cd")]
    ones = [call("write_file", file_path=f"/{n}.md", content="x") for n in "ef"]
    model = ScriptedModel.by_agent(
        {
            "main": [call("task", description="write", subagent_type="writer"), say("done")],
            "writer": [*writes, *ones, say("written")],
        }
    )
    agent = agent_for(model, subagents=[spec("writer")])
    agent.invoke(ASK, THREAD)
    if len(first) == 1:
        with pytest.raises(AnswerShapeError):
            agent.invoke(Command(resume={"decisions": first}), THREAD)
    else:
        agent.invoke(Command(resume={"decisions": first}), THREAD)
    asked = []
    while waiting := agent.get_state(THREAD).interrupts:
        requests = waiting[0].value["action_requests"]
        asked += [request["args"]["file_path"] for request in requests]
        result = answer(agent, *[APPROVE] * len(requests), interrupt=waiting[0])
    assert asked == [f"/{n}.md" for n in ("abcdef" if len(first) == 1 else "cdef")]
    assert sorted(result["files"]) == [f"/{n}.md" for n in "abcdef"]


@pytest.mark.parametrize("sync", [True, False])
async def test_an_approval_without_a_checkpointer_names_what_to_pass(sync):
    """It could never be answered. On a server, which brings a checkpointer, the same graph waits."""
    agent = create_deep_agent(ScriptedModel([WRITE, WRITE, say("ok")]), interrupt_on={"write_file": True})
    with pytest.raises(ConfigurationError, match=r"'write_file'.*checkpointer=InMemorySaver\(\)"):
        agent.invoke(ASK) if sync else await agent.ainvoke(ASK)
    agent.checkpointer = InMemorySaver()
    assert agent.invoke(ASK, THREAD)["__interrupt__"]


def test_an_agent_without_a_checkpointer_inside_a_graph_that_has_one_waits_for_its_approval():
    agent = create_deep_agent(ScriptedModel([WRITE, say("ok")]), interrupt_on={"write_file": True})
    outer = StateGraph(DeepAgentState).add_node("agent", agent).add_edge(START, "agent").compile(InMemorySaver())
    (waiting,) = outer.invoke(ASK, THREAD)["__interrupt__"]
    final = outer.invoke(Command(resume={waiting.id: {"decisions": [{"type": "approve"}]}}), THREAD)
    assert final["messages"][-1].text == "ok"
