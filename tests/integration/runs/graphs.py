"""Small graphs that the tests serve, as a user's project would have them."""

from __future__ import annotations

import asyncio
import operator
from itertools import pairwise
from typing import Annotated, Any, NotRequired

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from stepwell.agent import create_deep_agent
from stepwell.answers import approvals_fault, approvals_schema
from stepwell.answers import ask as ask_checked
from stepwell.middleware import SummarizationMiddleware
from stepwell.testing import Asked, ScriptedModel, call, calls, each_run, say, slow


class Words(TypedDict):
    words: Annotated[list[Any], operator.add]


def _line(*nodes: Any, names: tuple[str, ...] = (), state: Any = Words) -> Any:
    """A graph of nodes one after the other."""
    builder = StateGraph(state)
    named = names or tuple(node.__name__ for node in nodes)
    for name, node in zip(named, nodes, strict=True):
        builder.add_node(name, node)
    for left, right in pairwise([START, *named, END]):
        builder.add_edge(left, right)
    return builder.compile()


def hello(state: Words) -> Words:
    return {"words": ["hello"]}


def world(state: Words) -> Words:
    return {"words": ["world"]}


def ask(state: Words) -> Words:
    return {"words": [interrupt({"question": "which word?"})]}


def ask_again(state: Words) -> Words:
    first = interrupt("first?")
    second = interrupt("second?")
    return {"words": [first, second]}


def fail(state: Words) -> Words:
    raise ValueError("the third word is missing")


async def wait(state: Words) -> Words:
    await asyncio.sleep(3600)
    return {"words": ["waited"]}


async def short_wait(state: Words) -> Words:
    await asyncio.sleep(2)
    return {"words": ["waited"]}


two = _line(hello, world)
asking = _line(hello, ask)
asking_twice = _line(ask_again)
failing = _line(hello, fail)


def _pay(whom: str) -> Any:
    """A step that asks as our approvals do."""

    def pay(state: Words) -> Words:
        config = {"action_name": "pay", "allowed_decisions": ["approve", "edit", "reject"]}
        request = {"action_requests": [{"name": "pay", "args": {"whom": whom}}], "review_configs": [config]}
        decision = ask_checked(request, approvals_fault, approvals_schema(request))["decisions"][0]["type"]
        return {"words": [whom] if decision == "approve" else []}

    return pay


class Amount(TypedDict):
    amount: int
    notes: NotRequired[list[int]]


def ask_amount(state: Words) -> Words:
    return {"words": [interrupt("how much?", response_schema=Amount)["amount"]]}


paying = _line(_pay("baker"), _pay("stranger"), names=("first", "second"))
typed = _line(ask_amount)
waiting = _line(hello, wait)


def _siblings() -> Any:
    builder = StateGraph(Words)
    for node in (ask, short_wait):
        builder.add_node(node.__name__, node)
        builder.add_edge(START, node.__name__)
        builder.add_edge(node.__name__, END)
    return builder.compile()


siblings = _siblings()


def _chat(reply: Any) -> Any:
    async def model(state: MessagesState) -> dict[str, list[AIMessage]]:
        chat = ScriptedModel([reply])
        return {"messages": [await chat.ainvoke(state["messages"])]}

    return _line(model, state=MessagesState)


chat = _chat(say("a short answer"))
slow_chat = _chat(slow(say("one two three four five six seven eight nine ten " * 20), seconds_per_chunk=0.02))


def _deep() -> Any:
    """A deep agent that plans, writes a file after approval, and delegates to two subagents that each ask before they write."""
    planning = call("write_todos", todos=[{"content": "write", "status": "in_progress"}])
    helping = [call("task", description=f"help {n}", subagent_type="general-purpose") for n in range(2)]
    model = ScriptedModel.by_agent(
        {
            "main": each_run(
                [
                    calls(planning, call("write_file", file_path="/note.md", content="deep water")),
                    calls(*helping),
                    say("all done"),
                ]
            ),
            "general-purpose": _help,
        }
    )
    return create_deep_agent(model, interrupt_on={"write_file": True})


def _help(asked: Asked) -> Any:
    """Each helper writes a file of its own, then says so."""
    task = str(asked.messages[-1].content if asked.messages[-1].type == "human" else asked.messages[-3].content)
    number = task[-1]
    if asked.messages[-1].type == "human":
        return call("write_file", file_path=f"/helper-{number}.md", content="helped")
    return say(f"helper {number} is done")


deep = _deep()


def _talk(asked: Asked) -> Any:
    """Every turn: a plan and a file, then a helper, then an answer. What was said before does not matter to it."""
    turn = next(str(message.content) for message in reversed(asked.messages) if message.type == "human")
    last = asked.messages[-1]
    if last.type == "human":
        planning = call("write_todos", todos=[{"content": turn, "status": "in_progress"}])
        return calls(planning, call("write_file", file_path=f"/{turn}.md", content=f"{turn} " * 20))
    return say(f"{turn} done") if last.name == "task" else call("task", description=turn, subagent_type="general-purpose")


def _talker() -> Any:
    """A deep agent for long conversations, whose older part is summed up."""
    model = ScriptedModel.by_agent({"main": _talk, "general-purpose": lambda asked: say("helped")})
    summing_up = SummarizationMiddleware(ScriptedModel(lambda asked: say("earlier turns")), trigger_tokens=300, keep_messages=6)
    return create_deep_agent(model, middleware=[summing_up])


talker = _talker()
