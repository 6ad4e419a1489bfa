"""Whether an argument that a user may have edited is valid: the rules of moves, applied to the whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from stepwell.errors import StepwellError
from stepwell.tutor.argument.document import KINDS, PHASES, PREFIXES, RELATIONS, STATUSES, Argument, Node, Phase, tidy
from stepwell.tutor.argument.method import phase_after, phase_fault
from stepwell.tutor.argument.moves import SIDED, link_fault, node_fault
from stepwell.tutor.argument.words import words_of

Place = tuple[str, ...]


class FileRefusedError(StepwellError):
    """An edited file is no longer a valid argument. Nothing was loaded from it and nothing was overwritten."""

    def __init__(self, file: str, line: int, reason: str) -> None:
        self.file = file
        self.line = line
        self.reason = reason
        super().__init__(f"{file}, line {line}: {reason}. Mend the line, or undo the change; nothing was overwritten.")


def faults(argument: Argument) -> Iterator[tuple[Place, str]]:
    """Everything that is wrong, each with the keys that lead to its place."""
    if argument.question != tidy(argument.question):
        yield ("question",), "the question is one line without double spaces"
    for node in argument.nodes.values():
        fault = _field_fault(node) or node_fault(replace(argument, nodes=_before(argument, node)), node)
        if fault:
            yield ("nodes", node.id), fault.rstrip(".")
    for link, because in argument.links.items():
        if link.relation not in RELATIONS:
            yield ("links", str(link)), f"there is no relation '{link.relation}'"
        elif because != tidy(because):
            yield ("links", str(link)), "the reason of a link is one line"
        elif fault := link_fault(argument.nodes, link):
            yield ("links", str(link)), fault.rstrip(".")
    for term in argument.terms:
        if not term or term != tidy(term) or ";" in term:
            yield ("terms",), "a term is a word or a few, without a semicolon"
    yield from _version_faults(argument)


def _before(argument: Argument, node: Node) -> dict[str, Node]:
    """The other clauses; for a thesis or definition only the earlier ones, so that of two in conflict the second is reported."""
    names = list(argument.nodes)
    earlier = names[: names.index(node.id)]
    kept = earlier if node.kind in ("thesis", "definition") else [name for name in names if name != node.id]
    return {name: argument.nodes[name] for name in kept}


def _field_fault(node: Node) -> str | None:
    if node.kind not in KINDS:
        return f"there is no kind '{node.kind}'; there are: {', '.join(KINDS)}"
    if node.status not in STATUSES:
        return f"there is no status '{node.status}'; there are: {', '.join(STATUSES)}"
    if node.author not in ("user", "tutor") or node.side not in ("own", "opposing"):
        return "the author is 'user' or 'tutor', and the side 'own' or 'opposing'"
    number = node.id.removeprefix(PREFIXES[node.kind])
    if number == node.id or not (number.isascii() and number.isdigit()) or number.startswith("0"):
        return f"the id of a {node.kind} is '{PREFIXES[node.kind]}' and a number"
    if not words_of(node.text) or any(each != tidy(each) for each in (node.text, node.term, node.source)):
        return "a clause is one paragraph, and not empty"
    if node.kind not in SIDED and node.side != ("opposing" if node.kind == "refutation" else "own"):
        return f"a {node.kind} has no other side"
    if (node.kind == "definition") != bool(node.term) or (node.source and node.kind != "citation"):
        return "a definition has a term, a citation may have a source, and no other clause has either"
    if node.confidence is not None and (node.kind != "thesis" or not 0 <= node.confidence <= 100):
        return "a confidence belongs to a thesis and is a whole number from 0 to 100"
    return None


def _version_faults(argument: Argument) -> Iterator[tuple[Place, str]]:
    for version in argument.versions:
        within = version.confidence is None or 0 <= version.confidence <= 100
        if version.phase not in PHASES or not version.text or version.text != tidy(version.text) or not within:
            yield ("versions",), "a version of the thesis has a text, a phase and a confidence from 0 to 100"


def phase_by_hand_fault(argument: Argument, recorded: Phase) -> str | None:
    """Why a phase set by hand is not allowed: the exit tests do not let the argument get there from the recorded phase."""
    at: Phase | None = recorded
    while at is not None and PHASES.index(at) < PHASES.index(argument.phase):
        following = phase_after(at)
        if following is not None and (fault := phase_fault(replace(argument, phase=at), following)):
            return fault.rstrip(".")
        at = following
    return None
