"""seminar.md: the argument as a page that a user reads and may edit. Reading it back gives the same argument, without its log.

```
# Should cities close their centres to cars?
phase: steelman
terms: centre; car

## Thesis

### t1 thesis, held
confidence: 70
by: tutor                        only where the tutor chose the words

Cities should close their centres to cars.

## Narrative

### n1 narrative, held

Streets without cars are used by more people.
- supports t1: because what more people use serves the city

## How the thesis changed

1. frame, 70: Cities should close their centres to cars.
```
A line of text that begins like markup (`#`, `-`, `\\`) is written with a backslash before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, cast

from stepwell.tutor.argument.document import (
    PHASES,
    RELATIONS,
    Argument,
    Kind,
    Link,
    Node,
    Phase,
    Side,
    Status,
    Version,
    tidy,
)
from stepwell.tutor.argument.validity import FileRefusedError, faults

UNTITLED = "(no question yet)"
OPPOSING = "Opposing seminar"
CHANGED = "How the thesis changed"
SECTIONS: Mapping[str, tuple[Kind, ...]] = {
    "Thesis": ("thesis",),
    "Definitions and citations": ("definition", "citation"),
    "Narrative": ("narrative",),
    "Refutation": ("refutation",),
    "Reply": ("reply",),
    "Conclusion": ("conclusion",),
}
_ATTRIBUTES = ("term", "source", "confidence", "by")
_MARKUP = ("#", "-", "\\")
_FILE = "tutor/seminar.md"


def write_seminar(argument: Argument) -> str:
    """The text of seminar.md."""
    lines = [
        f"# {argument.question or UNTITLED}",
        f"phase: {argument.phase}",
        f"terms: {'; '.join(argument.terms)}".rstrip(),
        "",
    ]
    for title, kinds in SECTIONS.items():
        nodes = [node for node in argument.nodes.values() if node.kind in kinds and not _is_opposing(node)]
        lines += _section(title, nodes, argument)
    lines += _section(OPPOSING, [node for node in argument.nodes.values() if _is_opposing(node)], argument)
    if argument.versions:
        lines += [f"## {CHANGED}", ""]
        lines += [f"{number}. {_version(version)}" for number, version in enumerate(argument.versions, 1)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _is_opposing(node: Node) -> bool:
    return node.side == "opposing" and node.kind != "refutation"


def _section(title: str, nodes: Sequence[Node], argument: Argument) -> list[str]:
    if not nodes:
        return []
    lines = [f"## {title}", ""]
    for node in nodes:
        lines += [f"### {node.id} {node.kind}, {node.status}", *_attributes(node), "", _escape(node.text)]
        lines += [_link_line(link, because) for link, because in argument.links.items() if link.source == node.id]
        lines.append("")
    return lines


def _attributes(node: Node) -> list[str]:
    confidence = "" if node.confidence is None else str(node.confidence)
    said = {"term": node.term, "source": node.source, "confidence": confidence, "by": "tutor" if node.author == "tutor" else ""}
    return [f"{name}: {value}" for name, value in said.items() if value]


def _link_line(link: Link, because: str) -> str:
    return f"- {link.relation} {link.target}{': ' if because else ''}{because}"


def _version(version: Version) -> str:
    return f"{version.phase}, {'unsaid' if version.confidence is None else version.confidence}: {version.text}"


def _escape(text: str) -> str:
    return f"\\{text}" if text.startswith(_MARKUP) else text


def read_seminar(text: str) -> Argument:
    """The argument on a page; `FileRefusedError` with line and reason if it is invalid."""
    reader = _Reader(text.replace("\r\n", "\n").split("\n"))
    argument = reader.read()
    for place, reason in faults(argument):
        raise FileRefusedError(_FILE, reader.line_of(place), reason)
    return argument


@dataclass
class _Reader:
    """Reads a page from top to bottom."""

    lines: list[str]
    at: int = 0
    places: dict[str, int] = field(default_factory=dict)
    """Where clauses and links were found, for faults that show only after the whole page is read."""

    def read(self) -> Argument:
        argument = self._head()
        nodes: dict[str, Node] = {}
        links: dict[Link, str] = {}
        versions: tuple[Version, ...] = ()
        side: Side = "own"
        for line in self._headings():
            if line == f"## {CHANGED}":
                versions = tuple(self._versions())
            elif line.startswith("## "):
                side = self._side(line[3:])
            elif line.startswith("### "):
                node, found = self._node(line, side, nodes)
                nodes[node.id] = node
                links.update(found)
            else:
                self._refuse("a heading of a section ('## ') or of a clause ('### ') is needed here")
        return replace(argument, nodes=nodes, links=links, versions=versions)

    def line_of(self, place: Sequence[str]) -> int:
        return self.places.get(place[-1] if place else "", 1)

    def _head(self) -> Argument:
        title, phase, terms = (*self.lines, "", "", "")[:3]
        if not title.startswith("# "):
            self._refuse("the first line is '# ' and the question", 1)
        if phase.removeprefix("phase: ") not in PHASES:
            self._refuse(f"the second line is 'phase: ' and one of {', '.join(PHASES)}", 2)
        if not terms.startswith("terms:"):
            self._refuse("the third line is 'terms: ' and the terms, separated by semicolons", 3)
        self.at = 3
        self.places.update({"question": 1, "phase": 2, "terms": 3, "versions": len(self.lines)})
        named = [tidy(each) for each in terms.removeprefix("terms:").split(";")]
        question = "" if title[2:].strip() == UNTITLED else tidy(title[2:])
        return Argument(question, cast("Phase", phase.removeprefix("phase: ")), tuple(each for each in named if each))

    def _headings(self) -> Iterator[str]:
        while self.at < len(self.lines):
            line = self.lines[self.at].rstrip()
            self.at += 1
            if line:
                yield line

    def _side(self, title: str) -> Side:
        if title not in SECTIONS and title != OPPOSING:
            self._refuse(f"there is no section '{title[:40]}'; there are: {', '.join([*SECTIONS, OPPOSING, CHANGED])}")
        return "opposing" if title == OPPOSING else "own"

    def _node(self, heading: str, side: Side, known: Mapping[str, Node]) -> tuple[Node, dict[Link, str]]:
        head, comma, status = heading[4:].partition(", ")
        name, _, kind = head.partition(" ")
        if not comma or not kind:
            self._refuse("a clause begins like '### n1 narrative, held'")
        if name in known:
            self._refuse(f"'{name[:40]}' stands here for the second time")
        self.places[name] = self.at
        attributes = self._attribute_lines()
        text = self._paragraph()
        node = Node(
            name,
            cast("Kind", kind),
            text,
            cast("Status", status),
            author=self._author(attributes.get("by", "")),
            side="opposing" if kind == "refutation" else side,
            term=attributes.get("term", ""),
            source=attributes.get("source", ""),
            confidence=self._percent(attributes["confidence"]) if "confidence" in attributes else None,
        )
        return node, dict(self._links(name))

    def _attribute_lines(self) -> dict[str, str]:
        found: dict[str, str] = {}
        while self.at < len(self.lines) and self.lines[self.at].strip():
            name, colon, value = self.lines[self.at].partition(":")
            self.at += 1
            if not colon or name not in _ATTRIBUTES or name in found:
                self._refuse(f"between heading and text stand {', '.join(_ATTRIBUTES)}, once each, and then an empty line")
            found[name] = tidy(value)
        return found

    def _paragraph(self) -> str:
        self._skip_empty()
        words: list[str] = []
        while self.at < len(self.lines) and self.lines[self.at].strip() and not self.lines[self.at].startswith(("#", "- ")):
            words.append(self.lines[self.at])
            self.at += 1
        text = tidy(" ".join(words))
        if not text:
            self.at += 1
            self._refuse("the words of the clause are missing")
        return text[1:] if text.startswith("\\") else text

    def _links(self, source: str) -> Iterator[tuple[Link, str]]:
        self._skip_empty()
        while self.at < len(self.lines) and self.lines[self.at].startswith("- "):
            said, _, because = self.lines[self.at][2:].partition(":")
            self.at += 1
            relation, _, target = said.strip().partition(" ")
            if relation not in RELATIONS or not target:
                self._refuse(f"a link reads like '- supports t1: why'; the relations are {', '.join(RELATIONS)}")
            link = Link(source, relation, target.strip())
            self.places[str(link)] = self.at
            yield link, tidy(because)
        self._skip_empty()
        if self.at < len(self.lines) and not self.lines[self.at].startswith("#"):
            self.at += 1
            self._refuse("a clause is one paragraph, followed by its links; make the second paragraph a clause of its own")

    def _versions(self) -> Iterator[Version]:
        self._skip_empty()
        self.places["versions"] = self.at + 1
        while self.at < len(self.lines) and self.lines[self.at].strip() and not self.lines[self.at].startswith("#"):
            number, _, said = self.lines[self.at].partition(". ")
            head, colon, text = said.partition(": ")
            phase, _, confidence = head.partition(", ")
            self.at += 1
            if not (number.isdigit() and colon) or phase not in PHASES:
                self._refuse("a version reads like '1. frame, 70: the thesis'")
            sure = None if confidence == "unsaid" else self._percent(confidence)
            yield Version(tidy(text), sure, phase)

    def _author(self, by: str) -> Any:
        if by not in ("", "user", "tutor"):
            self._refuse("'by' is 'user' or 'tutor'")
        return by or "user"

    def _percent(self, text: str) -> int:
        if not (text.isascii() and text.isdigit()) or int(text[:6]) > 100:
            self._refuse("a confidence is a whole number from 0 to 100")
        return int(text)

    def _skip_empty(self) -> None:
        while self.at < len(self.lines) and not self.lines[self.at].strip():
            self.at += 1

    def _refuse(self, reason: str, line: int | None = None) -> NoReturn:
        raise FileRefusedError(_FILE, line or max(self.at, 1), reason)
