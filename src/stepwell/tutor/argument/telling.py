"""Hints in four levels, and the words themselves for users who ask to be told. Works without a model, and always leaves a record.

| level | what it gives |
|---|---|
| 1 | where to look |
| 2 | an example from another subject |
| 3 | the beginning of a sentence |
| 4 | the words themselves |

The words are built from what the user has said; if that is too little, they say something plain that the user can change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stepwell.tutor.argument import moves
from stepwell.tutor.argument.document import Argument, MoveRefusedError, parse_link
from stepwell.tutor.argument.method import Need, supporters
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
        "Copy one or two words from your thesis.",
    ),
    "definition": (
        "Say what counts and what does not.",
        "'Marks' are numbers or letters that compare pupils; a written comment is none.",
        "It is a ... that ...; a ... is none.",
    ),
    "ground": (
        "What did you see, read or live through that made you think so?",
        "Pupils who get a mark beside a comment read the comment less often (source: a teacher's notes).",
        "When ..., then ...",
    ),
    "place": (
        "Which clause would be weaker without it?",
        "A ground for the thesis supports the thesis.",
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
        "Which of your clauses would its author deny?",
        "If it denies the claim itself, that is the thesis.",
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
        "Look at your grounds and definitions: does one of them already meet it?",
        "A written comment, as defined, tells parents more than a mark does.",
        "It leaves ... as it is, because ...",
    ),
    "basis": (
        "Which clause would you point at?",
        "A reply that uses a definition rests on that definition.",
        "Choose from the list.",
    ),
    "decision": (
        "Would you still say it in front of whoever made the objection?",
        "Somebody revised 'never' to 'not before the age of ten'.",
        "Choose: hold, revise or withdraw.",
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


def tell(argument: Argument, question: Question) -> tuple[Argument, str]:
    """Answers the question for the user, at their request. Returns the argument with the words, marked as the tutor's, and the words."""
    words = words_for(argument, question)
    asked = moves.record(argument, "user", "tell", question.about, level=TOP_LEVEL)
    return take_answer(asked, question, words, author="tutor"), words


def words_for(argument: Argument, question: Question) -> str:
    """An answer to a question, built from what the argument contains."""
    return SKIP if question.need == "lint" else _TELLING[question.need](argument, question)


def _tell_thesis(argument: Argument, question: Question) -> str:
    """A question that begins with its verb becomes a statement; any other is answered with yes."""
    verb, _, rest = argument.question.rstrip("? ").partition(" ")
    subject, _, predicate = rest.partition(" ")
    if verb.casefold() in ("should", "can", "must", "will", "may") and subject and predicate:
        if subject.casefold() in ("the", "a", "an", "our", "all"):
            noun, _, predicate = predicate.partition(" ")
            subject = f"{subject} {noun}"
        return f"{subject[:1].upper()}{subject[1:]} {verb.casefold()} {predicate}."
    return f"The answer to the question “{argument.question.rstrip('?')}” is yes."


def _tell_terms(argument: Argument, question: Question) -> str:
    """The longest word, which is rarely an unimportant one."""
    return max(words_of(argument.nodes[question.about].text), key=len)


def _tell_ground(argument: Argument, question: Question) -> str:
    return f"Nothing that would speak against {question.about} has been named so far."


def _tell_why(argument: Argument, question: Question) -> str:
    made = parse_link(question.detail)
    opposite = "less" if made.relation == "attacks" else "more"
    return f"If {made.source} is right, {made.target} is {opposite} likely to be right."


def _tell_refutation(argument: Argument, question: Question) -> str:
    return f"It may be otherwise than {question.about} says, and nothing said so far rules that out."


def _tell_examination(argument: Argument, question: Question) -> str:
    return f"I would have to hold {question.about} less firmly, and not give it up."


def _tell_reply(argument: Argument, question: Question) -> str:
    ground = next(iter(supporters(argument)), None)
    return f"That leaves {ground.id} as it is." if ground else "That is possible, and it has not been shown."


def _tell_first(argument: Argument, question: Question) -> str:
    return question.options[0][0]


def _tell_decision(argument: Argument, question: Question) -> str:
    names = [name for name, _ in question.options]
    return "held" if "held" in names else "withdrawn"


def _tell_rewording(argument: Argument, question: Question) -> str:
    node = argument.nodes[question.about]
    text = node.text.rstrip(". ")
    sure = " 50" if argument.thesis == node else ""
    return f"In many cases, {text[:1].lower()}{text[1:]}.{sure}"


def _tell_conclusion(argument: Argument, question: Question) -> str:
    thesis = argument.nodes[question.about]
    if thesis.status == "withdrawn":
        return "The thesis was withdrawn; the question is open."
    return f"{thesis.id} is {thesis.status}, with a confidence of {thesis.confidence}."


def _tell_definition(argument: Argument, question: Question) -> str:
    return "What the dictionary gives as its everyday meaning."


_TELLING: Mapping[Need, Callable[[Argument, Question], str]] = {
    "question": lambda *_: "What should I do?",
    "thesis": _tell_thesis,
    "confidence": lambda *_: "50",
    "terms": _tell_terms,
    "definition": _tell_definition,
    "ground": _tell_ground,
    "place": _tell_first,
    "warrant": _tell_why,
    "refutation": _tell_refutation,
    "target": _tell_first,
    "force": _tell_why,
    "opposing_ground": _tell_ground,
    "examination": _tell_examination,
    "reply": _tell_reply,
    "basis": _tell_first,
    "decision": _tell_decision,
    "rewording": _tell_rewording,
    "confidence_now": lambda *_: "50",
    "conclusion": _tell_conclusion,
    "mending": lambda *_: "withdraw",
}
