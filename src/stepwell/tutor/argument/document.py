"""An argument as a value: clauses with a status, links between them, the versions of the thesis, and the moves that led here.

| kind | id | what it is |
|---|---|---|
| thesis | t1 | what is claimed, with a confidence from 0 to 100 |
| definition | d1 | what a term means here |
| citation | c1 | a ground with a source |
| narrative | n1 | a ground in one's own words |
| refutation | r1 | what speaks against a clause |
| reply | p1 | what is said to a refutation |
| conclusion | k1 | what is left at the end |

A clause is one paragraph. A move never deletes anything: a clause that is given up becomes `withdrawn`. An opposing seminar is a second
thesis with its own grounds, on the side `opposing`.

In graph state an argument is plain data (`to_data`), and a step stores only its changes (`changes`, `reduce_argument`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from stepwell.errors import ToolUseError

Kind: TypeAlias = Literal["thesis", "definition", "citation", "narrative", "refutation", "reply", "conclusion"]
Status: TypeAlias = Literal["held", "challenged", "revised", "withdrawn"]
Author: TypeAlias = Literal["user", "tutor"]
Side: TypeAlias = Literal["own", "opposing"]
Relation: TypeAlias = Literal["supports", "attacks", "answers", "uses"]
Phase: TypeAlias = Literal["frame", "define", "grounds", "warrant", "steelman", "elenchus", "reply", "revise", "close"]

KINDS: tuple[Kind, ...] = get_args(Kind)
STATUSES: tuple[Status, ...] = get_args(Status)
RELATIONS: tuple[Relation, ...] = get_args(Relation)
PHASES: tuple[Phase, ...] = get_args(Phase)
PREFIXES: Mapping[Kind, str] = {
    "thesis": "t",
    "definition": "d",
    "citation": "c",
    "narrative": "n",
    "refutation": "r",
    "reply": "p",
    "conclusion": "k",
}
MAX_TEXT_CHARS = 4_000
MAX_NODES = 500

Json: TypeAlias = Mapping[str, Any]


class MoveRefusedError(ToolUseError):
    """A move that the rules do not allow. The message says why and what to do instead; nothing has changed."""


@dataclass(frozen=True, slots=True)
class Node:
    """One clause."""

    id: str
    kind: Kind
    text: str
    status: Status = "held"
    author: Author = "user"
    """Who chose the words."""
    side: Side = "own"
    term: str = ""
    """For a definition: what it defines."""
    source: str = ""
    """For a citation: where it comes from."""
    confidence: int | None = None
    """For a thesis: how sure its holder is, from 0 to 100."""


@dataclass(frozen=True, slots=True, order=True)
class Link:
    """How one clause bears on another. The reason (`because`) is stored beside it: for a support, that is the warrant."""

    source: str
    relation: Relation
    target: str

    def __str__(self) -> str:
        return f"{self.source} {self.relation} {self.target}"


@dataclass(frozen=True, slots=True)
class Version:
    """The thesis as it once stood."""

    text: str
    confidence: int | None
    phase: Phase


@dataclass(frozen=True, slots=True)
class Move:
    """A line of the log."""

    by: Literal["user", "tutor", "file"]
    move: str
    phase: Phase
    about: str = ""
    text: str = ""
    level: int = 0


@dataclass(frozen=True, slots=True)
class Argument:
    """The document. Functions return a new one; nothing is changed in place."""

    question: str = ""
    phase: Phase = "frame"
    terms: tuple[str, ...] = ()
    """Words that carry the argument, and so need a definition."""
    nodes: Mapping[str, Node] = field(default_factory=dict)
    links: Mapping[Link, str] = field(default_factory=dict)
    """Link -> why it holds; empty until someone says why."""
    versions: tuple[Version, ...] = ()
    moves: tuple[Move, ...] = ()

    @property
    def thesis(self) -> Node | None:
        return self._thesis_of("own")

    @property
    def opposing_thesis(self) -> Node | None:
        return self._thesis_of("opposing")

    def _thesis_of(self, side: Side) -> Node | None:
        return next((node for node in self.nodes.values() if node.kind == "thesis" and node.side == side), None)

    def of_kind(self, *kinds: Kind, side: Side | None = None) -> list[Node]:
        """The clauses of these kinds that are not withdrawn."""
        return [
            node
            for node in self.nodes.values()
            if node.kind in kinds and node.status != "withdrawn" and side in (None, node.side)
        ]

    def links_of(self, relation: Relation, *, source: str | None = None, target: str | None = None) -> list[Link]:
        """Links between clauses that are not withdrawn."""
        return [
            link
            for link in self.links
            if link.relation == relation
            and source in (None, link.source)
            and target in (None, link.target)
            and all(self.nodes[end].status != "withdrawn" for end in (link.source, link.target))
        ]


def tidy(text: str) -> str:
    """Normalises a clause's text: one line, single spaces, no invisible characters."""
    seen = "".join(each if each.isprintable() or each.isspace() else " " for each in text)
    return " ".join(seen.encode("utf-8", "replace").decode().split())


