"""Checks the arguments of `create_deep_agent`, so that a mistake is reported where it was made and not deep inside a run.

This module builds nothing and imports no SDK. Tool names, subagents' descriptions and approvals are checked by their own modules.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.messages import SystemMessage

from stepwell.backends.composite import CompositeBackend
from stepwell.backends.filesystem import FilesystemBackend
from stepwell.backends.foreign import accept
from stepwell.errors import ConfigurationError, ModelUnavailableError, SubAgentSpecError
from stepwell.middleware.subagents.specs import SubAgentSpec
from stepwell.models import choose_model
from stepwell.settings import Settings
from stepwell.validation import suggest

P = ParamSpec("P")
R = TypeVar("R")

_EARLY_FORM = ("tools", "instructions", "model", "subagents", "state_schema", "config_schema", "checkpointer")
"""The order of the arguments in earlier versions, where the model was not yet the first."""


def accept_early_form(create: Callable[P, R]) -> Callable[P, R]:
    """Let a function that takes the model first also be called as `create(tools, instructions, ...)`. For an unknown argument, the error
    suggests the closest known one."""
    known = inspect.signature(create).parameters

    @functools.wraps(create)
    def call(*given: P.args, **named: P.kwargs) -> R:
        for name in named.keys() - known.keys():
            hint = suggest(name, known) or f" It takes: {', '.join(known)}."
            raise TypeError(f"{create.__name__}() has no argument '{name}'.{hint}")
        if given and isinstance(given[0], list | tuple) and len(given) <= len(_EARLY_FORM):
            early = dict(zip(_EARLY_FORM, given, strict=False))
            if twice := early.keys() & named.keys():
                raise TypeError(f"{create.__name__}() got the argument '{min(twice)}' twice.")
            return create(**{**early, **named})  # type: ignore[arg-type,call-arg]  # checked by create itself
        return create(*given, **named)

    return call


def check_arguments(tools: object, middleware: object, backend: object, prompt: object) -> None:
    """Reject arguments of the wrong type; the message names the argument and says what to write instead."""
    _check_list("tools", tools)
    _check_list("middleware", middleware)
    for entry in middleware if isinstance(middleware, Iterable) else ():
        _check_middleware(entry)
    # Other backend classes are allowed: calling one with a tool's runtime makes a backend.
    if isinstance(backend, type) and issubclass(backend, FilesystemBackend | CompositeBackend):
        raise ConfigurationError(f"backend is the class {backend.__name__}. Pass an instance: {backend.__name__}(...).")
    if backend is not None and not callable(backend) and not hasattr(accept(backend), "ls_info"):
        raise ConfigurationError(
            f"backend is a {type(backend).__name__}. Pass a backend, such as FilesystemBackend(root_dir=...), "
            "or a function that makes one from a tool's runtime."
        )
    if prompt is not None and not isinstance(prompt, str | SystemMessage):
        raise ConfigurationError(f"system_prompt is a {type(prompt).__name__}. Pass a string or a SystemMessage.")


def check_subagent_models(specs: Iterable[SubAgentSpec]) -> None:
    """Reject a subagent whose model name is invalid. If it were noticed later, when the subagent is built, only the model would see it."""
    named: list[tuple[str, Any]] = [(spec["name"], spec["model"]) for spec in specs if isinstance(spec.get("model"), str)]  # type: ignore[typeddict-item]  # absent in compiled ones
    settings = Settings.load() if named else Settings()
    for name, model in named:
        try:
            choose_model(model, settings)
        except ModelUnavailableError as error:
            raise SubAgentSpecError(f"Subagent '{name}' cannot use its model. {error}") from error


def check_sources(skills: object, memory: object) -> None:
    """Reject a single path in place of a list, before it is handed on to a subagent, which the error would name."""
    for name, given in (("skills", skills), ("memory", memory)):
        if isinstance(given, str):
            raise ConfigurationError(f"{name} is the text {given!r}. Pass a list of paths: [{given!r}].")


def _check_list(argument: str, given: object) -> None:
    if given is not None and (isinstance(given, str | Mapping) or not isinstance(given, Iterable)):
        raise ConfigurationError(f"{argument} is a {type(given).__name__}; it must be a list. Wrap a single item in a list.")


def _check_middleware(entry: object) -> None:
    if isinstance(entry, type):
        raise ConfigurationError(f"The middleware {entry.__name__} is a class. Pass an instance: {entry.__name__}(...).")
    if not isinstance(entry, AgentMiddleware):
        raise ConfigurationError(f"A {type(entry).__name__} is not middleware. Pass instances of AgentMiddleware.")
