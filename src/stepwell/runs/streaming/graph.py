"""Drives a graph and turns what LangGraph streams into what is sent: `stream_graph`.

It knows nothing of threads, leases or the journal, which belong to the engine. `chunks` turns chunks into progress. Errors of the graph
pass through.

**Interrupts.** A task that calls `interrupt()` is reported at the moment it stops, while its siblings continue. If the caller streams
subgraphs, an interrupt inside one is seen at once, with the subgraph's namespace and the inner task. Otherwise it is seen when the root's
task that runs the subgraph stops, with that task and an empty namespace. The id is the same in both cases. `Progress.interrupts` never
comes later than an event that shows the interrupt.

**Stopping.** The caller must close the iterator (`contextlib.aclosing`) or be cancelled itself; either cancels every running node and
model call before it returns.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel

from stepwell.database.documents.book import DocumentBook
from stepwell.database.types import RunRequest
from stepwell.runs.run_config import context_for
from stepwell.runs.streaming.chunks import ChunkReader, WatchTask
from stepwell.runs.streaming.modes import Namespace, StreamPlan, plan_stream
from stepwell.runs.streaming.progress import PartialMessage, Progress
from stepwell.runs.streaming.steps import hide_in_errors

__all__ = ["PartialMessage", "Progress", "stream_graph"]

Graph = Pregel[Any, Any, Any, Any]

_Chunk = tuple[Namespace, str, Any] | tuple[str, Any]
"""Mode and payload, preceded by the namespace if subgraphs are streamed."""
_ROOT: Namespace = ()


async def stream_graph(
    graph: Graph,
    input: Any,
    config: RunnableConfig,
    request: RunRequest,
    context: Any = None,
    documents: DocumentBook | None = None,
    watch_task: WatchTask | None = None,
) -> AsyncGenerator[Progress, None]:
    """Drive `graph` to its end, its next interrupt or its error, yielding its progress."""
    streams = plan_stream(request.stream_modes, request.stream_subgraphs)
    reading, secrets = ChunkReader(streams, documents, watch_task), request.secrets
    options = _options(graph, streams, request, context)
    read_graph = partial(_with_callback_events, graph) if "events" in streams.wanted else graph.astream
    chunks = cast("AsyncGenerator[_Chunk, None]", read_graph(input, config, **options))
    async with aclosing(chunks):
        async for chunk in chunks:
            namespace, mode, payload = chunk if len(chunk) == 3 else (_ROOT, *chunk)
            if secrets:
                payload = hide_in_errors(mode, payload, secrets)
            if (progress := reading.read(namespace, mode, payload)) is not None:
                yield progress
        if (rest := reading.rest()) is not None:
            yield rest


def _options(graph: Graph, streams: StreamPlan, request: RunRequest, context: Any) -> dict[str, Any]:
    return {
        "stream_mode": list(streams.langgraph_modes),
        "subgraphs": streams.langgraph_subgraphs,
        "interrupt_before": request.interrupt_before or None,
        "interrupt_after": request.interrupt_after or None,
        # LangGraph warns when there is nothing to make durable.
        "durability": request.durability if graph.checkpointer else None,
        "context": context_for(graph.context_schema, context),
    }


async def _with_callback_events(
    graph: Graph, input: Any, config: RunnableConfig, **options: Any
) -> AsyncGenerator[_Chunk, None]:
    """The same chunks, interleaved with the callback events of everything that runs inside the graph."""
    # LangChain fills in a config before it looks at the graph's own config, and LangChain's default limit is small.
    if (limit := (graph.config or {}).get("recursion_limit")) and "recursion_limit" not in config:
        config = {**config, "recursion_limit": limit}
    stream = cast("AsyncGenerator[Any, None]", graph.astream_events(input, config, version="v2", **options))
    root: str | None = None
    async with aclosing(stream):
        async for event in stream:
            root = root or event["run_id"]
            if event["run_id"] != root or event["event"] != "on_chain_stream":
                yield "events", event
            else:
                yield event["data"]["chunk"]
