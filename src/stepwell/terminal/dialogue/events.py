"""The events of a turn, as plain values that a screen can show.

`Translator` reads a run's stream as JSON (modes `messages`, `updates` and `custom`, with subgraphs) and yields who spoke, who called which
tool and what the tool returned. It does not need LangChain, so a chat with a server starts without it. It prints nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from stepwell.terminal.dialogue.interleaving import Floor, Said, Voice
from stepwell.terminal.dialogue.session import StreamPart

MAIN = "main"
"""Speaker name of the main agent; a subagent has its own name."""

_AGENT_TYPES = ("ai", "AIMessageChunk")
_TOOL_TYPES = ("tool", "ToolMessageChunk")
_STEERED = "steered"
"""The custom event that says which messages a model call reads first."""
_GRADER = "rubric_grader"
"""Who judges answers. What it does is not shown, only what it comes to."""


class CallId(NamedTuple):
    """A call of a tool. The id alone is not enough: subagents may use the same ones."""

    namespace: tuple[str, ...]
    id: str


_ANY_CALL = CallId((), "")


@dataclass(frozen=True, slots=True)
class Thought:
    """A piece of what a model thinks before it answers, if its provider sends it."""

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """A tool is about to run."""

    speaker: str
    tool: str
    args: Mapping[str, Any]
    call: CallId = field(default=_ANY_CALL, compare=False)


@dataclass(frozen=True, slots=True)
class Returned:
    """A tool has returned."""

    speaker: str
    tool: str
    text: str
    failed: bool
    call: CallId = field(default=_ANY_CALL, compare=False)


@dataclass(frozen=True, slots=True)
class Planned:
    """The list of todos has changed."""

    speaker: str
    todos: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer was checked before the agent may finish with it (`RubricMiddleware`)."""

    speaker: str
    result: str
    criteria: tuple[Mapping[str, Any], ...]
    explanation: str = ""

    @property
    def words(self) -> str:
        if self.result == "grader_error":
            return "The answer could not be checked."
        passed, total = sum(bool(each.get("passed")) for each in self.criteria), len(self.criteria)
        return f"{passed} of {total} {'check' if total == 1 else 'checks'} passed."

    @property
    def missing(self) -> list[str]:
        """A line for each check that did not pass."""
        lines = [f"{each.get('name')}: {each.get('gap', '')}" for each in self.criteria if not each.get("passed")]
        return lines or ([self.explanation] if self.result != "satisfied" and self.explanation else [])


@dataclass(frozen=True, slots=True)
class Heard:
    """The agent reads a message that was sent to it while it works."""

    text: str


@dataclass(frozen=True, slots=True)
class Restarted:
    """A server restarted the run from its last checkpoint: text shown since then is void."""

    attempt: int


TurnEvent: TypeAlias = Said | Thought | Called | Returned | Planned | Checked | Heard | Restarted


