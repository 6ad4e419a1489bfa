"""Messages that are written side by side are read one after the other."""

from __future__ import annotations

import asyncio
import io

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from stepwell import create_deep_agent
from stepwell.terminal.chat.loop import Chat
from stepwell.terminal.dialogue.graph_session import GraphConversations
from stepwell.terminal.dialogue.interleaving import Floor, Said, Voice
from stepwell.terminal.dialogue.terminal import Terminal
from stepwell.testing import ScriptedModel, call, calls, say, slow

A, B = Voice(("tools:a",), "1"), Voice(("tools:b",), "1")


def piece(voice: Voice, text: str) -> Said:
    return Said("sub", text, voice)


def passed_on(floor: Floor, *pieces: Said) -> list[tuple[Voice, str]]:
    return [(said.voice, said.text) for one in pieces for said in floor.say(one)]


def test_who_speaks_first_is_heard_and_the_other_waits_for_the_end():
    floor = Floor()
    assert passed_on(floor, piece(A, "a1"), piece(B, "b1"), piece(A, "a2"), piece(B, "b2")) == [(A, "a1"), (A, "a2")]
    assert list(floor.end_step(A.namespace)) == [piece(B, "b1b2")]
    assert passed_on(floor, piece(B, "b3")) == [(B, "b3")]
    assert list(floor.rest()) == []


def test_who_ends_first_is_heard_at_once_and_takes_the_floor_from_nobody():
    floor = Floor()
    passed_on(floor, piece(A, "a1"), piece(B, "b1"))
    assert list(floor.end_step(B.namespace)) == [piece(B, "b1")]
    assert passed_on(floor, piece(A, "a2")) == [(A, "a2")]


def test_an_agents_next_message_ends_the_one_before():
    floor = Floor()
    later = Voice(A.namespace, "2")
    passed_on(floor, piece(A, "a1"), piece(B, "b1"))
    assert passed_on(floor, piece(later, "next")) == [(B, "b1")]
    assert list(floor.rest()) == [piece(later, "next")]


def conversation(agent: object, typed: str) -> str:
    screen = io.StringIO()
    with asyncio.Runner() as runner:
        Chat(runner, Terminal(io.StringIO(typed), screen), GraphConversations(agent)).converse()
    return screen.getvalue()


def test_two_subagents_of_one_name_do_not_talk_into_one_another():
    answers = ["the first of the two says this", "the second one has something else to say"]
    asked = [call("task", description=answer, subagent_type="general-purpose") for answer in answers]
    scripts = {
        "main": [calls(*asked), say("Both are done.")],
        "sub": [slow(say(one), seconds_per_chunk=0.001) for one in answers],
    }
    model = ScriptedModel.by_agent(scripts, key=lambda asked: "sub" if asked.agent == "general-purpose" else "main")

    lines = conversation(create_deep_agent(model, checkpointer=InMemorySaver()), "go\n").splitlines()

    label = "[general-purpose] "
    said = [line.removeprefix(label).strip() for line in lines if line.startswith(label)]
    assert [line for line in said if not any(line in answer for answer in answers)] == [], "each line is of one of them"
    assert sorted(" ".join(said).split()) == sorted(" ".join(answers).split()), "and nothing is left out"
    assert "Both are done." in lines


def test_messages_of_two_nodes_stand_on_two_lines():
    graph = StateGraph(MessagesState)
    for name in ("left", "right"):
        graph.add_node(name, lambda _, name=name: {"messages": [AIMessage(f"from the {name}")]})
        graph.add_edge(START, name)

    lines = conversation(graph.compile(checkpointer=InMemorySaver()), "go\n").splitlines()

    assert {"from the left", "from the right"} <= set(lines)
