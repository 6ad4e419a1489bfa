"""What a report rests on: sources, quotes and claims.

`Quote.text` is always `extracted_text[start:end]` of its source; every quote is made by `quoting.make_quote`. Ids are
short because models copy them: `s1`, `e1`, `c1`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

Verdict = Literal["supported", "partial", "unsupported", "contradicted"]
SourceKind = Literal["web", "device"]
Robots = Literal["allowed", "disallowed", "none", "unreachable", "n/a"]

ADDRESSES = ("http://", "https://", "mcp://")
"""How the address of a source begins that is not from the device. `mcp://<server>/<tool>?query=...` is an answer of an MCP server."""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True, slots=True)
class Source:
    """A page that was read, or a snippet from the user's device."""

    source_id: str
    kind: SourceKind
    url: str | None
    final_url: str | None
    title: str
    media_type: str
    status: int | None
    fetched_at: str
    bytes_sha256: str
    text_sha256: str
    engine: str | None = None
    robots: Robots = "n/a"
    pages: tuple[int, ...] = ()
    """Where each page of a document begins in its text; empty if it has no pages."""

    def page_at(self, offset: int) -> int | None:
        """The number of the page at this offset of the text, counted from 1."""
        return bisect_right(self.pages, offset) or None


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of a source, and their place in its extracted text (offsets in characters)."""

    quote_id: str
    source_id: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the report, the quotes it cites, and the result of checking it."""

    claim_id: str
    text: str
    evidence: tuple[str, ...] = ()
    verdict: Verdict = "unsupported"
    reasons: tuple[str, ...] = ()
    checks: int = 0
    """The version of the checks that the claim went through (`checks.CHECKS_VERSION`); 0 if it was not checked."""


def to_data(item: Source | Quote | Claim) -> dict[str, Any]:
    """An item in the form that a trail stores."""
    data = {name: getattr(item, name) for name in item.__slots__}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}


def source_from(data: Mapping[str, Any]) -> Source:
    """Raises `TypeError` or `ValueError` if the data are not those of a source; so do the next two functions for quotes and claims."""
    source = Source(**{**data, "pages": tuple(data["pages"])})
    texts = (source.source_id, source.kind, source.title, source.media_type, source.fetched_at, source.robots)
    _check_texts(*texts, source.url or "", source.final_url or "", source.engine or "", source.bytes_sha256, source.text_sha256)
    if not all(type(begin) is int for begin in source.pages) or list(source.pages) != sorted(source.pages):
        raise ValueError("pages begin at offsets that grow")
    return source


def quote_from(data: Mapping[str, Any]) -> Quote:
    quote = Quote(**data)
    _check_texts(quote.quote_id, quote.source_id, quote.text)
    if type(quote.start) is not int or type(quote.end) is not int:
        raise TypeError("offsets are integers")
    return quote


def claim_from(data: Mapping[str, Any]) -> Claim:
    claim = Claim(**{**data, "evidence": tuple(data["evidence"]), "reasons": tuple(data["reasons"])})
    _check_texts(claim.claim_id, claim.text, *claim.evidence, *claim.reasons)
    if type(claim.checks) is not int:
        raise TypeError("the number of the checks is an integer")
    if claim.verdict not in VERDICTS:
        raise ValueError(f"there is no verdict '{claim.verdict}'")
    return claim


def _check_texts(*values: object) -> None:
    if not all(isinstance(value, str) for value in values):
        raise TypeError("a field that is text holds something else")
