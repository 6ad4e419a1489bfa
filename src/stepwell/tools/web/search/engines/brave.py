"""Brave Search, which has its own index. Needs a key."""

from __future__ import annotations

from urllib.parse import urlencode

from stepwell.settings import Secret
from stepwell.tools.web.search.engines.asking import ask, read_json, results_from, search_request
from stepwell.tools.web.search.outcomes import DEFAULT_RESULTS, Blocked, Empty, Failed, SearchOutcome, check_query, clamp_limit
from stepwell.tools.web.transport import Web

ADDRESS = "https://api.search.brave.com/res/v1/web/search"


class Brave:
    """Asks `api.search.brave.com`."""

    name = "brave"

    def __init__(self, web: Web, key: Secret) -> None:
        self._web = web
        self._key = key

    async def search(self, query: str, limit: int = DEFAULT_RESULTS) -> SearchOutcome:
        asked = urlencode({"q": check_query(query), "count": clamp_limit(limit), "text_decorations": "false"})
        headers = {"x-subscription-token": self._key.reveal(), "accept": "application/json"}
        response = await ask(self._web, self.name, search_request(self.name, f"{ADDRESS}?{asked}", headers=headers))
        if isinstance(response, Blocked | Failed):
            return response
        data = read_json(self.name, response)
        if isinstance(data, Failed):
            return data
        if data.get("type") != "search":
            return Failed(self.name, "its answer is not a search answer")
        web = data.get("web")
        if web is None:
            return Empty(self.name)  # Brave leaves this part out if it found nothing
        if not isinstance(web, dict):
            return Failed(self.name, "its answer has no list of results")
        return results_from(self.name, web.get("results"), ("title", "url", "description"), clamp_limit(limit))
