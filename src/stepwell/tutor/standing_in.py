"""The method takes over when the model cannot go on: it asks its own next question, takes the answer, and tells users who ask to be told.

```
a model that is stopped (`middleware.stubborn`), or says nothing ─> ask_from_method ─┬─ told what they asked for
                                                                                      └─ the method's question ─> take_answer_in
```
A model that recovers leads again: it is asked after each answer, and stopped at once if it goes on as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.types import Command

from stepwell.middleware.clarify import USER_CHOICE, USER_WORDS
from stepwell.middleware.own_words import own_answer, stands_in
from stepwell.middleware.request import ModelCall
from stepwell.tutor.argument.document import Argument, changes, from_data, reduce_argument, to_data
from stepwell.tutor.argument.progress import describe_standing
from stepwell.tutor.argument.questions import go_on, next_question, take_answer
from stepwell.tutor.argument.telling import tell
from stepwell.tutor.dialogue import DEALT_WITH, Dialogue, as_call, messages_of, read_dialogue
from stepwell.tutor.unaided import is_opening_question, respond

LEADING = "The model got no further, so this question comes from the method."
_NOTE = "method_note"


def ask_from_method(call: ModelCall, what: str = "") -> AIMessage | None:
    """What the method says in the model's place; None if the seminar is complete."""
    state: Mapping[str, Any] = call.request.state
    messages = messages_of(state)
    dialogue = read_dialogue(messages)
    if dialogue.wants_to_be_told and (told := tell_instead(call, dialogue)):
        return own_answer(told, "stubborn")
    stored = from_data(state.get("argument"))
    at = go_on(_take_opening(_with_update(call, stored), dialogue))
    question = next_question(at)
    if question is None:
        return None
    if at != stored:
        call.update["argument"] = changes(stored, at)
    asking = as_call(question, f"ask_from_method_{dialogue.length}")
    return own_answer(_introduce(messages), "stubborn", [asking], stands_in=True)


def tell_instead(call: ModelCall, dialogue: Dialogue) -> str | None:
    """The method's own words for what the phase needs; None if something was told already, or there is nothing to tell."""
    state: Mapping[str, Any] = call.request.state
    stored = from_data(state.get("argument"))
    noted = _with_update(call, stored)
    at = go_on(noted)
    question = next_question(at)
    if question is None or has_told(noted, dialogue):
        return None
    told, said = tell(at, question, asked=True)
    call.update["argument"] = changes(stored, told)
    return said


def has_told(argument: Argument, dialogue: Dialogue) -> bool:
    """Whether something was told since the user asked for it: a move in the tutor's words, or a text."""
    wishes = [place for place, move in enumerate(argument.moves) if move.move == "tell"]
    since = argument.moves[wishes[-1] :] if wishes else ()
    if any(move.by == "tutor" and move.move in ("propose", "update", "link", "hint") for move in since):
        return True
    said: list[AnyMessage] = [each for each in dialogue.this_turn if isinstance(each, AIMessage)]
    return any(each.text.strip() for each in said)


def take_answer_in(argument: Argument, result: ToolMessage) -> Command[Any]:
    """The method handles the answer to its own question, and tells the model the result."""
    said = ", ".join(result.additional_kwargs.get(USER_CHOICE) or ()) or str(result.additional_kwargs.get(USER_WORDS, ""))
    after, note = respond(argument, said)
    moved = go_on(after)
    text = "\n".join(
        part for part in (result.text, note, f"The method has dealt with this answer. {describe_standing(moved)}") if part
    )
    kept = {**result.additional_kwargs, DEALT_WITH: True, **({_NOTE: note} if note else {})}
    message = result.model_copy(update={"content": text, "additional_kwargs": kept})
    return Command(update={"messages": [message], "argument": changes(argument, moved)})


def _take_opening(argument: Argument, dialogue: Dialogue) -> Argument:
    """The argument with the question that the user has just put, if it has none: nobody wants to be asked for it again."""
    said = dialogue.last.text.strip() if dialogue.last else ""
    question = next_question(argument)
    if question is None or question.need != "question" or not is_opening_question(said):
        return argument
    return take_answer(argument, question, said)


def _with_update(call: ModelCall, stored: Argument) -> Argument:
    """The argument with this call's changes so far."""
    return from_data(reduce_argument(to_data(stored), [call.update["argument"]])) if "argument" in call.update else stored


def _introduce(messages: list[AnyMessage]) -> str:
    """The introduction, once; after that only the method's note about the last answer."""
    recent = [message for message in messages[-8:] if message.type == "tool" and _NOTE in message.additional_kwargs]
    note = str(recent[-1].additional_kwargs[_NOTE]) if recent else ""
    return note or ("" if any(stands_in(message) for message in messages[-8:]) else LEADING)