def to_data(argument: Argument) -> dict[str, Any]:
    """The argument as plain data, for graph state and argument.json."""
    return {
        "question": argument.question,
        "phase": argument.phase,
        "terms": list(argument.terms),
        "nodes": {node.id: node_data(node) for node in argument.nodes.values()},
        "links": {str(link): because for link, because in argument.links.items()},
        "versions": [asdict(version) for version in argument.versions],
        "moves": [_move_data(move) for move in argument.moves],
    }


def from_data(data: Json | None) -> Argument:
    """The argument from data that we wrote. `files` reads what a user may have edited."""
    if not data:
        return Argument()
    return Argument(
        question=data["question"],
        phase=data["phase"],
        terms=tuple(data["terms"]),
        nodes={name: Node(id=name, **fields) for name, fields in data["nodes"].items()},
        links={parse_link(key): because for key, because in data["links"].items()},
        versions=tuple(Version(**each) for each in data["versions"]),
        moves=tuple(Move(**each) for each in data["moves"]),
    )


def parse_link(key: str) -> Link:
    """A link from its key. `ValueError` if it is invalid."""
    source, relation, target = key.split(" ")
    if relation not in RELATIONS:
        raise ValueError(f"'{relation}' is not a relation. Use one of: {', '.join(RELATIONS)}.")
    return Link(source, relation, target)


def node_data(node: Node) -> dict[str, Any]:
    """A clause without its id and its empty fields."""
    needed = ("kind", "text", "status", "author")
    fields = {name: value for name, value in asdict(node).items() if name != "id"}
    return {
        name: value
        for name, value in fields.items()
        if name in needed or not (value in ("", None) or (name, value) == ("side", "own"))
    }


def _move_data(move: Move) -> dict[str, Any]:
    return {name: value for name, value in asdict(move).items() if value not in ("", 0)}


def changes(before: Argument, after: Argument) -> dict[str, Any]:
    """What a step stores: the parts that differ. `reduce_argument` applies them."""
    old, new = to_data(before), to_data(after)
    if any(new[name][: len(old[name])] != old[name] for name in ("versions", "moves")):
        return {"replace": new}
    grown = {name: new[name][len(old[name]) :] for name in ("versions", "moves") if len(new[name]) > len(old[name])}
    kept = {name: _difference(old[name], new[name]) for name in ("nodes", "links") if old[name] != new[name]}
    return {**{name: new[name] for name in ("question", "phase", "terms") if old[name] != new[name]}, **kept, **grown}


def _difference(old: Json, new: Json) -> dict[str, Any]:
    put = {key: value for key, value in new.items() if key not in old or old[key] != value}
    return {**put, **{key: None for key in old if key not in new}}


def reduce_argument(state: Json, writes: Sequence[Json]) -> dict[str, Any]:
    """The data after some changes. A plain fold, so the batching of writes does not matter."""
    data: dict[str, Any] = {**to_data(Argument()), **state}
    for write in writes:
        data = dict(write["replace"]) if "replace" in write else _put(data, write)
    return data


def _put(data: dict[str, Any], write: Json) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for name, value in write.items():
        if name in ("versions", "moves"):
            changed[name] = [*data[name], *value]
        elif name in ("nodes", "links"):
            changed[name] = {key: each for key, each in {**data[name], **value}.items() if each is not None}
        else:
            changed[name] = value
    return {**data, **changed}
