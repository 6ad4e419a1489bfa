"""Hints in four levels, and the words themselves for users who ask to be told. Works without a model, and always leaves a record.

| level | what it gives |
|---|---|
| 1 | where to look |
| 2 | an example from another subject |
| 3 | the beginning of a sentence |
| 4 | the words themselves |

The words are built from what the user has said. Where that would not give a reason, nothing is told and the gap stays open
(`NOT_TOLD`): an argument never contains "I do not know" as a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stepwell.tutor.argument import moves
from stepwell.tutor.argument.document import Argument, MoveRefusedError
from stepwell.tutor.argument.method import Need
from stepwell.tutor.argument.naming import capital
from stepwell.tutor.argument.questions import SKIP, Question, take_answer
from stepwell.tutor.argument.words import words_of

TOP_LEVEL = 4

_HINTS: Mapping[Need, tuple[str, str, str]] = {
    "question": (
        "Think of something you would like to be less wrong about.",
        "Somebody else asked: Should schools give marks?",
        "Should ... ?",
    ),
    "thesis": (
        "Answer your own question with yes or no first, then say for whom and when.",
        "On marks in schools somebody wrote: Schools should not give marks before the age of ten.",
        "I claim that ... should ...",
    ),
    "confidence": (
        "50 means that you would bet on neither side.",
        "Somebody who would be surprised to be wrong says 80.",
        "A number, such as 60.",
    ),
    "terms": (
        "Look for the words that a critic would ask about first.",
        "In 'Schools should not give marks', that is 'marks'.",
        "Copy one or two words from your claim.",
    ),
    "definition": (
        "Say what counts and what does not.",
        "'Marks' are numbers or letters that compare pupils; a written comment is not one.",
        "It is a ... that ...; a ... is not one.",
    ),
    "ground": (
        "What did you see, read or live through that made you think so?",
        "Pupils who get a mark beside a comment read the comment less often (source: a teacher's notes).",
        "When ..., then ...",
    ),
    "place": (
        "What would be weaker without it?",
        "A reason for your claim supports your claim.",
        "Choose one of the list.",
    ),
    "warrant": (
        "What has to be true in general for the one to carry the other?",
        "Because what keeps pupils from reading comments keeps them from learning.",
        "Because whatever ... also ...",
    ),
    "refutation": (
        "Who would lose something if you were right?",
        "Without marks, parents learn too late that a child cannot follow.",
        "Even if ..., it would still ...",
    ),
    "target": (
        "Which of these would its author deny?",
        "If it denies the claim itself, that is your claim.",
        "Choose one of the list.",
    ),
    "force": (
        "Suppose it is right. What can you then no longer say?",
        "Because a claim about what is good for pupils fails if their parents cannot help in time.",
        "Because then ... would no longer ...",
    ),
    "opposing_ground": (
        "What would the other side show you first?",
        "They would show a country in which marks work.",
        "In ..., ...",
    ),
    "examination": (
        "Take the objection as true for a moment and follow it.",
        "I would have to give up 'never', but not 'before the age of ten'.",
        "I would have to give up ..., but not ...",
    ),
    "reply": (
        "Look at your reasons and definitions: does one of them already meet it?",
        "A written comment, as defined, tells parents more than a mark does.",
        "It leaves ... as it is, because ...",
    ),
    "basis": (
        "Which of them would you point at?",
        "A reply that uses a definition rests on that definition.",
        "Choose from the list.",
    ),
    "decision": (
        "Would you still say it in front of whoever made the objection?",
        "Somebody revised 'never' to 'not before the age of ten'.",
        "Choose: keep, change or give up.",
    ),
    "rewording": (
        "Say less, and say for whom.",
        "From 'never' to 'not before the age of ten'.",
        "Copy it and change one word.",
    ),
    "confidence_now": (
        "Compare with what you said at the start.",
        "A good objection usually costs a few points; a good reply gives some back.",
        "A number, such as 60.",
    ),
    "conclusion": (
        "What would you tell somebody who has one minute?",
        "Marks before ten do harm that comments do not; how to tell parents is open.",
        "I still hold that ...; open is ...",
    ),
    "mending": ("Change the words that the remark is about.", "Or type: withdraw", "Copy it and change what is marked."),
}


def hint_level(argument: Argument, about: str) -> int:
    """The level of the highest hint given about something. Being told once does not count as a hint, and permits nothing later."""
    return max((move.level for move in argument.moves if move.move == "hint" and move.about == about), default=0)


def give_hint(argument: Argument, question: Question) -> tuple[Argument, str]:
    """The argument with a record of the hint, and the next hint about a question, up to level 3. After level 3 there is only `tell`."""
    earlier = [move.level for move in argument.moves if move.move == "hint" and move.text == question.text]
    level = max(earlier, default=0) + 1
    if question.need == "lint" or level >= TOP_LEVEL:
        raise MoveRefusedError("There is no further hint. /tell gives you words that you can change afterwards.")
    kept = moves.record(argument, "tutor", "hint", question.about, question.text, level)
    return kept, f"Hint {level} of {TOP_LEVEL}: {_HINTS[question.need][level - 1]}"


def tell(argument: Argument, question: Question, *, asked: bool = False) -> tuple[Argument, str]:
    """Answers the question for the user, at their request, which is recorded unless it is in the log already (`asked`). Returns the
    argument with the words, marked as the tutor's, and what to say.

    The method has no words for a reason, an objection or a reply: nothing is made up, and the question is left open.
    """
    noted = argument if asked else moves.record(argument, "user", "tell", question.about, level=TOP_LEVEL)
    words = words_for(argument, question)
    if words is None:
        return moves.leave(noted, question.about, f"{question.need} {question.detail}".strip()), NOT_TOLD[question.need]
    after = take_answer(noted, question, words, author="tutor")
    if question.need == "lint":
        return after, "There is nothing that I could say for you here, so I leave it."
    return after, f"You asked to be told, so these words are mine: “{_shown(question, words)}” Change them when you like."


def words_for(argument: Argument, question: Question) -> str | None:
    """An answer to a question, built from what the argument contains; None if that would not be a reason."""
    if question.need == "lint":
        return SKIP
    return None if question.need in NOT_TOLD else _TELLING[question.need](argument, question)


_LEFT = "I leave this open, and you can come back to it"
NOT_TOLD: Mapping[str, str] = {
    "ground": f"I have no reason for your claim to give you, and I make none up. {_LEFT}: /ground and your reason.",
    "opposing_ground": f"I have no reason for the opposing claim to give you, and I make none up. {_LEFT}.",
    "warrant": f"Why one thing supports another is for you to say: I would only repeat both. {_LEFT}.",
    "refutation": f"I have no objection to give you, and I make none up. {_LEFT}: /objection and its words.",
    "force": f"Why the objection counts is for you to say: I would only repeat it. {_LEFT}.",
    "examination": f"What you would give up is for you to say. {_LEFT}.",
    "reply": f"I have no reply to give you, and I make none up. {_LEFT}.",
}
"""What the method cannot tell, and what it says instead."""


def _shown(question: Question, words: str) -> str:
    """The words as a user reads them: the label of an option instead of its id."""
    return dict(question.options).get(words, words)


def _tell_thesis(argument: Argument, question: Question) -> str:
    """A question that begins with its verb becomes a statement; any other is answered with yes."""
    verb, _, rest = argument.question.rstrip("? ").partition(" ")
    subject, _, predicate = rest.partition(" ")
    if verb.casefold() in ("should", "can", "must", "will", "may") and subject and predicate:
        if subject.casefold() in ("the", "a", "an", "our", "all"):
            noun, _, predicate = predicate.partition(" ")
            subject = f"{subject} {noun}"
        return f"{capital(subject)} {verb.casefold()} {predicate}."
    return f"The answer to the question “{argument.question.rstrip('?')}” is yes."


def _tell_terms(argument: Argument, question: Question) -> str:
    """The longest word, which is rarely an unimportant one."""
    return max(words_of(argument.nodes[question.about].text), key=len)


def _tell_first(argument: Argument, question: Question) -> str:
    return question.options[0][0]


def _tell_decision(argument: Argument, question: Question) -> str:
    names = [name for name, _ in question.options]
    return "held" if "held" in names else "revised"


def _tell_rewording(argument: Argument, question: Question) -> str:
    node = argument.nodes[question.about]
    text = node.text.rstrip(". ")
    sure = " 50" if argument.thesis == node else ""
    return f"In many cases, {text[:1].lower()}{text[1:]}.{sure}"


def _tell_conclusion(argument: Argument, question: Question) -> str:
    thesis = argument.nodes[question.about]
    if thesis.status == "withdrawn":
        return "The claim was given up; the question is open."
    changed = "changed" if thesis.status == "revised" else "kept"
    return f"The claim was {changed}, with a confidence of {thesis.confidence}."


def _tell_definition(argument: Argument, question: Question) -> str:
    return "What the dictionary gives as its everyday meaning."


def _tell_confidence(argument: Argument, question: Question) -> str:
    confidence = argument.nodes[question.about].confidence
    return "50" if confidence is None else str(confidence)


_TELLING: Mapping[str, Callable[[Argument, Question], str]] = {
    "question": lambda *_: "Should schools give marks?",
    "thesis": _tell_thesis,
    "confidence": _tell_confidence,
    "terms": _tell_terms,
    "definition": _tell_definition,
    "place": _tell_first,
    "target": _tell_first,
    "basis": _tell_first,
    "decision": _tell_decision,
    "rewording": _tell_rewording,
    "confidence_now": _tell_confidence,
    "conclusion": _tell_conclusion,
    "mending": lambda *_: "withdraw",
}
