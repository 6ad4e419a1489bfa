"""Binds a graph to its saver and store, and the saver to the list of classes that the graph's checkpoints may contain.

Checkpoints are read strictly: a class that is not on the list comes back as plain data. LangGraph makes that list for a graph only if
`LANGGRAPH_STRICT_MSGPACK` was set before LangGraph was imported, and loses the list when a graph is copied. So the list is made here, by
the same private function, from the same sources: the schemas of the graph and of its nodes, and its channels. Subgraphs write with the
root's saver, so their classes are on the list too. Only this module uses these private names, and a test checks that they still exist.

Not on the list: classes the schemas don't show (a field of type `Any`, the result of a `@task`). A project names such classes in
`checkpointer.serde.allowed_msgpack_modules` of its langgraph.json.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, get_args, get_origin, get_type_hints

from langgraph._internal._serde import build_serde_allowlist
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.func import entrypoint
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore

AnyGraph = Pregel[Any, Any, Any, Any]
AllowList = frozenset[tuple[str, ...]]

_CREATE_AGENT = "langchain_create_agent"
_SUMMARY = "summary"
_UNNAMED = "LangGraph"
"""LangGraph's name for a graph without one."""


def allowed_classes(graph: AnyGraph, extra: Collection[tuple[str, ...]] = ()) -> AllowList:
    """(module, name) of every class that may be read back from the graph's checkpoints."""
    found: set[tuple[str, ...]] = set(extra)
    for one in (graph, *(subgraph for _, subgraph in graph.get_subgraphs(recurse=True))):
        if isinstance(one, Pregel):
            found |= one._serde_allowlist or set()
            found |= build_serde_allowlist(schemas=_schemas(one), channels=dict(one.channels))
    return frozenset(found)


def _schemas(graph: AnyGraph) -> list[Any]:
    schemas: list[Any] = [graph.context_schema]
    if isinstance(graph, CompiledStateGraph):
        builder = graph.builder
        schemas += [builder.state_schema, builder.input_schema, builder.output_schema]
        schemas += [node.input_schema for node in builder.nodes.values()]
        schemas += [branch.input_schema for named in builder.branches.values() for branch in named.values()]
    else:
        schemas += [hint for node in graph.nodes.values() for hint in _hints_of_function(node.bound)]
    return [schema for schema in schemas if schema is not None]


def _hints_of_function(runnable: object) -> list[Any]:
    """The parameter and return types of an `@entrypoint` function. Its channels have them too, but as text if annotations are postponed."""
    function = getattr(runnable, "func", None) or getattr(runnable, "afunc", None)
    try:
        hints = get_type_hints(function) if function else {}
    except (NameError, TypeError, AttributeError):
        return []  # an annotation that exists only for type checkers; the channels' types must be enough
    return [part for hint in hints.values() for part in (get_args(hint) if get_origin(hint) is entrypoint.final else (hint,))]


def bind(
    graph: AnyGraph, graph_id: str, allowed: AllowList, saver: BaseCheckpointSaver[Any] | None, store: BaseStore | None
) -> AnyGraph:
    """A copy of the graph that stores its state with `saver` and its items with `store`, whatever it was compiled with, and shows no
    private state to clients."""
    return graph.copy(
        update={
            "checkpointer": saver.with_allowlist(allowed) if saver is not None else None,
            "store": store,
            "name": graph_id if graph.name == _UNNAMED else graph.name,
            "stream_channels": public_channels(graph),
        }
    )


def public_channels(graph: AnyGraph) -> str | Sequence[str] | None:
    """What states and streams show. In an agent of LangChain's `create_agent`, that is all but what middleware declares private
    (`PrivateStateAttr`): it is neither in the input nor in the output. A summary is shown, because it stands for messages of the user's.
    Other graphs show all of their state, as on LangGraph's server."""
    shown = graph.stream_channels
    made_by = ((graph.config or {}).get("metadata") or {}).get("ls_integration")
    if made_by != _CREATE_AGENT or not isinstance(graph, CompiledStateGraph) or isinstance(shown, str):
        return shown
    schemas = graph.builder.schemas
    declared = {*schemas[graph.builder.input_schema], *schemas[graph.builder.output_schema], _SUMMARY}
    return [name for name in graph.stream_channels_list if name in declared]
