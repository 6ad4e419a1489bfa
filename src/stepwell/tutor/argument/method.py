"""The method: nine phases, each with an exit test that says in plain sentences what is missing.

```
frame ─> define ─> grounds ─> warrant ─> steelman ─> elenchus ─> reply ─> revise ─> close
  what     what      what       why        what        does it    what     what      what
  do you   do the    carries    does it    speaks      stand up   do you   do you    is left
  claim    words     it         carry      against it  to         say to   hold
           mean                                        questions  that     now
```
A user may go back at any time, and forward one phase at a time, when nothing is missing in the current phase. A withdrawn thesis needs
no grounds and no objection any more; the conclusion says what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from stepwell.tutor.argument.document import PHASES, Argument, Link, Node, Phase
from stepwell.tutor.argument.lint import lint
from stepwell.tutor.argument.naming import name_of, title_of
from stepwell.tutor.argument.words import mentions

Need: TypeAlias = Literal[
    "question",
    "thesis",
    "confidence",
    "terms",
    "definition",
    "ground",
    "place",
    "warrant",
    "refutation",
    "target",
    "force",
    "opposing_ground",
    "examination",
    "reply",
    "basis",
    "decision",
    "rewording",
    "confidence_now",
    "conclusion",
    "mending",
]
"""What an exit test can find missing; `questions` has a template for each."""

ABOUT: Mapping[Phase, str] = {
    "frame": "say what is asked, what you claim and how sure you are",
    "define": "say what the important words of your claim mean",
    "grounds": "say what your claim rests on",
    "warrant": "say why each reason supports your claim",
    "steelman": "put the strongest case against it",
    "elenchus": "say what the objection would change if it were right",
    "reply": "answer each objection from what has been said",
    "revise": "decide what you keep, change or give up, and how sure you are now",
    "close": "say what is left",
}


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that a phase still needs."""

    need: Need
    about: str
    """The clause it concerns; before there is one, the phase."""
    sentence: str
    detail: str = ""
    """The term or link in question, if the clause alone does not identify it."""


def missing(argument: Argument, phase: Phase | None = None) -> tuple[Missing, ...]:
    """What is missing to leave a phase; default: the current one. What a user has left open is not missing."""
    left = _left(argument)
    return tuple(gap for gap in _TESTS[phase or argument.phase](argument) if (gap.about, key_of(gap)) not in left)


def key_of(gap: Missing) -> str:
    """How the log names a gap, beside the clause it is about."""
    return f"{gap.need} {gap.detail}".strip()


def left_open(argument: Argument) -> list[Missing]:
    """What the user has left open, and nobody has added since."""
    left = _left(argument)
    return [gap for test in _TESTS.values() for gap in test(argument) if (gap.about, key_of(gap)) in left] if left else []


def _left(argument: Argument) -> set[tuple[str, str]]:
    return {(move.about, move.text) for move in argument.moves if move.move == "leave"}


def is_complete(argument: Argument) -> bool:
    """Whether the seminar is over: at its last phase, with nothing missing."""
    return argument.phase == PHASES[-1] and not missing(argument)


def phase_after(phase: Phase) -> Phase | None:
    place = PHASES.index(phase) + 1
    return PHASES[place] if place < len(PHASES) else None


def phase_fault(argument: Argument, to: Phase) -> str | None:
    """Why the seminar cannot go to a phase; None if it can."""
    here, there = PHASES.index(argument.phase), PHASES.index(to)
    if there <= here:
        return None
    gaps = missing(argument)
    if gaps:
        return f"The phase '{argument.phase}' is not finished. " + " ".join(gap.sentence for gap in gaps[:3])
    if there > here + 1:
        return f"No phase is skipped: after '{argument.phase}' comes '{PHASES[here + 1]}', not '{to}'."
    return None


def supporters(argument: Argument) -> list[Node]:
    """The grounds on which the thesis rests, directly or through others."""
    thesis = argument.thesis
    sources: dict[str, list[str]] = {}
    for link in argument.links_of("supports"):
        sources.setdefault(link.target, []).append(link.source)
    reached: dict[str, Node] = {}
    waiting = [thesis.id] if thesis else []
    while waiting:
        for source in sources.get(waiting.pop(), ()):
            if source not in reached:
                reached[source] = argument.nodes[source]
                waiting.append(source)
    return list(reached.values())


def _frame(argument: Argument) -> Iterator[Missing]:
    thesis = argument.thesis
    if not argument.question:
        yield Missing("question", "frame", "The question is missing.")
    elif thesis is None:
        yield Missing("thesis", "frame", "There is no claim yet.")
    elif thesis.confidence is None:
        yield Missing("confidence", thesis.id, "How sure you are of your claim is missing.")


def _define(argument: Argument) -> Iterator[Missing]:
    thesis = argument.thesis
    if thesis is None:
        return
    if not argument.terms:
        yield Missing("terms", thesis.id, "Which words of your claim need a definition is missing.")
    defined = [node.term for node in argument.of_kind("definition", side="own")]
    for term in argument.terms:
        if not any(mentions(term, each) and mentions(each, term) for each in defined):
            yield Missing("definition", thesis.id, f"What “{term}” means is missing.", term)