class Translator:
    """Turns the parts of a stream into events. Use one per conversation: a resumed turn refers to calls of the turn before."""

    def __init__(self, *, thoughts: bool = False) -> None:
        """`thoughts`: also yield what models think, which a terminal does not show."""
        self._thoughts = thoughts
        self._open: dict[tuple[tuple[str, ...], str], tuple[str, str]] = {}
        """Calls without a result yet, with speaker and tool. Ids are unique only within an agent's turn, as some providers just count."""
        self._seen: set[tuple[tuple[str, ...], str | None]] = set()
        """Messages whose calls were already reported; an approval repeats the approved message."""
        self._names: dict[tuple[str, ...], str] = {}
        """Who speaks in which subgraph; updates of the plan do not name the speaker."""
        self._floor = Floor()

    def expect(self, called: Called) -> None:
        """A call was made whose result is still to come, which this translator has not seen: the thread has stored it."""
        self._open[called.call] = (called.speaker, called.tool)

    def translate(self, part: StreamPart) -> Iterator[TurnEvent]:
        """The events in one part of the stream; often none."""
        if part.mode == "messages":
            yield from self._speak(part.namespace, *part.data)
        elif part.mode == "custom":
            if isinstance(part.data, Mapping) and part.data.get("type") == _STEERED:
                yield from (Heard(text_of(message)) for message in part.data.get("messages") or ())
        elif part.mode == "updates":
            yield from self._floor.end_step(part.namespace)
            for update in part.data.values():
                for piece in update if isinstance(update, list) else [update]:
                    if isinstance(piece, Mapping):
                        yield from self._update(part.namespace, piece)

    def rest(self) -> Iterator[TurnEvent]:
        """The events that were not shown yet. Call this at the end of a turn, however it ended."""
        yield from self._floor.rest()

    def _speak(
        self, namespace: tuple[str, ...], message: Mapping[str, Any], metadata: Mapping[str, Any]
    ) -> Iterator[TurnEvent]:
        # A summary is written for the model, not for the person.
        if not is_from_agent(message) or metadata.get("lc_source") == "summarization":
            return
        speaker = _speaker(namespace, metadata.get("lc_agent_name"))
        if self._thoughts and (thought := thoughts_of(message)):
            yield Thought(speaker, thought)
        if text := text_of(message):
            yield from self._floor.say(Said(speaker, text, Voice(namespace, message.get("id"))))

    def _update(self, namespace: tuple[str, ...], update: Mapping[str, Any]) -> Iterator[TurnEvent]:
        messages = update.get("messages")
        for message in messages if isinstance(messages, list) else []:
            if is_from_agent(message):
                yield from self._calls(namespace, message)
            elif isinstance(message, Mapping) and message.get("type") in _TOOL_TYPES:
                yield from self._result(namespace, message)
        if update.get("todos"):
            yield Planned(_speaker(namespace, self._names.get(namespace)), tuple(update["todos"]))
        checks = update.get("checks")
        for each in checks.values() if isinstance(checks, Mapping) else ():
            if isinstance(each, Mapping) and isinstance(each.get("criteria"), list):
                speaker, criteria = _speaker(namespace, self._names.get(namespace)), tuple(each["criteria"])
                yield Checked(speaker, str(each.get("result")), criteria, str(each.get("explanation") or ""))

    def _calls(self, namespace: tuple[str, ...], message: Mapping[str, Any]) -> Iterator[TurnEvent]:
        if (namespace, message.get("id")) in self._seen or message.get("name") == _GRADER:
            return
        self._seen.add((namespace, message.get("id")))
        speaker = self._names[namespace] = _speaker(namespace, message.get("name"))
        for call in message.get("tool_calls") or ():
            self._open[namespace, call["id"] or ""] = (speaker, call["name"])
            yield Called(speaker, call["name"], call["args"], CallId(namespace, call["id"] or ""))

    def _result(self, namespace: tuple[str, ...], message: Mapping[str, Any]) -> Iterator[TurnEvent]:
        call = CallId(namespace, message.get("tool_call_id") or "")
        caller = self._open.pop(call, None)
        if caller is not None:
            speaker, tool = caller
            yield Returned(speaker, tool, text_of(message), message.get("status") == "error", call)


def is_from_agent(message: Any) -> bool:
    """Whether this is a message by a model, whole or a chunk. A graph may put anything among its messages."""
    return isinstance(message, Mapping) and message.get("type") in _AGENT_TYPES


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, without its non-text blocks."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part if isinstance(part, str) else _block_text(part) for part in parts)


def thoughts_of(message: Mapping[str, Any]) -> str:
    """What a model thought before this message, in whichever form its provider sends it."""
    content = message.get("content")
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    said = "".join(_thought_text(block) for block in blocks)
    return said or str((message.get("additional_kwargs") or {}).get("reasoning_content") or "")


def _thought_text(block: Mapping[str, Any]) -> str:
    match block.get("type"):
        case "thinking":
            return str(block.get("thinking") or "")
        case "reasoning":
            summary = block.get("summary") or ()
            return str(block.get("reasoning") or "") or "".join(str(each.get("text") or "") for each in summary)
    return ""


def _speaker(namespace: tuple[str, ...], name: str | None) -> str:
    """The top graph is always `main`; below it, an agent's name says more than its namespace."""
    return MAIN if not namespace else name or "subagent"


def _block_text(block: Any) -> str:
    return str(block.get("text") or "") if isinstance(block, Mapping) and block.get("type") == "text" else ""
