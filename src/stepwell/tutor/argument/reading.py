"""What a model means by the arguments of a call. Weak models get details wrong; where the meaning is plain, code does that.

Nothing here decides whether a move is allowed: `moves` does, with what was read here.
"""

from __future__ import annotations

from collections.abc import Mapping

from stepwell.tutor.argument import moves
from stepwell.tutor.argument.document import (
    KINDS,
    PHASES,
    RELATIONS,
    Argument,
    Kind,
    Link,
    MoveRefusedError,
    Node,
    Phase,
    Relation,
    Side,
)
from stepwell.tutor.argument.method import missing, phase_after, phase_fault
from stepwell.tutor.argument.naming import find_clause
from stepwell.tutor.argument.telling import TOP_LEVEL
from stepwell.tutor.argument.words import mentions, take_questions_out, words_of

_KINDS: Mapping[str, Kind] = {
    "claim": "thesis",
    "statement": "thesis",
    "position": "thesis",
    "term": "definition",
    "meaning": "definition",
    "quote": "citation",
    "quotation": "citation",
    "source": "citation",
    "reference": "citation",
    "ground": "narrative",
    "grounds": "narrative",
    "reason": "narrative",
    "argument": "narrative",
    "evidence": "narrative",
    "premise": "narrative",
    "support": "narrative",
    "example": "narrative",
    "objection": "refutation",
    "counterargument": "refutation",
    "counter-argument": "refutation",
    "attack": "refutation",
    "criticism": "refutation",
    "answer": "reply",
    "rebuttal": "reply",
    "response": "reply",
    "summary": "conclusion",
    "result": "conclusion",
}
_RELATIONS: Mapping[str, Relation] = {
    "support": "supports",
    "supported": "supports",
    "backs": "supports",
    "because": "supports",
    "attack": "attacks",
    "refutes": "attacks",
    "objects": "attacks",
    "contradicts": "attacks",
    "answer": "answers",
    "replies": "answers",
    "use": "uses",
    "rests": "uses",
}
_NEEDS: Mapping[str, Kind] = {
    "thesis": "thesis",
    "definition": "definition",
    "ground": "narrative",
    "opposing_ground": "narrative",
    "refutation": "refutation",
    "reply": "reply",
    "conclusion": "conclusion",
}


def read_kind(argument: Argument, said: str, source: str) -> Kind:
    """The kind that a word stands for; for an unknown word, what the phase needs now."""
    words = words_of(said)
    exact = next((kind for kind in KINDS if kind in words), None)
    meant = exact or next((_KINDS[word] for word in words if word in _KINDS), None)
    needed = next((_NEEDS[gap.need] for gap in missing(argument) if gap.need in _NEEDS), None)
    kind: Kind | None = meant or needed
    if kind is None:
        raise MoveRefusedError(f"There is no kind '{said[:40]}'. There are: {', '.join(KINDS)}.")
    return "citation" if kind == "narrative" and source.strip() else kind


def read_target(argument: Argument, kind: Kind, said: str, side: Side) -> str | None:
    """What a new clause bears on: what was named, or the only thing it can bear on."""
    if kind in ("thesis", "definition", "conclusion"):
        return None
    named = find_clause(argument, said)
    if kind == "reply":
        if named is not None and argument.nodes[named].kind == "refutation":
            return named
        refutations = [node.id for node in argument.of_kind("refutation")]
        unanswered = [each for each in refutations if not argument.links_of("answers", target=each)]
        return next(iter(unanswered or refutations), None)
    if named is not None or not said.strip():
        return named
    thesis = argument.thesis if side == "own" else argument.opposing_thesis
    return thesis.id if thesis else None


def read_term(argument: Argument) -> str:
    """The first word that still needs a definition."""
    defined = [node.term for node in argument.of_kind("definition", side="own")]
    return next((term for term in argument.terms if not any(mentions(term, each) for each in defined)), "")


def read_link(argument: Argument, source: str, relation: str, target: str) -> tuple[str, Relation, str]:
    """A link, turned round if it only fits the other way."""
    words = words_of(relation)
    known = next((each for word in words if (each := _RELATIONS.get(word))), None)
    known = next((each for each in RELATIONS if each in words), known)
    ends = require_clause(argument, source).id, require_clause(argument, target).id
    if known is None:
        raise MoveRefusedError(f"There is no relation '{relation[:40]}'. There are: {', '.join(RELATIONS)}.")
    made = Link(ends[0], known, ends[1])
    turned = Link(ends[1], known, ends[0])
    if moves.link_fault(argument.nodes, made) and not moves.link_fault(argument.nodes, turned):
        made = turned
    return made.source, made.relation, made.target


def means_claim(said: str) -> bool:
    """Whether a name stands for the claim, also before there is one."""
    return bool({"claim", "thesis", "t1", "statement", "position"} & set(words_of(said)))


def require_clause(argument: Argument, said: str) -> Node:
    return moves.require_node(argument, find_clause(argument, said) or said)


def read_level(said: int | str, given: int) -> int:
    """The level of a hint: what was said, but at least 1 and at most one more than the last."""
    figures = [word for word in words_of(str(said)) if word.isascii() and word.isdigit()]
    wanted = int(figures[0]) if figures else 1
    return max(1, min(wanted, given + 1, TOP_LEVEL))


def shorten_hint(text: str, chars: int) -> str:
    """A hint without its questions, if anything is left then, and no longer than its level allows."""
    rest, asked = take_questions_out(text)
    kept = rest if rest and asked else text
    if len(kept) <= chars:
        return kept
    begun = kept[: chars - 1]
    end = max(begun.rfind(". "), begun.rfind("! "))
    return begun[: end + 1] if end > chars // 2 else f"{begun.rsplit(' ', 1)[0]}…"


def move_towards(argument: Argument, said: str) -> Argument:
    """Back to a phase, or on towards it as far as nothing is missing; on to the next one if there is no such phase."""
    words = words_of(said)
    to: Phase | None = next((phase for phase in PHASES if phase in words), None) or phase_after(argument.phase)
    if to is None or PHASES.index(to) <= PHASES.index(argument.phase):
        return moves.set_phase(argument, to or argument.phase)
    moved = argument
    while moved.phase != to and not missing(moved) and (following := phase_after(moved.phase)):
        moved = moves.set_phase(moved, following)
    if moved is argument:
        raise MoveRefusedError(phase_fault(argument, to) or "")
    return moved