def _grounds(argument: Argument) -> Iterator[Missing]:
    thesis = argument.thesis
    if thesis is None or thesis.status == "withdrawn":
        return
    for node in argument.of_kind("citation", "narrative", side="own"):
        if not argument.links_of("supports", source=node.id):
            yield Missing("place", node.id, f"{title_of(argument, node.id)} supports nothing yet.")
    if not supporters(argument):
        yield Missing("ground", thesis.id, "There is no reason for your claim yet.")


def _warrant(argument: Argument) -> Iterator[Missing]:
    for link in argument.links_of("supports"):
        if not argument.links[link] and argument.nodes[link.source].side == "own":
            sentence = f"Why {name_of(argument, link.source)} supports {name_of(argument, link.target)} is missing."
            yield Missing("warrant", link.source, sentence, str(link))


def _steelman(argument: Argument) -> Iterator[Missing]:
    thesis = argument.thesis
    refutations = argument.of_kind("refutation")
    if not refutations and thesis is not None and thesis.status != "withdrawn":
        yield Missing("refutation", thesis.id, "There is no objection to your claim yet.")
    for node in refutations:
        attacks = [link for link in argument.links if link.relation == "attacks" and link.source == node.id]
        if not attacks and argument.of_kind("thesis", "citation", "narrative", side="own"):
            yield Missing("target", node.id, f"What {name_of(argument, node.id)} speaks against is missing.")
        for link in attacks:
            if not argument.links[link]:
                sentence = (
                    f"Why {name_of(argument, link.source)} would tell against {name_of(argument, link.target)} is missing."
                )
                yield Missing("force", link.source, sentence, str(link))
    opposing = argument.opposing_thesis
    if opposing is not None and opposing.status != "withdrawn" and not argument.links_of("supports", target=opposing.id):
        yield Missing("opposing_ground", opposing.id, "There is no reason for the opposing claim yet.")


def _elenchus(argument: Argument) -> Iterator[Missing]:
    examined = {move.about for move in argument.moves if move.move == "answer" and move.phase == "elenchus"}
    for target in attacked(argument):
        if target.id not in examined:
            yield Missing(
                "examination", target.id, f"What the objection would change in {name_of(argument, target.id)} is missing."
            )


def attacked(argument: Argument) -> list[Node]:
    """The clauses that a refutation attacks."""
    targets = dict.fromkeys(link.target for link in argument.links_of("attacks"))
    return [argument.nodes[target] for target in targets]


def _reply(argument: Argument) -> Iterator[Missing]:
    for node in argument.of_kind("refutation"):
        if not argument.links_of("answers", target=node.id):
            yield Missing("reply", node.id, f"{title_of(argument, node.id)} has no reply yet.")
    for node in argument.of_kind("reply"):
        used = any(link.relation == "uses" and link.source == node.id for link in argument.links)
        if not used and argument.of_kind("thesis", "definition", "citation", "narrative", side="own"):
            yield Missing("basis", node.id, f"What {name_of(argument, node.id)} rests on is missing.")


def _revise(argument: Argument) -> Iterator[Missing]:
    for node in argument.nodes.values():
        if node.status == "challenged":
            need: Need = "rewording" if _wants_rewording(argument, node) else "decision"
            yield Missing(need, node.id, f"Whether you keep, change or give up {name_of(argument, node.id)} is open.")
    thesis = argument.thesis
    held = thesis is not None and thesis.status != "withdrawn"
    if thesis is not None and held and not any(version.phase in ("revise", "close") for version in argument.versions):
        yield Missing("confidence_now", thesis.id, "How sure you are of your claim now is missing.")


def _wants_rewording(argument: Argument, node: Node) -> bool:
    decided = [move.text for move in argument.moves if move.move == "decide" and move.about == node.id]
    return decided[-1:] == ["revised"]


def _close(argument: Argument) -> Iterator[Missing]:
    thesis = argument.thesis
    if not argument.of_kind("conclusion") and thesis is not None:
        yield Missing("conclusion", thesis.id, "There is no conclusion yet.")
    for finding in lint(argument):
        if finding.severity == "error":
            yield Missing("mending", finding.about, finding.sentence)


_TESTS: Mapping[Phase, Callable[[Argument], Iterator[Missing]]] = {
    "frame": _frame,
    "define": _define,
    "grounds": _grounds,
    "warrant": _warrant,
    "steelman": _steelman,
    "elenchus": _elenchus,
    "reply": _reply,
    "revise": _revise,
    "close": _close,
}


def unanswered(argument: Argument, target: str) -> list[Link]:
    """Attacks on a clause that have not been answered."""
    return [
        link for link in argument.links_of("attacks", target=target) if not argument.links_of("answers", target=link.source)
    ]
