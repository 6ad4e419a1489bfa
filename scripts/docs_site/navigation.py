"""The navigation of the site, read from docs/README.md: the kinds of pages (`##`), their topics (`###`), and the pages of each.

docs/README.md is the index that readers see on a code host, and the only list of pages. A topic becomes a page of its own on the site.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

HEADING = re.compile(r"^(?P<level>#{2,3}) (?P<title>[^\n]+)$")
ENTRY = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<target>[^)\s]+)\)(?:: ?| )?(?P<note>.*)$")
FOLDERS = {
    "Tutorial": "tutorial",
    "How-to": "how-to",
    "Reference": "reference",
    "Explanation": "explanation",
    "Decisions": "adr",
}


@dataclass(frozen=True)
class Entry:
    """A page in the index, with its address relative to docs/."""

    title: str
    target: str
    note: str


@dataclass
class Topic:
    """Pages that belong together, and the text between them. The pages of a kind without topics are in one without a title."""

    title: str
    entries: list[Entry] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)

    @property
    def slug(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


@dataclass
class Kind:
    """One of the kinds of pages: tutorial, how-to, reference, explanation, decisions."""

    title: str
    promise: str
    topics: list[Topic] = field(default_factory=list)

    @property
    def folder(self) -> str:
        return FOLDERS[self.title]

    def entries(self) -> Iterator[Entry]:
        for topic in self.topics:
            yield from topic.entries


def read_navigation(index: str) -> list[Kind]:
    """The kinds in the order of the index. What stands before the first of them is for readers of the index only.

    Raises:
        ValueError: A kind has no folder of its own here, or a list entry does not begin with a link.
    """
    kinds: list[Kind] = []
    for line in _joined_lines(index):
        heading = HEADING.match(line)
        if heading and heading["level"] == "##":
            title, _, promise = heading["title"].partition(": ")
            if title not in FOLDERS:
                raise ValueError(f"docs/README.md has the section '{title}'; the site knows {', '.join(FOLDERS)}.")
            kinds.append(Kind(title, promise, [Topic("")]))
        elif heading:
            kinds[-1].topics.append(Topic(heading["title"]))
        elif kinds and line.startswith("- "):
            entry = ENTRY.match(line)
            if entry is None:
                raise ValueError(f"docs/README.md: '{line}' does not begin with a link to a page.")
            kinds[-1].topics[-1].entries.append(Entry(entry["title"], entry["target"], entry["note"]))
        elif kinds and line.strip():
            kinds[-1].topics[-1].prose.append(line)
    for kind in kinds:
        kind.topics = [topic for topic in kind.topics if topic.entries or topic.prose]
    return kinds


def _joined_lines(text: str) -> Iterator[str]:
    """Lines, with the further lines of a list entry joined to its first."""
    waiting: str | None = None
    for line in text.splitlines():
        if waiting is not None and line.startswith("  "):
            waiting = f"{waiting} {line.strip()}"
            continue
        if waiting is not None:
            yield waiting
        waiting = line
    if waiting is not None:
        yield waiting
