"""`task(..., task_id=)` continues an earlier task of the conversation."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from stepwell import SubAgentMiddleware, create_deep_agent
from stepwell.errors import SubAgentSpecError
from stepwell.state.compact import compact
from stepwell.state.transcripts import list_transcripts, read_transcript
from stepwell.testing import ScriptedModel, call, raw, reply, say

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def spec(name: str = "scout", **more: Any) -> Any:
    return {"name": name, "description": f"does {name}", "system_prompt": f"You are {name}.", "continuable": True, **more}


def tasks(*given: tuple[str, str, str | None] | tuple[str, str, str | None, str]) -> Any:
    """One turn with calls of `task`: id, description, the task to continue, and the subagent (scout)."""
    calls = []
    for call_id, description, task_id, *to in given:
        args = {"description": description, "subagent_type": (to or ["scout"])[0], **({"task_id": task_id} if task_id else {})}
        calls.append({"id": call_id, "name": "task", "args": args})
    return raw(AIMessage("", tool_calls=calls))


def results(final: Any) -> dict[str, str]:
    return {message.tool_call_id: message.text for message in final["messages"] if message.type == "tool"}


def seen_by(model: ScriptedModel, agent: str = "scout") -> list[list[str]]:
    """The conversation in each of the subagent's requests, without the system prompt."""
    return [[str(each.text) for each in asked.messages[1:]] for asked in model.asked if asked.agent == agent]


class Conversation:
    """One thread; each turn has its own script, as if the process had been started again."""

    def __init__(self, *subagents: Any, **options: Any) -> None:
        self.saver = InMemorySaver()
        self.subagents = subagents or (spec(),)
        self.options = {"checkpointer": self.saver, **options}
        self.model: ScriptedModel = ScriptedModel([])

    def agent(self, **scripts: Any) -> Any:
        self.model = ScriptedModel.by_agent(scripts)
        return create_deep_agent(self.model, subagents=list(self.subagents), **self.options)

    def turn(self, *main: Any, config: Any = CONFIG, asked: Any = None, **scripts: Any) -> Any:
        agent = self.agent(main=[*main, say("ok")], **scripts)
        return agent.invoke({"messages": [("user", "go")]} if asked is None else asked, config)


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_a_continued_task_remembers_what_was_said_before(colour: str):
    async def turn(*main: Any, scout: Any) -> Any:
        agent, asked = talk.agent(main=[*main, say("ok")], scout=scout), {"messages": [("user", "go")]}
        return await agent.ainvoke(asked, CONFIG) if colour == "async" else agent.invoke(asked, CONFIG)

    talk = Conversation()
    final = await turn(tasks(("c1", "Find it", None)), scout=[say("In the attic.")])
    assert results(final)["c1"] == "In the attic.\n\n[task_id: c1]"
    final = await turn(tasks(("c2", "Bring it", "c1")), scout=[say("Here it is.")])
    assert results(final)["c2"] == "Here it is.\n\n[task_id: c2]"
    assert seen_by(talk.model) == [["Find it", "In the attic.", "Bring it"]]


def test_the_first_id_leads_to_the_newest_continuation():
    talk = Conversation()
    talk.turn(tasks(("c1", "one", None)), scout=[say("1")])
    talk.turn(tasks(("c2", "two", "c1")), scout=[say("2")])
    talk.turn(tasks(("c3", "three", "c1")), scout=[say("3")])
    assert seen_by(talk.model) == [["one", "1", "two", "2", "three"]]
    assert [(each.task_id, each.continues) for each in list_transcripts(talk.saver, "t")] == [
        ("c1", None),
        ("c2", "c1"),
        ("c3", "c1"),
    ]


def test_another_branch_of_the_thread_continues_from_what_it_knows():
    talk = Conversation()
    talk.turn(tasks(("c1", "one", None)), scout=[say("1")])
    before = talk.agent().get_state(CONFIG).config
    talk.turn(tasks(("c2", "two", "c1")), scout=[say("2")])
    talk.turn(tasks(("c3", "three", "c1")), config=before, scout=[say("3")])
    assert seen_by(talk.model) == [["one", "1", "three"]]


def test_what_the_earlier_task_has_stored_stays_as_it_is():
    talk = Conversation()
    talk.turn(tasks(("c1", "one", None)), scout=[call("ls"), say("1")])
    earlier = read_transcript(talk.saver, "t", "c1")
    assert earlier is not None
    talk.turn(tasks(("c2", "two", "c1")), scout=[say("2")])
    assert read_transcript(talk.saver, "t", "c1") == earlier
    later = read_transcript(talk.saver, "t", "c2")
    assert later is not None
    assert later.messages[: len(earlier.messages)] == earlier.messages


def test_a_plan_and_a_summary_are_continued_too():
    talk = Conversation(spec(middleware=[]))
    plan = [{"content": "Dig", "status": "in_progress"}]
    talk.turn(tasks(("c1", "one", None)), scout=[call("write_todos", todos=plan), say("1")])
    talk.turn(tasks(("c2", "two", "c1")), scout=[say("2")])
    later = read_transcript(talk.saver, "t", "c2")
    assert later is not None
    assert later.state["todos"] == plan


