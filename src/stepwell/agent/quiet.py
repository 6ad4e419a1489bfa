"""Shorter ways through a step while no callback listens.

LangChain and LangGraph prepare every call for callbacks: a manager per node, model and tool, in async code a task for each, and a
copy of the whole conversation in the form that traces want. Without a handler nothing reads any of that, so here it is left out.

| part | the ordinary way | while no callback listens |
|---|---|---|
| a node and its writers | a run of its own, a context; async: a task | the context only |
| the model | two runs around `_generate`; async: three tasks | LangChain's function that knows cache, rate limit and streaming |
| a tool | its type hints resolved three times, a run; async: a task | arguments validated, function called |
| a model's messages | each converted, validated and formatted for traces | passed on, if all are text (with callbacks too) |
| a step's only tool call | a thread; async: a task | where its node runs (with callbacks too) |

A handler on the run, the model or the tool, LangSmith, `set_debug` and `get_usage_metadata_callback` all take the ordinary way.
A tool call gets its own thread as before if it may start another agent: nested agents would add up on one stack.

Only `quieten` uses these private names of LangChain and LangGraph. It checks them first (`_KNOWN`): where one differs, the graph stays as
it was built, and steps are only slower (tests/unit/agent/test_quiet.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextvars import Context, ContextVar, copy_context
from functools import cache, cached_property, lru_cache, partial
from inspect import isfunction
from operator import attrgetter
from types import CellType
from typing import Any, cast

from langchain.tools import ToolRuntime
from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    BaseCallbackManager,
    CallbackManager,
    CallbackManagerForLLMRun,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models import chat_models as model_parts
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableBinding, RunnableConfig
from langchain_core.runnables.config import ensure_config, run_in_executor, var_child_runnable_config
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.tools import base as tool_parts
from langchain_core.utils.uuid import uuid7
from langgraph._internal._runnable import RunnableCallable, RunnableSeq
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.pregel._read import PregelNode
from langgraph.pregel._write import ChannelWrite

from stepwell.agent.loop import parameters_of, with_names

_KNOWN: dict[tuple[Any, str], tuple[str, ...]] = {
    (RunnableSeq, "invoke"): ("self", "input", "config"),
    (RunnableSeq, "ainvoke"): ("self", "input", "config"),
    (ChannelWrite, "_write"): ("self", "input", "config"),
    (ToolNode, "_func"): ("self", "input", "config", "runtime"),
    (ToolNode, "_afunc"): ("self", "input", "config", "runtime"),
    (ToolNode, "_parse_input"): ("self", "input"),
    (ToolNode, "_extract_state"): ("self", "input", "config"),
    (ToolNode, "_run_one"): ("self", "call", "input_type", "tool_runtime"),
    (ToolNode, "_arun_one"): ("self", "call", "input_type", "tool_runtime"),
    (ToolNode, "_execute_tool_sync"): ("self", "request", "input_type", "config"),
    (ToolNode, "_execute_tool_async"): ("self", "request", "input_type", "config"),
    (ToolNode, "_combine_tool_outputs"): ("self", "outputs", "input_type"),
    (BaseTool, "_to_args_and_kwargs"): ("self", "tool_input", "tool_call_id"),
    (ToolRuntime, "__init__"): (
        *("self", "state", "context", "config", "stream_writer", "tool_call_id", "store"),
        *("tools", "execution_info", "server_info"),
    ),
    (tool_parts, "_format_output"): ("content", "artifact", "tool_call_id", "name", "status"),
    (tool_parts, "_get_runnable_config_param"): ("func",),
    (BaseChatModel, "_generate_with_cache"): ("self", "messages", "stop", "run_manager"),
    (BaseChatModel, "_agenerate_with_cache"): ("self", "messages", "stop", "run_manager"),
    (BaseChatModel, "generate"): ("self", "messages", "stop", "callbacks"),
    (BaseChatModel, "agenerate"): ("self", "messages", "stop", "callbacks"),
    (model_parts, "_normalize_messages"): ("messages",),
    (model_parts, "_format_for_tracing"): ("messages",),
}
"""The private functions that this module calls or replaces, with their parameters."""

_STARTS_AGENTS = "task"
_TOLD = ("callbacks", "tags", "metadata", "run_name", "run_id")
_TEXT = frozenset({str})
_content_of = attrgetter("content")  # in C: every step reads the whole conversation
_runs_here: ContextVar[bool] = ContextVar("stepwell_tool_runs_here", default=False)


def quieten(graph: CompiledStateGraph[Any, Any, Any, Any]) -> bool:
    """Let the graph take the shorter ways. Returns whether they fit the installed LangChain and LangGraph."""
    model = graph.nodes["model"].bound
    cell = _cell(model.func, "_execute_model_sync", "_get_bound_model") if isinstance(model, RunnableCallable) else None
    if cell is None or not all(parameters_of(*known) == names for known, names in _KNOWN.items()):
        return False
    cell.cell_contents = partial(_bind_quietly, cell.cell_contents)
    for node in graph.nodes.values():
        if type(node) is PregelNode:
            node.__class__ = _QuietNode
        if type(tools := node.bound) is ToolNode:
            calls = _QuietCalls(tools)
            tools.func, tools.afunc = calls.run, calls.arun
            vars(tools).update(_execute_tool_sync=calls.execute, _execute_tool_async=calls.aexecute)
    return True


def _cell(function: Any, *path: str) -> CellType | None:
    """The cell of a name in a function's closure, or in the closure of a function found there."""
    if not isfunction(function) or path[0] not in function.__code__.co_freevars:
        return None
    cell = (function.__closure__ or ())[function.__code__.co_freevars.index(path[0])]
    return cell if len(path) == 1 else _cell(cell.cell_contents, *path[1:])


