"""Turns a stack into a graph: checks it, folds it, and builds LangChain's loop around it.

`create_deep_agent` ends here. An application that needs another order of middleware builds its own list and calls `compile_agent`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, cast, get_type_hints

from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.middleware.types import AgentMiddleware, AgentState
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool
from langgraph._internal._runnable import RunnableCallable
from langgraph.cache.base import BaseCache
from langgraph.constants import END, START
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel._write import ChannelWrite, ChannelWriteTupleEntry
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer
from typing_extensions import TypedDict, is_typeddict

from stepwell.agent.halves import complete_halves
from stepwell.agent.loop import build_loop
from stepwell.agent.quiet import quieten
from stepwell.agent.signals import let_signals_pass
from stepwell.errors import ConfigurationError, InvalidRequestError, ToolNameConflictError
from stepwell.middleware.file_order import FileOrderMiddleware
from stepwell.middleware.filesystem import FilesystemMiddleware
from stepwell.middleware.guarded_commands import guard_commands
from stepwell.middleware.hooks import HooksMiddleware
from stepwell.middleware.memory import MemoryMiddleware
from stepwell.middleware.moments.input import OnInput
from stepwell.middleware.request import fold, sections, with_sections
from stepwell.middleware.rewind.middleware import RewindMiddleware, check_input, mark_rewind
from stepwell.middleware.rubric import RubricMiddleware
from stepwell.middleware.run_modes import RunModesMiddleware, mark_run_modes
from stepwell.middleware.sight import SightMiddleware
from stepwell.middleware.skills import SkillsMiddleware
from stepwell.middleware.steering import SteeringMiddleware
from stepwell.middleware.subagents.known import carried_writes
from stepwell.middleware.summarization import SummarizationMiddleware
from stepwell.middleware.thread_arguments import ThreadArgumentsMiddleware, lighten
from stepwell.state.schema import DeepAgentState

RECURSION_LIMIT = 1000
_OVER_FILES = (FilesystemMiddleware, SkillsMiddleware, MemoryMiddleware)

Middleware = AgentMiddleware[Any, Any, Any]
Tool = BaseTool | dict[str, Any]
ToolLike = BaseTool | Callable[..., Any] | dict[str, Any]


def compile_agent(
    stack: Sequence[Middleware],
    *,
    model: BaseChatModel,
    tools: Sequence[ToolLike] = (),
    system_prompt: str | SystemMessage | None = None,
    response_format: Any = None,
    state_schema: type[Any] | None = None,
    context_schema: type[Any] | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    debug: bool = False,
    name: str | None = None,
    cache: BaseCache[Any] | None = None,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """A graph that runs the model in a loop with this stack around it, outermost first."""
    own_tools = convert_tools(tools)
    stack = record_files(hook_summaries(mount_files(stack)))
    check_tool_names(stack, own_tools)
    stack = _check_answers(guard_commands(stack), model)
    complete_halves(stack)
    let_signals_pass(stack)
    # The order of file changes comes before everything that may answer a call in place of its tool.
    outermost = [
        ThreadArgumentsMiddleware(),
        FileOrderMiddleware(),
        RunModesMiddleware(_approvals_in(stack)),
        SightMiddleware(model),
    ]
    folded = fold([*_steering_in(stack), *outermost, *(entry for entry in stack if not isinstance(entry, SteeringMiddleware))])
    graph = build_loop(
        model,
        own_tools,
        system_prompt=_prompt(system_prompt, sections(folded)),
        middleware=folded,
        response_format=response_format,
        state_schema=with_deep_state(state_schema),
        context_schema=context_schema,
        checkpointer=checkpointer,
        store=store,
        debug=debug,
        name=name,
        cache=cache,
    )
    _check_inputs(graph)
    _take_carried(graph)
    lighten(graph)
    quieten(graph)
    mark_run_modes(graph)
    if rewind := _rewind_in(stack):
        mark_rewind(graph, rewind)
        _check_orders(graph)
        _end_at_once(graph, f"{rewind.name}.before_agent")
    graph.config = {**(graph.config or {}), "recursion_limit": RECURSION_LIMIT}
    return graph


def _check_inputs(graph: CompiledStateGraph[Any, Any, Any, Any]) -> None:
    """Reject a string as input (LangGraph's error would blame a node) and a message (LangGraph would take its fields for state fields)."""
    for writer in graph.nodes[START].writers:
        if isinstance(writer, ChannelWrite):
            writer.writes = [_checked(entry) if isinstance(entry, ChannelWriteTupleEntry) else entry for entry in writer.writes]


def _check_orders(graph: CompiledStateGraph[Any, Any, Any, Any]) -> None:
    """Reject an order to go back in the input of a run that is no rewind, before it is in the thread."""
    graph.nodes[START].bound = RunnableCallable(check_input, trace=False)


def _take_carried(graph: CompiledStateGraph[Any, Any, Any, Any]) -> None:
    """Let a subagent begin with the private state of an earlier task, or of the agent that was forked."""
    writer = next(writer for writer in graph.nodes[START].writers if isinstance(writer, ChannelWrite))
    writer.writes = [*writer.writes, ChannelWriteTupleEntry(mapper=partial(carried_writes, graph))]


def _checked(entry: ChannelWriteTupleEntry) -> ChannelWriteTupleEntry:
    def write(given: Any) -> Any:
        if isinstance(given, str | list | tuple | BaseMessage):
            example = '{"messages": [{"role": "user", "content": "..."}]}'
            raise InvalidRequestError(
                f"The agent's input must be an object, not a {type(given).__name__}. Write agent.invoke({example})."
            )
        return entry.mapper(given)

    return entry._replace(mapper=write)


def _prompt(given: str | SystemMessage | None, more: Sequence[str]) -> SystemMessage | None:
    message = SystemMessage(given) if isinstance(given, str) else given
    return with_sections(message, more) if more else message


def convert_tools(tools: Iterable[ToolLike]) -> list[Tool]:
    """Turn functions into tools once, so that an agent and its subagents share the same objects."""
    return [_convert(item) for item in tools]


def _convert(item: ToolLike) -> Tool:
    if isinstance(item, BaseTool | dict):
        return item
    if not callable(item):
        raise ConfigurationError(f"{item!r} is not a tool. Pass a function, a LangChain tool, or a provider's tool as a dict.")
    try:
        return as_tool(item)
    except ValueError as error:
        label = getattr(item, "__name__", repr(item))
        raise ConfigurationError(
            f"The function '{label}' cannot become a tool: {error} Give it a docstring and type hints."
        ) from error


def mount_files(stack: Sequence[Middleware]) -> list[Middleware]:
    """The stack with each middleware's `mounts` (path -> backend) added to the agent's files."""
    mounts = {prefix: backend for entry in stack for prefix, backend in getattr(entry, "mounts", {}).items()}
    if not mounts:
        return list(stack)
    if not any(isinstance(entry, FilesystemMiddleware) for entry in stack):
        raise ConfigurationError(
            f"{', '.join(mounts)} cannot be mounted: the agent has no files. Add FilesystemMiddleware, or leave the mount out."
        )
    return [entry.with_mounts(mounts) if isinstance(entry, _OVER_FILES) else entry for entry in stack]


def record_files(stack: Sequence[Middleware]) -> list[Middleware]:
    """The stack with its file changes journaled, if its turns can be taken back."""
    rewind = _rewind_in(stack)
    if rewind is None:
        return list(stack)
    own = rewind.for_agent()
    record = own.recorder()
    with_own = [own if entry is rewind else entry for entry in stack]
    return [entry.with_record(record) if isinstance(entry, FilesystemMiddleware) else entry for entry in with_own]


def _rewind_in(stack: Sequence[Middleware]) -> RewindMiddleware | None:
    return next((entry for entry in stack if isinstance(entry, RewindMiddleware)), None)


def _end_at_once(graph: CompiledStateGraph[Any, Any, Any, Any], node: str) -> None:
    """Let a rewind end at its node. LangChain leads every end through `after_agent`, where a turn that was none would be checked."""
    for branch in graph.builder.branches[node].values():
        for destination in branch.ends or {}:
            if str(destination).endswith(".after_agent"):
                cast("dict[Any, str]", branch.ends)[destination] = END


def _approvals_in(stack: Sequence[Middleware]) -> Middleware | None:
    """The approvals of a stack. Permissions that ask a person need them."""
    approvals = next((entry for entry in stack if isinstance(entry, HumanInTheLoopMiddleware)), None)
    for entry in stack:
        if approvals is None and isinstance(entry, FilesystemMiddleware) and entry.rules and entry.rules.asking:
            raise ConfigurationError(
                "Some permissions have mode='interrupt', but the stack has no approvals to ask with. Build the agent with "
                "create_deep_agent(permissions=...), or add ApprovalMiddleware(approvals_for(PathRules(permissions)))."
            )
    return approvals


def _steering_in(stack: Sequence[Middleware]) -> list[Middleware]:
    """The stack's steering, which comes first: everything else sees the messages that it brings, checked by the stack's hooks."""
    checks = [entry for entry in stack if isinstance(entry, OnInput)]
    return [entry.with_checks(checks) if checks else entry for entry in stack if isinstance(entry, SteeringMiddleware)]


def hook_summaries(stack: Sequence[Middleware]) -> list[Middleware]:
    """The stack with hooks around its summaries, if a middleware of the stack brings any (`compaction_hooks`)."""
    brought = [entry.compaction_hooks() for entry in stack if isinstance(entry, HooksMiddleware)]
    hooks = [each for each in brought if each is not None]
    if not hooks:
        return list(stack)
    if not any(isinstance(entry, SummarizationMiddleware) for entry in stack):
        raise ConfigurationError(
            "before_compaction and after_compaction stand around the summaries of stepwell's SummarizationMiddleware, and this agent has "
            "none. Add it, or leave these hooks out."
        )
    return [entry.with_hooks(hooks) if isinstance(entry, SummarizationMiddleware) else entry for entry in stack]


def _check_answers(stack: Sequence[Middleware], model: BaseChatModel) -> list[Middleware]:
    """The stack in which the model that judges answers is this agent's, unless it is another, and pays like any of its calls."""
    outermost = [entry for entry in stack if getattr(entry, "stands_outermost", False)]
    return [entry.for_agent(model, outermost) if isinstance(entry, RubricMiddleware) else entry for entry in stack]


def check_tool_names(stack: Iterable[Middleware], tools: Iterable[Tool]) -> None:
    """Reject two tools with the same name, because LangChain would silently use the later one."""
    stack = list(stack)
    ways_out = {middleware.name: getattr(middleware, "if_names_conflict", "") for middleware in stack}
    owners: dict[str, str] = {}
    named = [(tool_name(tool), middleware.name) for middleware in stack for tool in getattr(middleware, "tools", ())]
    for name, owner in [*named, *((tool_name(tool), "the tools argument") for tool in tools)]:
        if name is None:
            continue
        if name in owners:
            way_out = ways_out.get(owner) or ways_out.get(owners[name]) or ""
            raise ToolNameConflictError(name, owners[name], owner, way_out)
        owners[name] = owner


def tool_name(tool: Tool) -> str | None:
    """A tool's name. A provider's own tool may have no name."""
    if isinstance(tool, BaseTool):
        return tool.name
    function = tool.get("function")
    return tool.get("name") or (function.get("name") if isinstance(function, dict) else None)


def with_deep_state(schema: type[Any] | None) -> type[Any]:
    """The caller's state merged with ours: `files` is always ours, and so is `messages` unless the caller chose a channel for it."""
    if schema is None:
        return DeepAgentState
    if not is_typeddict(schema):
        raise ConfigurationError(f"state_schema must be a TypedDict class, not {schema!r}. Derive it from DeepAgentState.")
    return _merge(schema)  # type: ignore[arg-type]  # classes are hashable; mypy doubts it for `type[Any]`


@lru_cache(maxsize=64)
def _merge(schema: Any) -> type[Any]:
    ours = get_type_hints(DeepAgentState, include_extras=True)
    theirs = get_type_hints(schema, include_extras=True)
    plain = get_type_hints(AgentState, include_extras=True)
    fields = {**ours, **theirs, "files": ours["files"]}
    if theirs.get("messages") in (None, plain["messages"]):
        fields["messages"] = ours["messages"]
    return cast("type[Any]", TypedDict(schema.__name__, fields))  # type: ignore[operator]  # made at run time from two schemas
