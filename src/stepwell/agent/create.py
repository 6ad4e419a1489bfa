"""`create_deep_agent` turns a model, tools and a few choices into a LangGraph graph.

```
resolve the model -> resolve the backend -> default_stack() -> compile_agent(stack)
```
Subagents are described now and compiled when they are first called.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain.agents.middleware.human_in_the_loop import InterruptOnConfig
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langgraph.cache.base import BaseCache
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from stepwell.agent.approvals import check_approvals
from stepwell.agent.arguments import accept_early_form, check_arguments, check_sources, check_subagent_models
from stepwell.agent.compile import Middleware, Tool, ToolLike, compile_agent, convert_tools
from stepwell.agent.stack import default_stack
from stepwell.backends.permissions import FilesystemPermission, check_permissions
from stepwell.backends.protocol import BackendFactory, BackendProtocol
from stepwell.backends.state import StateBackend
from stepwell.errors import ConfigurationError
from stepwell.middleware.background import AsyncSubAgent, AsyncSubAgentMiddleware
from stepwell.middleware.background.specs import is_background
from stepwell.middleware.filesystem import FilesystemMiddleware
from stepwell.middleware.guarded_commands import guard_commands
from stepwell.middleware.hooks import HooksMiddleware
from stepwell.middleware.prompts import load_prompt
from stepwell.middleware.request import with_sections
from stepwell.middleware.rewind.middleware import RewindMiddleware
from stepwell.middleware.skills import SkillSource
from stepwell.middleware.subagents.specs import (
    GENERAL_PURPOSE,
    SubAgent,
    SubAgentSpec,
    check_specs,
    is_compiled,
    is_fork,
    prompt_of,
)
from stepwell.middleware.subagents.task import SubAgentMiddleware
from stepwell.models import capabilities_of, describe, resolve_model

_log = logging.getLogger(__name__)

GENERAL_PURPOSE_DESCRIPTION = "for anything; has your tools and files."


@accept_early_form
def create_deep_agent(
    model: str | BaseChatModel | None = None,
    tools: Sequence[ToolLike] | None = None,
    *,
    system_prompt: str | SystemMessage | None = None,
    middleware: Sequence[Middleware] = (),
    subagents: Sequence[SubAgentSpec | AsyncSubAgent] | None = None,
    response_format: Any = None,
    context_schema: type[Any] | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    backend: BackendProtocol | BackendFactory | None = None,
    interrupt_on: Mapping[str, bool | InterruptOnConfig] | None = None,
    debug: bool = False,
    name: str | None = None,
    cache: BaseCache[Any] | None = None,
    state_schema: type[Any] | None = None,
    permissions: Sequence[FilesystemPermission] = (),
    skills: Sequence[SkillSource] | None = None,
    memory: Sequence[str] | None = None,
    instructions: str | None = None,
    config_schema: type[Any] | None = None,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build a deep agent: it plans, keeps files, delegates, stays within its context and asks for approval.

    The early form `create_deep_agent(tools, instructions, model, ...)` works too: if the first argument is a list, it is the tools.

    Args:
        model: An instance, `"provider:name"`, or None for the environment's choice (Claude Sonnet 4.6 where only an Anthropic key is set).
        tools: Functions, LangChain tools or provider tools (dicts), in addition to the built-in ones. The model searches for those with
            `extras={"defer_loading": True}`.
        system_prompt: What this agent is for; our own guidance follows it.
        middleware: More capabilities. An instance of the same kind as a default replaces that default.
        subagents: Subagents that `task` can call, in addition to `general-purpose`. A subagent with that name replaces the built-in one.
            One with `mode="background"` (`AsyncSubAgent`) works in the background, through `start_async_task`.
        response_format: A schema for a structured final answer.
        context_schema: The type of the run's context, which is passed on to subagents.
        checkpointer: Stores threads between runs; needed for approvals.
        store: Stores data across threads.
        backend: Where files live: a backend, or a function from a tool's runtime to one. Agent state by default.
        interrupt_on: Tools that need a person's approval. It also applies inside subagents that have no `interrupt_on` of their own.
        debug: Print each step.
        name: The agent's name in streams and traces.
        cache: LangGraph's node cache.
        state_schema: More state; derive it from `DeepAgentState`.
        permissions: Which paths the file tools may read and change; the first rule that matches wins. Subagents use the same, unless they
            have `permissions` of their own.
        skills: Folders with skills, or `(folder, label)`. The agent sees what each skill is for, and reads it when a task needs it.
        memory: Files that the agent always knows, such as `["/AGENTS.md"]`.
        instructions: The older name of `system_prompt`.
        config_schema: The older name of `context_schema`.

    Raises:
        ConfigurationError: If the agent cannot be built with these arguments; the message says what to change.
    """
    given_prompt = _one_of("system_prompt", system_prompt, "instructions", instructions)
    check_arguments(tools, middleware, backend, given_prompt)
    check_sources(skills, memory)
    ordinary, middleware = _without_background(subagents, middleware)
    middleware = [entry.for_agent() if isinstance(entry, RewindMiddleware) else entry for entry in middleware]
    chosen = resolve_model(model)
    if not capabilities_of(chosen).tools:
        _log.warning("The model %s is not reliable with tools; a deep agent will mostly fail with it.", describe(chosen).name)
    recipe = _Recipe(
        model=chosen,
        tools=convert_tools(tools or ()),
        backend=_backend(backend, middleware),
        middleware=tuple(middleware),
        interrupt_on=interrupt_on,
        response_format=response_format,
        context_schema=_one_of("context_schema", context_schema, "config_schema", config_schema),
        state_schema=state_schema,
        store=store,
        cache=cache,
        debug=debug,
        name=name,
        permissions=check_permissions(permissions or ()),
        skills=skills or (),
        memory=memory or (),
    )
    prompt = _main_prompt(given_prompt)
    specs = _with_general_purpose(check_specs(ordinary), prompt, recipe)
    check_subagent_models(specs)
    check_approvals(interrupt_on, recipe.tools, recipe.middleware, specs)
    recipe.check_commands(specs)

    def build(spec: SubAgent) -> CompiledStateGraph[Any, Any, Any, Any]:
        return recipe.build_fork(spec, prompt, delegation) if is_fork(spec) else recipe.build_subagent(spec)

    delegation = SubAgentMiddleware(subagents=specs, build=build)
    for entry in middleware:
        if isinstance(entry, AsyncSubAgentMiddleware):
            entry.offer_build(recipe.build_subagent)
    return recipe.compile(prompt, delegation, checkpointer)


