"""Describes a graph for clients: its JSON schemas, its drawing, its subgraphs, in the shapes documented by LangGraph's SDKs.

Pure functions of a graph; they may take tens of milliseconds, so callers on an event loop use a thread. A schema that cannot be
generated (for a state with values that have no JSON form) is null: the graph can still be run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from langgraph.channels.base import BaseChannel
from langgraph.pregel import Pregel
from pydantic import BaseModel, ConfigDict, Field, create_model

from stepwell.errors import InvalidRequestError

AnyGraph = Pregel[Any, Any, Any, Any]
Schema = dict[str, Any]

_log = logging.getLogger(__name__)


def graph_schemas(graph_id: str, graph: AnyGraph) -> dict[str, Any]:
    """`graph_id` and the schemas of input, output, state, config and context; null if there is none."""
    context = _attempt(graph_id, "context", graph.get_context_jsonschema)
    return {
        "graph_id": graph_id,
        "input_schema": _attempt(graph_id, "input", graph.get_input_jsonschema),
        "output_schema": _attempt(graph_id, "output", graph.get_output_jsonschema),
        "state_schema": _attempt(graph_id, "state", lambda: _state_schema(graph)),
        # `config.configurable` accepts the same as `context`; LangGraph returns {} if nothing is declared.
        "config_schema": context if context is not None or graph.context_schema is not None else {},
        "context_schema": context,
    }


def graph_drawing(graph: AnyGraph, xray: bool | int = False) -> dict[str, Any]:
    """Nodes and edges; with `xray`, subgraphs are shown in place of the node that runs them, down to that depth if it is a number."""
    if not isinstance(xray, bool) and xray < 1:
        raise InvalidRequestError(f"xray is {xray}. Give true, false, or a depth of 1 or more.")
    drawn = graph.get_graph(xray=xray).to_json()
    # LangGraph includes the class that runs a node, which is internal and changes between its versions.
    for node in drawn["nodes"]:
        data = node.get("data")
        if isinstance(data, dict):
            node["data"] = {key: value for key, value in data.items() if key != "id"}
    return drawn


def subgraph_schemas(graph_id: str, graph: AnyGraph, namespace: str | None = None, recurse: bool = False) -> dict[str, Any]:
    """Namespace -> schemas of the subgraph there. Without `recurse`, only for subgraphs directly below the graph."""
    found = graph.get_subgraphs(namespace=namespace, recurse=recurse)
    return {name: graph_schemas(graph_id, subgraph) for name, subgraph in found if isinstance(subgraph, Pregel)}


def _attempt(graph_id: str, which: str, make: Callable[[], Schema | None]) -> Schema | None:
    try:
        return make()
    except Exception as error:  # pydantic and LangGraph raise many kinds for types without a schema
        _log.info("The %s schema of the graph '%s' cannot be generated: %s", which, graph_id, type(error).__name__)
        return None


def _state_schema(graph: AnyGraph) -> Schema:
    """A schema of the streamed channels, each of which may be absent."""
    channels = {name: graph.channels[name] for name in graph.stream_channels_list}
    # Fields are numbered, because a channel may have a name that pydantic does not allow (`__end__`).
    fields: dict[str, Any] = {
        f"channel_{number}": (channel.UpdateType, Field(default=None, alias=name, title=_title(name)))
        for number, (name, channel) in enumerate(channels.items())
        if isinstance(channel, BaseChannel)
    }
    model: type[BaseModel] = create_model(
        graph.get_name("State"), __config__=ConfigDict(arbitrary_types_allowed=True), **fields
    )
    return model.model_json_schema()


def _title(name: str) -> str:
    return name.replace("_", " ").strip().title()
