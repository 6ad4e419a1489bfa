"""DuckDuckGo's page for browsers without scripts. It needs no key, and is what is asked when nothing is configured.

It answers a bot check with status 202, or with a page that has a puzzle, after about a dozen quick requests. Both are `Blocked`.
Such a page has no results either, so a page is `Empty` only if it says so in its own way.
"""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import parse_qs, quote_plus, urlsplit

from stepwell.tools.web.engines.asking import ask, search_request, usable_results
from stepwell.tools.web.outcomes import DEFAULT_RESULTS, Blocked, Empty, Failed, Found, Outcome, bounded, checked_query
from stepwell.tools.web.transport import Web

ADDRESS = "https://html.duckduckgo.com/html/"
_BOT_CHECKS = ("anomaly-modal", "anomaly.js", 'id="challenge-form"', "bots use duckduckgo too")
_VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})


class DuckDuckGo:
    """Asks `html.duckduckgo.com`."""

    name = "duckduckgo"

    def __init__(self, web: Web) -> None:
        self._web = web

    async def search(self, query: str, limit: int = DEFAULT_RESULTS) -> Outcome:
        query, limit = checked_query(query), bounded(limit)
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
        return read_results(response.content.decode("utf-8", "replace"), limit)


def read_results(html: str, limit: int) -> Outcome:
    """What a page with status 200 says."""
    engine = DuckDuckGo.name
    # Results are looked for first: a page about bots may mention all that a bot check does.
    page = _ResultPage()
    page.feed(html)
    page.close()
    results = usable_results(((row.title, _unwrapped(row.link), row.snippet) for row in page.rows if not row.ad), limit)
    if results:
        return Found(engine, results)
    lower = html.lower()
    if any(mark in lower for mark in _BOT_CHECKS):
        return Blocked(engine, "it asks whether we are a bot")
    if page.says_none:
        return Empty(engine)
    return Failed(engine, "its page has neither results nor the words that there are none")


class _Row:
    def __init__(self, depth: int, ad: bool) -> None:
        self.depth = depth
        self.ad = ad
        self.title = self.link = self.snippet = ""


class _ResultPage(HTMLParser):
    """Rows of `div.result`: the link `a.result__a`, the excerpt `.result__snippet`. Texts keep no markup."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[_Row] = []
        self.says_none = False
        self._depth = 0
        self._row: _Row | None = None
        self._field: tuple[str, int] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            return
        self._depth += 1
        values = {name: value or "" for name, value in attrs}
        classes = values.get("class", "").split()
        if "no-results" in classes or "result--no-result" in classes:
            self.says_none = True
        elif tag == "div" and "result" in classes:
            self._row = _Row(self._depth, "result--ad" in classes)
            self.rows.append(self._row)
        if self._row is None or self._field is not None:
            return
        if tag == "a" and "result__a" in classes:
            self._row.link = values.get("href", "")
            self._field = ("title", self._depth)
        elif "result__snippet" in classes:
            self._field = ("snippet", self._depth)

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        if self._field and self._field[1] >= self._depth:
            self._field = None
        if self._row and self._row.depth >= self._depth:
            self._row = None
        self._depth -= 1

    def handle_data(self, data: str) -> None:
        if self._row is None or self._field is None:
            return
        if self._field[0] == "title":
            self._row.title += data
        else:
            self._row.snippet += data


def _unwrapped(link: str) -> str:
    """The address behind DuckDuckGo's own; nothing for an advertisement (`y.js`) or another page of its own."""
    try:
        parts = urlsplit("https:" + link if link.startswith("//") else link)
        host = parts.hostname or ""
    except ValueError:
        return ""
    if host == "duckduckgo.com" or host.endswith(".duckduckgo.com"):
        return parse_qs(parts.query).get("uddg", [""])[0] if parts.path == "/l/" else ""
    return link