async def test_a_task_that_took_too_long_can_be_continued():
    talk = Conversation(spec(timeout_s=0.2))
    never = asyncio.Event()
    agent = talk.agent(main=[tasks(("c1", "one", None)), say("ok")], scout=[call("ls"), reply(lambda _: never.wait())])
    final = await agent.ainvoke({"messages": [("user", "go")]}, CONFIG)
    assert "was stopped after 0.2 s" in results(final)["c1"]
    assert results(final)["c1"].endswith("[task_id: c1]")
    talk.subagents = (spec(),)  # from now on there is time, however busy the machine is
    talk.turn(tasks(("c2", "two", "c1")), scout=[say("done")])
    (seen,) = seen_by(talk.model)
    assert (seen[0], seen[-1]) == ("one", "two")


def test_a_continued_task_that_asks_a_person_resumes_where_it_stopped():
    talk = Conversation(interrupt_on={"write_file": True})
    talk.turn(tasks(("c1", "one", None)), scout=[say("1")])
    paused = talk.turn(tasks(("c2", "two", "c1")), scout=[call("write_file", file_path="/a.md", content="a"), say("Written.")])
    assert [message.type for message in paused["messages"]] == ["human", "ai", "tool", "ai", "human", "ai"]
    agent = talk.agent(main=[say("ok")], scout=[say("Written.")])
    final = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), CONFIG)
    assert results(final)["c2"].startswith("Written.")
    assert seen_by(talk.model)[0][:4] == ["one", "1", "two", ""]


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (
            ("c2", "two", "nothing"),
            "this conversation has no earlier task 'nothing'. Use one of these, or leave task_id out: 'c1'",
        ),
        (("c2", "two", "c1", "other"), "task 'c1' was done by scout, not by other. Give subagent_type='scout'"),
        (("c2", "two", "c2"), "this conversation has no earlier task 'c2'"),
    ],
)
def test_an_id_that_does_not_fit_is_refused_with_the_way_out(second: Any, words: str):
    talk = Conversation(spec(), spec("other"))
    talk.turn(tasks(("c1", "one", None)), scout=[say("1")])
    final = talk.turn(tasks(second), scout=[], other=[])
    assert words in results(final)["c2"]


def test_an_expired_id_is_refused_and_the_model_is_told_what_to_do():
    talk = Conversation()
    talk.turn(tasks(("c1", "one", None)), scout=[say("1")])
    compact(talk.saver, "t")
    final = talk.turn(tasks(("c2", "two", "c1")), scout=[])
    assert "messages of task 'c1' are no longer stored" in results(final)["c2"]


def test_without_stored_threads_there_is_nothing_to_continue():
    talk = Conversation(checkpointer=None)
    final = talk.turn(tasks(("c1", "one", None)), tasks(("c2", "two", "c1")), scout=[say("1")])
    assert "this agent stores no threads" in results(final)["c2"]


def test_two_calls_of_one_turn_do_not_continue_the_same_task():
    talk = Conversation()
    talk.turn(tasks(("c1", "one", None)), scout=[say("1")])
    final = talk.turn(tasks(("c2", "two", "c1"), ("c3", "three", "c1")), scout=[say("2")])
    assert results(final)["c2"].startswith("2")
    assert "another call of this turn already continues task 'c1'" in results(final)["c3"]


def test_graphs_of_others_are_continued_by_their_messages():
    inner = ScriptedModel([say("1"), say("2")])
    graph = {"name": "scout", "description": "scouts", "runnable": create_agent(inner), "continuable": True}
    talk = Conversation(graph)
    talk.turn(tasks(("c1", "one", None)))
    talk.turn(tasks(("c2", "two", "c1")))
    assert [str(message.text) for message in inner.last_asked.messages] == ["one", "1", "two"]


def test_a_function_stores_nothing_that_could_be_continued():
    plain = RunnableLambda(lambda state: {"messages": [AIMessage("1")]})
    talk = Conversation({"name": "scout", "description": "scouts", "runnable": plain, "continuable": True})
    talk.turn(tasks(("c1", "one", None)))
    final = talk.turn(tasks(("c2", "two", "c1")))
    assert "no longer stored" in results(final)["c2"]


def test_task_id_costs_nothing_unless_a_subagent_is_continuable():
    def schema(**more: Any) -> dict[str, Any]:
        plain = {"name": "scout", "description": "scouts", "system_prompt": "Scout.", "model": ScriptedModel([]), **more}
        (task,) = SubAgentMiddleware(subagents=[plain]).tools
        return convert_to_openai_tool(task)["function"]

    shown = schema()
    assert list(shown["parameters"]["properties"]) == ["description", "subagent_type"]
    assert "continued" not in json.dumps(shown)
    grown = schema(continuable=True)
    assert list(grown["parameters"]["properties"]) == ["description", "subagent_type", "task_id"]
    assert grown["parameters"]["required"] == ["description", "subagent_type"]
    assert len(json.dumps(grown)) - len(json.dumps(shown)) < 200


def test_results_of_other_subagents_name_no_id():
    talk = Conversation({**spec(), "continuable": False})
    final = talk.turn(tasks(("c1", "one", None)), scout=[say("1")])
    assert results(final)["c1"] == "1"


def test_an_unclear_choice_is_refused():
    with pytest.raises(SubAgentSpecError, match=r"continuable='yes'\. Write True or False"):
        Conversation(spec(continuable="yes")).agent(main=[])
