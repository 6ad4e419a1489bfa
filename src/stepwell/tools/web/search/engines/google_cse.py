"""Google's Programmable Search Engine (Custom Search JSON API), for users with a key and an engine id.

The service is closed to new customers, and its search of the whole web ends on 2027-01-01. It returns at most ten results per request.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from stepwell.errors import WebError
from stepwell.settings import Secret
from stepwell.tools.web.search.engines.asking import read_json, results_from, retry_after_s, search_request
from stepwell.tools.web.search.outcomes import DEFAULT_RESULTS, Blocked, Empty, Failed, SearchOutcome, check_query, clamp_limit
from stepwell.tools.web.transport import Web

ADDRESS = "https://customsearch.googleapis.com/customsearch/v1"
_QUOTA = ("quota", "limit", "RESOURCE_EXHAUSTED")


class GoogleCse:
    """Asks `customsearch.googleapis.com`. The key goes into a header, so that no URL contains it."""

    name = "google_cse"

    def __init__(self, web: Web, key: Secret, cx: str) -> None:
        self._web = web
        self._key = key
        self._cx = cx

    async def search(self, query: str, limit: int = DEFAULT_RESULTS) -> SearchOutcome:
        asked = {"cx": self._cx, "q": check_query(query), "num": min(clamp_limit(limit), 10)}
        request = search_request(self.name, f"{ADDRESS}?{urlencode(asked)}", headers={"x-goog-api-key": self._key.reveal()})
        try:
            response = await self._web.send(request)
        except WebError as error:
            return Failed(self.name, str(error))
        data = read_json(self.name, response)
        if response.status == 429 or (isinstance(data, dict) and response.status == 403 and _over_quota(data)):
            return Blocked(self.name, "its quota for this key is used up", retry_after_s(response))
        if response.status != 200:
            advice = "; check GOOGLE_CSE_API_KEY and GOOGLE_CSE_CX" if response.status < 500 else ""
            return Failed(self.name, f"it answered with status {response.status}{advice}")
        if isinstance(data, Failed):
            return data
        if data.get("kind") != "customsearch#search":
            return Failed(self.name, "its answer is not a list of results")
        if "items" not in data:
            return _without_items(self.name, data)
        return results_from(self.name, data["items"], ("title", "link", "snippet"), min(clamp_limit(limit), 10))


def _without_items(engine: str, data: dict[str, Any]) -> SearchOutcome:
    about = data.get("searchInformation")
    total = about.get("totalResults") if isinstance(about, dict) else None
    return Empty(engine) if str(total) == "0" else Failed(engine, "its answer says there are results and has none")


def _over_quota(data: dict[str, Any]) -> bool:
    error = data.get("error")
    if not isinstance(error, dict):
        return False
    errors = error.get("errors")
    reasons = [str(one.get("reason", "")) for one in errors if isinstance(one, dict)] if isinstance(errors, list) else []
    return any(word.lower() in said.lower() for said in [*reasons, str(error.get("status", ""))] for word in _QUOTA)
