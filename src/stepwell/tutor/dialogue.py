"""Who said what in a thread. Only a user's own words count as theirs: their messages, and what they wrote in answer to a question.

A *turn* begins with an utterance of the user (a message or an answer) and ends with a question or with the agent's last message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage

from stepwell.answers.clarification import ASK_CHOICES, ASK_USER
from stepwell.middleware.clarify import USER_WORDS
from stepwell.tutor.argument.questions import Question
from stepwell.tutor.argument.words import asks_to_be_told

QUESTION_TOOLS = (ASK_USER, ASK_CHOICES)
DEALT_WITH = "method_dealt_with"
"""In the `additional_kwargs` of an answer: the method asked, and has taken it."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """Something that the user said."""

    id: str
    text: str
    dealt_with: bool = False
    """The method has taken it already: it asked the question, and the model only reads the result."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """What we know about a thread's conversation."""

    utterances: tuple[Utterance, ...]
    this_turn: tuple[AnyMessage, ...]
    """What came after the last utterance."""
    length: int = 0
    """How many messages the thread has."""
    done: frozenset[str] = frozenset()
    """Tools of the running step that have succeeded before the current one."""

    @property
    def texts(self) -> list[str]:
        return [utterance.text for utterance in self.utterances]

    @property
    def last(self) -> Utterance | None:
        return self.utterances[-1] if self.utterances else None

    @property
    def wants_to_be_told(self) -> bool:
        """Whether the user's last words ask to be told the answer."""
        return self.last is not None and not self.last.dealt_with and asks_to_be_told(self.last.text)

    def has_done(self, tool: str) -> bool:
        """Whether a tool has succeeded in this turn."""
        return tool in self.done or any(
            isinstance(each, ToolMessage) and each.name == tool and each.status != "error" for each in self.this_turn
        )


def read_dialogue(messages: Sequence[AnyMessage]) -> Dialogue:
    utterances: list[Utterance] = []
    start = 0
    for place, message in enumerate(messages):
        said = _said(message)
        if said is not None:
            dealt_with = bool(message.additional_kwargs.get(DEALT_WITH))
            utterances.append(Utterance(message.id or str(place), said, dealt_with))
            start = place + 1
    return Dialogue(tuple(utterances), tuple(messages[start:]), len(messages))


def _said(message: AnyMessage) -> str | None:
    """The user's words in a message; None if it contains none."""
    if isinstance(message, HumanMessage):
        return message.text
    if isinstance(message, ToolMessage) and message.name in QUESTION_TOOLS and message.status != "error":
        words = message.additional_kwargs.get(USER_WORDS)
        return words if isinstance(words, str) else None
    return None


def last_answer(messages: Sequence[AnyMessage]) -> AIMessage | None:
    """The model's newest message."""
    return next((each for each in reversed(messages) if isinstance(each, AIMessage)), None)


def asks(message: AIMessage) -> bool:
    """Whether a message asks the user a question."""
    return any(call["name"] in QUESTION_TOOLS for call in message.tool_calls)


def as_call(question: Question, call_id: str) -> ToolCall:
    """The method's question as a call to the tool that asks it."""
    args: dict[str, Any] = {"question": question.text}
    if len(question.options) < 2:
        return {"name": ASK_USER, "args": args, "id": call_id, "type": "tool_call"}
    args["options"] = [{"id": name, "label": label} for name, label in question.options]
    return {"name": ASK_CHOICES, "args": args, "id": call_id, "type": "tool_call"}


def with_text(message: AIMessage, text: str) -> AIMessage:
    """A message with another text; everything else in it, such as a provider's own blocks, stays."""
    if isinstance(message.content, str):
        return message.model_copy(update={"content": text})
    others = [block for block in message.content if not (isinstance(block, str) or block.get("type") == "text")]
    return message.model_copy(update={"content": [*others, *([{"type": "text", "text": text}] if text else [])]})


def messages_of(state: Mapping[str, Any]) -> list[AnyMessage]:
    return list(state.get("messages") or [])
