"""What a report rests on: sources, quotes and claims.

`Quote.text` is `extracted_text[start:end]` of its source, always; whoever makes a quote goes through `quoting.make_quote`. Ids are
short because models copy them: `s1`, `e1`, `c1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

Verdict = Literal["supported", "partial", "unsupported", "contradicted"]
SourceKind = Literal["web", "device"]
Robots = Literal["allowed", "disallowed", "none", "unreachable", "n/a"]

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


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of a source, and where they stand in its extracted text (offsets in characters)."""

    quote_id: str
    source_id: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the report, the quotes it cites, and what checking it gave."""

    claim_id: str
    text: str
    evidence: tuple[str, ...] = ()
    verdict: Verdict = "unsupported"
    reasons: tuple[str, ...] = ()


def to_data(item: Source | Quote | Claim) -> dict[str, Any]:
    """The form a trail holds."""
    data = {name: getattr(item, name) for name in item.__slots__}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}


def source_from(data: Mapping[str, Any]) -> Source:
    return Source(**data)


def quote_from(data: Mapping[str, Any]) -> Quote:
    return Quote(**data)


def claim_from(data: Mapping[str, Any]) -> Claim:
    return Claim(**{**data, "evidence": tuple(data["evidence"]), "reasons": tuple(data["reasons"])})
