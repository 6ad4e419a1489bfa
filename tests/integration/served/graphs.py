"""What the tests of `stepwell serve` and `stepwell chat --url` talk to: an agent with a plan, a file and an approval, a question
with choices, a long answer, a pause, an answer that breaks off, steps that never end."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

from stepwell.agent import create_deep_agent
from stepwell.testing import Asked, ScriptedModel, call, fail, say, slow
from stepwell.tutor.agent import build as build_tutor

WORDS = " ".join(f"word{number}" for number in range(200))


def _one(node: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("model", node)
    builder.add_edge(START, "model")
    builder.add_edge("model", END)
    return builder.compile()


def _saying(*turns: Any) -> Any:
    async def model(state: MessagesState) -> dict[str, list[AIMessage]]:
        return {"messages": [await ScriptedModel(list(turns)).ainvoke(state["messages"])]}

    return _one(model)


def _work(asked: Asked) -> Any:
    """Plan, write, tell: as many steps as there are results since the person spoke."""
    newest = max(place for place, message in enumerate(asked.messages) if message.type == "human")
    done = sum(message.type == "tool" for message in asked.messages[newest:])
    steps = [
        call("write_todos", todos=[{"content": "Write the note", "status": "in_progress"}]),
        call("write_file", file_path="/note.md", content="Dig."),
        say("The note is written."),
    ]
    return steps[done]


async def answer_at_length(state: MessagesState) -> dict[str, list[AIMessage]]:
    """In about four seconds, or `slowly`, so that somebody can stop it."""
    pace = 0.2 if state["messages"][-1].text == "slowly" else 0.02
    return {"messages": [await ScriptedModel([slow(say(WORDS), seconds_per_chunk=pace)]).ainvoke(state["messages"])]}


def choose(state: MessagesState) -> dict[str, list[AIMessage]]:
    options = [{"id": "sq", "label": "SQLite"}, {"id": "pg", "label": "Postgres"}, {"id": "my", "label": "MySQL"}]
    request = {"type": "clarification_request", "tool": "ask_choices", "tool_call_id": "1", "question": "Which databases?"}
    answer = interrupt({**request, "options": options, "allow_multiple": True, "allow_freeform": True})
    return {"messages": [AIMessage(f"Chosen: {answer}")]}


async def pause(state: MessagesState) -> dict[str, list[AIMessage]]:
    await asyncio.sleep(3)
    return {"messages": [AIMessage("after a pause")]}


async def hang(state: MessagesState) -> None:
    await asyncio.Event().wait()


async def leave(state: MessagesState) -> None:
    """What a command line does that was called as a function, and was given arguments it does not know, or asked to end."""
    await asyncio.sleep(0)
    if state["messages"][-1].content == "interrupt":
        raise KeyboardInterrupt
    sys.exit("unknown argument")


def hang_deaf(state: MessagesState) -> None:
    """A plain function, which cannot be stopped from outside."""
    threading.Event().wait()


echo = _saying(say("a short answer"))
long_answer = _one(answer_at_length)
fails = _saying(fail(ConnectionError("line is down")))
chooser = _one(choose)
pauses = _one(pause)
hangs = _one(hang)
hangs_deaf = _one(hang_deaf)
leaves = _one(leave)
deeptutor = build_tutor(None)
worker = create_deep_agent(ScriptedModel.answering(_work), interrupt_on={"write_file": True})
