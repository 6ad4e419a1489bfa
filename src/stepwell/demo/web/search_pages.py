"""Responses of search engines in each engine's own format, from the pages of the offline world.

| mode | answer |
|---|---|
| `normal` | results, or the engine's own "no results" |
| `empty` | the engine's own "no results" |
| `blocked` | its bot check or its quota |
| `limited` | status 429 with `Retry-After: 30` |
| `rubbish` | status 200 and something that is not an answer |
| `broken` | status 500 |
| `slow` | nothing for a minute |
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from typing import Any, Literal
from urllib.parse import parse_qs, quote, urlsplit

from stepwell.demo.web.facts import WorldPage
from stepwell.demo.web.serving import Received, ServedResponse

Mode = Literal["normal", "empty", "blocked", "limited", "rubbish", "broken", "slow"]
SEARXNG_URL = "http://searxng.example"
ENGINE_HOSTS = {
    "html.duckduckgo.com": "duckduckgo",
    "customsearch.googleapis.com": "google_cse",
    "searxng.example": "searxng",
    "api.tavily.com": "tavily",
    "api.search.brave.com": "brave",
    "en.wikipedia.org": "wikipedia",
}
_WORD = re.compile(r"\w+")
_BOT_CHECK = (
    '<html><body><form id="challenge-form" action="//duckduckgo.com/anomaly.js?sv=html&amp;cc=botnet" method="POST">'
    '<div class="anomaly-modal__mask"><div class="anomaly-modal__modal" data-testid="anomaly-modal">'
    '<div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div>'
    '<div class="anomaly-modal__description">Please complete the following challenge to confirm this search was made by a human.'
    "</div></div></div></form></body></html>"
)


def rank(pages: Sequence[WorldPage], query: str, limit: int) -> list[WorldPage]:
    """Pages that share words with the query: more shared words first, words in the title count double."""
    words = {
        word
        for word in _WORD.findall(query.lower())
        if len(word) > 2 and word not in ("the", "was", "and", "how", "who", "when")
    }

    def score(page: WorldPage) -> int:
        title, text = set(_WORD.findall(page.title.lower())), set(_WORD.findall(page.text.lower()))
        return 2 * len(words & (title | {page.topic})) + len(words & text)

    scored = [(score(page), page) for page in pages]
    return [page for points, page in sorted(scored, key=lambda pair: (-pair[0], pair[1].url)) if points >= 2][:limit]


def engine_reply(engine: str, mode: Mode, request: Received, pages: Sequence[WorldPage]) -> ServedResponse:
    """An engine's response."""
    if mode == "slow":
        return ServedResponse(pause_s=60.0)
    if mode == "broken":
        return ServedResponse(500, body=b"<h1>Internal error</h1>")
    if mode == "limited":
        return ServedResponse(429, body=b"Too many requests", headers=(("Retry-After", "30"),))
    if mode == "rubbish":
        return ServedResponse(body=b"<html><body><h1>Welcome</h1><p>We have a new design.</p></body></html>")
    if mode == "blocked":
        return _blocked(engine)
    query, limit = _asked(engine, request)
    found = rank(pages, query, limit) if mode == "normal" else []
    return _duckduckgo(query, found) if engine == "duckduckgo" else _json(_FORMATS[engine](found))


def _asked(engine: str, request: Received) -> tuple[str, int]:
    if engine == "tavily":
        body = json.loads(request.body)
        return str(body["query"]), int(body.get("max_results", 5))
    source = request.body.decode() if engine == "duckduckgo" else urlsplit(request.path).query
    fields = {name: values[0] for name, values in parse_qs(source).items()}
    limit = next((int(fields[name]) for name in ("num", "count", "limit") if name in fields), 25)
    return fields.get("q", ""), limit


def _blocked(engine: str) -> ServedResponse:
    if engine == "duckduckgo":
        return ServedResponse(202, body=_BOT_CHECK.encode())
    if engine == "google_cse":
        error = {
            "code": 403,
            "message": "Quota exceeded",
            "errors": [{"domain": "usageLimits", "reason": "dailyLimitExceeded"}],
        }
        return _json({"error": error}, 403)
    if engine == "searxng":
        return _json(
            {"query": "", "results": [], "unresponsive_engines": [["google", "CAPTCHA"], ["bing", "too many requests"]]}
        )
    if engine == "tavily":
        return _json({"detail": {"error": "This request exceeds your plan's set usage limit."}}, 432)
    return _json({"type": "ErrorResponse", "error": {"code": "RATE_LIMITED", "status": 429}}, 429)


