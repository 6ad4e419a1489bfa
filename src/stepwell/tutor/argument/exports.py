"""An argument in prose and in the forms that other programs read, and the change of a thesis as a diff."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from typing import Any, Literal, TypeAlias

from stepwell.errors import InvalidRequestError
from stepwell.tutor.argument.document import Argument, Node, Relation, Status, from_data
from stepwell.tutor.argument.files import write_argument
from stepwell.tutor.argument.prose import write_prose
from stepwell.tutor.argument.seminar import UNTITLED

Form: TypeAlias = Literal["md", "json", "argdown", "mermaid"]

_ARROWS: Mapping[Relation, str] = {"supports": "+>", "attacks": "->", "answers": "->", "uses": "<+"}
_SHAPES: Mapping[Status, str] = {
    "held": "",
    "challenged": ":::challenged",
    "revised": ":::revised",
    "withdrawn": ":::withdrawn",
}


def export(argument: Argument, form: Form) -> str:
    """The argument in one of the forms."""
    return FORMS[form](argument)


def export_data(data: Mapping[str, Any], form: str) -> str:
    """The argument in a thread's values, in one of the forms.

    Raises:
        InvalidRequestError: The form is unknown, or the data is not an argument: a client has written something else to the state.
    """
    writer = next((write for name, write in FORMS.items() if name == form), None)
    if writer is None:
        raise InvalidRequestError(f"There is no form '{form}'. There are: {', '.join(FORMS)}.")
    try:
        return writer(from_data(data))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidRequestError(
            "The thread's argument cannot be read: something other than the tutor has written it."
        ) from error


def write_argdown(argument: Argument) -> str:
    """Argdown: statements in brackets, and relations indented below them (`+>` supports, `->` attacks, `<+` is supported by)."""
    lines = ["===", f"title: {_one_line(argument.question or UNTITLED)}", "===", ""]
    for node in argument.nodes.values():
        tags = f" #{node.kind} #{node.status}"
        lines.append(f"[{node.id}]: {_plain(_label(node))}{tags}")
        lines += [f"  {_ARROWS[link.relation]} [{link.target}]" for link in argument.links if link.source == node.id]
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def write_mermaid(argument: Argument) -> str:
    """A Mermaid flow chart: one box per clause, one arrow per link."""
    lines = ["flowchart TD"]
    for node in argument.nodes.values():
        lines.append(f'  {node.id}["{node.id}: {_quoted(_label(node))}"]{_SHAPES[node.status]}')
    lines += [f"  {link.source} -->|{link.relation}| {link.target}" for link in argument.links]
    lines += [
        "  classDef challenged stroke-dasharray:4",
        "  classDef revised stroke-width:3px",
        "  classDef withdrawn opacity:0.4",
    ]
    return "\n".join(lines) + "\n"


FORMS: Mapping[Form, Callable[[Argument], str]] = {
    "md": write_prose,
    "json": write_argument,
    "argdown": write_argdown,
    "mermaid": write_mermaid,
}


CHANGED = "Your claim changed:"


def diff_words(before: str, after: str) -> str:
    """A change of wording, word by word: `Cities should [-ban-] {+tax+} cars.`"""
    old, new = before.split(), after.split()
    pieces: list[str] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces.append(" ".join(old[a:b]))
            continue
        pieces += [f"[-{' '.join(old[a:b])}-]"] if b > a else []
        pieces += [f"{{+{' '.join(new[c:d])}+}}"] if d > c else []
    return " ".join(pieces)


def describe_change(argument: Argument) -> str:
    """How the thesis changed last: the diff, and the confidence before and after. Empty if it never changed."""
    if len(argument.versions) < 2:
        return ""
    before, after = argument.versions[-2:]
    return f"{diff_words(before.text, after.text)} ({_sure(before.confidence, after.confidence)})"


def _sure(before: int | None, after: int | None) -> str:
    now = "how sure you are is open" if after is None else f"{after} % sure"
    return now if before is None or after is None else f"{now}, {before} % before"


def _label(node: Node) -> str:
    return f"{node.term}: {node.text}" if node.term else f"{node.text} ({node.source})" if node.source else node.text


def _one_line(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _plain(text: str) -> str:
    """Escapes brackets, tags and emphasis, which Argdown reads anywhere in a text."""
    return "".join(f"\\{letter}" if letter in "[]<>#*_@{}\\" else letter for letter in text)


def _quoted(text: str) -> str:
    """Escapes a quoted label with entities, the only markup that Mermaid reads there."""
    return text.replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")
