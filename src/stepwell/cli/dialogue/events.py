"""What happens in a turn, as plain values that a screen can show.

`Translator` reads LangGraph's stream (modes `messages` and `updates`, with subgraphs) and says who spoke, who called which tool
and what came back. Messages may be LangChain's objects (an agent in this process) or their JSON (a server's stream); reading the
second needs no LangChain, and a chat with a server starts without it. It prints nothing and keeps nothing beyond one conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from stepwell.cli.dialogue.interleaving import Floor, Said, Voice

MAIN = "main"
"""The speaker's name of the agent itself; a subagent speaks under its own name."""


@dataclass(frozen=True, slots=True)
class Called:
    """A tool is about to run."""

    speaker: str
    tool: str
    args: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Returned:
    """A tool has answered."""

    speaker: str
    tool: str
    text: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Planned:
    """The list of todos has changed."""

    speaker: str
    todos: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class Restarted:
    """A server began the run again from its last checkpoint: text that was shown since then does not count."""

    attempt: int


TurnEvent: TypeAlias = Said | Called | Returned | Planned | Restarted


class Translator:
    """Turns the chunks of a stream into events. One for each conversation: a resumed turn refers to calls of the one before."""

    def __init__(self) -> None:
        self._open: dict[tuple[tuple[str, ...], str], tuple[str, str]] = {}
        """Calls without a result, with speaker and tool. Ids are unique within one agent's turn only: some providers count."""
        self._seen: set[tuple[tuple[str, ...], str | None]] = set()
        """Messages whose calls were told; approval repeats the message it approved."""
        self._names: dict[tuple[str, ...], str] = {}
        """Who speaks in which subgraph; a change of the plan does not say."""
        self._floor = Floor()

    def translate(self, namespace: tuple[str, ...], mode: str, chunk: Any) -> Iterator[TurnEvent]:
        """The events that one chunk stands for; often none."""
        if mode == "messages":
            yield from self._spoken(namespace, *chunk)
        elif mode == "updates":
            yield from self._floor.ended(namespace)
            for update in chunk.values():
                for part in update if isinstance(update, list | tuple) else [update]:
                    if isinstance(part, Mapping):
                        yield from self._updated(namespace, part)

    def rest(self) -> Iterator[TurnEvent]:
        """The turn is over, however it ended: what was not shown yet."""
        yield from self._floor.rest()

    def _spoken(self, namespace: tuple[str, ...], message: Any, metadata: Mapping[str, Any]) -> Iterator[TurnEvent]:
        # A summary is written for the model, not for the person.
        text = _text(message)
        if _kind(message) == "ai" and metadata.get("lc_source") != "summarization" and text:
            speaker = _speaker(namespace, metadata.get("lc_agent_name"))
            yield from self._floor.say(Said(speaker, text, Voice(namespace, _get(message, "id"))))

    def _updated(self, namespace: tuple[str, ...], update: Mapping[str, Any]) -> Iterator[TurnEvent]:
        messages = update.get("messages")
        for message in messages if isinstance(messages, list) else []:
            if _kind(message) == "ai":
                yield from self._calls(namespace, message)
            elif _kind(message) == "tool":
                yield from self._result(namespace, message)
        if update.get("todos"):
            yield Planned(_speaker(namespace, self._names.get(namespace)), tuple(update["todos"]))

    def _calls(self, namespace: tuple[str, ...], message: Any) -> Iterator[TurnEvent]:
        if (namespace, _get(message, "id")) in self._seen:
            return
        self._seen.add((namespace, _get(message, "id")))
        speaker = self._names[namespace] = _speaker(namespace, _get(message, "name"))
        for call in _get(message, "tool_calls") or ():
            self._open[namespace, call["id"] or ""] = (speaker, call["name"])
            yield Called(speaker, call["name"], call["args"])

    def _result(self, namespace: tuple[str, ...], message: Any) -> Iterator[TurnEvent]:
        caller = self._open.pop((namespace, _get(message, "tool_call_id")), None)
        if caller is not None:
            speaker, tool = caller
            yield Returned(speaker, tool, _text(message), failed=_get(message, "status") == "error")


def last_answer(messages: Any) -> str:
    """The newest text that an agent said, from a thread's messages; empty if there is none."""
    said = [_text(message) for message in messages or () if _kind(message) == "ai"] if isinstance(messages, list) else []
    return next((text for text in reversed(said) if text), "")


def _speaker(namespace: tuple[str, ...], name: str | None) -> str:
    """The top graph is `main` whatever it is called; below it, an agent's own name tells more than a namespace."""
    return MAIN if not namespace else name or "subagent"


def _get(message: Any, name: str) -> Any:
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)


def _kind(message: Any) -> str:
    """`ai`, `tool`, or something that is not shown."""
    kind = _get(message, "type")
    return {"ai": "ai", "AIMessageChunk": "ai", "tool": "tool", "ToolMessageChunk": "tool"}.get(kind, "")


def _text(message: Any) -> str:
    content = _get(message, "content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part if isinstance(part, str) else _block_text(part) for part in parts)


def _block_text(block: Any) -> str:
    return str(block.get("text") or "") if isinstance(block, Mapping) and block.get("type") == "text" else ""
