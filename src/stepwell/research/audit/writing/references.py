"""The sources of a report: written by code from stored sources, and parsed again when the report is checked.

Research numbers them (`[1]`, and a numbered list at the end). Deep research keeps their ids, because its agent keeps editing the
report: `[s1](address)`, and a list of lines that begin with the id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote, urlsplit

from stepwell.research.audit.evidence import ADDRESSES, Quote, Source
from stepwell.research.audit.writing.links import ADDRESS, strip_links

SOURCES_HEADING = "## Sources"
_LINE = re.compile(r"\d+\. .*sha256 [0-9a-f]{12}$")
_ID_LINK = re.compile(r"\[(s\d{1,6})\]\([^()\s]*\)")
_PAGES = re.compile(r", pages? (\d{1,6}(?:, \d{1,6})*+)(?=, fetched )")
_CITED = re.compile(r"\[(\d+(?:, \d+)*)\](?!\()")


def reference_line(number: int, source: Source, pages: Sequence[int] = ()) -> str:
    """`1. [Title](address), pages 4, 7, fetched 2026-01-02T03:04:05+00:00, sha256 0123456789ab`

    `pages` are the cited pages of a document.
    """
    title = _plain(source.title) or _plain(urlsplit(address(source) or "").hostname or "") or source.source_id
    where = address(source)
    named = f"[{title}]({where})" if where else f"{title} (from your device)"
    if pages:
        named += f", page{'s' if len(pages) > 1 else ''} {', '.join(map(str, pages))}"
    return f"{number}. {named}, fetched {_plain(source.fetched_at)}, sha256 {source.bytes_sha256[:12]}"


def linked_id(source: Source) -> str:
    """`[s1](address)`: how a report refers to a source by its id."""
    where = address(source)
    return f"[{source.source_id}]({where})" if where else f"[{source.source_id}]"


def named_line(source: Source) -> str:
    """The line of a list that begins with the id."""
    return f"- {source.source_id} {reference_line(1, source).removeprefix('1. ')}"


def reference_section(sources: Sequence[Source], pages: Mapping[str, Sequence[int]] | None = None) -> str:
    """The list of sources, numbered from 1. `pages` has the cited pages, by source id."""
    cited = pages or {}
    lines = (reference_line(number, source, cited.get(source.source_id, ())) for number, source in enumerate(sources, 1))
    return "\n".join([SOURCES_HEADING, "", *lines])


def cited_pages(quotes: Iterable[Quote], sources: Mapping[str, Source]) -> dict[str, list[int]]:
    """The pages of quotes, by source, in order. Leaves out sources without pages."""
    found: dict[str, set[int]] = {}
    for each in quotes:
        source = sources.get(each.source_id)
        if source is not None and (page := source.page_at(each.start)) is not None:
            found.setdefault(each.source_id, set()).add(page)
    return {source_id: sorted(pages) for source_id, pages in found.items()}


def without_pages(line: str) -> str:
    """A line of a list of sources without its cited pages."""
    return _PAGES.sub("", line)


def address(source: Source) -> str | None:
    """The source's address, in a form that cannot break out of a link's brackets."""
    url = source.final_url or source.url
    if url is None or not url.lower().startswith(ADDRESSES):
        return None
    return quote(url, safe="%/:?#@!$&*+,;=~-._")


def check_references(report: str, sources: Mapping[str, Source], quotes: Mapping[str, Quote] | None = None) -> list[str]:
    """What is wrong with the references of a report; empty if each leads to a stored source and, if `quotes` are given, names only pages
    that are quoted."""
    quoted = cited_pages(quotes.values(), sources) if quotes is not None else None
    body, heading, listed = report.rpartition(f"\n{SOURCES_HEADING}\n")
    body, listed = (body, listed) if heading else (report, "")
    lines = [line for line in listed.split("\n") if line]
    stored = {reference_line(1, source).removeprefix("1. "): source.source_id for source in sources.values()}
    named = {named_line(source) for source in sources.values()}
    faults = [
        fault
        for number, line in enumerate(lines, 1)
        if line not in named
        for fault in _line_faults(number, line, stored, quoted)
    ]
    cited = dict.fromkeys(number for match in _CITED.finditer(body) for number in match[1].split(", "))
    faults += [
        f"cites [{number[:20]}], which is not in its list of sources" for number in cited if not _is_listed(number, len(lines))
    ]
    plain = _ID_LINK.sub(lambda match: "" if _is_linked(match, sources) else match.group(), body)
    faults += [f"holds the address '{match.group()[:80]}' outside its list of sources" for match in ADDRESS.finditer(plain)]
    return faults


def _is_linked(match: re.Match[str], sources: Mapping[str, Source]) -> bool:
    source = sources.get(match[1])
    return source is not None and match.group() == linked_id(source)


def _is_listed(number: str, count: int) -> bool:
    # A number this long is in no list. We do not convert it, because Python refuses numbers of some thousand digits.
    return len(number) <= len(str(count)) and 1 <= int(number) <= count


def _line_faults(number: int, line: str, stored: Mapping[str, str], quoted: Mapping[str, Sequence[int]] | None) -> list[str]:
    if _LINE.fullmatch(line) is None:
        return [f"has a line in its list of sources that is no source: '{line[:80]}'"]
    begins = f"{number}. "
    source_id = stored.get(without_pages(line).removeprefix(begins)) if line.startswith(begins) else None
    if source_id is None:
        return [f"lists as source {number} what is not a stored source: '{line[:80]}'"]
    named = _PAGES.search(line)
    if named is None or quoted is None:
        return []
    known = {str(page) for page in quoted.get(source_id, ())}
    return [
        f"names page {page} of source {number}, of which nothing is quoted"
        for page in named[1].split(", ")
        if page not in known
    ]


def _plain(text: str) -> str:
    """A stranger's words, without characters that mean something in Markdown."""
    words = re.sub(r"\s+", " ", strip_links(text).text)[:200].strip()
    return re.sub(r"([\\`*_\[\]()<>#|!~])", r"\\\1", words)
