"""Claims that the rules were never tuned on: other topics, sentences, numbers, dates and names than the offline world has.

`held_out.txt` was written by hand, once, before the rules were measured on it; nobody looks at single sentences of it to mend a
rule. Whoever does must replace the case by a new one, or the figures become in-sample. Each claim cites its whole passage.

```
passage: what a source says
true: the same in other words
unsupported (kind): what says more than the passage
contradicted (kind): what it denies
```
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("held_out.txt")
_LINE = re.compile(r"(?P<label>passage|true|unsupported|contradicted)(?: \((?P<kind>[^)]+)\))?: (?P<text>.+)")


@dataclass(frozen=True)
class Stated:
    """A claim about a passage: what it is, and of which kind."""

    label: str
    kind: str
    text: str


@dataclass(frozen=True)
class Case:
    passage: str
    claims: tuple[Stated, ...]


@cache
def cases() -> tuple[Case, ...]:
    return tuple(_case(block) for block in _FILE.read_text(encoding="utf-8").strip().split("\n\n"))


def _case(block: str) -> Case:
    found = []
    for line in block.split("\n"):
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"held_out.txt has a line that is none: {line[:60]}")
        found.append(Stated(match["label"], match["kind"] or "in other words", match["text"]))
    passage, *claims = found
    return Case(passage.text, tuple(claims))
