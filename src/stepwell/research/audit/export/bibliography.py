"""The sources of a report for reference managers: BibTeX, and CSL-JSON, which Zotero, Pandoc and others read.

An entry contains only what is stored: title, address, the day the source was fetched, the cited places, the hash of the bytes. Authors and
dates of publication are not guessed.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from datetime import datetime
from urllib.parse import urlsplit

from stepwell.research.audit.evidence import KEPT, Source
from stepwell.research.audit.export.dossier import Dossier, clean
from stepwell.research.audit.export.markdown import unescape
from stepwell.research.audit.export.wording import DEMO_NOTE, DEMO_SOURCE
from stepwell.research.audit.writing.references import CitedPlace, address, cited_places, list_places

# Characters that are commands in TeX, and how to write them literally.
_TEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", '"': "''", "\n": " ",
    }
)  # fmt: skip


def to_bibtex(dossier: Dossier) -> bytes:
    """An `@online` entry per source with an address, an `@misc` per source from the user's device."""
    above = [f"% {DEMO_NOTE}"] if dossier.is_demo else []
    return ("\n\n".join([*above, *(_bibtex_entry(*each, _demo_note(dossier)) for each in _cited(dossier))]) + "\n").encode()


def to_csl_json(dossier: Dossier) -> bytes:
    """A list of items in the form of the Citation Style Language."""
    items = [_csl_item(*each, _demo_note(dossier)) for each in _cited(dossier)]
    return (json.dumps(items, ensure_ascii=False, indent=2) + "\n").encode()


def _demo_note(dossier: Dossier) -> str:
    return DEMO_SOURCE if dossier.is_demo else ""


def _cited(dossier: Dossier) -> Iterator[tuple[str, Source, list[CitedPlace]]]:
    """Each source that the report cites, in order of first mention: its key, the source, and its cited places."""
    shown = [claim for claim in dossier.claims if claim.verdict in KEPT]
    quotes = [quote for claim in shown for quote, _ in dossier.cited(claim)]
    places = cited_places(quotes, dossier.evidence.sources)
    for source_id in dict.fromkeys(quote.source_id for quote in quotes):
        source = dossier.evidence.sources[source_id]
        yield _key(source), source, places.get(source_id, [])


def _key(source: Source) -> str:
    """`example_org_s3`: letters that every program accepts, and the source's id to make it unique."""
    name = urlsplit(source.final_url or "").hostname or source.title
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return f"{re.sub(r'[^a-z0-9]+', '_', plain).strip('_')[:40] or 'source'}_{source.source_id}"


def _bibtex_entry(key: str, source: Source, places: list[CitedPlace], demo: str) -> str:
    where = address(source)
    pages, others = _split(places)
    note = [demo, others, "" if where else "From the device of whoever asked", f"sha256 {source.bytes_sha256}"]
    fields = {
        "title": f"{{{_tex(_title(source))}}}",
        # Inside \url nothing is escaped except what would end the field.
        "url": where.replace("{", "%7B").replace("}", "%7D") if where else "",
        "urldate": source.fetched_at[:10],
        "pages": pages,
        "note": _tex(". ".join(filter(None, note))),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{'online' if where else 'misc'}{{{key},", *lines, "}"])


def _csl_item(key: str, source: Source, places: list[CitedPlace], demo: str) -> dict[str, object]:
    where = address(source)
    item: dict[str, object] = {"id": key, "type": "webpage" if where else "document", "title": _title(source)}
    if where:
        item["URL"] = where
    if fetched := _day(source.fetched_at):
        item["accessed"] = {"date-parts": [fetched]}
    pages, others = _split(places)
    if pages:
        item["page"] = pages
    item["note"] = ". ".join(filter(None, [demo, others, f"sha256 {source.bytes_sha256}"]))
    return item


def _split(places: list[CitedPlace]) -> tuple[str, str]:
    """The numbers of cited pages, for which reference managers have a field; and all other places, which go into the note."""
    pages = [place.detail for place in places if place.is_counted and place.name == "page"]
    others = [place for place in places if not (place.is_counted and place.name == "page")]
    return ", ".join(pages), clean(unescape(list_places(others)))


def _title(source: Source) -> str:
    return " ".join(clean(source.title).split()) or source.source_id


def _day(stamp: str) -> list[int] | None:
    try:
        day = datetime.fromisoformat(stamp)
    except ValueError:  # someone else's bundle may contain anything here
        return None
    return [day.year, day.month, day.day]


def _tex(text: str) -> str:
    return text.translate(_TEX)
