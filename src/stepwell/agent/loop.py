"""Builds LangChain's loop, without the work that is the same for every agent.

`create_agent` runs as LangChain wrote it, in a copy for which five of the names it uses mean something cheaper:

| name | LangChain's | here |
|---|---|---|
| `traceable` | wraps every hook for LangSmith | leaves our own hooks (`untraced`) as they are |
| `_resolve_schemas` | merges the state schemas | once per combination of schemas |
| `StateGraph` | resolves the types of each schema | once per schema |
| | disassembles the functions of nodes to find subgraphs | skips the model's and the tools', which have none |
| `ToolNode` | resolves the types of each tool to find injected arguments | once per function and schema of arguments |
| `_patch_invalid_tool_calls` | looks at every message before each model call, in Python | the same, if one of them has a malformed call |

The wrapper for LangSmith costs more than most of our hooks do, even with tracing off, and would run in every step.
A caller's hooks keep their spans, and so do the model and the tools. LangChain itself stays unchanged, for other agents too.
The caches hold classes, types and code, never an agent, a tool or a model, and each has a limit.

Only `build_loop` uses these private names. It checks them first (`_KNOWN`): where one differs, LangChain builds the agent by itself, which
only takes longer (tests/unit/agent/test_loop.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from inspect import isfunction
from types import CellType, FunctionType, MethodType
from typing import Any, cast

from langchain.agents import create_agent, factory
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langchain_core.tools import StructuredTool
from langgraph._internal._runnable import RunnableCallable
from langgraph.graph import state as graph_parts
from langgraph.graph.state import CompiledStateGraph, StateGraph
from langgraph.prebuilt import ToolNode, tool_node
from langsmith import traceable
from pydantic import BaseModel

_KNOWN: dict[tuple[Any, str], tuple[str, ...]] = {
    (factory, "_resolve_schemas"): ("schemas",),
    (factory, "_patch_invalid_tool_calls"): ("messages",),
    (graph_parts, "_get_channels"): ("schema",),
    (StateGraph, "_add_schema"): ("self", "schema", "allow_managed"),
    (tool_node, "_get_all_injected_args"): ("tool",),
    (ToolNode, "__init__"): ("self", "tools"),
}
"""The private functions that this module replaces or copies, with their parameters."""

_REPLACED = {"create_agent": create_agent, "traceable": traceable, "StateGraph": StateGraph, "ToolNode": ToolNode}


def build_loop(*args: Any, **options: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
    """What `create_agent` builds from the same arguments."""
    build: Callable[..., Any] = _cheap_create_agent() if is_known() else create_agent
    return cast("CompiledStateGraph[Any, Any, Any, Any]", build(*args, **options))


def is_known() -> bool:
    """Whether the installed LangChain and LangGraph have the names that are replaced."""
    return (
        isfunction(create_agent)
        and create_agent.__globals__ is vars(factory)
        and all(vars(factory).get(name) is value for name, value in _REPLACED.items())
        and all(parameters_of(*known) == names for known, names in _KNOWN.items())
    )


def parameters_of(owner: Any, name: str) -> tuple[str, ...]:
    """The names of a function's parameters; none if there is no such function."""
    code = getattr(getattr(owner, name, None), "__code__", None)
    return code.co_varnames[: code.co_argcount] if code else ()


def with_names(function: Any, **names: Any) -> Any:
    """A copy of a function for which some global names mean something else."""
    names = {**function.__globals__, **names}
    copied = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied


@cache
def _cheap_create_agent() -> Callable[..., Any]:
    resolve = factory._resolve_schemas
    resolve_once = lru_cache(maxsize=64)(lambda schemas: resolve(list(schemas)))
    return cast(
        "Callable[..., Any]",
        with_names(
            create_agent,
            traceable=_trace_callers,
            _resolve_schemas=lambda schemas: resolve_once(tuple(schemas)),
            StateGraph=_Graph,
            ToolNode=_build_tool_node,
            _patch_invalid_tool_calls=_answer_malformed_calls,
        ),
    )


