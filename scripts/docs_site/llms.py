"""llms.txt and llms-full.txt, in the form of llmstxt.org: the index with a sentence for each page, and all pages in one text.

The Markdown of each page is put beside its HTML, so that the links of llms.txt lead to text without decoration. Decisions are
optional reading: they are in the index and not in the full text.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path, PurePosixPath

from docs_site.navigation import Entry, Kind
from docs_site.staging import OUTSIDE

SUMMARY = (
    "Stepwell is a Python package on LangGraph and LangChain for agents that do long, real work: a harness (`create_deep_agent`), "
    "a server that speaks LangGraph's API, and a web page."
)
OPTIONAL = "adr"


def write_llms(kinds: list[Kind], source: Path, site: Path) -> None:
    """Write both files into the site, and the Markdown pages that they link to."""
    for page in source.rglob("*.md"):
        target = site / page.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page, target)
    (site / "llms.txt").write_text(index_text(kinds), encoding="utf-8")
    (site / "llms-full.txt").write_text(full_text(kinds, source), encoding="utf-8")


def index_text(kinds: list[Kind]) -> str:
    """llms.txt: a heading, a summary, and the pages by kind."""
    parts = [f"# Stepwell\n\n> {SUMMARY}\n", "All pages in one file: [llms-full.txt](llms-full.txt).\n"]
    for kind in kinds:
        title = "Optional" if kind.folder == OPTIONAL else kind.title
        lines = (f"- [{entry.title}]({page_of(entry)}){': ' + entry.note if entry.note else ''}" for entry in kind.entries())
        parts.append(f"## {title}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def full_text(kinds: list[Kind], source: Path) -> str:
    """llms-full.txt: every page but the optional ones, each after a line with its path."""
    pages = [page_of(entry) for kind in kinds if kind.folder != OPTIONAL for entry in kind.entries()]
    texts = (f"<!-- {page} -->\n\n{(source / page).read_text(encoding='utf-8').strip()}\n" for page in dict.fromkeys(pages))
    return f"# Stepwell\n\n> {SUMMARY}\n\n" + "\n".join(texts)


def page_of(entry: Entry) -> str:
    """The path of an entry's page on the site."""
    place = os.path.normpath(PurePosixPath("docs") / entry.target).replace(os.sep, "/")
    return OUTSIDE.get(place, place.removeprefix("docs/"))
