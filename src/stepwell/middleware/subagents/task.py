"""The `task` tool, which delegates work to a subagent with its own context.

Subagents are compiled when they are first called. If one fails or takes too long, it returns an error result and its siblings continue.
If one asks a person, the run pauses and the subagent later resumes where it stopped, because its graph is nested in its parent's. If
one loses the database or its lease, there is no result (`control_flow`): the run is driven again, and the subagent resumes too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware.human_in_the_loop import HumanInTheLoopMiddleware, InterruptOnConfig
from langchain.agents.middleware.types import AgentMiddleware
from langchain.tools import ToolRuntime
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import ToolMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.types import Command
from langsmith.run_helpers import get_tracing_context, tracing_context
from langsmith.utils import tracing_is_enabled
from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from stepwell.backends.state import CHANNEL
from stepwell.control_flow import let_pass
from stepwell.errors import MiddlewareError, SubAgentSpecError, ToolUseError
from stepwell.middleware.prompts import load_prompt
from stepwell.middleware.request import RequestMiddleware
from stepwell.middleware.run_modes import UNHELD, has_run_modes
from stepwell.middleware.subagents.call import SubAgentCall, SubAgentTimeoutError, final_text, is_stuck
from stepwell.middleware.subagents.known import FRESH, Known, aearlier_task, earlier_task, fork_of
from stepwell.middleware.subagents.specs import (
    GENERAL_PURPOSE,
    SubAgent,
    SubAgentSpec,
    check_specs,
    is_compiled,
    is_fork,
    prompt_of,
)
from stepwell.middleware.turns import STUCK
from stepwell.secrets.errors import words_of
from stepwell.tools.effects import with_effect

TOOL_NAME = "task"

_GENERAL: SubAgent = {
    "name": GENERAL_PURPOSE,
    "description": "for anything; has your tools.",
    "system_prompt": "Do the task you are given, with the tools you have. Your last message is the answer.",
}

BuildSubAgent = Callable[[SubAgent], Runnable[Any, Any]]


class TaskArgs(BaseModel):
    description: str = Field(description="everything it needs to know, and what to return")
    subagent_type: str
    task_id: SkipJsonSchema[str | None] = None
    """Not shown to the model, whose every call would pay for it, unless a subagent is continuable."""


class ContinuingTaskArgs(TaskArgs):
    task_id: str | SkipJsonSchema[None] = Field(
        None, description="of an earlier task, to continue it: the subagent remembers that task"
    )


class SubAgentMiddleware(RequestMiddleware):
    """Offers the given subagents through `task`.

    `build` turns a description into an agent; the `build` of `create_deep_agent` shares the main agent's model, tools and backend. Without
    `build`, each description must name its model, or there must be a `default_model`. This is how deepagents does it, with `default_tools`,
    `default_middleware`, `default_interrupt_on`, and a general-purpose subagent unless `general_purpose_agent` is False.
    `task_description` replaces the model's description of `task`; `{available_agents}` in it becomes the list of subagents.
    """

    def __init__(
        self,
        *,
        subagents: Sequence[SubAgentSpec] = (),
        build: BuildSubAgent | None = None,
        system_prompt: str | None = None,
        timeout_s: float | None = None,
        default_model: str | BaseChatModel | None = None,
        default_tools: Sequence[BaseTool | Callable[..., Any] | dict[str, Any]] | None = None,
        default_middleware: Sequence[AgentMiddleware[Any, Any, Any]] | None = None,
        default_interrupt_on: Mapping[str, bool | InterruptOnConfig] | None = None,
        general_purpose_agent: bool = True,
        task_description: str | None = None,
    ) -> None:
        super().__init__()
        defaults = {
            "model": default_model,
            "tools": default_tools,
            "middleware": default_middleware,
            "interrupt_on": default_interrupt_on,
        }
        given = {key: value for key, value in defaults.items() if value is not None}
        _check_defaults(given, build)
        specs = check_specs(subagents or ())
        if default_model is not None and general_purpose_agent and all(spec["name"] != GENERAL_PURPOSE for spec in specs):
            specs = [_GENERAL, *specs]
        self._specs = {spec["name"]: spec for spec in specs}
        if forks := [name for name, spec in self._specs.items() if is_fork(spec) and build is None]:
            raise SubAgentSpecError(
                f"The subagents {', '.join(forks)} have mode='fork', which only create_deep_agent can build. Pass them to it as subagents."
            )
        if not self._specs:
            raise SubAgentSpecError("SubAgentMiddleware needs at least one subagent. Leave the middleware out to have none.")
        self._build = build or partial(_build_plain, given)
        self._task_description = task_description
        self._timeout_s = timeout_s
        self._built: dict[str, Runnable[Any, Any]] = {}
        self._building = threading.Lock()
        self.prompt = load_prompt("subagents") if system_prompt is None else system_prompt
        self.tools = [self._task_tool(plain=build is None)]

    def agent(self, name: str) -> Runnable[Any, Any]:
        """A subagent by its name, compiled on first use."""
        if name not in self._specs:
            known = ", ".join(self._specs)
            raise ToolUseError(f"Error: there is no subagent '{name[:80]}'. Use one of: {known}.")
        spec = self._specs[name]
        if is_compiled(spec):
            return spec["runnable"]
        with self._building:
            if name not in self._built:
                self._built[name] = self._build(spec)
            return self._built[name]

    def _task_tool(self, *, plain: bool) -> StructuredTool:
        rows = "\n".join(f"- {name}: {_about(spec)}" for name, spec in self._specs.items())
        continuable = any(map(_is_continuable, self._specs.values()))
        return StructuredTool(
            name=TOOL_NAME,
            description=_with_agents(self._task_description, rows),
            func=self._task,
            coroutine=self._atask,
            args_schema=ContinuingTaskArgs if continuable else TaskArgs,
            metadata={UNHELD: unheld} if (unheld := self._unheld(plain)) else None,
        )

    def _unheld(self, plain: bool) -> frozenset[str]:
        """The subagents that know nothing of a run's mode: graphs of other packages, and those built without a deep agent around them."""
        return frozenset(
            name for name, spec in self._specs.items() if (not has_run_modes(spec["runnable"]) if is_compiled(spec) else plain)
        )

    def without_calls(self) -> SubAgentMiddleware:
        """The same, but `task` refuses every call: for forks, whose tools have to look like the main agent's."""
        refusing = copy(self)
        task = self.tools[0].model_copy(update={"func": _refuse, "coroutine": _arefuse})
        refusing.tools = [task]
        return refusing

    @with_effect("read")  # the subagent's own tools are held to the run's mode
    def _task(
        self, runtime: ToolRuntime, description: str, subagent_type: str, task_id: str | None = None
    ) -> Command[Any] | ToolMessage:
        try:
            agent = self.agent(subagent_type)
            known = earlier_task(runtime, TOOL_NAME, subagent_type, task_id) if task_id else self._known(runtime, subagent_type)
            call = self._call(agent, runtime, description, subagent_type, known)
            with traced_as_subagent():
                return self._result(call, call.run())
        except Exception as error:
            let_pass(error)
            return self._failure(runtime, subagent_type, error)

    async def _atask(
        self, runtime: ToolRuntime, description: str, subagent_type: str, task_id: str | None = None
    ) -> Command[Any] | ToolMessage:
        try:
            agent = self.agent(subagent_type)
            known = self._known(runtime, subagent_type)
            if task_id:
                known = await aearlier_task(runtime, TOOL_NAME, subagent_type, task_id)
            call = self._call(agent, runtime, description, subagent_type, known)
            with traced_as_subagent():
                return self._result(call, await call.arun())
        except Exception as error:
            let_pass(error)
            return self._failure(runtime, subagent_type, error)

    def _known(self, runtime: ToolRuntime, name: str) -> Known:
        return fork_of(runtime) if is_fork(self._specs[name]) else FRESH

    def _call(self, agent: Runnable[Any, Any], runtime: ToolRuntime, description: str, name: str, known: Known) -> SubAgentCall:
        spec = self._specs[name]
        if not is_compiled(spec) and is_fork(spec) and not known.continues:
            description = "\n\n".join(filter(None, [load_prompt("fork"), prompt_of(spec), description]))
        return SubAgentCall(name, agent, description, runtime, spec.get("timeout_s", self._timeout_s), known)

    def _result(self, call: SubAgentCall, final: Any) -> Command[Any]:
        call_id = call.runtime.tool_call_id or ""
        text = final_text(call.name, final) + self._id_note(call.name, call_id)
        message = ToolMessage(text, name=TOOL_NAME, tool_call_id=call_id)
        if is_stuck(final):
            message = message.model_copy(update={"status": "error", "additional_kwargs": {STUCK: True}})
        update: dict[str, Any] = {"messages": [message]}
        if files := call.changed_files(final):
            update[CHANNEL] = files
        return Command(update=update)

    def _failure(self, runtime: ToolRuntime, name: str, error: Exception) -> ToolMessage:
        if isinstance(error, MiddlewareError):
            raise error
        if isinstance(error, NotImplementedError) and "wrap_" in str(
            error
        ):  # LangChain's words for a half that middleware lacks
            raise MiddlewareError(f"Middleware of the subagent '{name}' cannot run here: {words_of(error)}") from error
        text = said = words_of(error)
        if not isinstance(error, ToolUseError):
            text = f"Error: the subagent {name} failed: {type(error).__name__}: {said}"[:4000]
        if isinstance(error, SubAgentTimeoutError):
            text += self._id_note(name, runtime.tool_call_id or "")
        return ToolMessage(text, name=TOOL_NAME, tool_call_id=runtime.tool_call_id or "", status="error")

    def _id_note(self, name: str, call_id: str) -> str:
        """What the model needs to continue the task; nothing if the subagent is not continuable."""
        return f"\n\n[task_id: {call_id}]" if call_id and _is_continuable(self._specs[name]) else ""


