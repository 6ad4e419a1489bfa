"""What a hook is given, and what it may return.

| moment | event | a replacement | `Refusal(sentence)` | `SendBack(sentence)` |
|---|---|---|---|---|
| `on_input` | `InputEvent` | text: the message is stored with it | nothing new of the user is kept; the user reads the sentence | |
| `before_model` | `ModelEvent` | a list of messages, for this call only | the model is not called; the sentence is the answer | |
| `after_model` | `AnswerEvent` | text or an `AIMessage` | the sentence is the answer; no tool is called | the model answers once more |
| `before_tool` | `ToolEvent` | a dict of arguments | the tool does not run; the model reads the sentence | |
| `after_tool` | `ToolResultEvent` | text or a `ToolMessage` | the model reads the sentence in place of the result | |
| `before_subagent` | `SubagentEvent` | text: the task | the subagent does not run | |
| `after_subagent` | `SubagentResultEvent` | text: its answer | the model reads the sentence in place of the answer | |
| `before_compaction` | `CompactionEvent` | text: what the summary is made from | the conversation is not summarised now | |
| `after_compaction` | `SummaryEvent` | text: the summary | the summary is thrown away | |
| `on_stop` | `StopEvent` | | | the agent goes on working |

`None` always means: go on. Anything else is a mistake, and the run fails with a sentence about it.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from stepwell.errors import ConfigurationError
from stepwell.middleware.moments import structured


@dataclass(frozen=True, slots=True)
class Refusal:
    """Do not let this through. Who reads the sentence depends on the moment: the user in place of an answer, or the model in place of a
    result."""

    sentence: str

    def __post_init__(self) -> None:
        _check_sentence(self.sentence, "Refusal")


@dataclass(frozen=True, slots=True)
class SendBack:
    """Send the agent back to work with this sentence. If the model's second answer is sent back too, the user reads `otherwise`."""

    sentence: str
    otherwise: str = "The answer was withheld by a check."

    def __post_init__(self) -> None:
        _check_sentence(self.sentence, "SendBack")


Verdict = Refusal | SendBack


def _documents(content: str | list[Any]) -> list[str]:
    """The texts of blocks that are text but not a part of the message's own."""
    if isinstance(content, str):
        return []
    blocks = [block for block in content if isinstance(block, Mapping) and block.get("type") != "text"]
    return [text for block in blocks for text in (block.get("text"), _decoded(block)) if isinstance(text, str)]


def _decoded(block: Mapping[str, Any]) -> str | None:
    data = block.get("base64") or block.get("data")
    if not isinstance(data, str) or not str(block.get("mime_type", "")).startswith("text/"):
        return None
    try:
        return b64decode(data).decode(errors="replace")
    except ValueError:
        return None


