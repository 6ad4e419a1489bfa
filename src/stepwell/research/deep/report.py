"""Finishes the report of deep research: keeps only citations of pages that were read, and only links that code put there.

```
what the agent wrote    ... in 1932 [s1, s9]. See https://made.up/page      (s9 was never read)
what stands at the end  ... in 1932 [s1](https://real.example/) *(s9 is no source that was read)*. See
                        ## Sources
                        - s1 [Title](https://real.example/), read ..., sha256 ...
```

We remove addresses and the agent's own list of sources, turn ids into links, and build the list from the trail. The function is pure,
and running it twice changes nothing: an agent may keep editing a finished report. `claims.py` checks whether a page says what the
sentence says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from stepwell.research.audit.evidence import Source
from stepwell.research.audit.writing.links import CITATION, strip_links
from stepwell.research.audit.writing.marked import SOURCE_IDS, UNKNOWN_MARK, mark_unknown
from stepwell.research.audit.writing.references import SOURCES_HEADING, linked_id, named_line

NO_SOURCES = "*No sentence of this report cites a page that was read. It cannot be checked.*"

_CITED = re.compile(rf"\[\s*({SOURCE_IDS})\s*\]")
_LIST_OF_SOURCES = re.compile(
    r"^#{1,6}\s*(?:\d+[.)]\s*)?(?:sources?|references|bibliography|works cited|citations|links|quellen|références|fuentes)\s*:?\s*#*\s*$"
    r".*?(?=^#{1,6}\s|\Z)",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished report, with its citations and what was removed."""

    text: str
    cited: tuple[str, ...] = ()
    """Source ids, in order of first mention."""
    unknown: tuple[str, ...] = ()
    removed_links: int = 0


def finish_report(text: str, sources: Mapping[str, Source]) -> Finished:
    """The report as it may be shown, with its list of sources."""
    body = _link_ids(_LIST_OF_SOURCES.sub("", text.replace(NO_SOURCES, "")), sources)
    # Removing an address may leave a new heading behind.
    while (bare := _LIST_OF_SOURCES.sub("", body.text.strip())) != body.text.strip():
        again = _link_ids(bare, sources)
        body = replace(again, removed_links=body.removed_links + again.removed_links)
    end = "\n".join([SOURCES_HEADING, "", *(named_line(sources[each]) for each in body.cited)]) if body.cited else NO_SOURCES
    return Finished(f"{body.text.strip()}\n\n{end}\n", body.cited, body.unknown, body.removed_links)


def finish_message(text: str, sources: Mapping[str, Source]) -> Finished:
    """Finishes a message to the user in the same way, without the list of sources."""
    return _link_ids(text, sources)


def _link_ids(text: str, sources: Mapping[str, Source]) -> Finished:
    """Removes addresses, then turns ids into links. Before the removal, ids are put into the one form that the removal keeps as
    citations."""
    own_links = sum(text.count(linked_id(source)) for source in sources.values())
    asked = UNKNOWN_MARK.sub(r"[\1]", CITATION.sub("", text))
    stripped = strip_links(_CITED.sub(lambda match: f"[{match[1].replace('s', 'e')}]", asked))
    cited: dict[str, None] = {}
    unknown: dict[str, None] = {}

    def render(match: re.Match[str]) -> str:
        parts = []
        for each in re.findall(r"e(\d{1,6})", match[1]):
            source = sources.get(f"s{each}")
            (unknown if source is None else cited)[f"s{each}"] = None
            parts.append(mark_unknown(f"s{each}") if source is None else linked_id(source))
        return " ".join(parts)

    return Finished(CITATION.sub(render, stripped.text), tuple(cited), tuple(unknown), max(0, stripped.removed - own_links))
