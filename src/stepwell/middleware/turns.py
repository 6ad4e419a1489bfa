"""A turn of an agent: everything that follows one message of the user. Which turn it is (`turn_of`), and whether the agent goes in
circles within it (`repeats_of`).

A run that paused for a person, or was taken up again after a crash, goes on in the same turn, though LangGraph gives it another run id.

A tool call is a repeat if its name, its arguments and its result were the same before, in the same turn. Running the tests twenty
times while mending a program is work; being told the same thing four times is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolCall, ToolMessage

_MARK = "stepwell_refused_repeat"


def turn_of(messages: Sequence[BaseMessage]) -> str:
    """The id of the user's last message; empty if there is none."""
    for message in reversed(messages):
        if message.type == "human":
            return message.id or ""
    return ""


@dataclass(frozen=True, slots=True)
class Repeats:
    """What is known of a call from earlier ones."""

    same_result: int
    """How often the call was made lately with one and the same result."""
    refused: bool
    """It was refused for that already."""


def repeats_of(call: ToolCall, messages: Sequence[AnyMessage]) -> Repeats:
    """How a call stands to those since the user's last message, newest first."""
    results: dict[str, ToolMessage] = {}
    answers: list[ToolMessage] = []
    for message in reversed(messages):
        if message.type == "human":
            break
        if isinstance(message, ToolMessage):
            results[message.tool_call_id] = message
        elif isinstance(message, AIMessage):
            answers += [results[other] for other in _same(call, message) if other in results]
    if not answers:
        return Repeats(0, refused=False)
    if is_refusal(answers[0]):
        return Repeats(0, refused=True)
    same = next((place for place, answer in enumerate(answers) if answer.content != answers[0].content), len(answers))
    return Repeats(same, refused=False)


def refusal(call: ToolCall, times: int) -> ToolMessage:
    """The result of a call that is not made any more."""
    return ToolMessage(
        f"Error: {call['name']} was called {times} times with these arguments and gave the same result each time, so it was not run "
        "again. Do something else, or finish with what you have. Asking once more ends the run.",
        name=call["name"],
        tool_call_id=call["id"] or "",
        status="error",
        additional_kwargs={_MARK: True},
    )


def is_refusal(message: ToolMessage) -> bool:
    return bool(message.additional_kwargs.get(_MARK))


def _same(call: ToolCall, message: AIMessage) -> list[str]:
    """The ids of a message's calls that ask for the same."""
    return [
        other["id"]
        for other in reversed(message.tool_calls)
        if other["id"] and other["id"] != call["id"] and other["name"] == call["name"] and other["args"] == call["args"]
    ]
