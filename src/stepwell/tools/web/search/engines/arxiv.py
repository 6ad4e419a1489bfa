"""arXiv, preprints in physics, mathematics, computer science and neighbouring fields. It needs no key.

It asks for at most one request every three seconds over a single connection, which `choice.py` keeps to. It reports an error as a feed
with one entry whose id begins with `http://arxiv.org/api/errors`, mostly with status 200.
"""

from __future__ import annotations

import re
from urllib.parse import urlencode

from stepwell.errors import FetchFailedError
from stepwell.tools.documents.papers import PaperList
from stepwell.tools.documents.reader_pool import ReaderPool, usual_readers
from stepwell.tools.documents.visible import one_line
from stepwell.tools.web.search.engines.asking import ask, key_words, search_request, usable_results
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

ADDRESS = "https://export.arxiv.org/api/query"
_MAX_WORDS = 6
"""Every word must be in a paper, so more words would find nothing."""
_ERROR = re.compile(r"https?://arxiv\.org/api/errors")


class Arxiv:
    """Asks `export.arxiv.org`. Results are the abstracts' pages."""

    name = "arxiv"

    def __init__(self, web: Web, readers: ReaderPool | None = None) -> None:
        self._web = web
        self._readers = readers or usual_readers()

    async def search(self, query: str, limit: int = DEFAULT_RESULTS) -> SearchOutcome:
        query, limit = check_query(query), clamp_limit(limit)
        # Only letters and digits: other characters are operators of arXiv's query language.
        words = re.findall(r"\w+", " ".join(key_words(query, _MAX_WORDS)))[:_MAX_WORDS] or ["arxiv"]
        asked = {"search_query": " AND ".join(f"all:{word}" for word in words), "start": 0, "max_results": limit}
        response = await ask(
            self._web, self.name, search_request(self.name, f"{ADDRESS}?{urlencode(asked)}"), blocked_by=(429, 503)
        )
        if isinstance(response, Blocked | Failed):
            return response
        try:
            papers = await self._readers.read_papers(response.content)
        except FetchFailedError as error:
            return Failed(self.name, str(error))
        return _judge(papers, limit)


def _judge(papers: PaperList, limit: int) -> SearchOutcome:
    engine = Arxiv.name
    if papers.form != "feed":
        return Failed(engine, "its answer is not a feed of papers")
    error = next((row for row in papers.rows if _ERROR.match(row[1]) or row[0] == "Error"), None)
    if error is not None:
        return Failed(engine, f"it reported an error: {one_line(error[2], 200)}")
    rows = [(title, re.sub(r"^http:", "https:", link), excerpt) for title, link, excerpt in papers.rows]
    results = usable_results(rows, limit)
    if results:
        return Found(engine, results)
    return Empty(engine) if papers.total == "0" and not rows else Failed(engine, "none of its results can be used")
