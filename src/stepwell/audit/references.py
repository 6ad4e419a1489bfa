"""The numbered sources of a report: written by code from stored sources, and found again by whoever checks the report."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlsplit

from stepwell.audit.evidence import Source
from stepwell.audit.links import ADDRESS, strip_links

SOURCES_HEADING = "## Sources"
_LINE = re.compile(r"(\d+)\. .*sha256 ([0-9a-f]{12})$")
_CITED = re.compile(r"\[(\d+(?:, \d+)*)\](?!\()")


def reference_line(number: int, source: Source) -> str:
    """`1. [Title](address), fetched 2026-01-02T03:04:05+00:00, sha256 0123456789ab`"""
    title = _plain(source.title) or _plain(urlsplit(address(source) or "").hostname or "") or source.source_id
    where = address(source)
    named = f"[{title}]({where})" if where else f"{title} (from your device)"
    return f"{number}. {named}, fetched {_plain(source.fetched_at)}, sha256 {source.bytes_sha256[:12]}"


def reference_section(sources: Sequence[Source]) -> str:
    """The list of sources, numbered from 1."""
    return "\n".join([SOURCES_HEADING, "", *(reference_line(number, source) for number, source in enumerate(sources, 1))])


def address(source: Source) -> str | None:
    """Where the source was found, in a form that cannot leave the brackets of a link."""
    url = source.final_url or source.url
    if url is None or not url.lower().startswith(("http://", "https://")):
        return None
    return quote(url, safe="%/:?#@!$&*+,;=~-._")


def check_references(report: str, sources: Mapping[str, Source]) -> list[str]:
    """What is wrong with the references of a report; nothing if each leads to a stored source."""
    body, heading, listed = report.rpartition(f"\n{SOURCES_HEADING}\n")
    body, listed = (body, listed) if heading else (report, "")
    lines = [line for line in listed.split("\n") if line]
    stored: dict[str, list[Source]] = {}
    for source in sources.values():
        stored.setdefault(source.bytes_sha256[:12], []).append(source)
    faults = [fault for number, line in enumerate(lines, 1) for fault in _line_faults(number, line, stored)]
    cited = {int(number) for match in _CITED.finditer(body) for number in match[1].split(", ")}
    faults += [
        f"cites [{number}], which is not in its list of sources" for number in sorted(cited) if not 1 <= number <= len(lines)
    ]
    faults += [f"holds the address '{match.group()[:80]}' outside its list of sources" for match in ADDRESS.finditer(body)]
    return faults


def _line_faults(number: int, line: str, stored: Mapping[str, Sequence[Source]]) -> list[str]:
    parts = _LINE.fullmatch(line)
    if parts is None:
        return [f"has a line in its list of sources that is no source: '{line[:80]}'"]
    if not any(line == reference_line(number, source) for source in stored.get(parts[2], ())):
        return [f"lists as source {number} what is not a stored source: '{line[:80]}'"]
    return []


def _plain(text: str) -> str:
    """Words of a stranger, without anything that Markdown reads."""
    words = re.sub(r"\s+", " ", strip_links(text).text)[:200].strip()
    return re.sub(r"([\\`*_\[\]()<>#|!~])", r"\\\1", words)