def _listens(config: Mapping[str, Any], called: Any) -> bool:
    """Whether LangChain would find a handler for a call of this model or tool."""
    return bool(CallbackManager.configure(config.get("callbacks"), called.callbacks, called.verbose).handlers)


def _is_heard(config: Mapping[str, Any]) -> bool:
    """Whether a node runs with a handler. Its graph has already looked for all that there are."""
    callbacks = config.get("callbacks")
    return not isinstance(callbacks, BaseCallbackManager) or bool(callbacks.handlers)


class _QuietNode(PregelNode):
    @cached_property
    def node(self) -> Any:
        built = PregelNode.node.func(self)  # type: ignore[attr-defined]  # a cached property, which mypy takes for its value
        if type(built) is RunnableSeq:
            built.__class__ = _QuietSeq
        return built


class _QuietSeq(RunnableSeq):
    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        if config is None or _is_heard(config):
            return super().invoke(input, config, **kwargs)
        config, context = _enter(config)
        value = context.run(self.steps[0].invoke, input, config, **kwargs)
        for writer in self.steps[1:]:
            value = writer.invoke(value, config)
        return value

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        if config is None or _is_heard(config):
            return await super().ainvoke(input, config, **kwargs)
        config, context = _enter(config)
        value = await _Within(context, self.steps[0].ainvoke(input, config, **kwargs))
        for writer in self.steps[1:]:
            value = writer.invoke(value, config) if type(writer) is ChannelWrite else await writer.ainvoke(value, config)
        return value


def _enter(config: RunnableConfig) -> tuple[RunnableConfig, Context]:
    """A node's config, whose name is not that of the calls in the node, and a context in which it is the current one."""
    own = cast("RunnableConfig", {key: value for key, value in config.items() if key not in ("run_name", "run_id")})
    context = copy_context()
    context.run(var_child_runnable_config.set, own)
    return own, context


class _Within:
    """Awaits a coroutine in a context of its own, as a task would, but without a task."""

    __slots__ = ("_context", "_work")

    def __init__(self, context: Context, work: Any) -> None:
        self._context = context
        self._work = work

    def __await__(self) -> Generator[Any, Any, Any]:
        run, work = self._context.run, self._work
        try:
            waited = run(work.send, None)
            while True:
                try:
                    sent = yield waited
                except GeneratorExit:
                    run(work.close)
                    raise
                except BaseException as error:  # a cancellation, or the failure of what was waited for
                    waited = run(work.throw, error)
                else:
                    waited = run(work.send, sent)
        except StopIteration as done:
            return done.value