@dataclass(frozen=True, slots=True)
class _Recipe:
    """What an agent is built from. Subagents start from the same recipe and change what their spec sets."""

    model: BaseChatModel
    tools: list[Tool]
    backend: BackendProtocol | BackendFactory
    middleware: tuple[Middleware, ...]
    interrupt_on: Mapping[str, bool | InterruptOnConfig] | None
    response_format: Any
    context_schema: type[Any] | None
    state_schema: type[Any] | None
    store: BaseStore | None
    cache: BaseCache[Any] | None
    debug: bool
    name: str | None
    permissions: tuple[FilesystemPermission, ...]
    skills: Sequence[SkillSource]
    memory: Sequence[str]

    def compile(
        self, prompt: str | SystemMessage, delegation: SubAgentMiddleware | None, checkpointer: Checkpointer
    ) -> CompiledStateGraph[Any, Any, Any, Any]:
        stack = default_stack(
            self.model,
            backend=self.backend,
            subagents=delegation,
            middleware=self.middleware,
            interrupt_on=self.interrupt_on,
            tools=self.tools,
            permissions=self.permissions,
            skills=self.skills,
            memory=self.memory,
        )
        return compile_agent(
            stack,
            model=self.model,
            tools=self.tools,
            system_prompt=prompt,
            response_format=self.response_format,
            state_schema=self.state_schema,
            context_schema=self.context_schema,
            checkpointer=checkpointer,
            store=self.store,
            debug=self.debug,
            name=self.name,
            cache=self.cache,
        )

    def check_commands(self, specs: Sequence[SubAgentSpec]) -> None:
        """Reject subagents whose commands cannot be held to their permissions. Later, only the model would see it."""
        for spec in specs:
            if not is_compiled(spec) and (permissions := spec.get("permissions", self.permissions)):
                guard_commands(
                    [FilesystemMiddleware(backend=self.backend, permissions=permissions), *self._middleware_of(spec)]
                )

    def _middleware_of(self, spec: SubAgent) -> tuple[Middleware, ...]:
        """The main agent's middleware that applies everywhere (a budget, say) unless the subagent replaces it; then the subagent's own."""
        everywhere = [entry for entry in self.middleware if getattr(entry, "reaches_subagents", False)]
        own = tuple(spec.get("middleware", ()))
        if any(isinstance(entry, RewindMiddleware) for entry in everywhere):  # a thread has one journal
            own = tuple(entry for entry in own if not isinstance(entry, RewindMiddleware))
        return (*(entry for entry in everywhere if not any(_replaces(other, entry) for other in own)), *own)

    def build_subagent(self, spec: SubAgent) -> CompiledStateGraph[Any, Any, Any, Any]:
        """Build a subagent, whose choices override this agent's. It gets no checkpointer, because nested graphs use their parent's."""
        settings = spec.get("model_settings")
        model = spec.get("model", self.model)
        changed = replace(
            self,
            model=resolve_model(model, model_settings=settings),
            tools=convert_tools(spec["tools"]) if "tools" in spec else self.tools,
            middleware=self._middleware_of(spec),
            interrupt_on=spec.get("interrupt_on", self.interrupt_on),
            response_format=spec.get("response_format"),
            name=spec["name"],
            permissions=check_permissions(spec.get("permissions", self.permissions)),
            skills=spec.get("skills", ()),
            memory=spec.get("memory", ()),
        )
        prompt = "\n\n".join([prompt_of(spec), load_prompt("subagent")])
        return changed.compile(prompt, None, None)

    def build_fork(
        self, spec: SubAgent, prompt: SystemMessage, delegation: SubAgentMiddleware
    ) -> CompiledStateGraph[Any, Any, Any, Any]:
        """Build a copy of this agent that answers with text and starts no subagents. Its requests begin like this agent's."""
        changed = replace(
            self,
            middleware=tuple(
                entry.without_starts() if isinstance(entry, AsyncSubAgentMiddleware) else entry for entry in self.middleware
            ),
            interrupt_on=spec.get("interrupt_on", self.interrupt_on),
            response_format=None,
            name=spec["name"],
        )
        return changed.compile(prompt, delegation.without_calls(), None)


