"""Small graphs for the tests of streams, and the one way in which they are driven."""

from __future__ import annotations

import json
import operator
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from stepwell.database.types import PendingInterrupt, RunRequest
from stepwell.runs.streaming.graph import stream_graph
from stepwell.runs.streaming.progress import PartialMessage, Progress

THREAD = "thread-1"
HELLO = {"messages": [{"role": "user", "content": "hi", "id": "h1"}]}


class State(TypedDict, total=False):
    n: int
    log: Annotated[list[Any], operator.add]


class Words(BaseChatModel):
    """Says its words one by one, and calls `between` after the first."""

    words: tuple[str, ...] = ("big", " ", "world")
    between: Callable[[], Awaitable[None]] | None = None

    @property
    def _llm_type(self) -> str:
        return "words"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(self, *_: Any, **__: Any) -> ChatResult:
        if self.between:
            await self.between()
        return ChatResult(generations=[ChatGeneration(message=AIMessage("".join(self.words), id="a1"))])

    async def _astream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        for index, word in enumerate(self.words):
            last = index == len(self.words) - 1
            yield ChatGenerationChunk(
                message=AIMessageChunk(word, id="a1", chunk_position="last" if last else None)  # type: ignore[arg-type]
            )
            if index == 0 and self.between:
                await self.between()


def chain(*nodes: tuple[str, Any], schema: Any = State) -> StateGraph[Any, Any, Any, Any]:
    """The nodes one after the other."""
    graph = StateGraph(schema)
    before = START
    for name, node in nodes:
        graph.add_node(name, node)
        graph.add_edge(before, name)
        before = name
    return graph


def fan(**nodes: Any) -> StateGraph[Any, Any, Any, Any]:
    """The nodes beside each other."""
    graph = StateGraph(State)
    for name, node in nodes.items():
        graph.add_node(name, node)
        graph.add_edge(START, name)
    return graph


def two_nodes() -> Any:
    return chain(("one", lambda _: {"n": 1, "log": ["one"]}), ("two", lambda _: {"n": 2, "log": ["two"]}))


def chat(model: BaseChatModel | None = None) -> Any:
    """An answer in three chunks, then a whole message of a tool."""
    speaker = model or Words()

    async def talk(state: Any) -> Any:
        return {"messages": [await speaker.ainvoke(state["messages"])]}

    async def tool(_: Any) -> Any:
        return {"messages": [ToolMessage("42", tool_call_id="c1", id="t1")]}

    return chain(("talk", talk), ("tool", tool), schema=MessagesState)


@dataclass
class Seen:
    """All that a drive brought."""

    events: list[tuple[str, Any]] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    interrupts: list[PendingInterrupt] = field(default_factory=list)
    partials: list[PartialMessage] = field(default_factory=list)

    def add(self, progress: Progress) -> None:
        self.events += [(each.event, json.loads(each.data)) for each in progress.events]
        self.values += [progress.values] if progress.values is not None else []
        self.interrupts += progress.interrupts
        self.partials += [progress.partial] if progress.partial else []

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.events]


def stream(
    builder: StateGraph[Any, Any, Any, Any],
    modes: str,
    *,
    input: Any = None,
    saver: Any = None,
    configurable: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
    context: Any = None,
    **request: Any,
) -> Any:
    graph = builder.compile(checkpointer=saver or InMemorySaver())
    asked = RunRequest("assistant", "graph", stream_modes=tuple(modes.split()), **request)
    config: Any = {"configurable": {"thread_id": THREAD, **(configurable or {})}, "metadata": metadata or {}}
    return stream_graph(graph, {"n": 0} if input is None else input, config, asked, context)


async def watch(builder: StateGraph[Any, Any, Any, Any], modes: str, *, into: Seen | None = None, **options: Any) -> Seen:
    seen = into or Seen()
    async for progress in stream(builder, modes, **options):
        seen.add(progress)
    return seen
