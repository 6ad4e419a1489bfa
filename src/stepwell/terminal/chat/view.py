"""What a chat shows: a turn as it happens, and the contents of a thread (the last answer, the plan, the files)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stepwell.terminal.dialogue.events import Called, Restarted, Translator, TurnEvent, is_from_agent, text_of
from stepwell.terminal.dialogue.session import StreamPart
from stepwell.terminal.dialogue.stored_subagents import shorten
from stepwell.terminal.dialogue.terminal import Terminal

_TASK_TOOLS = frozenset({"start_async_task", "update_async_task"})


class ChatView:
    """Shows the runs of one thread. Use one per thread: a resumed turn refers to calls of the turn before."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._translator = Translator()
        self.gave_tasks = False
        """Whether the agent has given subagents work that goes on in the background."""

    def show(self, part: StreamPart) -> bool:
        if part.mode == "metadata" and part.data.get("attempt", 1) > 1:
            self._translator = Translator()
            return self._show_all([Restarted(part.data["attempt"])])
        return self._show_all(self._translator.translate(part))

    def close(self) -> None:
        self._show_all(self._translator.rest())
        self._terminal.end_text()

    def _show_all(self, events: Iterable[TurnEvent]) -> bool:
        some = False
        for event in events:
            some = True
            self.gave_tasks |= isinstance(event, Called) and event.tool in _TASK_TOOLS
            self._terminal.show(event)
        return some


def last_answer(values: Mapping[str, Any]) -> str:
    """The agent's newest text; empty if there is none."""
    messages = values.get("messages")
    said = [text_of(message) for message in messages if is_from_agent(message)] if isinstance(messages, list) else []
    return next((text for text in reversed(said) if text), "")


def todos_of(values: Mapping[str, Any]) -> list[Mapping[str, str]]:
    """The agent's current plan."""
    return list(values.get("todos") or [])


def files_of(values: Mapping[str, Any]) -> dict[str, str]:
    """Path -> text of every file in the thread."""
    files = values.get("files") or {}
    return {path: _content(file) for path, file in sorted(files.items()) if file is not None}


def transcript_lines(message: Mapping[str, Any]) -> list[str]:
    """A message of a subagent, in lines."""
    text = text_of(message)
    match message.get("type"):
        case "human":
            return [f"task> {text}"]
        case "tool":
            sign = "✗" if message.get("status") == "error" else "✓"
            return [f"  {sign} {message.get('name') or 'tool'}: {shorten(text) or 'nothing'}"]
    calls = [
        f"  → {call['name']} {shorten(' · '.join(map(str, call['args'].values())))}" for call in message.get("tool_calls") or ()
    ]
    return [*([text] if text else []), *calls]


def _content(file: Any) -> str:
    content = file["content"] if isinstance(file, Mapping) else file
    return content if isinstance(content, str) else "\n".join(content)
