"""Graphs that do what real ones do, and say outside what they do. Served by the processes that the tests kill.

Every input brings a `mark` that no other input has. Lists grow by addition, so that a step that counted twice would be seen.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import operator
import os
import re
import sys
import threading
import urllib.request
import uuid
from contextlib import suppress
from typing import Annotated, Any

from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict

from stepwell.agent import create_deep_agent
from stepwell.testing import Asked, ScriptedModel, raw, slow
from stepwell.tools.effect_journal import Where, effect_key, settled
from stepwell.tools.effects import with_effect


class Marks(TypedDict, total=False):
    marks: Annotated[list[str], operator.add]
    done: Annotated[list[str], operator.add]
    messages: Annotated[list[AnyMessage], add_messages]


def _line(*nodes: Any, names: tuple[str, ...] = (), state: Any = Marks) -> Any:
    builder = StateGraph(state)
    named = names or tuple(node.__name__ for node in nodes)
    for name, node in zip(named, nodes, strict=True):
        builder.add_node(name, node)
    for left, right in zip((START, *named), (*named, END), strict=True):
        builder.add_edge(left, right)
    return builder.compile()


def _post(body: dict[str, str]) -> None:
    request = urllib.request.Request(os.environ["ORACLE_URL"], json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=60):
        return


async def _effect(where: Where, name: str, kind: str, *, wait: bool = True) -> None:
    if wait:
        await settled(where)
    await asyncio.to_thread(_post, {"name": name, "key": effect_key(where), "kind": kind})


def turn(text: str = "", **calls: Any) -> Any:
    """A turn of a model whose ids nobody else has, as real ones: a scripted model counts from 1 again after a restart. `task_` calls
    `task`, so that one turn can call a tool twice."""
    planned = [
        {"name": name.rstrip("_"), "args": args, "id": f"call-{uuid.uuid4().hex}", "type": "tool_call"}
        for name, args in calls.items()
    ]
    return slow(raw(AIMessage(text, id=f"reply-{uuid.uuid4().hex}", tool_calls=planned)), seconds_per_chunk=0.004)


async def reply(state: Marks) -> Marks:
    """Streams an answer to the newest message."""
    model = ScriptedModel.answering(lambda asked: turn(f"about {asked.human}: one two three four"))
    return {"messages": [await model.ainvoke(state["messages"])], "done": [state["marks"][-1]]}


chat = _line(reply)


def _step(name: str) -> Any:
    async def step(state: Marks, config: RunnableConfig) -> Marks:
        await _effect(config, f"{state['marks'][-1]} {name}", "keyed")
        return {"done": [f"{state['marks'][-1]} {name}"]}

    return step


keyed = _line(_step("first"), _step("second"), _step("third"), names=("first", "second", "third"))


def ask(state: Marks) -> Marks:
    return {"done": [f"{state['marks'][-1]} {interrupt({'question': state['marks'][-1]})}"]}


asking = _line(_step("before"), ask, _step("after"), names=("before", "ask", "after"))


class Inner(TypedDict, total=False):
    """What a subgraph shares with its parent. Nothing is added up: a parent's list given to a subgraph comes back longer."""

    mark: str
    inside: list[str]


class Nested(Marks, Inner, total=False):
    pass


async def above(state: Nested, config: RunnableConfig) -> Nested:
    mark = state["marks"][-1]
    await _effect(config, f"{mark} above", "keyed")
    return {"mark": mark, "inside": []}


async def before_question(state: Inner, config: RunnableConfig) -> Inner:
    await _effect(config, f"{state['mark']} before", "keyed")
    return {"inside": [*state["inside"], "before"]}


def ask_inside(state: Inner) -> Inner:
    return {"inside": [*state["inside"], str(interrupt({"question": state["mark"]}))]}


async def after_question(state: Inner, config: RunnableConfig) -> Inner:
    await _effect(config, f"{state['mark']} after", "keyed")
    return {"inside": [*state["inside"], "after"]}


