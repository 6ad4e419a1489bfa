"""Asks the next question without a model, from what the phase's exit test finds missing and from the lint; and applies the answer.

```
next_question(argument) ─> Question ─> a user ─> take_answer(argument, question, text) ─> argument, or a refusal: asked again
go_on(argument): moves on to the next phase while nothing is missing and nothing is worth a question
```
A question is short: it names the clause it is about and quotes only its beginning, because the whole stands in the conversation and beside
it. Each is about one clause (before there is a thesis, about the phase) and of one kind: it clarifies, asks for evidence, tests an
assumption, takes another view, follows a consequence, or looks back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from stepwell.tutor.argument import moves
from stepwell.tutor.argument.document import Argument, Author, Kind, MoveRefusedError, Status, parse_link
from stepwell.tutor.argument.lint import lint
from stepwell.tutor.argument.method import Missing, Need, is_complete, missing, phase_after, unanswered
from stepwell.tutor.argument.naming import cut, find_clause, name_of, quote_of, title_of
from stepwell.tutor.argument.words import asks_to_be_told, words_of

Inquiry: TypeAlias = Literal["clarification", "evidence", "assumption", "viewpoint", "consequence", "reflection"]

SKIP = "/skip"
_ANSWERS: Mapping[str, str] = {
    "thesis": "a claim",
    "definition": "a definition",
    "ground": "a reason",
    "warrant": "a reason",
    "refutation": "an objection",
    "reply": "a reply",
}
_SOURCE_MARKS = ("(source:", "source:", "https://", "http://", "www.", "doi:")


@dataclass(frozen=True, slots=True)
class Question:
    """One question, about one thing."""

    inquiry: Inquiry
    need: Need | Literal["lint"]
    about: str
    text: str
    detail: str = ""
    options: tuple[tuple[str, str], ...] = ()
    """Id and label of each choice; empty for a free answer."""


def next_question(argument: Argument) -> Question | None:
    """What to ask now; None if the seminar is complete. Call `go_on` first."""
    gap = next(iter(missing(argument)), None)
    return _ask(argument, gap) if gap else _ask_about_lint(argument)


def go_on(argument: Argument) -> Argument:
    """The argument, moved to the first phase that has something to ask."""
    while not missing(argument) and not is_complete(argument) and _ask_about_lint(argument) is None:
        following = phase_after(argument.phase)
        if following is None:
            return argument
        argument = moves.set_phase(argument, following)
    return argument


def _ask(argument: Argument, gap: Missing) -> Question:
    inquiry, template = _TEMPLATES[gap.need]
    if gap.need == "rewording" and _is_own_thesis(argument, gap.about):
        template += " End with how sure you are of it now, from 0 to 100."
    text = template.format(detail=gap.detail, sentence=gap.sentence, **_subjects(argument, gap))
    return Question(inquiry, gap.need, gap.about, text, gap.detail, _options(argument, gap))


def _is_own_thesis(argument: Argument, node_id: str) -> bool:
    return argument.thesis is not None and argument.thesis.id == node_id


def _subjects(argument: Argument, gap: Missing) -> dict[str, str]:
    """What a question is about, short: the clause, and what it bears on or is attacked by."""
    about = quote_of(argument, gap.about) if gap.about in argument.nodes else ""
    other = ""
    if gap.need in ("warrant", "force"):
        other = name_of(argument, parse_link(gap.detail).target)
    elif gap.need == "examination":
        against = next(link.source for link in argument.links_of("attacks", target=gap.about))
        other = quote_of(argument, against)
    return {"about": about, "other": other}


_TEMPLATES: Mapping[Need, tuple[Inquiry, str]] = {
    "question": ("clarification", "What question do you want to think through?"),
    "thesis": ("clarification", "What do you claim? Say it in one sentence."),
    "confidence": ("reflection", "How sure are you of your claim, from 0 (not at all) to 100 (certain)?"),
    "terms": (
        "clarification",
        "Which words in your claim could two people understand differently? Separate them with commas.",
    ),
    "definition": ("clarification", "What do you mean by “{detail}”?"),
    "ground": ("evidence", "What is your best reason for your claim? If it has a source, add it: (source: ...)."),
    "place": ("evidence", "What does {about} support?"),
    "warrant": ("assumption", "Why does {about} support {other}?"),
    "refutation": ("viewpoint", "What is the strongest thing somebody could say against your claim?"),
    "target": ("viewpoint", "What does {about} speak against?"),
    "force": ("viewpoint", "Suppose {about} is right. Why would that tell against {other}?"),
    "opposing_ground": ("viewpoint", "What is the best reason for {about}?"),
    "examination": ("consequence", "Suppose {other} is right. What of {about} would you give up, and what not?"),
    "reply": ("evidence", "What do you say to {about}, from what you have said already?"),
    "basis": ("evidence", "What does {about} rest on?"),
    "decision": ("reflection", "After the objection and your reply, what do you do with {about}?"),
    "rewording": ("reflection", "How does {about} read now?"),
    "confidence_now": ("reflection", "How sure are you of your claim now, from 0 to 100?"),
    "conclusion": ("reflection", "What is left at the end? Say it in a sentence or two."),
    "mending": ("reflection", "{sentence} How should it read instead?"),
}


def _options(argument: Argument, gap: Missing) -> tuple[tuple[str, str], ...]:
    kinds: Mapping[str, tuple[Kind, ...]] = {
        "place": ("thesis", "narrative"),
        "target": ("thesis", "citation", "narrative"),
        "basis": ("thesis", "definition", "citation", "narrative"),
    }
    if gap.need in kinds:
        offered = [node for node in argument.of_kind(*kinds[gap.need], side="own") if node.id != gap.about]
        return tuple((node.id, f"{title_of(argument, node.id)}: {cut(node.text)}") for node in offered)
    if gap.need == "decision":
        held: tuple[tuple[str, str], ...] = () if unanswered(argument, gap.about) else (("held", "Keep it as it is"),)
        return (*held, ("revised", "Change it"), ("withdrawn", "Give it up"))
    return ()


def _ask_about_lint(argument: Argument) -> Question | None:
    """A question about a lint finding: at most one per phase, and none twice, because nobody listens to a reader who marks everything."""
    asked = {(move.about, move.text) for move in argument.moves if move.move == "lint"}
    if any(move.move == "lint" and move.phase == argument.phase for move in argument.moves):
        return None
    for finding in lint(argument):
        if finding.code in _LINT_TEMPLATES and (finding.about, f"{finding.code} {finding.detail}") not in asked:
            inquiry, template = _LINT_TEMPLATES[finding.code]
            text = f"{finding.sentence} {template} ({SKIP} leaves it.)"
            return Question(inquiry, "lint", finding.about, text, f"{finding.code} {finding.detail}")
    return None


_LINT_TEMPLATES: Mapping[str, tuple[Inquiry, str]] = {
    "undefined": ("clarification", "What do you mean by it?"),
    "absolute": ("assumption", "How would you put it so that it stands?"),
}


def take_answer(argument: Argument, question: Question, text: str, author: Author = "user") -> Argument:
    """The argument after an answer; `MoveRefusedError` if the answer is invalid, in which case the question stays open."""
    said = text.strip()
    if not said:
        raise MoveRefusedError("That was empty.")
    if author == "user" and asks_to_be_told(said):
        raise MoveRefusedError(f"That asks to be told; it is not {_ANSWERS.get(question.need, 'an answer')}.")
    asked = moves.record(argument, "tutor", "ask", question.about, question.text)
    answered = moves.record(asked, "user", "answer", question.about, said) if author == "user" else asked
    if question.need == "lint":
        return _take_lint(answered, question, said, author)
    return _TAKING[question.need](answered, question, said, author)


def _take_lint(argument: Argument, question: Question, said: str, author: Author) -> Argument:
    noted = moves.record(argument, "tutor", "lint", question.about, question.detail)
    if said.casefold() == SKIP:
        return noted
    code, _, detail = question.detail.partition(" ")
    if code == "undefined":
        return moves.propose_node(noted, "definition", said, term=detail, author=author)
    again = noted.nodes[question.about].confidence if _is_own_thesis(noted, question.about) else None
    return moves.update_node(noted, question.about, text=said, confidence=again, author=author)


def _take_question(argument: Argument, question: Question, said: str, author: Author) -> Argument:
    return moves.set_question(argument, said, author=author)


def _take_thesis(argument: Argument, question: Question, said: str, author: Author) -> Argument:
    if said.endswith("?"):
        raise MoveRefusedError("That is a question, and a claim says something. Put it as a statement.")
    return moves.propose_node(argument, "thesis", said, author=author)


def _take_confidence(argument: Argument, question: Question, said: str, author: Author) -> Argument:
    return moves.update_node(argument, question.about, confidence=read_percent(said), author=author)


def _take_terms(argument: Argument, question: Question, said: str, author: Author) -> Argument:
    parts = said.replace(";", ",").replace(" and ", ",").split(",")
    return moves.name_terms(argument, [part for part in parts if part.strip()], author=author)


def _take_definition(argument: Argument, question: Question, said: str, author: Author) -> Argument:
    return moves.propose_node(argument, "definition", said, term=question.detail, author=author)


def _take_ground(argument: Argument, question: Question, said: str, author: Author) -> Argument:
    words, source = split_source(said)
    kind: Kind = "citation" if source else "narrative"
    side = argument.nodes[question.about].side
    grown = moves.propose_node(argument, kind, words, source=source, side=side, author=author)
    return moves.link(grown, list(grown.nodes)[-1], "supports", question.about, author=author)


def _take_place(argument: Argument, question: Question, said: str, author: Author) -> Argument:
    return moves.link(argument, question.about, "supports", choose_one(argument, question, said), author=author)


def _take_why(argument: Argument, question: Question, said: str, author: Author) -> Argument:
    made = parse_link(question.detail)
    return moves.link(argument, made.source, made.relation, made.target, said, author=author)


def _take_refutation(argument: Argument, question: Question, said: str, author: Author) -> Argument:
    grown = moves.propose_node(argument, "refutation", said, author=author)
    only = argument.of_kind("thesis", "citation", "narrative", side="own")
    return moves.link(grown, list(grown.nodes)[-1], "attacks", only[0].id, author=author) if len(only) == 1 else grown


def _take_target(argument: Argument, question: Question, said: str, author: Author) -> Argument:
    return moves.link(argument, question.about, "attacks", choose_one(argument, question, said), author=author)


def _take_examination(argument: Argument, question: Question, said: str, author: Author) -> Argument:
    return argument if author == "user" else moves.record(argument, "tutor", "answer", question.about, said)


def _take_reply(argument: Argument, question: Question, said: str, author: Author) -> Argument:
    grown = moves.propose_node(argument, "reply", said, author=author)
    return moves.link(grown, list(grown.nodes)[-1], "answers", question.about, author=author)


def _take_basis(argument: Argument, question: Question, said: str, author: Author) -> Argument:
    for part in said.split(","):
        argument = moves.link(argument, question.about, "uses", choose_one(argument, question, part.strip()), author=author)
    return argument


def _take_decision(argument: Argument, question: Question, said: str, author: Author) -> Argument:
    chosen = choose_one(argument, question, said)
    decided = moves.record(argument, author, "decide", question.about, chosen)
    if chosen == "revised":
        return decided  # the words are asked for next
    status: Status = "held" if chosen == "held" else "withdrawn"
    return moves.update_node(decided, question.about, status=status, author=author)


def _take_rewording(argument: Argument, question: Question, said: str, author: Author) -> Argument:
    node = argument.nodes[question.about]
    words, sure = said, None
    if _is_own_thesis(argument, node.id):
        words, _, last = said.rstrip("% ").rpartition(" ")
        sure = read_percent(last)
    if words_of(words) == words_of(node.text):
        raise MoveRefusedError("Those are the same words. Say how it reads now.")
    return moves.update_node(argument, node.id, text=words, confidence=sure, author=author)


def _take_conclusion(argument: Argument, question: Question, said: str, author: Author) -> Argument:
    return moves.propose_node(argument, "conclusion", said, author=author)


def _take_mending(argument: Argument, question: Question, said: str, author: Author) -> Argument:
    node = argument.nodes[question.about]
    if said.casefold() == "withdraw":
        return moves.update_node(argument, node.id, status="withdrawn", author=author)
    words, source = split_source(said) if node.kind == "citation" else (said, "")
    again = node.confidence if _is_own_thesis(argument, node.id) else None
    return moves.update_node(argument, node.id, text=words, source=source or None, confidence=again, author=author)


_TAKING: Mapping[Need, Callable[[Argument, Question, str, Author], Argument]] = {
    "question": _take_question,
    "thesis": _take_thesis,
    "confidence": _take_confidence,
    "terms": _take_terms,
    "definition": _take_definition,
    "ground": _take_ground,
    "place": _take_place,
    "warrant": _take_why,
    "refutation": _take_refutation,
    "target": _take_target,
    "force": _take_why,
    "opposing_ground": _take_ground,
    "examination": _take_examination,
    "reply": _take_reply,
    "basis": _take_basis,
    "decision": _take_decision,
    "rewording": _take_rewording,
    "confidence_now": _take_confidence,
    "conclusion": _take_conclusion,
    "mending": _take_mending,
}


def choose_one(argument: Argument, question: Question, said: str) -> str:
    """The id of the option that the user named, by its label, its number or the name of its clause."""
    wanted = said.strip().casefold().rstrip(".")
    for number, (name, label) in enumerate(question.options, 1):
        if wanted in (name, label.casefold(), str(number)) or find_clause(argument, said) == name:
            return name
    raise MoveRefusedError(f"“{cut(said.strip(), 40)}” is not one of the choices. Choose one of them, or its number.")


def read_percent(said: str) -> int:
    """The number in an answer that contains exactly one, from 0 to 100."""
    figures = [word for word in words_of(said.replace("%", " ")) if word.isascii() and word.isdigit()]
    if len(figures) != 1 or int(figures[0][:6]) > 100:
        raise MoveRefusedError("Give one whole number from 0 to 100.")
    return int(figures[0])


def split_source(said: str) -> tuple[str, str]:
    """A ground and its source: "text (source: book)", "text source: book" or a text with an address."""
    lowered = said.casefold()
    places = [lowered.find(mark) for mark in _SOURCE_MARKS if mark in lowered]
    if not places or min(places) == 0:
        return said, ""
    words, source = said[: min(places)].strip(), said[min(places) :].strip()
    for mark in _SOURCE_MARKS[:2]:
        if source.casefold().startswith(mark):
            source = source[len(mark) :].strip().rstrip(")").strip()
            break
    return words, source
