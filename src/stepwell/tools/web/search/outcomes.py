"""The possible outcomes of a search. There are four, because each calls for a different reaction.

| outcome | meaning | what helps |
|---|---|---|
| `Found` | results | reading them |
| `Empty` | the engine searched and found nothing | other words |
| `Blocked` | the engine does not serve us now: a bot check, a quota, a rate limit | another engine, or time |
| `Failed` | no usable answer: no connection, an invalid key, garbage | another engine, or the operator |

Rule to keep: only an answer that explicitly says "no results" is `Empty`. An answer that we cannot interpret is `Failed`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from stepwell.errors import ToolUseError

DEFAULT_RESULTS = 10
MOST_RESULTS = 20
LONGEST_QUERY = 400


@dataclass(frozen=True)
class SearchResult:
    """One search result. All of it is untrusted text."""

    title: str
    url: str
    snippet: str = ""


@dataclass(frozen=True)
class Found:
    engine: str
    results: tuple[SearchResult, ...]


@dataclass(frozen=True)
class Empty:
    engine: str


@dataclass(frozen=True)
class Blocked:
    engine: str
    why: str
    retry_after_s: float | None = None
    """After how many seconds the engine allows the next request."""


@dataclass(frozen=True)
class Failed:
    engine: str
    why: str


SearchOutcome = Found | Empty | Blocked | Failed


class SearchEngine(Protocol):
    """Asks one engine once. Engine and network errors are outcomes, not exceptions."""

    @property
    def name(self) -> str: ...

    async def search(self, query: str, limit: int = DEFAULT_RESULTS) -> SearchOutcome: ...


def check_query(query: str) -> str:
    """The query with plain spaces; raises `ToolUseError` if it is empty or too long."""
    plain = " ".join(query.split())
    if not plain:
        raise ToolUseError("The search query is empty. Give a few words to search for.")
    if len(plain) > LONGEST_QUERY:
        raise ToolUseError(f"The search query has {len(plain):,} characters; at most {LONGEST_QUERY}. Ask in a few words.")
    return plain


def clamp_limit(limit: int) -> int:
    """The number of results, limited to the range from 1 to `MOST_RESULTS`."""
    return max(1, min(limit, MOST_RESULTS))
