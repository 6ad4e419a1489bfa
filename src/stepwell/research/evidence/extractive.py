"""Research without a model that can write: the report consists of quotes, the best first, then source by source.

Every sentence of the draft is a source's own and carries the id of its quote, so the draft goes through the same checks as a model's
(`audit.writing`, `audit.verdicts`), and they keep all of it. Everything else is a heading. `QUOTES_NOTE` says that no model wrote it, and
`add_note` puts that below the title of the finished report, because inside a draft it would be a claim without evidence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from stepwell.research.audit.evidence import Quote, Source
from stepwell.research.audit.writing.draft import MAX_HEADING, Draft, is_heading, read_draft
from stepwell.research.audit.writing.quoted import quote_blocks
from stepwell.research.audit.writing.report import QUOTES_NOTE
from stepwell.research.finding.blocks import readable_name
from stepwell.tools.documents.kinds import EXTENSIONS

TITLE = "# Quotes from the sources"
MOST_QUOTES = 16
"""More than a person reads is no report."""
MOST_PER_SOURCE = 8
BRIEF = 3
UNNAMED = "Further quotes"
_MARKUP = re.compile(r"[#*_`\[\]<>|]")


def extractive_draft(quotes: Sequence[Quote], sources: Mapping[str, Source]) -> Draft:
    """A draft from quotes in order of rank; skips quotes whose source is not in `sources`.

    Without usable quotes the draft has no blocks: there is nothing to report.
    """
    usable = [quote for quote in quotes if quote.source_id in sources]
    if not usable:
        return Draft(())
    parts = [read_draft(TITLE), read_draft("## In brief"), *map(_item, usable[:BRIEF])]
    groups: dict[str, tuple[str, list[Quote]]] = {}  # by heading, whatever its capitals
    for quote in usable[BRIEF:]:
        heading = heading_of(sources[quote.source_id])
        groups.setdefault(heading.casefold(), (heading, []))[1].append(quote)
    for heading, own in groups.values():
        parts += [read_draft(f"## {heading}"), *map(_item, sorted(own, key=_place))]
    return Draft(tuple(block for part in parts for block in part.blocks), sum(part.removed_links for part in parts))


def add_note(report: str) -> str:
    """The finished report with the note below its title."""
    title, _, rest = report.partition("\n")
    return f"{title}\n\n{QUOTES_NOTE}\n{rest}" if title.startswith("# ") else f"{QUOTES_NOTE}\n\n{report}"


def heading_of(source: Source) -> str:
    """A source's title as a heading. It has no words with figures, because a heading with a figure would state something."""
    title = PurePosixPath(source.title).stem if source.title.lower().endswith(EXTENSIONS) else source.title
    words = [word for word in _MARKUP.sub(" ", readable_name(title)).split() if not any(map(str.isdigit, word))]
    while len(" ".join(words)) > MAX_HEADING:
        words.pop()
    heading = " ".join(words).strip(" .,;:!?-–|")
    heading = heading[:1].upper() + heading[1:]
    return heading if len(heading) > 2 and is_heading(heading) else UNNAMED


def _item(quote: Quote) -> Draft:
    """A quote as a draft. Each quote is parsed alone, so that nothing in it can affect another quote."""
    return Draft(*quote_blocks(quote))


def _place(quote: Quote) -> tuple[str, int]:
    return quote.source_id, quote.start
