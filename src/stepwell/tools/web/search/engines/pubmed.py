"""PubMed, papers in medicine and biology, over NCBI's E-utilities. It needs no key, and then allows three requests per second.

A search takes two requests: `esearch` for the ids (JSON), `efetch` for titles, authors and abstracts (XML). `esummary` would be JSON too,
but has no abstracts.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from stepwell.errors import FetchFailedError
from stepwell.tools.documents.reader_pool import ReaderPool, usual_readers
from stepwell.tools.documents.visible import one_line
from stepwell.tools.web.search.engines.asking import ask, key_words, read_json, search_request, usable_results
from stepwell.tools.web.search.outcomes import (
    DEFAULT_RESULTS,
    Blocked,
    Empty,
    Failed,
    Found,
    SearchOutcome,
    check_query,
    clamp_limit,
)
from stepwell.tools.web.transport import Web

ADDRESS = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
PAGES = "https://pubmed.ncbi.nlm.nih.gov"
_ALWAYS = {"db": "pubmed", "tool": "stepwell"}
_MAX_WORDS = 8


class PubMed:
    """Asks `eutils.ncbi.nlm.nih.gov`. Results are the papers' pages at PubMed."""

    name = "pubmed"

    def __init__(self, web: Web, readers: ReaderPool | None = None) -> None:
        self._web = web
        self._readers = readers or usual_readers()

    async def search(self, query: str, limit: int = DEFAULT_RESULTS) -> SearchOutcome:
        query, limit = check_query(query), clamp_limit(limit)
        asked = {**_ALWAYS, "retmode": "json", "retmax": limit, "sort": "relevance"}
        asked["term"] = " ".join(key_words(query, _MAX_WORDS))
        response = await ask(self._web, self.name, search_request(self.name, f"{ADDRESS}/esearch.fcgi?{urlencode(asked)}"))
        if isinstance(response, Blocked | Failed):
            return response
        data = read_json(self.name, response)
        if isinstance(data, Failed):
            return data
        ids = _read_ids(data, limit)
        if not isinstance(ids, list):
            return ids
        return await self._read_papers(ids, limit)

    async def _read_papers(self, ids: list[str], limit: int) -> SearchOutcome:
        asked = urlencode({**_ALWAYS, "retmode": "xml", "id": ",".join(ids)})
        response = await ask(self._web, self.name, search_request(self.name, f"{ADDRESS}/efetch.fcgi?{asked}"))
        if isinstance(response, Blocked | Failed):
            return response
        try:
            papers = await self._readers.read_papers(response.content)
        except FetchFailedError as error:
            return Failed(self.name, str(error))
        rows = {name: (title, f"{PAGES}/{name}/", excerpt) for title, name, excerpt in papers.rows if name in ids}
        results = usable_results((rows[name] for name in ids if name in rows), limit)
        return Found(self.name, results) if results else Failed(self.name, "none of its results can be used")


def _read_ids(data: dict[str, Any], limit: int) -> list[str] | SearchOutcome:
    """The ids of the papers, or the outcome if there are none."""
    engine = PubMed.name
    if "error" in data:
        said = one_line(str(data["error"]), 200)
        return Blocked(engine, said) if "rate limit" in said.lower() else Failed(engine, f"it reported an error: {said}")
    result = data.get("esearchresult")
    if not isinstance(result, dict):
        return Failed(engine, "its answer has no list of results")
    if "ERROR" in result:
        return Failed(engine, f"it reported an error: {one_line(str(result['ERROR']), 200)}")
    ids = result.get("idlist")
    if not isinstance(ids, list):
        return Failed(engine, "its answer has no list of results")
    usable = [name for name in ids if isinstance(name, str) and name.isascii() and name.isdigit() and len(name) <= 12][:limit]
    if usable:
        return usable
    return Empty(engine) if not ids and str(result.get("count")) == "0" else Failed(engine, "none of its results can be used")