def _without_background(
    subagents: Sequence[SubAgentSpec | AsyncSubAgent] | None, middleware: Sequence[Middleware]
) -> tuple[Sequence[SubAgentSpec], Sequence[Middleware]]:
    """The ordinary subagents, and the middleware with one more for those that work in the background, if there are any."""
    given: Any = subagents or ()
    if not isinstance(given, Sequence) or isinstance(given, str) or not any(map(is_background, given)):
        return given, middleware
    background = [spec for spec in given if is_background(spec)]
    ordinary = [spec for spec in given if not is_background(spec)]
    return ordinary, [*middleware, AsyncSubAgentMiddleware(async_subagents=background)]


def _with_general_purpose(specs: list[SubAgentSpec], prompt: SystemMessage, recipe: _Recipe) -> list[SubAgentSpec]:
    """Add a subagent for any task, with the main agent's own instructions, tools and capabilities."""
    if any(spec["name"] == GENERAL_PURPOSE for spec in specs):
        return specs
    general: SubAgent = {
        "name": GENERAL_PURPOSE,
        "description": GENERAL_PURPOSE_DESCRIPTION,
        "system_prompt": prompt.text,
        "middleware": [entry for entry in recipe.middleware if _reaches_general_purpose(entry)],
    }
    if recipe.skills:
        general["skills"] = recipe.skills
    if recipe.memory:
        general["memory"] = recipe.memory
    return [general, *specs]


def _replaces(own: Middleware, inherited: Middleware) -> bool:
    """Whether a subagent's middleware takes the place of the main agent's. Hooks add up, because a check must not get lost."""
    if isinstance(inherited, HooksMiddleware):
        return own is inherited
    return type(own) is type(inherited)


def _reaches_general_purpose(entry: Middleware) -> bool:
    """Whether the built-in subagent has the main agent's middleware too: all of it, unless it says otherwise."""
    return not isinstance(entry, SubAgentMiddleware) and getattr(entry, "reaches_subagents", True)


def _backend(
    given: BackendProtocol | BackendFactory | None, middleware: Sequence[Middleware]
) -> BackendProtocol | BackendFactory:
    """Where files live. A caller's own file middleware decides this for subagents too, which would otherwise write to a different place."""
    chosen = [given, *(entry.backend for entry in middleware if isinstance(entry, FilesystemMiddleware))]
    return next((backend for backend in chosen if backend is not None), StateBackend())


def _main_prompt(prompt: str | SystemMessage | None) -> SystemMessage:
    given = SystemMessage(prompt) if isinstance(prompt, str) else prompt
    return with_sections(given, [load_prompt("base")])


def _one_of(name: str, value: Any, older_name: str, older_value: Any) -> Any:
    if value is not None and older_value is not None:
        raise ConfigurationError(f"{older_name} is the older name of {name}. Pass one of them.")
    return older_value if value is None else value