def below(state: Nested) -> Nested:
    return {"done": [f"{state['mark']} {word}" for word in state["inside"]]}


_inner = _line(before_question, ask_inside, after_question, state=Inner)
nested = _line(above, _inner, below, names=("above", "inner", "below"), state=Nested)


@with_effect("once")
async def pay(mark: str, runtime: ToolRuntime) -> str:
    """Pay for what the mark stands for."""
    await _effect(runtime, mark, "once", wait=False)
    await asyncio.sleep(0.08)  # it has happened, and nobody knows yet: a good moment for a crash
    return f"paid {mark}"


async def note(mark: str, runtime: ToolRuntime) -> str:
    """Note a mark in a book that knows keys."""
    await _effect(runtime, f"{mark} note", "keyed")
    return f"noted {mark}"


def _main_turn(asked: Asked) -> Any:
    mark = asked.human
    step = 0
    for message in reversed(asked.messages):
        if message.type == "human":
            break
        step += message.type == "ai"
    helper = {"subagent_type": "general-purpose"}
    script = [
        {
            "write_todos": {"todos": [{"content": mark, "status": "in_progress"}]},
            "write_file": {"file_path": f"/notes/{mark}.md", "content": f"{mark}\n"},
        },
        {"pay": {"mark": mark}, "note": {"mark": mark}},
        {"task": {"description": f"{mark}-0", **helper}, "task_": {"description": f"{mark}-1", **helper}},
    ]
    last = asked.messages[-1]
    if last.type == "tool" and last.name == "task" and last.status == "error":
        return turn(**script[-1])  # as models do, which are told that a subagent failed
    return turn(**script[step]) if step < len(script) else turn(f"done with {mark}")


def _sub_turn(asked: Asked) -> Any:
    mark = asked.first_human
    if asked.turn:
        told = next(message.text for message in reversed(asked.messages) if message.type == "tool" and message.name == "pay")
        return turn(f"helped with {mark}: {told}")
    return turn(write_file={"file_path": f"/notes/{mark}.md", "content": f"{mark}\n"}, note={"mark": mark}, pay={"mark": mark})


deep = create_deep_agent(
    ScriptedModel.answering(lambda asked: _main_turn(asked) if asked.agent == "main" else _sub_turn(asked), remember=0),
    [pay, note],
)


def _giving_turn(asked: Asked) -> Any:
    """Gives a task, continues it, and forks itself."""
    results = [str(message.text) for message in asked.messages if message.type == "tool"]
    mark = asked.first_human
    if not results:
        return turn(task={"description": f"{mark}-1", "subagent_type": "scout"})
    if len(results) == 1:
        (task_id,) = re.findall(r"task_id: (.+)]", results[0])
        return turn(task={"description": f"{mark}-2", "subagent_type": "scout", "task_id": task_id})
    if len(results) == 2:
        return turn(task={"description": f"{mark}-3", "subagent_type": "copy"})
    return turn("done")


def _scout_turn(asked: Asked) -> Any:
    """Notes its task, then says which tasks it has seen."""
    human = [str(message.text).rpartition("\n")[2] for message in asked.messages if message.type == "human"]
    if asked.messages[-1].type == "human":
        return turn(note={"mark": human[-1]})
    return turn(f"seen {' '.join(each.rpartition('-')[2] for each in human)}")


continued = create_deep_agent(
    ScriptedModel.answering(lambda asked: _giving_turn(asked) if asked.agent == "main" else _scout_turn(asked), remember=0),
    [note],
    subagents=[
        {"name": "scout", "description": "scouts", "system_prompt": "Scout.", "continuable": True},
        {"name": "copy", "description": "a copy", "mode": "fork"},
    ],
)


def _pay_once(asked: Asked) -> Any:
    return turn(pay={"mark": asked.human}) if asked.messages[-1].type == "human" else turn(f"paid for {asked.human}")


