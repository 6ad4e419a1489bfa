"""When the method takes over from a model, so that a user always gets a word after at most three model calls.

| a model that | is followed by the method's question |
|---|---|
| makes a call that fails, and then another one, or the same call with the same result | after the second |
| did so in the turn before as well | after the first |
| works on the argument without a word to the user | after the third call |

Work on the user's files (reading, searching, writing, a subagent) that succeeds does not count: that takes as many calls as it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware.types import ModelResponse
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from stepwell.middleware.own_words import stands_in
from stepwell.middleware.request import ModelCall
from stepwell.middleware.stubborn import StubbornModelMiddleware
from stepwell.tutor.dialogue import QUESTION_TOOLS, Dialogue, messages_of, read_dialogue
from stepwell.tutor.tools import ARGUMENT_TOOLS

MAX_CALLS = 3
_TWICE = "tutor_asked_twice"
"""In `additional_kwargs` of an answer: the model was called twice for it. Of a note to the model: it belongs to the second call."""
_NO_WORK = frozenset({*ARGUMENT_TOOLS, *QUESTION_TOOLS, "write_todos"})


class LeadingMiddleware(StubbornModelMiddleware):
    """Asks for another answer only while the turn has model calls left."""

    def wants_another(self, call: ModelCall, response: ModelResponse[Any]) -> bool:
        dialogue = read_dialogue(messages_of(call.request.state))
        if count_calls(dialogue) + 2 > MAX_CALLS or not super().wants_another(call, response):
            return False
        note = call.messages[-1]
        call.messages = [*call.messages[:-1], HumanMessage(note.content, additional_kwargs={_TWICE: True})]
        return True


def gets_nowhere(messages: Sequence[AnyMessage], dialogue: Dialogue) -> bool:
    """Whether the method should ask now instead of calling the model again."""
    steps = _steps(dialogue)
    if not steps:
        return False
    patience = 1 if _stood_in_before(messages, dialogue) else 2
    barren = [place for place, step in enumerate(steps) if _is_barren(step, steps[:place])]
    return len(barren) >= patience or count_calls(dialogue) >= MAX_CALLS


def count_calls(dialogue: Dialogue) -> int:
    """The model calls of this turn, without those that worked on the user's files."""
    counted = 0
    for message, results in _steps(dialogue):
        if not any(is_work(each) for each in results):
            counted += 2 if message.additional_kwargs.get(_TWICE) else 1
    return counted


def ask_again(call: ModelCall, why: str) -> None:
    """Prepares the second call for one answer, with the reason in a note for that call only."""
    call.messages = [*call.messages, HumanMessage(f"[{why}]", additional_kwargs={_TWICE: True})]


def mark_second(call: ModelCall, message: AIMessage) -> AIMessage:
    """The answer, marked if the model was called twice for it."""
    if not call.messages or not call.messages[-1].additional_kwargs.get(_TWICE):
        return message
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, _TWICE: True}})


def is_work(result: ToolMessage) -> bool:
    """Whether a call did something with the user's files."""
    return result.name not in _NO_WORK and result.status != "error" and not result.text.startswith("Error")


_Step = tuple[AIMessage, list[ToolMessage]]


def _steps(dialogue: Dialogue) -> list[_Step]:
    """The model's messages of this turn with the results of their calls."""
    results = [each for each in dialogue.this_turn if isinstance(each, ToolMessage)]
    found: list[_Step] = []
    for message in dialogue.this_turn:
        if isinstance(message, AIMessage) and not stands_in(message) and message.tool_calls:
            ids = {call["id"] for call in message.tool_calls}
            found.append((message, [each for each in results if each.tool_call_id in ids]))
    return found


def _is_barren(step: _Step, before: Sequence[_Step]) -> bool:
    """Whether every call failed, or gave what the same call gave before."""
    made = _made(step)
    earlier = [each for other in before for each in _made(other)]
    return all(_failed(each) for each in step[1]) or all(each in earlier for each in made)


def _made(step: _Step) -> list[tuple[str, object, str]]:
    message, results = step
    texts = {each.tool_call_id: each.text for each in results}
    return [(call["name"], call["args"], texts.get(call["id"] or "", "")) for call in message.tool_calls]


def _failed(result: ToolMessage) -> bool:
    return result.status == "error" or result.text.startswith("Error")


def _stood_in_before(messages: Sequence[AnyMessage], dialogue: Dialogue) -> bool:
    """Whether the method asked the question that the user has just answered."""
    before = messages[: len(messages) - len(dialogue.this_turn)]
    asked_by = next((each for each in reversed(before) if isinstance(each, AIMessage)), None)
    return asked_by is not None and stands_in(asked_by)