def _bind_quietly(bind: Callable[[Any], tuple[Any, Any]], request: Any) -> tuple[Any, Any]:
    bound, response_format = bind(request)
    if (
        _inherits(cast("Any", type(bound)), RunnableBinding, _CALLS)
        and _inherits(cast("Any", type(bound.bound)), BaseChatModel, _WAY_TO_MODEL)
        and not (bound.config or bound.config_factories or response_format)
        and _FOR_TRACES.isdisjoint(bound.kwargs)
    ):
        return _QuietModel(bound), None
    return bound, response_format


_FOR_TRACES = frozenset({"ls_structured_output_format", "structured_output_format"})
_CALLS = ("invoke", "ainvoke")
_WAY_TO_MODEL = (*_CALLS, "generate_prompt", "agenerate_prompt", "generate", "agenerate")
_WAY_TO_FUNCTION = (*_CALLS, "run", "arun", "_run", "_arun")


@lru_cache(maxsize=512)
def _inherits(kind: Any, base: Any, methods: tuple[str, ...]) -> bool:
    """Whether a class leaves these methods to a class of LangChain."""
    return issubclass(kind, base) and all(getattr(kind, name) is getattr(base, name) for name in methods)


class _QuietModel:
    """A model with its tools, as LangChain's loop calls it."""

    __slots__ = ("_bound",)

    def __init__(self, bound: RunnableBinding[Any, Any]) -> None:
        self._bound = bound

    def invoke(self, messages: Sequence[BaseMessage]) -> AIMessage:
        model, prepared, told = self._prepare(messages)
        if prepared is None:
            return cast("AIMessage", self._bound.invoke(messages))
        if told is not None:
            heard = _generate_from_text("generate")(model, [prepared], **told, **self._bound.kwargs)
            return cast("AIMessage", heard.generations[0][0].message)
        listener = CallbackManagerForLLMRun(run_id=uuid7(), handlers=[], inheritable_handlers=[])
        result = model._generate_with_cache(prepared, run_manager=listener, **self._bound.kwargs)
        return cast("AIMessage", result.generations[0].message)

    async def ainvoke(self, messages: Sequence[BaseMessage]) -> AIMessage:
        model, prepared, told = self._prepare(messages)
        if prepared is None:
            return cast("AIMessage", await self._bound.ainvoke(messages))
        if told is not None:
            heard = await _generate_from_text("agenerate")(model, [prepared], **told, **self._bound.kwargs)
            return cast("AIMessage", heard.generations[0][0].message)
        await asyncio.sleep(0)  # else a run whose model and tools never wait would keep the event loop to itself
        listener = AsyncCallbackManagerForLLMRun(run_id=uuid7(), handlers=[], inheritable_handlers=[])
        result = await model._agenerate_with_cache(prepared, run_manager=listener, **self._bound.kwargs)
        return cast("AIMessage", result.generations[0].message)

    def _prepare(
        self, messages: Sequence[BaseMessage]
    ) -> tuple[BaseChatModel, list[BaseMessage] | None, dict[str, Any] | None]:
        """The model; what it is sent, or None if the ordinary way has to be taken; and what callbacks are told, if any listens."""
        model = cast("BaseChatModel", self._bound.bound)
        try:
            is_text = _TEXT.issuperset(map(type, map(_content_of, messages)))
        except AttributeError:  # a message in another form, which LangChain converts
            return model, None, None
        if not _listens(var_child_runnable_config.get() or {}, model):
            return model, list(messages) if is_text else cast("Any", model_parts)._normalize_messages(messages), None
        config = ensure_config()
        return model, list(messages) if is_text else None, {name: config.get(name) for name in _TOLD}


@cache
def _generate_from_text(name: str) -> Callable[..., Any]:
    """LangChain's function that calls a model and its callbacks, without its conversions, which leave text as it is."""
    generate = getattr(BaseChatModel, name)
    return cast("Callable[..., Any]", with_names(generate, _format_for_tracing=list, _normalize_messages=list))


