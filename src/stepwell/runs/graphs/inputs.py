"""What a graph accepts as input, if that is known before the graph runs.

For a state of named channels, LangGraph accepts an object and ignores unknown names, so with a message under a wrong name the graph would
run without input. Anything else fails, but only after LangGraph has dropped the thread's open interrupts. Graphs of one unnamed value, and
functions (`@entrypoint`), accept anything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from langgraph.graph.state import CompiledStateGraph
from langgraph.managed.base import is_managed_value
from langgraph.pregel import Pregel

from stepwell.answers.asking import worded

_ROOT = "__root__"
_MAX_NAMED = 20


def input_fields(graph: Pregel[Any, Any, Any, Any]) -> frozenset[str] | None:
    """The names of the input's fields; `None` if anything is accepted."""
    if isinstance(graph, CompiledStateGraph):
        channels = graph.builder.schemas[graph.builder.input_schema]
        names = frozenset(name for name, channel in channels.items() if not is_managed_value(channel))
        return None if names == {_ROOT} else names
    given = graph.input_channels
    return None if isinstance(given, str) else frozenset(given)


def output_fields(graph: Pregel[Any, Any, Any, Any]) -> frozenset[str] | None:
    """The names of the output's fields; `None` if it is one value."""
    given = graph.output_channels
    return None if isinstance(given, str) else frozenset(given)


def input_fault(graph_id: str, fields: Collection[str] | None, given: Any) -> str | None:
    """Why a graph can't accept an input, as a sentence. `fields` comes from `input_fields`."""
    if given is None or fields is None:
        return None
    named = ", ".join(sorted(fields)[:_MAX_NAMED])
    way_out = f"The graph '{graph_id}' takes an object with some of: {named}{', ...' if len(fields) > _MAX_NAMED else ''}."
    if not isinstance(given, Mapping):
        return f"The input is {worded(given)}. {way_out}"
    if given and not any(name in fields for name in given):
        return f"The input has no field that the graph knows. {way_out}"
    return None
