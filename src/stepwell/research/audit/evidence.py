"""What a report rests on: sources, quotes and claims.

`Quote.text` is always `extracted_text[start:end]` of its source; every quote is made by `quoting.make_quote`. Ids are
short because models copy them: `s1`, `e1`, `c1`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

from stepwell.secrets.text import hide_secrets
from stepwell.tools.documents.parts import Part, merge_parts, place_of

Verdict = Literal["verbatim", "supported", "partial", "unsupported", "contradicted"]
SourceKind = Literal["web", "device"]
Robots = Literal["allowed", "disallowed", "none", "unreachable", "n/a"]

ADDRESSES = ("http://", "https://", "mcp://")
"""How the address of a source begins that is not from the device. `mcp://<server>/<tool>?query=...` is an answer of an MCP server."""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
HELD: tuple[Verdict, ...] = ("verbatim", "supported")
"""The verdicts on sentences that their sources support."""
KEPT: tuple[Verdict, ...] = (*HELD, "partial")
"""The verdicts on sentences that a report shows."""
MOST_PARTS = 10_000
MAX_PART_NAME = 200
MAX_CELLS = 40


@dataclass(frozen=True, slots=True)
class Source:
    """A page that was read, or what came along of a document on the user's device."""

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
    parts: tuple[Part, ...] = ()
    """The pages, slides, rows of sheets, messages or chapters of a document; empty if it has none."""

    def place_at(self, start: int, end: int) -> str:
        """The place of a passage, as a reader would call it: `page 3`; empty if the document has no parts."""
        return place_of(self.parts, start, end)


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
    if isinstance(item, Source):
        return {**data, "parts": [list(part) for part in item.parts]}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}


def fit_parts(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Parts as a trail may store them: without keys, short enough, and at most `MOST_PARTS`; beyond that, neighbours share one."""
    share = -(-len(parts) // MOST_PARTS) or 1
    shared = (merge_parts(parts[at], parts[min(at + share, len(parts)) - 1]) for at in range(0, len(parts), share))
    return tuple(Part(start, hide_secrets(name)[:MAX_PART_NAME] or "part", cells[:MAX_CELLS]) for start, name, cells in shared)


def parts_from(data: object) -> tuple[Part, ...]:
    """Reads parts from a trail; `ValueError` if they do not have the form `[[start, name, cells], ...]`."""
    if not isinstance(data, list) or len(data) > MOST_PARTS:
        raise ValueError(f"parts are a list of at most {MOST_PARTS:,}")
    if not all(isinstance(each, list) and len(each) == 3 and _is_part(*each) for each in data):
        raise ValueError(
            f"a part is [start, name, cells], of at most {MAX_PART_NAME} and {MAX_CELLS} characters, and its name is not empty"
        )
    parts = tuple(Part(*each) for each in data)
    if any(one.start > other.start for one, other in pairwise(parts)):
        raise ValueError("parts begin at offsets that grow")
    return parts


def _is_part(start: object, name: object, cells: object) -> bool:
    if type(start) is not int or not isinstance(name, str) or not isinstance(cells, str):
        return False
    return start >= 0 and 0 < len(name) <= MAX_PART_NAME and len(cells) <= MAX_CELLS


def source_from(data: Mapping[str, Any]) -> Source:
    """Raises `TypeError` or `ValueError` if the data are not those of a source; so do the next two functions for quotes and claims."""
    source = Source(**{**data, "parts": parts_from(data["parts"])})
    texts = (source.source_id, source.kind, source.title, source.media_type, source.fetched_at, source.robots)
    _check_texts(*texts, source.url or "", source.final_url or "", source.engine or "", source.bytes_sha256, source.text_sha256)
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
