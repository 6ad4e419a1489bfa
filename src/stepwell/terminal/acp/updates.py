"""What a run does, as updates of an editor's session.

| event of a turn | update |
|---|---|
| the agent speaks | `agent_message_chunk` |
| a model thinks, or a subagent speaks | `agent_thought_chunk` |
| a tool is called, and returns | `tool_call`, `tool_call_update`; files with locations and diffs |
| the list of todos changes | `plan` |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from acp import (
    plan_entry,
    start_tool_call,
    text_block,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_tool_call,
)
from acp.helpers import tool_content
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    PlanEntryStatus,
    ToolCallProgress,
    ToolCallStart,
    UserMessageChunk,
)

from stepwell.terminal.acp.folder import EditorFolder
from stepwell.terminal.acp.tool_calls import change_of, kind_of, locations_of, result_of, title_of
from stepwell.terminal.dialogue.events import (
    MAIN,
    Called,
    CallId,
    Checked,
    Planned,
    Returned,
    Thought,
    Translator,
    TurnEvent,
    is_from_agent,
    text_of,
)
from stepwell.terminal.dialogue.interleaving import Said
from stepwell.terminal.dialogue.session import StreamPart

Update: TypeAlias = (
    UserMessageChunk | AgentMessageChunk | AgentThoughtChunk | ToolCallStart | ToolCallProgress | AgentPlanUpdate
)

_STATUSES: dict[str, PlanEntryStatus] = {"pending": "pending", "in_progress": "in_progress", "completed": "completed"}
PLANNING_TOOL = "write_todos"
"""Its calls are shown as the plan."""


@dataclass(frozen=True)
class ShownCall:
    """A call that the editor shows as open."""

    id: str
    tool: str
    args: Mapping[str, Any]


class Updates:
    """The updates of one session. Ids of calls stay the same when a stored thread is shown again."""

    def __init__(self, folder: EditorFolder) -> None:
        self._folder = folder
        self._translator = Translator(thoughts=True)
        self._open: dict[CallId, ShownCall] = {}
        self._used: set[str] = set()

    @property
    def open_calls(self) -> Sequence[ShownCall]:
        return tuple(self._open.values())

    def of_part(self, part: StreamPart) -> Iterator[Update]:
        if part.mode == "metadata" and part.data.get("attempt", 1) > 1:  # a restarted run tells its step again
            self._translator = Translator(thoughts=True)
            for call, shown in self._open.items():
                self._translator.expect(Called(MAIN, shown.tool, shown.args, call))
            return
        if part.mode == "values" and not part.namespace:  # the state from which a restarted run goes on
            yield from self._catch_up(part.data)
            return
        for event in self._translator.translate(part):
            yield from self.of_event(event)

    def rest(self) -> Iterator[Update]:
        for event in self._translator.rest():
            yield from self.of_event(event)

    def forget_open(self) -> None:
        """The turn was stopped: its calls will not return."""
        self._open.clear()

    def of_event(self, event: TurnEvent) -> Iterator[Update]:
        match event:
            case Said(speaker, text):
                yield update_agent_message_text(text) if speaker == MAIN else update_agent_thought_text(text)
            case Thought(_, text):
                yield update_agent_thought_text(text)
            case Called(speaker, tool, args, call) if tool != PLANNING_TOOL:
                yield self._start(speaker, tool, args, call)
            case Returned(_, tool, text, failed, call) if call in self._open:
                yield self._finish(tool, text, failed, call)
            case Planned(speaker, todos) if speaker == MAIN:
                yield plan_of(todos)
            case Checked():
                yield update_agent_thought_text("\n".join([event.words, *(f"- {each}" for each in event.missing)]))

    def _catch_up(self, values: Any) -> Iterator[Update]:
        """Calls and results of this turn that the thread has stored, but whose events were lost when the process died."""
        messages = messages_in(values)
        begin = max((place for place, each in enumerate(messages) if each.get("type") == "human"), default=-1)
        for message in messages[begin + 1 :]:
            if is_from_agent(message):
                for call in message.get("tool_calls") or ():
                    if call["id"] not in self._used:
                        yield from self.of_event(Called(MAIN, call["name"], call["args"], CallId((), call["id"] or "")))
            elif message.get("type") == "tool":
                yield from self.of_event(returned(message))

    def _start(self, speaker: str, tool: str, args: Mapping[str, Any], call: CallId) -> ToolCallStart:
        shown = ShownCall(self._name(call), tool, args)
        self._open[call] = shown
        self._translator.expect(Called(speaker, tool, args, call))
        return start_tool_call(
            shown.id,
            title_of(tool, args, "" if speaker == MAIN else speaker),
            kind=kind_of(tool),
            status="pending",
            content=change_of(tool, args, self._folder) or None,
            locations=locations_of(args, self._folder) or None,
            raw_input=dict(args),
        )

    def _finish(self, tool: str, text: str, failed: bool, call: CallId) -> ToolCallProgress:
        shown = self._open.pop(call)
        changed = [] if failed else change_of(tool, shown.args, self._folder)
        return update_tool_call(
            shown.id,
            status="failed" if failed else "completed",
            content=changed or result_of(text) or [tool_content(text_block(""))],
            raw_output=text,
        )

    def _name(self, call: CallId) -> str:
        """An id that is unique in the session. Providers of models for which ids just count use the same ones again."""
        name = "/".join((*call.namespace, call.id or "call"))
        number = 1
        while (unique := name if number == 1 else f"{name}#{number}") in self._used:
            number += 1
        self._used.add(unique)
        return unique


def messages_in(values: Any) -> list[Mapping[str, Any]]:
    """The messages of a thread's state, or of an input."""
    messages = values.get("messages") if isinstance(values, Mapping) else None
    return [each for each in messages if isinstance(each, Mapping)] if isinstance(messages, list) else []


def returned(message: Mapping[str, Any]) -> Returned:
    """The event of a tool's stored result."""
    call = CallId((), message.get("tool_call_id") or "")
    return Returned(MAIN, str(message.get("name") or ""), text_of(message), message.get("status") == "error", call)


def plan_of(todos: Sequence[Mapping[str, Any]]) -> AgentPlanUpdate:
    """The whole plan; an editor replaces the one it shows."""
    entries = []
    for todo in todos:
        entries.append(plan_entry(str(todo.get("content") or ""), status=_STATUSES.get(str(todo.get("status")), "pending")))
    return update_plan(entries)
