"""Wikipedia's own search, over its REST interface. It needs no key and finds only Wikipedia: a last resort that can still be cited."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from stepwell.tools.web.search.engines.asking import ask, key_words, read_json, results_from, search_request
from stepwell.tools.web.search.outcomes import DEFAULT_RESULTS, Blocked, Failed, SearchOutcome, check_query, clamp_limit
from stepwell.tools.web.transport import Web

_MAX_WORDS = 12


class Wikipedia:
    """Asks the Wikipedia of one language."""

    name = "wikipedia"

    def __init__(self, web: Web, language: str = "en") -> None:
        self._web = web
        self._origin = f"https://{language}.wikipedia.org"

    async def search(self, query: str, limit: int = DEFAULT_RESULTS) -> SearchOutcome:
        words = " ".join(key_words(check_query(query), _MAX_WORDS))  # it wants every word to be in the article, `how` too
        asked = urlencode({"q": words or query, "limit": clamp_limit(limit)})
        request = search_request(self.name, f"{self._origin}/w/rest.php/v1/search/page?{asked}")
        response = await ask(self._web, self.name, request)
        if isinstance(response, Blocked | Failed):
            return response
        data = read_json(self.name, response)
        if isinstance(data, Failed):
            return data
        pages = data.get("pages")
        rows = [self._row(page) for page in pages] if isinstance(pages, list) else pages
        return results_from(self.name, rows, ("title", "url", "excerpt"), clamp_limit(limit))

    def _row(self, page: Any) -> Any:
        if not isinstance(page, dict) or not isinstance(page.get("key"), str):
            return page
        return {**page, "url": f"{self._origin}/wiki/{quote(page['key'], safe='()_,:')}"}
