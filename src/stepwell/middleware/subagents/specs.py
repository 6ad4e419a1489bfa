"""How a subagent is described, and the checks of a description before anything is built."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict, cast, get_args

from langchain.agents.middleware.human_in_the_loop import InterruptOnConfig
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from typing_extensions import TypeIs

from stepwell.backends.permissions import FilesystemPermission, check_permissions
from stepwell.errors import ConfigurationError, SubAgentSpecError
from stepwell.middleware.skills.listing import SkillSource, place_of

GENERAL_PURPOSE = "general-purpose"
FORK = "fork"
SubAgentMode = Literal["fresh", "fork"]


class SubAgent(TypedDict):
    """A subagent that is built when it is first called. Without its own `model`, `tools` or `interrupt_on` it uses the main agent's."""

    name: str
    """Its name in the `task` tool: letters, digits, `-` and `_`."""
    description: str
    """When to use the subagent; the main agent sees this text."""
    system_prompt: NotRequired[str]
    prompt: NotRequired[str]
    """The older name of `system_prompt`."""
    tools: NotRequired[Sequence[BaseTool | Callable[..., Any] | dict[str, Any]]]
    model: NotRequired[str | BaseChatModel]
    model_settings: NotRequired[Mapping[str, Any]]
    """Model settings for this subagent only, such as `temperature`."""
    middleware: NotRequired[Sequence[AgentMiddleware[Any, Any, Any]]]
    interrupt_on: NotRequired[Mapping[str, bool | InterruptOnConfig]]
    response_format: NotRequired[Any]
    permissions: NotRequired[Sequence[FilesystemPermission]]
    """Replaces the main agent's permissions."""
    skills: NotRequired[Sequence[SkillSource]]
    """Folders with skills of its own; it does not see the main agent's."""
    memory: NotRequired[Sequence[str]]
    """Memory files of its own; it does not see the main agent's."""
    timeout_s: NotRequired[float]
    """How long one call may take. Time spent waiting for a person does not count."""
    continuable: NotRequired[bool]
    """Whether the main agent may continue an earlier task: results name their id, and `task` takes it as `task_id`."""
    mode: NotRequired[SubAgentMode]
    """`fork`: it sees the main agent's conversation, and has the same model, prompt and tools. Its own `system_prompt` may be left out."""


class CompiledSubAgent(TypedDict):
    """A subagent that is already a graph (or any runnable over `messages`)."""

    name: str
    description: str
    runnable: Runnable[Any, Any]
    timeout_s: NotRequired[float]
    continuable: NotRequired[bool]


SubAgentSpec = SubAgent | CompiledSubAgent

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOT_FOR_FORKS = ("tools", "model", "model_settings", "middleware", "response_format", "permissions", "skills", "memory")
"""What a fork has from the main agent, because the provider's cache serves only requests that begin alike."""
_KNOWN_KEYS = SubAgent.__annotations__.keys() | CompiledSubAgent.__annotations__.keys()


def check_specs(specs: Sequence[SubAgentSpec]) -> list[SubAgentSpec]:
    """Return the descriptions if all are valid; otherwise raise an error that names the first invalid one."""
    given: object = specs
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise SubAgentSpecError("subagents must be a list of subagents. Wrap a single one in a list.")
    checked: list[SubAgentSpec] = []
    names: set[str] = set()
    for position, spec in enumerate(specs):
        _check(spec, position)
        if spec["name"] in names:
            raise SubAgentSpecError(f"Two subagents are named '{spec['name']}'. Give each its own name.")
        names.add(spec["name"])
        checked.append(spec)
    return checked


def is_compiled(spec: SubAgentSpec) -> TypeIs[CompiledSubAgent]:
    """Whether a subagent is already a graph."""
    return "runnable" in spec


def is_fork(spec: SubAgentSpec) -> bool:
    """Whether a subagent sees the main agent's conversation."""
    return spec.get("mode") == FORK


def prompt_of(spec: SubAgent) -> str:
    """The subagent's own instructions, under their current or older name."""
    return spec.get("system_prompt") or spec.get("prompt") or ""


def _check(spec: SubAgentSpec, position: int) -> None:
    given = cast("Mapping[str, Any]", spec)
    if not isinstance(given, Mapping):
        raise SubAgentSpecError(
            f"Subagent {position} is a {type(given).__name__}; it must be a dict with name and description."
        )
    name = given.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SubAgentSpecError(f"Subagent {position} is named {name!r}. Use 1 to 64 letters, digits, '-' or '_'.")
    if not isinstance(given.get("description"), str) or not given["description"].strip():
        raise SubAgentSpecError(f"Subagent '{name}' has no description. Say when the main agent should call it.")
    if unknown := sorted(given.keys() - _KNOWN_KEYS):
        raise SubAgentSpecError(
            f"Subagent '{name}' has unknown keys: {', '.join(unknown)}. Known keys: {', '.join(sorted(_KNOWN_KEYS))}."
        )
    _check_sources(name, given)
    _check_mode(name, given)
    if "runnable" in given:
        _check_compiled(name, given)
    elif not prompt_of(cast("SubAgent", spec)) and not is_fork(spec):
        raise SubAgentSpecError(
            f"Subagent '{name}' has no system_prompt. Tell it its task, or pass a compiled graph as runnable."
        )
    try:
        check_permissions(given.get("permissions", ()))
    except ConfigurationError as error:
        raise SubAgentSpecError(f"Subagent '{name}': {error}") from error
    timeout_s = given.get("timeout_s")
    if timeout_s is not None and not (isinstance(timeout_s, (int, float)) and timeout_s > 0):
        raise SubAgentSpecError(
            f"Subagent '{name}' has timeout_s={timeout_s!r}. Give a number of seconds above 0, or leave it out."
        )


def _check_sources(name: str, given: Mapping[str, Any]) -> None:
    for key in ("skills", "memory"):
        if isinstance(given.get(key), str):
            raise SubAgentSpecError(f"Subagent '{name}' has {key}={given[key]!r}. Pass a list: [{given[key]!r}].")
    for source in given.get("skills") or ():
        place_of(source)


def _check_mode(name: str, given: Mapping[str, Any]) -> None:
    mode = given.get("mode", "fresh")
    if mode not in get_args(SubAgentMode):
        raise SubAgentSpecError(
            f"Subagent '{name}' has mode={mode!r}. Use 'fork' to let it see the conversation, or leave it out."
        )
    if mode == FORK and (surplus := [key for key in _NOT_FOR_FORKS if key in given]):
        raise SubAgentSpecError(
            f"Subagent '{name}' has mode='fork', so it has the main agent's {', '.join(surplus)}. Leave out either these keys or the mode."
        )
    if not isinstance(continuable := given.get("continuable", False), bool):
        raise SubAgentSpecError(f"Subagent '{name}' has continuable={continuable!r}. Write True or False.")


def _check_compiled(name: str, given: Mapping[str, Any]) -> None:
    if not callable(getattr(given["runnable"], "invoke", None)):
        raise SubAgentSpecError(
            f"Subagent '{name}' has a runnable without invoke(). Pass a compiled graph or another runnable."
        )
    surplus = sorted(given.keys() - CompiledSubAgent.__annotations__.keys())
    if surplus:
        raise SubAgentSpecError(
            f"Subagent '{name}' is compiled already, so {', '.join(surplus)} cannot apply. Build them into the graph."
        )
