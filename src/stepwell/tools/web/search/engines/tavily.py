"""Tavily, a search engine made for models. Needs a key."""

from __future__ import annotations

import json

from stepwell.settings import Secret
from stepwell.tools.web.search.engines.asking import ask, read_json, results_from, search_request
from stepwell.tools.web.search.outcomes import DEFAULT_RESULTS, Blocked, Failed, SearchOutcome, check_query, clamp_limit
from stepwell.tools.web.transport import Web

ADDRESS = "https://api.tavily.com/search"
_USED_UP = (429, 432, 433)
"""The rate limit, the plan's limit, and the pay-as-you-go limit."""


class Tavily:
    """Asks `api.tavily.com`."""

    name = "tavily"

    def __init__(self, web: Web, key: Secret) -> None:
        self._web = web
        self._key = key

    async def search(self, query: str, limit: int = DEFAULT_RESULTS) -> SearchOutcome:
        asked = {"query": check_query(query), "max_results": clamp_limit(limit), "search_depth": "basic"}
        headers = {"authorization": f"Bearer {self._key.reveal()}", "content-type": "application/json"}
        request = search_request(self.name, ADDRESS, method="POST", headers=headers, body=json.dumps(asked).encode())
        response = await ask(self._web, self.name, request, blocked_by=_USED_UP)
        if isinstance(response, Blocked | Failed):
            return response
        data = read_json(self.name, response)
        if isinstance(data, Failed):
            return data
        return results_from(self.name, data.get("results"), ("title", "url", "content"), clamp_limit(limit))
