"""OpenAlex, a catalogue of papers in all fields. Without a key it allows about a hundred searches a day, then answers with status 429.

A result leads to a free copy of the paper, if there is one, else to its DOI. Abstracts come as an index: each word with its places.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from stepwell.tools.web.search.engines.asking import ask, key_words, read_json, results_from, search_request
from stepwell.tools.web.search.outcomes import DEFAULT_RESULTS, Blocked, Empty, Failed, SearchOutcome, check_query, clamp_limit
from stepwell.tools.web.transport import Web

ADDRESS = "https://api.openalex.org/works"
_FIELDS = "id,doi,display_name,publication_year,authorships,best_oa_location,primary_location,abstract_inverted_index"
_MAX_WORDS = 10
_MAX_ABSTRACT_WORDS = 150


class OpenAlex:
    """Asks `api.openalex.org`."""

    name = "openalex"

    def __init__(self, web: Web) -> None:
        self._web = web

    async def search(self, query: str, limit: int = DEFAULT_RESULTS) -> SearchOutcome:
        query, limit = check_query(query), clamp_limit(limit)
        asked = urlencode({"search": " ".join(key_words(query, _MAX_WORDS)), "per_page": limit, "select": _FIELDS})
        # 403 means that we asked too fast, 429 that the day's allowance is used up.
        response = await ask(self._web, self.name, search_request(self.name, f"{ADDRESS}?{asked}"), blocked_by=(403, 429))
        if isinstance(response, Blocked | Failed):
            return response
        data = read_json(self.name, response)
        if isinstance(data, Failed):
            return data
        works = data.get("results")
        rows = [_row(work) for work in works if isinstance(work, dict)] if isinstance(works, list) else works
        if works and not rows:
            return Failed(self.name, "none of its results can be used")
        outcome = results_from(self.name, rows, ("title", "url", "excerpt"), limit)
        if not isinstance(outcome, Empty):
            return outcome
        about = data.get("meta")
        is_none = isinstance(about, dict) and about.get("count") == 0
        return outcome if is_none else Failed(self.name, "its answer says there are results and has none")


def _row(work: dict[str, Any]) -> dict[str, str]:
    year = work.get("publication_year")
    about = " ".join(filter(None, (_authors(work.get("authorships")), f"({year})" if isinstance(year, int) else "")))
    excerpt = ": ".join(filter(None, (about, _abstract(work.get("abstract_inverted_index")))))
    return {"title": _text(work.get("display_name")), "url": _address(work), "excerpt": excerpt}


def _address(work: dict[str, Any]) -> str:
    """A free copy's page or file, else the DOI, else the publisher's page."""
    free, first = work.get("best_oa_location"), work.get("primary_location")
    free, first = free if isinstance(free, dict) else {}, first if isinstance(first, dict) else {}
    found = (free.get("landing_page_url"), free.get("pdf_url"), work.get("doi"), first.get("landing_page_url"))
    return next((address for address in found if isinstance(address, str) and address), "")


def _authors(rows: Any) -> str:
    people = [row.get("author") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    names = [_text(person.get("display_name")) for person in people if isinstance(person, dict)]
    return ", ".join(names[:3]) + (" et al." if len(names) > 3 else "")


def _abstract(index: Any) -> str:
    """The beginning of an abstract from its index."""
    words: dict[int, str] = {}
    for word, places in index.items() if isinstance(index, dict) else ():
        for place in places if isinstance(places, list) else ():
            if isinstance(place, int) and 0 <= place < _MAX_ABSTRACT_WORDS:
                words[place] = word
    return " ".join(words[place] for place in sorted(words))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