def bot_check() -> bytes:
    """DuckDuckGo's puzzle, for a test that sends it with status 200."""
    return _BOT_CHECK.encode()


def _duckduckgo(query: str, pages: Sequence[WorldPage]) -> ServedResponse:
    advert = (
        '<div class="result results_links results_links_deep result--ad"><div class="links_main links_deep result__body">'
        '<h2 class="result__title"><a rel="nofollow" class="result__a" href="https://duckduckgo.com/y.js?ad_domain=shop.example&amp;'
        'ad_provider=bingv7aa">Buy it cheap</a></h2><a class="result__snippet" href="#">An advertisement.</a></div></div>'
    )
    rows = "".join(_duckduckgo_row(page) for page in pages)
    none = (
        '<div class="result results_links results_links_deep result--no-result"><div class="links_main links_deep result__body">'
        '<div class="no-results">No results found for <b>' + escape(query) + "</b></div></div></div>"
    )
    body = (
        f'<!DOCTYPE html><html><head><title>{escape(query)} at DuckDuckGo</title></head><body class="body--html">'
        f'<form action="/html/" method="post"><input name="q" value="{escape(query)}"><input type="submit"></form>'
        f'<div class="serp__results"><div id="links" class="results">{advert + rows if pages else none}</div></div></body></html>'
    )
    return ServedResponse(body=body.encode())


def _duckduckgo_row(page: WorldPage) -> str:
    link = f"//duckduckgo.com/l/?uddg={quote(page.url, safe='')}&amp;rut=0a1b2c"
    first = page.topic.rstrip("s")
    snippet = escape(page.paragraphs[0]).replace(first, f"<b>{first}</b>")
    return (
        '<div class="result results_links results_links_deep web-result"><div class="links_main links_deep result__body">'
        f'<h2 class="result__title"><a rel="nofollow" class="result__a" href="{link}">{escape(page.title)}</a></h2>'
        f'<div class="result__extras"><a class="result__url" href="{link}">{escape(page.url[8:])}</a></div>'
        f'<a class="result__snippet" href="{link}">{snippet}</a><div class="clear"></div></div></div>'
    )


def _google(pages: Sequence[WorldPage]) -> dict[str, Any]:
    items = [{"kind": "customsearch#result", "title": p.title, "link": p.url, "snippet": p.paragraphs[0]} for p in pages]
    about = {"searchTime": 0.2, "totalResults": str(len(pages))}
    return {"kind": "customsearch#search", "searchInformation": about, **({"items": items} if items else {})}


def _searxng(pages: Sequence[WorldPage]) -> dict[str, Any]:
    rows = [{"url": p.url, "title": p.title, "content": p.paragraphs[0], "engine": "other", "score": 1.0} for p in pages]
    return {"query": "", "number_of_results": len(rows), "results": rows, "answers": [], "unresponsive_engines": []}


def _tavily(pages: Sequence[WorldPage]) -> dict[str, Any]:
    rows = [{"title": p.title, "url": p.url, "content": p.paragraphs[0], "score": 0.9, "raw_content": None} for p in pages]
    return {"query": "", "answer": None, "images": [], "results": rows, "response_time": 0.4}


def _brave(pages: Sequence[WorldPage]) -> dict[str, Any]:
    rows = [{"title": p.title, "url": p.url, "description": f"<strong>{escape(p.paragraphs[0])}</strong>"} for p in pages]
    return {"type": "search", "query": {"original": ""}, **({"web": {"type": "search", "results": rows}} if rows else {})}


def _wikipedia(pages: Sequence[WorldPage]) -> dict[str, Any]:
    rows = [
        {"id": n, "key": p.subject.replace(" ", "_"), "title": p.subject, "description": None,
         "excerpt": f'<span class="searchmatch">{escape(p.subject)}</span> {escape(p.paragraphs[0])}'}
        for n, p in enumerate(pages, 1)
    ]  # fmt: skip
    return {"pages": rows}


_FORMATS = {"google_cse": _google, "searxng": _searxng, "tavily": _tavily, "brave": _brave, "wikipedia": _wikipedia}


def _json(data: dict[str, Any], status: int = 200) -> ServedResponse:
    return ServedResponse(status, "application/json", json.dumps(data).encode())