# The annotations are classes, not names: LangChain resolves them for every new agent, and resolving a name costs more.
_ANNOTATIONS = {"runtime": ToolRuntime, "description": str, "subagent_type": str, "task_id": str | None}
SubAgentMiddleware._task.__annotations__ = SubAgentMiddleware._atask.__annotations__ = _ANNOTATIONS


@with_effect("read")
def _refuse(runtime: ToolRuntime, description: str, subagent_type: str, task_id: str | None = None) -> ToolMessage:
    return ToolMessage(
        "Error: a copy of the agent cannot call subagents. Do this part of the task yourself.",
        name=TOOL_NAME,
        tool_call_id=runtime.tool_call_id or "",
        status="error",
    )


async def _arefuse(runtime: ToolRuntime, description: str, subagent_type: str, task_id: str | None = None) -> ToolMessage:
    return _refuse(runtime, description, subagent_type)


_refuse.__annotations__ = _arefuse.__annotations__ = _ANNOTATIONS


@contextmanager
def traced_as_subagent() -> Iterator[None]:
    """Tell LangSmith, if it is on, that what runs here is a subagent. Other callbacks do not see it."""
    if not tracing_is_enabled():
        yield
        return
    current = get_tracing_context()
    with tracing_context(**{**current, "metadata": {**(current.get("metadata") or {}), "ls_agent_type": "subagent"}}):
        yield


