"""Long answers that nobody asked for are held back: a tutor asks.

What a model says in a turn may have `MAX_WORDS` words, unless the user asked to be told, or the turn worked on the user's files (a summary
of them is what somebody has asked for). A longer text is not shown. If it has a question, that is asked. If not, the model is asked once
to turn it into one, and then the method asks. The text is kept with the message: a user who then asks to be told reads it.

The rule counts words. It does not know a lecture from a long hint, and several short messages over several turns can say as much as one
long one.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from stepwell.tutor.argument.words import count_words, take_questions_out
from stepwell.tutor.dialogue import Dialogue
from stepwell.tutor.leading import is_work

MAX_WORDS = 100
ASK_INSTEAD = (
    f"Your last answer was a lecture: more than {MAX_WORDS} words, and the user has not asked to be told. They have not seen it. Ask one "
    "short question instead, with ask_user, that lets them find it out."
)
LONG_ANSWER = "You asked to be told. This is the tutor's long answer:"
MAX_HELD_CHARS = 20_000
_HELD = "tutor_long_answer"


def is_lecture(message: AIMessage, dialogue: Dialogue) -> bool:
    """Whether this message makes the turn's texts too long."""
    said = [each.text for each in dialogue.this_turn if isinstance(each, AIMessage)]
    words = sum(count_words(take_questions_out(text)[0]) for text in (*said, message.text))
    return bool(message.text) and words > MAX_WORDS and not _worked_on_files(dialogue)


def hold_back(message: AIMessage, text: str) -> AIMessage:
    """The message with its text kept beside it."""
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, _HELD: text[:MAX_HELD_CHARS]}})


def is_held(message: AIMessage) -> bool:
    return bool(message.additional_kwargs.get(_HELD))


def held_answer(messages: Sequence[AnyMessage], dialogue: Dialogue) -> str | None:
    """The long answer that was held back before the user asked to be told."""
    if dialogue.this_turn:
        return None
    before = next((each for each in reversed(messages) if isinstance(each, AIMessage)), None)
    held = before.additional_kwargs.get(_HELD) if before is not None else None
    return f"{LONG_ANSWER}\n\n{held}" if isinstance(held, str) and held else None


def shorten_question(text: str) -> str:
    """A question without the lecture around it."""
    if count_words(text) <= MAX_WORDS:
        return text
    asked = " ".join(take_questions_out(text)[1])
    return asked if asked and count_words(asked) <= MAX_WORDS else " ".join((asked or text).split()[-MAX_WORDS:])


def _worked_on_files(dialogue: Dialogue) -> bool:
    return any(isinstance(each, ToolMessage) and is_work(each) for each in dialogue.this_turn)