class _QuietCalls:
    """What a tool node does instead of its own functions, which it still has for turns with several calls."""

    def __init__(self, node: ToolNode) -> None:
        self._node = node
        self._func, self._afunc = node._func, node._afunc
        self._execute, self._aexecute = node._execute_tool_sync, node._execute_tool_async
        self._quiet_tools: dict[str, _QuietTool] = {}

    def run(self, input: Any, config: RunnableConfig, runtime: Any) -> Any:
        calls, kind = self._node._parse_input(input)
        if len(calls) != 1 or not _may_run_here(calls[0]["name"]):
            return self._func(input, config, runtime)
        _runs_here.set(True)
        done = self._node._run_one(calls[0], kind, self._runtime(input, calls[0], config, runtime))
        return self._node._combine_tool_outputs([done], kind)

    async def arun(self, input: Any, config: RunnableConfig, runtime: Any) -> Any:
        calls, kind = self._node._parse_input(input)
        if len(calls) != 1:
            return await self._afunc(input, config, runtime)
        done = await self._node._arun_one(calls[0], kind, self._runtime(input, calls[0], config, runtime))
        return self._node._combine_tool_outputs([done], kind)

    def execute(self, request: ToolCallRequest, input_type: Any, config: RunnableConfig) -> Any:
        return self._execute(self._quiet(request, config), input_type, config)

    def aexecute(self, request: ToolCallRequest, input_type: Any, config: RunnableConfig) -> Any:
        return self._aexecute(self._quiet(request, config), input_type, config)

    def _runtime(self, input: Any, call: Any, config: RunnableConfig, runtime: Any) -> ToolRuntime[Any, Any]:
        own = ensure_config(config)
        return ToolRuntime(
            state=self._node._extract_state(input, own),
            tool_call_id=call["id"],
            config=own,
            context=runtime.context,
            store=runtime.store,
            stream_writer=runtime.stream_writer,
            tools=list(self._node.tools_by_name.values()),
            execution_info=runtime.execution_info,
            server_info=runtime.server_info,
        )

    def _quiet(self, request: ToolCallRequest, config: RunnableConfig) -> ToolCallRequest:
        tool = cast("Any", request.tool)
        if not _runs_plainly(tool) or _listens(config, tool):
            return request
        quiet = self._quiet_tools.get(tool.name)
        if quiet is None or quiet.tool is not tool:
            quiet = self._quiet_tools[tool.name] = _QuietTool(tool)
        return ToolCallRequest(request.tool_call, cast("BaseTool", quiet), request.state, request.runtime)


def _may_run_here(name: str) -> bool:
    if name == _STARTS_AGENTS or _runs_here.get():
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return True
    return False  # a sync run inside async code: the tool may want an event loop of its own


def _runs_plainly(tool: Any) -> bool:
    return (
        _inherits(cast("Any", type(tool)), StructuredTool, _WAY_TO_FUNCTION)
        and tool.response_format == "content"
        and not tool.handle_tool_error
        and not tool.handle_validation_error
    )


class _QuietTool:
    """A tool that is called without callbacks. Everything else about it is the tool's own."""

    __slots__ = ("_config_names", "tool")

    def __init__(self, tool: StructuredTool) -> None:
        self.tool = tool
        find = tool_parts._get_runnable_config_param
        self._config_names = [find(function) if function else None for function in (tool.func, tool.coroutine)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tool, name)

    def invoke(self, call: Mapping[str, Any], config: RunnableConfig) -> Any:
        if self.tool.func is None:
            return self.tool.invoke(dict(call), config)
        args, kwargs = self._arguments(call, config, self._config_names[0])
        return self._output(call, self.tool.func(*args, **kwargs))

    def ainvoke(self, call: Mapping[str, Any], config: RunnableConfig) -> Awaitable[Any]:
        return self._await(call, config) if self.tool.coroutine else run_in_executor(config, self.invoke, call, config)

    async def _await(self, call: Mapping[str, Any], config: RunnableConfig) -> Any:
        args, kwargs = self._arguments(call, config, self._config_names[1])
        return self._output(call, await cast("Any", self.tool.coroutine)(*args, **kwargs))

    def _arguments(
        self, call: Mapping[str, Any], config: RunnableConfig, config_name: str | None
    ) -> tuple[Any, dict[str, Any]]:
        args, kwargs = self.tool._to_args_and_kwargs(dict(call["args"]), call["id"])
        return args, {**kwargs, config_name: config} if config_name else kwargs

    def _output(self, call: Mapping[str, Any], content: Any) -> Any:
        return tool_parts._format_output(content, None, call["id"], self.tool.name, "success")
