"""The order of capabilities around the model. `agent.compile` puts what every graph has in front of it; no other module knows the order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from langchain.agents.middleware import HumanInTheLoopMiddleware, TodoListMiddleware
from langchain.agents.middleware import SummarizationMiddleware as LangChainSummarization
from langchain_core.language_models import BaseChatModel

from stepwell.agent.compile import Middleware, ToolLike
from stepwell.backends.permissions import FilesystemPermission
from stepwell.backends.protocol import BackendFactory, BackendProtocol
from stepwell.errors import ConfigurationError
from stepwell.middleware.approvals import ApprovalMiddleware
from stepwell.middleware.clarify import ClarifyWithHumanMiddleware
from stepwell.middleware.client_tools import ClientToolsMiddleware
from stepwell.middleware.effects import EffectsMiddleware, declares_once
from stepwell.middleware.filesystem import FilesystemMiddleware
from stepwell.middleware.memory import MemoryMiddleware
from stepwell.middleware.patch_tool_calls import PatchToolCallsMiddleware
from stepwell.middleware.path_approvals import approvals_for, merge_approvals
from stepwell.middleware.prompt_caching import prompt_caching
from stepwell.middleware.side_questions import SideQuestionMiddleware
from stepwell.middleware.skills import SkillsMiddleware, SkillSource
from stepwell.middleware.steering import SteeringMiddleware
from stepwell.middleware.stubborn import StubbornModelMiddleware
from stepwell.middleware.subagents.task import SubAgentMiddleware
from stepwell.middleware.summarization import SummarizationMiddleware
from stepwell.middleware.todos import PlanningMiddleware
from stepwell.middleware.tool_search import ToolSearchMiddleware, ask_once_loaded
from stepwell.tools.catalog import is_deferred

_KINDS: tuple[tuple[type[Any], ...], ...] = (
    (TodoListMiddleware,),
    (FilesystemMiddleware,),
    (SubAgentMiddleware,),
    (SummarizationMiddleware, LangChainSummarization),
    (PatchToolCallsMiddleware,),
    (HumanInTheLoopMiddleware,),
)
"""Classes of which a stack has only one instance, so a caller's instance replaces the default."""


def default_stack(
    model: BaseChatModel,
    *,
    backend: BackendProtocol | BackendFactory,
    subagents: SubAgentMiddleware | None = None,
    middleware: Sequence[Middleware] = (),
    interrupt_on: Mapping[str, Any] | None = None,
    tools: Sequence[ToolLike] = (),
    permissions: Sequence[FilesystemPermission] = (),
    skills: Sequence[SkillSource] = (),
    memory: Sequence[str] = (),
) -> list[Middleware]:
    """The stack of a deep agent, outermost first. `tools` are only inspected: if one declares `once`, the stack journals
    effects, and if one is deferred, the model searches."""
    files = _files(backend, permissions, middleware)
    middleware = [files if isinstance(entry, FilesystemMiddleware) else entry for entry in middleware]
    middleware, approvals = _approvals(_asked(interrupt_on, tools, middleware), files, middleware)
    defaults: list[Middleware | None] = [
        SteeringMiddleware() if subagents else None,  # `compile_agent` puts it before everything else
        PlanningMiddleware(),  # first, so that the plan comes before everything the agent does
        _brought(ClarifyWithHumanMiddleware, middleware),  # questions come before the work that depends on the answers
        files,  # before anything that may store something in a file
        _skills(skills, backend, middleware),  # after the files, with whose tools skills are read
        _brought(ClientToolsMiddleware, middleware),  # after the files, among which it mounts the user's own files
        subagents,  # None inside a subagent
        _tool_search(tools, middleware),  # after everything that brings tools
        SideQuestionMiddleware() if subagents else None,  # after everything that brings tools, which it takes away
        StubbornModelMiddleware(),  # before the summary, which would cost a model call even if this middleware then stops the run
        SummarizationMiddleware(model),  # after everything that adds to the conversation, before what depends on its final form
        prompt_caching(model),  # marks the end of the unchanging part; does nothing for models without a cache
        _memory(memory, backend, middleware),  # after the mark, because it changes whenever somebody edits a file
        _effects(tools, middleware),  # outside of patching, so that a tool's failure is journaled as the result made of it
        PatchToolCallsMiddleware(),  # sees the messages as the model will, and is closest to the tools
    ]
    # Approvals are last: a person sees the call exactly as it will run.
    return _with_callers([entry for entry in defaults if entry], list(middleware), approvals)


