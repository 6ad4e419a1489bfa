"""Small pieces of Markdown that all generated pages use."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence

NOTE = "<!-- Made from the code by `make reference`; change the docstrings, help texts or schemas there. -->\n"
SECTION = re.compile(r"^(?P<name>Args|Returns|Raises|Yields):$")


def page(title: str, *parts: str) -> str:
    """A whole generated page."""
    return "\n\n".join([f"# {title}", NOTE.strip(), *(part.strip("\n") for part in parts if part.strip())]) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, without the columns that are empty in every row. Nothing for no rows."""
    rows = [list(row) for row in rows]
    kept = [place for place in range(len(head)) if any(row[place] for row in rows)]
    if not rows or not kept:
        return ""
    lines = [[head[place] for place in kept], ["---"] * len(kept), *([_cell(row[place]) for place in kept] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def docstring(text: str | None) -> str:
    """A docstring as Markdown: `Args:` and the like become lists."""
    lines: list[str] = []
    inside = False
    for line in inspect.cleandoc(text or "").splitlines():
        section = SECTION.match(line)
        if section:
            inside = True
            lines += [f"*{section['name']}*", ""]
        elif inside and re.match(r"^    \S", line):
            name, colon, rest = line.strip().partition(": ")
            lines.append(f"- `{name}`: {rest}" if colon and re.fullmatch(r"[\w.*, ]+", name) else f"- {line.strip()}")
        elif inside and line.startswith("        "):
            lines.append(f"  {line.strip()}")
        else:
            inside = inside and not line
            lines.append(line)
    return "\n".join(lines)


def demote(text: str) -> str:
    """The first sentence-like part of a module's docstring and its tables, without the rules for maintainers."""
    parts = [part for part in inspect.cleandoc(text).split("\n\n") if not part.startswith(("Rule", "Rules"))]
    return "\n\n".join(parts)
