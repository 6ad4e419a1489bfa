"""The operator's own SearXNG instance, over JSON. The instance must have `json` among its `search.formats`.

It asks other engines. If it has no results because those did not answer, the outcome is not `Empty`; the response says which engines
failed.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from stepwell.tools.documents.visible import one_line
from stepwell.tools.web.addresses import read_url
from stepwell.tools.web.search.engines.asking import ask, read_json, results_from, search_request
from stepwell.tools.web.search.outcomes import DEFAULT_RESULTS, Blocked, Empty, Failed, SearchOutcome, check_query, clamp_limit
from stepwell.tools.web.transport import Web

_BLOCKS = ("captcha", "too many requests", "access denied", "suspended")


class SearXng:
    """Asks the instance at `address`, which may be inside the network because the operator chose it."""

    name = "searxng"

    def __init__(self, web: Web, address: str) -> None:
        read_url(address)
        self._web = web
        self._address = address.rstrip("/").removesuffix("/search")

    async def search(self, query: str, limit: int = DEFAULT_RESULTS) -> SearchOutcome:
        asked = urlencode({"q": check_query(query), "format": "json"})
        request = search_request(
            self.name, f"{self._address}/search?{asked}", headers={"accept": "application/json"}, inside=True
        )
        response = await ask(self._web, self.name, request)
        if isinstance(response, Failed) and "status 403" in response.why:
            return Failed(self.name, "it answered with status 403; the instance must allow the format 'json'")
        if isinstance(response, Blocked | Failed):
            return response
        data = read_json(self.name, response)
        if isinstance(data, Failed):
            return data
        outcome = results_from(self.name, data.get("results"), ("title", "url", "content"), clamp_limit(limit))
        silent = _silent_engines(data.get("unresponsive_engines"))
        return _because_of(silent, self.name) if isinstance(outcome, Empty) and silent else outcome


def _silent_engines(rows: Any) -> list[tuple[str, str]]:
    pairs = [row for row in rows if isinstance(row, list) and len(row) >= 2] if isinstance(rows, list) else []
    return [(one_line(str(row[0]), 40), one_line(str(row[1]), 60)) for row in pairs]


def _because_of(silent: list[tuple[str, str]], name: str) -> SearchOutcome:
    said = ", ".join(f"{engine} ({why})" for engine, why in silent[:6])
    if all(any(word in why.lower() for word in _BLOCKS) for _, why in silent):
        return Blocked(name, f"the engines behind it block it: {said}")
    return Failed(name, f"the engines behind it did not answer: {said}")