def _files(
    backend: BackendProtocol | BackendFactory, permissions: Sequence[FilesystemPermission], middleware: Sequence[Middleware]
) -> FilesystemMiddleware:
    """The file tools. The caller's own get the agent's permissions, unless they have some."""
    default = FilesystemMiddleware(backend=backend, permissions=permissions)
    own = _replacement(default, middleware)
    if not isinstance(own, FilesystemMiddleware):
        return default
    return own.with_permissions(permissions) if permissions and not own.permissions else own


def _asked(
    interrupt_on: Mapping[str, Any] | None, tools: Sequence[ToolLike], middleware: Sequence[Middleware]
) -> Mapping[str, Any] | None:
    """The caller's approvals, which ask only about calls that may run."""
    if not interrupt_on:
        return None
    asked = ask_once_loaded(interrupt_on, _all_tools(tools, middleware))
    skills = _brought(SkillsMiddleware, middleware)
    return skills.ask_once_read(asked) if isinstance(skills, SkillsMiddleware) else asked


def _approvals(
    interrupt_on: Mapping[str, Any] | None, files: FilesystemMiddleware, middleware: Sequence[Middleware]
) -> tuple[list[Middleware], Middleware | None]:
    """The callers' middleware, and our approvals; None if nothing asks. Permissions that ask are added to the caller's own approvals, if
    there are any."""
    asking = approvals_for(files.rules) if files.rules else {}
    own = _replacement(ApprovalMiddleware(interrupt_on={}), middleware)
    wanted = merge_approvals(interrupt_on, asking)
    default = ApprovalMiddleware(interrupt_on=wanted) if interrupt_on or (asking and own is None) else None
    if not asking or not isinstance(own, HumanInTheLoopMiddleware):
        return list(middleware), default
    guarded = copy(own)
    guarded.interrupt_on = ApprovalMiddleware(interrupt_on=merge_approvals(own.interrupt_on, asking)).interrupt_on
    return [guarded if entry is own else entry for entry in middleware], default


def _brought(kind: type[Middleware], middleware: Sequence[Middleware]) -> Middleware | None:
    """The caller's middleware of this kind, which has a fixed place among the defaults; None if the caller brought none."""
    return next((entry for entry in middleware if isinstance(entry, kind)), None)


def _skills(
    sources: Sequence[SkillSource], backend: BackendProtocol | BackendFactory, middleware: Sequence[Middleware]
) -> Middleware | None:
    return SkillsMiddleware(backend=backend, sources=sources) if sources else _brought(SkillsMiddleware, middleware)


def _memory(
    sources: Sequence[str], backend: BackendProtocol | BackendFactory, middleware: Sequence[Middleware]
) -> Middleware | None:
    return MemoryMiddleware(backend=backend, sources=sources) if sources else _brought(MemoryMiddleware, middleware)


def _effects(tools: Sequence[ToolLike], middleware: Sequence[Middleware]) -> EffectsMiddleware | None:
    """The journal of effects; None if no tool declares `once`."""
    return EffectsMiddleware() if declares_once(_all_tools(tools, middleware)) else None


def _tool_search(tools: Sequence[ToolLike], middleware: Sequence[Middleware]) -> Middleware | None:
    """The search for deferred tools; None if no tool is deferred."""
    if brought := _brought(ToolSearchMiddleware, middleware):
        return brought
    return ToolSearchMiddleware() if any(map(is_deferred, _all_tools(tools, middleware))) else None


def _all_tools(tools: Sequence[ToolLike], middleware: Sequence[Middleware]) -> list[Any]:
    """The caller's tools, and those that the caller's middleware brings."""
    return [*tools, *(tool for entry in middleware for tool in getattr(entry, "tools", ()))]


def _with_callers(defaults: list[Middleware], callers: list[Middleware], approvals: Middleware | None) -> list[Middleware]:
    """The defaults (or the caller's replacements for them), then the caller's other middleware, then approvals.

    Middleware with `stands_outermost` (a budget, which must see every model call) comes before everything else.
    """
    stack = [_replacement(entry, callers) or entry for entry in defaults]
    if approvals is not None:
        approvals = _replacement(approvals, callers) or approvals
    placed = {id(entry) for entry in [*stack, approvals]}
    others = [entry for entry in callers if id(entry) not in placed]
    outermost = [entry for entry in others if getattr(entry, "stands_outermost", False)]
    inner = [entry for entry in others if entry not in outermost]
    return [*outermost, *stack, *inner, *([approvals] if approvals else [])]


def _replacement(default: Middleware, callers: Sequence[Middleware]) -> Middleware | None:
    kind = next((classes for classes in _KINDS if isinstance(default, classes)), (type(default),))
    found = [entry for entry in callers if isinstance(entry, kind)]
    if len(found) > 1:
        names = " and ".join(entry.name for entry in found)
        raise ConfigurationError(f"The middleware {names} do the same thing. Keep one of them.")
    return found[0] if found else None