def _trace_callers(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(hook: Callable[..., Any]) -> Callable[..., Any]:
        is_ours = getattr(getattr(hook, "__self__", None), "untraced", False)
        return hook if is_ours else cast("Callable[..., Any]", traceable(**options)(hook))

    return decorate


def _answer_malformed_calls(messages: Sequence[Any]) -> list[Any]:
    try:
        malformed = [message for message in messages if message.__dict__.get("invalid_tool_calls")]
    except AttributeError:  # a message in another form
        return factory._patch_invalid_tool_calls(messages)
    return factory._patch_invalid_tool_calls(messages) if malformed else list(messages)


class _Graph(StateGraph[Any, Any, Any, Any]):
    """A graph that is built once. Afterwards it is an ordinary `StateGraph`."""

    def _add_schema(self, schema: type[Any], /, allow_managed: bool = True) -> None:
        _schema_adder()(self, schema, allow_managed)

    def compile(self, *args: Any, **options: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
        self.__class__ = StateGraph  # type: ignore[assignment]  # the class that it extends, with the same attributes
        bare = {name: spec.runnable for name, spec in self.nodes.items() if _holds_no_graph(spec.runnable)}
        for name in bare:
            self.nodes[name].runnable = cast("Any", None)  # LangGraph would look for subgraphs in it
        try:
            compiled = self.compile(*args, **options)
        finally:
            for name, runnable in bare.items():
                self.nodes[name].runnable = runnable
        for name, runnable in bare.items():
            compiled.nodes[name].bound = cast("Any", runnable)
        return compiled


@cache
def _schema_adder() -> Callable[..., None]:
    channels_once = lru_cache(maxsize=256)(graph_parts._get_channels)
    return cast("Callable[..., None]", with_names(StateGraph._add_schema, _get_channels=channels_once))


def _holds_no_graph(runnable: Any) -> bool:
    """Whether a node is LangChain's own, with nothing in it that could be a subgraph."""
    if type(runnable) is ToolNode:
        return True
    function = runnable.func if type(runnable) is RunnableCallable else None
    if not isfunction(function) or function.__module__ != factory.__name__:
        return False
    return not any(map(_may_hold_graph, function.__closure__ or ()))


def _may_hold_graph(cell: CellType) -> bool:
    try:
        value = cell.cell_contents
    except ValueError:  # the cell of a name that was never set
        return False
    owner = getattr(value, "__self__", value)
    return isinstance(owner, Runnable) and not isinstance(owner, BaseChatModel)


def _build_tool_node(*args: Any, **options: Any) -> ToolNode:
    node = ToolNode.__new__(ToolNode)
    _tool_node_starter()(node, *args, **options)
    return node


@cache
def _tool_node_starter() -> Callable[..., None]:
    return cast("Callable[..., None]", with_names(ToolNode.__init__, _get_all_injected_args=_find_injected_args))


def _find_injected_args(tool: Any) -> Any:
    found = _known_args(tool)
    if not found:
        found.append(tool_node._get_all_injected_args(tool))
    return found[0]


def _known_args(tool: Any) -> list[Any]:
    """What an earlier tool with the same function and schema has; empty before the first one."""
    function = (tool.func or tool.coroutine) if type(tool) is StructuredTool else None
    function = function.__func__ if isinstance(function, MethodType) else function
    schema = getattr(tool, "args_schema", None)
    if not isfunction(function) or hasattr(function, "__wrapped__") or not _is_model(schema):
        return []
    try:
        return _args_of(schema, function.__code__, tuple(function.__annotations__.items()))
    except TypeError:  # an annotation that cannot be hashed
        return []


def _is_model(schema: Any) -> bool:
    return isinstance(schema, type) and issubclass(schema, BaseModel)


@lru_cache(maxsize=256)
def _args_of(schema: Any, code: Any, annotations: Any) -> list[Any]:
    return []
