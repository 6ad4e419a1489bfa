"""DuckDuckGo's page for browsers without scripts. It needs no key, and is the default if nothing is configured.

After about a dozen quick requests it sends a bot check, with status 202 or as a page with a puzzle. Both are `Blocked`. Such a page has
no results either, so a page is `Empty` only if it explicitly says so.
"""

from __future__ import annotations

from urllib.parse import parse_qs, quote_plus, urlsplit

from stepwell.errors import FetchFailedError
from stepwell.tools.documents.reader_pool import ReaderPool, usual_readers
from stepwell.tools.documents.result_page import ResultPage
from stepwell.tools.web.search.engines.asking import ask, search_request, usable_results
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

ADDRESS = "https://html.duckduckgo.com/html/"


class DuckDuckGo:
    """Asks `html.duckduckgo.com`."""

    name = "duckduckgo"

    def __init__(self, web: Web, readers: ReaderPool | None = None) -> None:
        self._web = web
        self._readers = readers or usual_readers()

    async def search(self, query: str, limit: int = DEFAULT_RESULTS) -> SearchOutcome:
        query, limit = check_query(query), clamp_limit(limit)
        request = search_request(
            self.name,
            ADDRESS,
            method="POST",
            headers={"content-type": "application/x-www-form-urlencoded", "accept": "text/html"},
            body=f"q={quote_plus(query)}".encode(),
        )
        response = await ask(self._web, self.name, request, blocked_by=(202, 403, 418, 429))
        if isinstance(response, Blocked | Failed):
            return response
        try:
            page = await self._readers.read_results(response.content)
        except FetchFailedError as error:
            return Failed(self.name, str(error))
        return _judge(page, limit)


def _judge(page: ResultPage, limit: int) -> SearchOutcome:
    """Interpret a page with status 200."""
    engine = DuckDuckGo.name
    # Look for results first: a page about bots may mention everything that a bot check contains.
    results = usable_results(((title, _unwrap(link), snippet) for title, link, snippet in page.rows), limit)
    if results:
        return Found(engine, results)
    if page.has_bot_check:
        return Blocked(engine, "it asks whether we are a bot")
    if page.says_none:
        return Empty(engine)
    return Failed(engine, "its page has neither results nor a 'no results' note")


def _unwrap(link: str) -> str:
    """The address behind DuckDuckGo's redirect; empty for an advertisement (`y.js`) or another page of its own."""
    try:
        parts = urlsplit("https:" + link if link.startswith("//") else link)
        host = parts.hostname or ""
    except ValueError:
        return ""
    if host == "duckduckgo.com" or host.endswith(".duckduckgo.com"):
        return parse_qs(parts.query).get("uddg", [""])[0] if parts.path == "/l/" else ""
    return link
