"""An argument as sentences: "Your claim: ... Reason 1: ...". The files and the other exports are for programs and for editing."""

from __future__ import annotations

from collections.abc import Iterator

from stepwell.tutor.argument.document import Argument, Kind, Node, Status
from stepwell.tutor.argument.method import left_open
from stepwell.tutor.argument.naming import name_of, names_of, title_of

UNTITLED = "An argument without a question yet"
_KEPT: dict[Status, str] = {
    "held": "",
    "challenged": " (an objection stands against it)",
    "revised": " (changed)",
    "withdrawn": " (given up)",
}
_ORDER: dict[Kind, int] = {
    "thesis": 0,
    "definition": 1,
    "citation": 2,
    "narrative": 2,
    "refutation": 3,
    "reply": 4,
    "conclusion": 5,
}
_LEFT: dict[str, str] = {
    "ground": "a reason for your claim",
    "opposing_ground": "a reason for the opposing claim",
    "warrant": "why a reason supports your claim",
    "refutation": "an objection",
    "force": "why an objection counts",
    "examination": "what an objection would change",
    "reply": "a reply to an objection",
}


def write_prose(argument: Argument) -> str:
    """The argument as Markdown: a title, and one paragraph per clause."""
    return "\n\n".join([f"# {argument.question or UNTITLED}", *sentences_about(argument)]) + "\n"


def sentences_about(argument: Argument) -> list[str]:
    """One paragraph per clause, the claim first."""
    nodes = sorted(
        argument.nodes.values(), key=lambda node: (_ORDER[node.kind], node.kind != "refutation" and node.side == "opposing")
    )
    return [*(" ".join(_about(argument, node)) for node in nodes), *_open(argument)]


def _about(argument: Argument, node: Node) -> Iterator[str]:
    yield f"{title_of(argument, node.id)}: {_ended(node.text)}{_KEPT[node.status]}"
    if node.source:
        yield f"Source: {_ended(node.source)}"
    if node.confidence is not None:
        yield f"{'You are' if node.side == 'own' else 'They are'} {node.confidence} % sure."
    if node.author == "tutor":
        yield "These words are the tutor's."
    for link, because in argument.links.items():
        if link.source != node.id or link.relation == "uses":
            continue
        bears = {"supports": "It supports", "attacks": "It speaks against", "answers": "It replies to"}[link.relation]
        yield f"{bears} {name_of(argument, link.target)}{f', because: {_ended(because)}' if because else '.'}"
    used = [link.target for link in argument.links if link.source == node.id and link.relation == "uses"]
    if used:
        yield f"It rests on {names_of(argument, used)}."


def _open(argument: Argument) -> Iterator[str]:
    """What the user has left open and not added since."""
    named = dict.fromkeys(_LEFT[gap.need] for gap in left_open(argument) if gap.need in _LEFT)
    if named:
        yield f"Left open: {', '.join(named)}."


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…", "”")) else f"{text}."
