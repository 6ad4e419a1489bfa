"""How a background subagent is described, and the checks of a description."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict, cast, get_args

from langchain.agents.middleware.human_in_the_loop import InterruptOnConfig
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from stepwell.backends.permissions import FilesystemPermission
from stepwell.errors import SubAgentSpecError
from stepwell.middleware.skills.listing import SkillSource
from stepwell.middleware.subagents.specs import CompiledSubAgent, SubAgent, check_specs
from stepwell.tools.background import UpdateStrategy

TIMEOUT_S = 3600.0
"""How long one run of a task may take, by default."""


class AsyncSubAgent(TypedDict):
    """A subagent that works in the background.

    It is one of three: a description like that of `SubAgent` (with `system_prompt`), a graph (`runnable`), or a graph on a server
    (`graph_id`; with `url` on somebody else's). The first two run in this process, or on our server as runs of their own.
    """

    name: str
    """Its name in `start_async_task`: letters, digits, `-` and `_`."""
    description: str
    """When to use it; the main agent sees this text."""
    mode: NotRequired[Literal["background"]]
    """Tells it apart from an ordinary subagent in `create_deep_agent(subagents=...)`. Not needed beside `graph_id`."""
    system_prompt: NotRequired[str]
    prompt: NotRequired[str]
    tools: NotRequired[Sequence[BaseTool | Callable[..., Any] | dict[str, Any]]]
    model: NotRequired[str | BaseChatModel]
    model_settings: NotRequired[Mapping[str, Any]]
    middleware: NotRequired[Sequence[AgentMiddleware[Any, Any, Any]]]
    interrupt_on: NotRequired[Mapping[str, bool | InterruptOnConfig]]
    response_format: NotRequired[Any]
    permissions: NotRequired[Sequence[FilesystemPermission]]
    skills: NotRequired[Sequence[SkillSource]]
    memory: NotRequired[Sequence[str]]
    runnable: NotRequired[Runnable[Any, Any]]
    graph_id: NotRequired[str]
    """A graph, or an assistant, on the server at `url`; without `url`, on the server that runs the main agent."""
    url: NotRequired[str]
    headers: NotRequired[Mapping[str, str]]
    """Sent with every request to `url`."""
    timeout_s: NotRequired[float]
    """How long one run of a task may take; an hour by default."""
    notify_parent: NotRequired[bool]
    """Whether the end of a task wakes the main agent; True by default."""
    update_strategy: NotRequired[UpdateStrategy]
    """What another message does to a task that is still working: `"interrupt"` it (the default), or `"enqueue"` behind it."""
    webhook: NotRequired[str]
    """Where the server reports the end of each run of a task."""


_OWN = frozenset({"mode", "notify_parent", "update_strategy", "webhook"})
_OF_SERVER = frozenset({"graph_id", "url", "headers"})
_KNOWN = AsyncSubAgent.__annotations__.keys()


def is_background(spec: object) -> bool:
    """Whether a description in `subagents=` is that of a background subagent."""
    return isinstance(spec, Mapping) and ("graph_id" in spec or spec.get("mode") == "background")


def check_background(specs: Sequence[AsyncSubAgent]) -> dict[str, AsyncSubAgent]:
    """The descriptions by name, if all are valid; otherwise raises an error that names the first invalid one."""
    if not specs:
        raise SubAgentSpecError("At least one async subagent is needed. Leave the middleware out to have none.")
    names = [spec.get("name") for spec in specs]
    if twice := sorted({str(name) for name in names if names.count(name) > 1}):
        raise SubAgentSpecError(f"Duplicate async subagent names: {', '.join(twice)}. Give each its own name.")
    for spec in specs:
        _check(spec)
    return {spec["name"]: spec for spec in specs}


def without_background_keys(spec: AsyncSubAgent) -> SubAgent | CompiledSubAgent:
    """The description of an ordinary subagent in it."""
    return cast("SubAgent", {key: value for key, value in spec.items() if key not in _OWN and key != "timeout_s"})


def _check(spec: AsyncSubAgent) -> None:
    given = cast("Mapping[str, Any]", spec)
    name = given.get("name")
    if unknown := sorted(given.keys() - _KNOWN):
        raise SubAgentSpecError(
            f"Background subagent '{name}' has unknown keys: {', '.join(unknown)}. Known keys: {', '.join(sorted(_KNOWN))}."
        )
    if "graph_id" not in given:
        if misplaced := sorted(given.keys() & _OF_SERVER):
            raise SubAgentSpecError(
                f"Background subagent '{name}' has {', '.join(misplaced)} but no graph_id. Name the graph there."
            )
        check_specs([without_background_keys(spec)])
    else:
        if surplus := sorted(given.keys() - _OWN - _OF_SERVER - {"name", "description", "timeout_s"}):
            raise SubAgentSpecError(
                f"Background subagent '{name}' is a graph on a server, so {', '.join(surplus)} cannot apply. Build them into that graph."
            )
        check_specs([{"name": name, "description": given.get("description"), "system_prompt": "-"}])  # type: ignore[typeddict-item]
    if given.get("update_strategy", "interrupt") not in get_args(UpdateStrategy):
        raise SubAgentSpecError(
            f'Background subagent \'{name}\' has update_strategy={given["update_strategy"]!r}. Use "interrupt" or "enqueue".'
        )
    timeout_s = given.get("timeout_s", TIMEOUT_S)
    if not (isinstance(timeout_s, int | float) and timeout_s > 0):
        raise SubAgentSpecError(
            f"Background subagent '{name}' has timeout_s={timeout_s!r}. Give a number of seconds above 0, or leave it out."
        )
