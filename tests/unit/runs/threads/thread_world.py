"""A world for tests of threads: a real database in a folder, a few graphs, and a way to run them without the engine."""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.graphs.sources import GraphSource
from stepwell.runs.interrupts import root_interrupts
from stepwell.runs.threads.operations import Threads
from stepwell.runs.threads.snapshots import status_of
from stepwell.state.schema import DeepAgentState
from stepwell.state.wire import encode

ANN, BOB = "ann", "bob"


class Words(TypedDict, total=False):
    way: str
    words: Annotated[list[str], operator.add]


class Ticking:
    """A clock that goes on by a second whenever it is asked."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now


def _inner(state: Words) -> Words:
    return {"words": [interrupt({"question": "inside?"})]}


def _outer(state: Words) -> Words:
    match state.get("way"):
        case "fails":
            raise ValueError("no such word")
        case "asks":
            return {"words": [interrupt({"question": "which?"})]}
    return {"words": ["outer"]}


def words_graph() -> Any:
    """first, then `outer` (which may ask or fail) or the subgraph `inner` (which asks)."""
    inner = StateGraph(Words).add_node("ask", _inner).add_edge(START, "ask").compile()
    graph = (
        StateGraph(Words).add_node("first", lambda _: {"words": ["first"]}).add_node("outer", _outer).add_node("inner", inner)
    )
    graph.add_edge(START, "first")
    graph.add_conditional_edges("first", lambda state: "inner" if state.get("way") == "inner" else "outer", ["outer", "inner"])
    return graph.compile()


def chat_graph() -> Any:
    graph = StateGraph(MessagesState).add_node("reply", lambda _: {"messages": [AIMessage("hello")]})
    return graph.add_edge(START, "reply").compile()


def growing_graph() -> Any:
    """A deep agent's state, whose messages are stored step by step."""
    graph = StateGraph(DeepAgentState).add_node("reply", lambda _: {"messages": [AIMessage("hello")]})
    return graph.add_edge(START, "reply").compile()


def tool_graph() -> Any:
    """A tool that calls an agent, which LangGraph cannot see from outside."""
    helper = create_agent(
        GenericFakeChatModel(messages=(AIMessage(f"found {n}") for n in count())), name="helper", state_schema=DeepAgentState
    )

    async def look_up(what: str) -> str:
        """Ask the helper."""
        found = await helper.ainvoke({"messages": [{"role": "user", "content": what}]})
        return str(found["messages"][-1].content) + str(interrupt("enough?"))

    call = {"name": "look_up", "args": {"what": "a thing"}, "id": "c1", "type": "tool_call"}
    graph = StateGraph(MessagesState).add_node("ask", lambda _: {"messages": [AIMessage("", tool_calls=[call])]})
    return graph.add_node("tools", ToolNode([look_up])).add_edge(START, "ask").add_edge("ask", "tools").compile()


@dataclass
class World:
    persistence: EmbeddedPersistence
    registry: GraphRegistry
    threads: Threads

    async def run(self, thread_id: str, graph_id: str, given: Any, owner: str = ANN) -> None:
        """What a run does to a thread's checkpoints and to its record."""
        await self.threads.update(owner, thread_id, {"graph_id": graph_id})
        async with self.persistence.queue.hold(owner, thread_id, "test") as lease:
            saver, store = self.persistence.saver(lease), self.persistence.store(owner)
            async with self.registry.graph(graph_id, saver=saver, store=store, purpose="run") as graph:
                config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
                try:
                    await graph.ainvoke(given, config, durability="sync")
                finally:
                    now = await graph.aget_state(config)
                    await self.persistence.records.save_thread_state(
                        lease, values=encode(now.values), interrupts=root_interrupts(now), status=status_of(now)
                    )

    async def answer(self, thread_id: str, graph_id: str, answer: Any) -> None:
        await self.run(thread_id, graph_id, Command(resume=answer))


@asynccontextmanager
async def open_world(folder: Path) -> AsyncIterator[World]:
    ids, clock = count(1), Ticking()

    def new_id() -> str:
        return str(UUID(int=next(ids)))

    graphs = {"words": words_graph(), "chat": chat_graph(), "growing": growing_graph(), "tool": tool_graph()}
    registry = GraphRegistry({name: GraphSource.of(graph) for name, graph in graphs.items()})
    async with EmbeddedPersistence(folder / "runs.db", clock=clock, new_id=new_id) as persistence:
        yield World(persistence, registry, Threads(persistence, registry, clock, new_id))