def _check_sentence(sentence: object, kind: str) -> None:
    if not isinstance(sentence, str) or not sentence.strip():
        raise ConfigurationError(
            f"{kind}({sentence!r}) says nothing. Give it a sentence: {kind}('Not without an order number.')."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEvent:
    """What every event says."""

    agent: str
    """The agent's `name`, or the subagent's; `main` if the agent has none."""
    is_subagent: bool
    state: Mapping[str, Any]
    """The agent's state. Read it; do not change it."""
    runtime: Any
    """LangGraph's runtime, with `context`, `store` and `stream_writer`."""

    may_return: ClassVar[str] = "None, a replacement or Refusal(...)"
    verdicts: ClassVar[tuple[type, ...]] = (Refusal,)

    def changed(self, value: Any) -> Self:
        """The event with a hook's replacement, which the next hook of this moment sees. Raises `TypeError` if the value does not fit."""
        raise TypeError


@dataclass(frozen=True, slots=True, kw_only=True)
class InputEvent(HookEvent):
    """A message of the user (or, in a subagent, its task) before the agent begins to work on it."""

    message: HumanMessage
    may_return: ClassVar[str] = "None, a text or Refusal(...)"

    @property
    def text(self) -> str:
        """Everything in the message that is text: its text, then documents of plain text. Pictures and other files are in `message`."""
        return "\n".join(part for part in (str(self.message.text), *_documents(self.message.content)) if part)

    def changed(self, value: Any) -> Self:
        return replace(self, message=self.message.model_copy(update={"content": _text(value)}))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEvent(HookEvent):
    """A call of the model, exactly as it will be made."""

    system_prompt: str
    messages: Sequence[AnyMessage]
    tool_names: Sequence[str]
    may_return: ClassVar[str] = "None, a list of messages or Refusal(...)"

    def changed(self, value: Any) -> Self:
        if not isinstance(value, list) or not all(isinstance(each, BaseMessage) for each in value):
            raise TypeError
        return replace(self, messages=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerEvent(HookEvent):
    """An answer of the model, before it is stored and before its tool calls run."""

    message: AIMessage
    attempt: int
    """1, or 2 if the first answer was sent back."""
    structured_response: Any = None
    """With `response_format`: the answer in its form. A text that a hook returns is read again, so that this follows it."""
    answering_call: str | None = None
    """With `response_format`: the id of the call that is the answer, if the model answers by a call."""
    may_return: ClassVar[str] = "None, a text, an AIMessage, Refusal(...) or SendBack(...)"
    verdicts: ClassVar[tuple[type, ...]] = (Refusal, SendBack)

    @property
    def text(self) -> str:
        """The answer's text. A structured answer is JSON on its last line."""
        return structured.text_of(self.message, self.answering_call)

    @property
    def is_final(self) -> bool:
        """Whether the answer calls no tool, so that the agent ends with it."""
        if self.message.invalid_tool_calls:
            return False
        return all(call["id"] == self.answering_call for call in self.message.tool_calls)

    def changed(self, value: Any) -> Self:
        is_message = isinstance(value, AIMessage)
        message = value if is_message else structured.with_text(self.message, self.answering_call, _text(value))
        if self.structured_response is None:
            return replace(self, message=message)
        message, answer = structured.read_again(message, self.answering_call, self.structured_response)
        return replace(
            self, message=message, structured_response=answer, answering_call=self.answering_call if answer else None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEvent(HookEvent):
    """A tool call that is about to run."""

    name: str
    args: Mapping[str, Any]
    call_id: str
    may_return: ClassVar[str] = "None, a dict of arguments or Refusal(...)"

    def changed(self, value: Any) -> Self:
        if not isinstance(value, Mapping):
            raise TypeError
        return replace(self, args=dict(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultEvent(HookEvent):
    """The result of a tool call, before the model sees it."""

    name: str
    args: Mapping[str, Any]
    call_id: str
    result: ToolMessage
    may_return: ClassVar[str] = "None, a text, a ToolMessage or Refusal(...)"

    @property
    def text(self) -> str:
        return str(self.result.text)

    @property
    def failed(self) -> bool:
        return self.result.status == "error"

    def changed(self, value: Any) -> Self:
        if isinstance(value, ToolMessage):
            return replace(self, result=value.model_copy(update={"tool_call_id": self.call_id}))
        return replace(self, result=self.result.model_copy(update={"content": _text(value)}))


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentEvent(HookEvent):
    """A task that is about to be given to a subagent. `agent` is the one that gives it."""

    subagent: str
    task: str
    call_id: str
    may_return: ClassVar[str] = "None, a text or Refusal(...)"

    def changed(self, value: Any) -> Self:
        return replace(self, task=_text(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentResultEvent(HookEvent):
    """A subagent's answer, before the agent that asked sees it."""

    subagent: str
    task: str
    call_id: str
    result: ToolMessage
    may_return: ClassVar[str] = "None, a text or Refusal(...)"

    @property
    def text(self) -> str:
        return str(self.result.text)

    def changed(self, value: Any) -> Self:
        return replace(self, result=self.result.model_copy(update={"content": _text(value)}))


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionEvent(HookEvent):
    """The first part of a long conversation, before it is summarised."""

    text: str
    may_return: ClassVar[str] = "None, a text or Refusal(...)"

    def changed(self, value: Any) -> Self:
        return replace(self, text=_text(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryEvent(HookEvent):
    """The summary, before it takes the place of the conversation's first part in the model's view."""

    text: str
    may_return: ClassVar[str] = "None, a text or Refusal(...)"

    def changed(self, value: Any) -> Self:
        return replace(self, text=_text(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class StopEvent(HookEvent):
    """The agent is about to finish with this message."""

    message: AnyMessage
    times_sent_back: int
    """How often this agent was sent back to work since the user's last message."""
    may_return: ClassVar[str] = "None or SendBack(...)"
    verdicts: ClassVar[tuple[type, ...]] = (SendBack,)

    @property
    def text(self) -> str:
        return str(self.message.text)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
