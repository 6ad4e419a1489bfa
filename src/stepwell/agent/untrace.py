"""Removes LangChain's tracing wrapper from our own hooks.

`create_agent` wraps every hook of every middleware for LangSmith. The wrapper costs more than most of our hooks do, even with
tracing off, and runs twice in every step. Our hooks only prepare requests and guard results. The spans of the model and the tools stay,
and they show everything worth seeing.

This module changes what `create_agent` built: the tool node's wrappers, and the closures of the model node. If a new LangChain builds
them differently, we find no wrappers: nothing breaks, steps get a little slower, and tests/unit/agent/test_untrace.py fails.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import isfunction
from typing import Any

from langgraph._internal._runnable import RunnableCallable
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode

_BUILDER = "langchain.agents.factory"


def untrace(graph: CompiledStateGraph[Any, Any, Any, Any]) -> int:
    """Let the graph call our hooks directly. Returns the number of wrappers removed."""
    found = 0
    model = graph.nodes["model"].bound
    if isinstance(model, RunnableCallable):
        found += sum(_clean(function, set()) for function in (model.func, model.afunc) if isfunction(function))
    tools = graph.nodes["tools"].bound if "tools" in graph.nodes else None
    if isinstance(tools, ToolNode):
        found += _clean_attribute(tools, "_wrap_tool_call") + _clean_attribute(tools, "_awrap_tool_call")
    return found


def _clean_attribute(node: ToolNode, name: str) -> int:
    wrapper = getattr(node, name, None)
    if hook := _hook_of_ours(wrapper):
        setattr(node, name, hook)
        return 1
    return _clean(wrapper, set()) if isfunction(wrapper) else 0


def _clean(function: Callable[..., Any], seen: set[int]) -> int:
    """Unwrap our hooks in the closures of one of LangChain's functions, and in the closures of the functions found there."""
    seen.add(id(function))
    found = 0
    for cell in getattr(function, "__closure__", None) or ():
        try:
            content = cell.cell_contents
        except ValueError:  # the cell of a name that was never set
            continue
        if hook := _hook_of_ours(content):
            cell.cell_contents = hook
            found += 1
        elif isfunction(content) and content.__module__ == _BUILDER and id(content) not in seen:
            found += _clean(content, seen)
    return found


def _hook_of_ours(candidate: Any) -> Callable[..., Any] | None:
    """The hook inside a tracing wrapper, if its middleware is marked `untraced`."""
    if not getattr(candidate, "__langsmith_traceable__", False):
        return None
    hook: Callable[..., Any] | None = getattr(candidate, "__wrapped__", None)
    return hook if getattr(getattr(hook, "__self__", None), "untraced", False) else None