gated = create_deep_agent(ScriptedModel.answering(_pay_once, remember=0), [pay], interrupt_on={"pay": True})
noting = create_deep_agent(ScriptedModel.answering(lambda asked: turn("noted"), remember=0), [pay], interrupt_on={"pay": True})
"""Two assistants for one thread: the first pays for every message once a person approves, the second only takes note."""


@tool
async def walk(number: int) -> str:
    """Take a step."""
    await asyncio.sleep(0.03)
    return f"step {number}"


def _walk(asked: Asked) -> Any:
    """Four steps after the last answer, whoever says something in between."""
    steps = 0
    for message in reversed(asked.messages):
        if isinstance(message, AIMessage) and not message.tool_calls:
            break
        steps += message.type == "tool"
    return turn(walk={"number": steps}) if steps < 4 else turn("arrived")


steered = create_deep_agent(ScriptedModel.answering(_walk, remember=0), [walk])


@tool
async def work(what: str) -> str:
    """Work for a moment."""
    await asyncio.sleep(0.05)
    return f"worked on {what}"


def _background_task(description: str) -> dict[str, str]:
    return {"description": description, "subagent_type": "worker"}


def _starting_turn(asked: Asked) -> Any:
    new = list(itertools.takewhile(lambda message: message.type == "human", reversed(asked.messages)))[::-1]
    told = [
        f"heard of {text.split()[2]}." if text.startswith("Background task") else text for text in (each.text for each in new)
    ]
    text = " ".join(told) or "told them"
    verb, _, mark = next((each for each in told if each.startswith(("go", "more"))), "").partition(" ")
    known = re.findall(r"Launched async subagent. task_id: (\S+)", "\n".join(message.text for message in asked.messages))
    if verb == "more" and known:
        return turn(text, update_async_task={"task_id": known[0], "message": mark})
    if verb:
        return turn(text, start_async_task=_background_task(f"{mark}-one"), start_async_task_=_background_task(f"{mark}-two"))
    return turn(text)


def _worker_turn(asked: Asked) -> Any:
    last = asked.messages[-1]
    return turn(f"done: {last.text}") if last.type == "tool" else turn(work={"what": last.text})


background = create_deep_agent(
    ScriptedModel.answering(
        lambda asked: _worker_turn(asked) if asked.agent == "worker" else _starting_turn(asked), remember=0
    ),
    [work],
    subagents=[{"name": "worker", "description": "works", "system_prompt": "You work.", "mode": "background"}],
)
"""Starts two background tasks for each message, sends one of an earlier message's tasks more work, and answers what is said meanwhile."""


async def tick(state: Marks) -> Marks:
    """Says 195 things, at a pace that a reader can be cut off from."""
    write = get_stream_writer()
    for number in range(195):
        write({"tick": number})
        await asyncio.sleep(0.004)
    return {"done": ["ticked"]}


ticking = _line(tick)


async def hold(state: Marks, config: RunnableConfig) -> Marks:
    """Begins, waits long enough to be disturbed, then has an effect."""
    write = get_stream_writer()
    write({"holding": state["marks"][-1]})
    await asyncio.sleep(config["configurable"].get("hold_s", 1.5))
    await _effect(config, f"{state['marks'][-1]} held", "held")
    return {"done": ["held"]}


holding = _line(_step("before"), hold, names=("before", "hold"))


async def ignore(state: Marks) -> Marks:
    """Goes on, however often it is told to stop."""
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)


def get_stuck(state: Marks) -> Marks:
    """A plain function that waits for something that never comes."""
    threading.Event().wait()
    return {}


def leave(state: Marks) -> Marks:
    sys.exit(3)


deaf = _line(ignore)
stuck = _line(get_stuck)
leaving = _line(leave)


def poison(state: Marks) -> Marks:
    os._exit(9)


poisonous = _line(_step("before"), poison, names=("before", "poison"))


def blow(state: Marks) -> Marks:
    """A state that needs room on disk."""
    return {"messages": [AIMessage("x" * 400_000)], "done": [state["marks"][-1]]}


big = _line(_step("before"), blow, names=("before", "blow"))