def _is_continuable(spec: SubAgentSpec) -> bool:
    return bool(spec.get("continuable"))


def _about(spec: SubAgentSpec) -> str:
    notes = [
        note
        for note, holds in (("sees this conversation", is_fork(spec)), ("can be continued", _is_continuable(spec)))
        if holds
    ]
    return f"{spec['description'].strip()} ({', '.join(notes)})" if notes else spec["description"].strip()


def _with_agents(description: str | None, rows: str) -> str:
    if description is None:
        return f"Hand a part of the work to a subagent. Types:\n{rows}"
    return description.replace("{available_agents}", rows)


def _check_defaults(given: Mapping[str, Any], build: BuildSubAgent | None) -> None:
    if given and build is not None:
        raise SubAgentSpecError(
            f"SubAgentMiddleware was given build and {', '.join(f'default_{key}' for key in given)}. "
            "A function that builds subagents knows their defaults itself: keep one of the two."
        )
    if given and "model" not in given:
        raise SubAgentSpecError(
            "SubAgentMiddleware was given defaults without default_model. Give it too, or name models per subagent."
        )


def _build_plain(defaults: Mapping[str, Any], spec: SubAgent) -> Runnable[Any, Any]:
    """A subagent without a deep agent around it. It gets its own model, tools and middleware on top of the defaults."""
    model = spec.get("model", defaults.get("model"))
    if model is None:
        raise SubAgentSpecError(
            f"Subagent '{spec['name']}' names no model. Give it one, or use create_deep_agent, which shares its own."
        )
    middleware = [*defaults.get("middleware", ()), *spec.get("middleware", ())]
    if interrupt_on := spec.get("interrupt_on", defaults.get("interrupt_on")):
        middleware.append(HumanInTheLoopMiddleware(interrupt_on=dict(interrupt_on)))
    return create_agent(
        model,
        list(spec.get("tools", defaults.get("tools", ()))),
        system_prompt=prompt_of(spec),
        middleware=middleware,
        response_format=spec.get("response_format"),
        name=spec["name"],
    )
