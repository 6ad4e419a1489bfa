"""The sources of a report: written by code from stored sources, and parsed again when the report is checked.

Research numbers them (`[1]`, and a numbered list at the end). Deep research keeps their ids, because its agent keeps editing the
report: `[s1](address)`, and a list of lines that begin with the id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from stepwell.clock import spell_time
from stepwell.research.audit.evidence import ADDRESSES, MAX_PART_NAME, Quote, Source
from stepwell.research.audit.writing.links import ADDRESS, strip_links
from stepwell.tools.documents.parts import merge_parts, parts_between

SOURCES_HEADING = "## Sources"
_LINE = re.compile(r"\d+\. .*sha256 [0-9a-f]{12}$")
_ID_LINK = re.compile(r"\[(s\d{1,6})\]\([^()\s]*\)")
# Title and address end with the first bracket that is not escaped; places follow, as far as the last ", read ".
_WITH_PLACES = re.compile(r"(?P<named>(?:\\.|[^\\)])*+\)), (?P<places>.*)(?P<read>, read .*)")
_COUNTABLE = ("page", "slide", "message", "line", "row")
_COUNTED = re.compile(rf"({'|'.join(_COUNTABLE)})s? (\d{{1,9}}(?: to \d{{1,9}})?)\b")
_SLACK = 200
"""How much longer a list of places may be than the right one before we stop looking at each place."""
_CITED = re.compile(r"\[(\d+(?:, \d+)*)\](?!\()")


class CitedPlace(NamedTuple):
    """A place of a document that a report quotes: `page` with `4` or `4 to 5`, `sheet Sales` with `A5:F9`; others only have a name."""

    name: str
    detail: str = ""

    @property
    def is_counted(self) -> bool:
        return self.name in _COUNTABLE and bool(self.detail)


def reference_line(number: int, source: Source, places: Sequence[CitedPlace] = ()) -> str:
    """`1. [Title](address), pages 4, 7, read 2 January 2026, 03:04 UTC, sha256 0123456789ab`

    `places` are the cited places of a document. The trail has the exact time.
    """
    title = _plain(source.title) or _plain(urlsplit(address(source) or "").hostname or "") or source.source_id
    where = address(source)
    named = f"[{title}]({where})" if where else f"{title} (from your device)"
    if places:
        named += f", {list_places(places)}"
    return f"{number}. {named}, read {_plain(spell_time(source.fetched_at))}, sha256 {source.bytes_sha256[:12]}"


def linked_id(source: Source) -> str:
    """`[s1](address)`: how a report refers to a source by its id."""
    where = address(source)
    return f"[{source.source_id}]({where})" if where else f"[{source.source_id}]"


def named_line(source: Source) -> str:
    """The line of a list that begins with the id."""
    return f"- {source.source_id} {reference_line(1, source).removeprefix('1. ')}"


def reference_section(sources: Sequence[Source], places: Mapping[str, Sequence[CitedPlace]] | None = None) -> str:
    """The list of sources, numbered from 1. `places` has the cited places, by source id."""
    cited = places or {}
    lines = (reference_line(number, source, cited.get(source.source_id, ())) for number, source in enumerate(sources, 1))
    return "\n".join([SOURCES_HEADING, "", *lines])


def cited_places(quotes: Iterable[Quote], sources: Mapping[str, Source]) -> dict[str, list[CitedPlace]]:
    """The places of quotes, by source, in the order of the document. Leaves out sources without parts."""
    found: dict[str, dict[CitedPlace, int]] = {}
    for each in quotes:
        source = sources.get(each.source_id)
        for start, place in _touched(source, each) if source is not None else ():
            begins = found.setdefault(each.source_id, {})
            begins[place] = min(start, begins.get(place, start))
    return {source_id: sorted(begins, key=lambda place: begins[place]) for source_id, begins in found.items()}


def _touched(source: Source, quote: Quote) -> Iterator[tuple[int, CitedPlace]]:
    """The places that a quote touches, each with its beginning. Several rows of a sheet are one place."""
    parts = parts_between(source.parts, quote.start, quote.end)
    for name, same in groupby(parts, key=lambda part: part.name):
        rows = list(same)
        first = rows[0]
        if counted := _COUNTED.match(name):
            yield first.start, CitedPlace(counted[1], counted[2])
            continue
        # A semicolon stands between places.
        yield first.start, CitedPlace(_plain(name).replace(";", ",") or "part", _plain(merge_parts(first, rows[-1]).cells))


def list_places(places: Iterable[CitedPlace]) -> str:
    """`pages 3, 4`, `sheet Sales, A5:F9, A12:F12; sheet Costs, B2:C2`, `chapter Tides; chapter Wells`."""
    grouped: dict[str, list[CitedPlace]] = {}
    for place in places:
        grouped.setdefault(place.name, []).append(place)
    return "; ".join(_list_group(name, own) for name, own in grouped.items())


def _list_group(name: str, places: Sequence[CitedPlace]) -> str:
    details = ", ".join(place.detail for place in places if place.detail)
    if places[0].is_counted:
        return f"{name}{'' if details.isdecimal() else 's'} {details}"
    return f"{name}, {details}" if details else name


def without_places(line: str) -> str:
    """A line of a list of sources without its cited places."""
    found = _WITH_PLACES.fullmatch(line)
    return f"{found['named']}{found['read']}" if found else line


def address(source: Source) -> str | None:
    """The source's address, in a form that cannot break out of a link's brackets."""
    url = source.final_url or source.url
    if url is None or not url.lower().startswith(ADDRESSES):
        return None
    return quote(url, safe="%/:?#@!$&*+,;=~-._")


def check_references(report: str, sources: Mapping[str, Source], quotes: Mapping[str, Quote] | None = None) -> list[str]:
    """What is wrong with the references of a report; empty if each leads to a stored source and, if `quotes` are given, names only places
    that are quoted."""
    quoted = cited_places(quotes.values(), sources) if quotes is not None else None
    body, heading, listed = report.rpartition(f"\n{SOURCES_HEADING}\n")
    body, listed = (body, listed) if heading else (report, "")
    lines = [line for line in listed.split("\n") if line]
    # Lines tell the minute, so a document that was read twice may have one line for two sources.
    stored: dict[str, list[str]] = {}
    for source in sources.values():
        stored.setdefault(reference_line(1, source).removeprefix("1. "), []).append(source.source_id)
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


def _line_faults(
    number: int, line: str, stored: Mapping[str, Sequence[str]], quoted: Mapping[str, Sequence[CitedPlace]] | None
) -> list[str]:
    if _LINE.fullmatch(line) is None:
        return [f"has a line in its list of sources that is no source: '{line[:80]}'"]
    begins = f"{number}. "
    source_ids = stored.get(without_places(line).removeprefix(begins)) if line.startswith(begins) else None
    if source_ids is None:
        return [f"lists as source {number} what is not a stored source: '{line[:80]}'"]
    named = _WITH_PLACES.fullmatch(line)
    if named is None or quoted is None:
        return []
    known = [place for source_id in source_ids for place in quoted.get(source_id, ())]
    if len(named["places"]) > len(list_places(known)) + _SLACK:
        return [f"names more places of source {number} than are quoted"]
    details: dict[str, set[str]] = {}
    for place in known:
        details.setdefault(place.name, set()).add(place.detail)
    unknown = (each for group in named["places"].split("; ") for each in _unknown_in(group, details))
    return [f"names {place[:80]} of source {number}, of which nothing is quoted" for place in unknown]


def _unknown_in(group: str, known: Mapping[str, set[str]]) -> list[str]:
    """The places of a group, as `list_places` writes it, that are not known. `known` has details by name."""
    if "" in known.get(group, ()):
        return []
    counted, _, numbers = group.partition(" ")
    if (name := counted.removesuffix("s")) in _COUNTABLE:
        return [f"{name} {each}" for each in numbers.split(", ") if each not in known.get(name, ())]
    # No name is longer, so a hostile line costs no more.
    ends = [match.start() for match in re.finditer(", ", group[: 2 * MAX_PART_NAME + 2])]
    sheet = next((group[:end] for end in reversed(ends) if group[:end] in known), None)
    if sheet is None:
        return [group]
    return [f"{sheet}, {each}" for each in group.removeprefix(f"{sheet}, ").split(", ") if each not in known[sheet]]


def _plain(text: str) -> str:
    """A stranger's words, without characters that mean something in Markdown."""
    words = re.sub(r"\s+", " ", strip_links(text).text)[:200].strip()
    return re.sub(r"([\\`*_\[\]()<>#|!~])", r"\\\1", words)
