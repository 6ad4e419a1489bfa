"""`SkillsMiddleware`: the agent knows which skills there are, and reads one when a task needs it.

```
start of a run ─▶ scan the sources by version ─▶ state: skills_metadata (the list), skills_files (what was read, at which version)
               └▶ pinned_skills ─▶ a message each
model call ─────▶ the list at the end of the system prompt, the same bytes as long as no skill changes
```
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from copy import copy
from types import EllipsisType
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware.types import AgentState, OmitFromOutput, PrivateStateAttr
from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime

from stepwell.backends.composite import CompositeBackend
from stepwell.backends.protocol import BackendFactory, BackendProtocol
from stepwell.backends.state import StateBackend
from stepwell.backends.steps import Steps, arun_steps, run_steps
from stepwell.errors import ConfigurationError
from stepwell.middleware.approvals import ask_only_if
from stepwell.middleware.prompts import load_prompt
from stepwell.middleware.request import AsyncToolHandler, ModelCall, RequestMiddleware, ToolHandler, ToolResult
from stepwell.middleware.skills import pins
from stepwell.middleware.skills.frontmatter import SkillMetadata
from stepwell.middleware.skills.listing import SLOTS, SkillSource, place_of, write_section
from stepwell.middleware.skills.scan import SkillFile, scan
from stepwell.middleware.source_files import Source, Step
from stepwell.state.channels import incremental, latest


class SkillsState(AgentState[Any]):
    skills_metadata: NotRequired[Annotated[list[SkillMetadata], PrivateStateAttr, incremental(latest)]]
    """The skills. Set it to None to have all of them read again; a list that you set yourself stays."""
    skills_files: NotRequired[Annotated[dict[str, SkillFile], PrivateStateAttr, incremental(latest)]]
    """What was read, at which version. Empty if the list is not ours."""
    skills_load_errors: NotRequired[Annotated[list[str], PrivateStateAttr, incremental(latest)]]
    pinned_skills: NotRequired[Annotated[list[str], OmitFromOutput, pins.add_pins]]
    """Names of skills that this run uses without having to find them; empty again once they are messages."""


class SkillsMiddleware(RequestMiddleware):
    """Lists the skills in some folders of a backend.

    Args:
        backend: Where the skills are; by default in the agent's state.
        sources: Folders with one folder for each skill, or `(folder, label)`. Of two skills with one name, the one in the later source
            counts.
        system_prompt: Replaces the section of the system prompt; with `{skills_locations}`, `{skills_load_warnings}` and `{skills_list}`.
            None leaves it out.
        tools: Tools that are offered only once a skill that names them (`metadata: include_tools:`) has been read.
    """

    state_schema = SkillsState

    def __init__(
        self,
        *,
        backend: BackendProtocol | BackendFactory | None = None,
        sources: Sequence[SkillSource],
        system_prompt: str | EllipsisType | None = ...,
        tools: Iterable[BaseTool | Callable[..., Any]] | None = None,
    ) -> None:
        super().__init__()
        if isinstance(sources, str):
            raise ConfigurationError(f"skills is the text {sources!r}. Pass a list: [{sources!r}].")
        self.backend: BackendProtocol | BackendFactory = StateBackend() if backend is None else backend
        self.places = [place_of(source) for source in sources]
        self.template = load_prompt("skills") if isinstance(system_prompt, EllipsisType) else _check_template(system_prompt)
        self.tools = _tools_in(tools)
        self._names = frozenset(tool.name for tool in self.tools)

    def with_mounts(self, mounts: Mapping[str, BackendProtocol]) -> SkillsMiddleware:
        """The same skills in a tree of files in which these backends are mounted too."""
        other = copy(self)
        other.backend = CompositeBackend(self.backend, mounts)
        return other

    def ask_once_read(self, interrupt_on: Mapping[str, Any]) -> dict[str, Any]:
        """The same approvals, except that nobody is asked about a tool whose skill has not been read."""
        return ask_only_if(interrupt_on, self._names, lambda request: self._refusal(request) is None)

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        source = Source(self.backend, state, runtime)
        return run_steps(self._load(source, state), source.perform)

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        source = Source(self.backend, state, runtime)
        return await arun_steps(self._load(source, state), source.aperform)

    def _load(self, source: Source, state: Mapping[str, Any]) -> Steps[Step, dict[str, Any] | None]:
        """What has changed since the thread's last run: the list, and messages with the pinned skills."""
        update = yield from self._scan(source, state)
        if wanted := state.get("pinned_skills"):
            known = {**state, **update}
            update["messages"] = yield from _pin(source, pins.named(wanted, known.get("skills_metadata") or ()))
            update["pinned_skills"] = []
        return update or None

    def _scan(self, source: Source, state: Mapping[str, Any]) -> Steps[Step, dict[str, Any]]:
        skills, files = state.get("skills_metadata"), state.get("skills_files")
        if skills is not None and (files is None or (skills and not files)):
            return {}  # the caller's own list
        known = (skills, files) if skills is not None else ((), {})
        found = yield from scan(source, [place.folder for place in self.places], *known)
        values = {"skills_metadata": found.skills, "skills_files": found.files, "skills_load_errors": found.problems}
        return {key: value for key, value in values.items() if key not in state or state[key] != value}

    def prepare(self, call: ModelCall) -> None:
        skills: Sequence[SkillMetadata] = call.stored("skills_metadata") or ()
        if self.template is not None:
            call.sections.append(write_section(self.template, self.places, skills, call.stored("skills_load_errors") or ()))
        if self._names and (hidden := self._names - _offered(skills, call.messages)):
            call.tools = [tool for tool in call.tools if getattr(tool, "name", None) not in hidden]

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        return self._refusal(request) or handler(request)

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        return self._arefuse(request, handler)

    async def _arefuse(self, request: ToolCallRequest, handler: AsyncToolHandler) -> ToolResult:
        return self._refusal(request) or await handler(request)

    def _refusal(self, request: ToolCallRequest) -> ToolMessage | None:
        """The answer to a call of a tool whose skill has not been read."""
        name = request.tool_call["name"]
        if name not in self._names:
            return None
        skills: Sequence[SkillMetadata] = request.state.get("skills_metadata") or ()
        if name in _offered(skills, request.state.get("messages") or ()):
            return None
        homes = [skill["path"] for skill in skills if name in pins.tool_names(skill)]
        way_out = f"Read {' or '.join(homes)} first." if homes else "No skill here brings it; go on without it."
        text = f"Error: {name} belongs to a skill that has not been read. {way_out}"
        return ToolMessage(text, name=name, tool_call_id=request.tool_call["id"] or "", status="error")


def _pin(source: Source, wanted: Sequence[SkillMetadata]) -> Steps[Step, list[AnyMessage]]:
    files = yield from source.read([skill["path"] for skill in wanted])
    texts = [(skill, file.text) for skill, file in zip(wanted, files, strict=True) if file.text is not None]
    pinned = [pins.pinned_message(skill, text) for skill, text in texts]
    return [message for message in pinned if message is not None]


def _offered(skills: Sequence[SkillMetadata], messages: Sequence[AnyMessage]) -> set[str]:
    """The tools of the skills that were read or pinned in these messages."""
    used = pins.paths_in_use(messages)
    return {name for skill in skills if skill["path"] in used for name in pins.tool_names(skill)}


def _tools_in(given: object) -> list[BaseTool]:
    """The tools of any sequence or iterator, which is read once."""
    if given is None:
        return []
    way_out = "Pass a list of functions or LangChain tools."
    if isinstance(given, str | Mapping | BaseTool) or not isinstance(given, Iterable):
        label = getattr(given, "name", None) or getattr(given, "__name__", None) or f"a {type(given).__name__}"
        raise ConfigurationError(f"tools of SkillsMiddleware is {label}. {way_out}")
    found = list(given)
    for entry in found:
        if not isinstance(entry, BaseTool) and not callable(entry):
            raise ConfigurationError(f"tools of SkillsMiddleware has {entry!r}, which is not a tool. {way_out}")
    return [entry if isinstance(entry, BaseTool) else as_tool(entry) for entry in found]


def _check_template(template: object) -> str | None:
    if template is None:
        return None
    if not isinstance(template, str):
        raise ConfigurationError(f"system_prompt must be str or None, not {type(template).__name__}.")
    if missing := [slot for slot in SLOTS if slot not in template]:
        raise ConfigurationError(f"system_prompt is missing required format slot(s): {', '.join(missing)}. Add them.")
    return template
