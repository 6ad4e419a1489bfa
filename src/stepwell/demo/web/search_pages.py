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
    "export.arxiv.org": "arxiv",
    "eutils.ncbi.nlm.nih.gov": "pubmed",
    "api.openalex.org": "openalex",
}
PAPER_PAGES = {"arxiv.org": "/abs/2401.{:05d}v1", "pubmed.ncbi.nlm.nih.gov": "/{}/"}
"""Hosts of papers' pages, and the path of the world's n-th page there."""
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
    if engine == "pubmed" and "/efetch.fcgi" in request.path:
        return _efetch(request, pages)
    query, limit = _asked(engine, request)
    found = rank(pages, query, limit) if mode == "normal" else []
    if engine == "arxiv":
        return _arxiv([(pages.index(page), page) for page in found])
    if engine == "pubmed":
        return _esearch([pages.index(page) for page in found])
    return _duckduckgo(query, found) if engine == "duckduckgo" else _json(_FORMATS[engine](found))


def _asked(engine: str, request: Received) -> tuple[str, int]:
    if engine == "tavily":
        body = json.loads(request.body)
        return str(body["query"]), int(body.get("max_results", 5))
    source = request.body.decode() if engine == "duckduckgo" else urlsplit(request.path).query
    fields = {name: values[0] for name, values in parse_qs(source).items()}
    limits = ("num", "count", "limit", "max_results", "retmax", "per_page")
    limit = next((int(fields[name]) for name in limits if name in fields), 25)
    query = next((fields[name] for name in ("q", "search_query", "term", "search") if name in fields), "")
    return query.replace("all:", "").replace(" AND ", " "), limit


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
    if engine == "arxiv":
        return ServedResponse(503, "text/html", b"<h1>503 Service Unavailable</h1>", headers=(("Retry-After", "5"),))
    if engine == "pubmed":
        return _json({"error": "API rate limit exceeded", "api-key": "192.0.2.7", "count": "4", "limit": "3"}, 429)
    if engine == "openalex":
        return _json({"error": "Rate limit exceeded", "message": "Insufficient budget. Resets at midnight UTC."}, 429)
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


def _openalex(pages: Sequence[WorldPage]) -> dict[str, Any]:
    rows = [
        {"id": f"https://openalex.org/W{n}", "doi": f"https://doi.org/10.5555/{n}", "display_name": p.title, "publication_year": 2024,
         "authorships": [{"author_position": "first", "author": {"id": "https://openalex.org/A1", "display_name": "Ann Lee"}}],
         "best_oa_location": {"is_oa": True, "landing_page_url": p.url, "pdf_url": None}, "primary_location": None,
         "abstract_inverted_index": _invert(p.paragraphs[0])}
        for n, p in enumerate(pages, 1)
    ]  # fmt: skip
    return {"meta": {"count": len(rows), "page": 1, "per_page": 25}, "results": rows, "group_by": []}


def _invert(text: str) -> dict[str, list[int]]:
    index: dict[str, list[int]] = {}
    for place, word in enumerate(text.split()):
        index.setdefault(word, []).append(place)
    return index


def _arxiv(found: Sequence[tuple[int, WorldPage]]) -> ServedResponse:
    entries = "".join(
        f"<entry><id>http://arxiv.org{PAPER_PAGES['arxiv.org'].format(n)}</id><updated>2024-01-02T00:00:00Z</updated>"
        f"<published>2024-01-01T00:00:00Z</published><title>{escape(page.title)}</title><summary>  {escape(page.paragraphs[0])}\n</summary>"
        "<author><name>Ann Lee</name></author><author><name>Bo Ruiz</name></author>"
        f'<link href="http://arxiv.org{PAPER_PAGES["arxiv.org"].format(n)}" rel="alternate" type="text/html"/>'
        f'<link title="pdf" href="http://arxiv.org/pdf/2401.{n:05d}v1" rel="related" type="application/pdf"/>'
        '<arxiv:primary_category xmlns:arxiv="http://arxiv.org/schemas/atom" term="cs.CE"/></entry>'
        for n, page in found
    )
    body = (
        '<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title type="html">ArXiv Query</title>'
        "<id>http://arxiv.org/api/x</id><opensearch:totalResults "
        f'xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">{len(found)}</opensearch:totalResults>{entries}</feed>'
    )
    return ServedResponse(200, "application/atom+xml; charset=UTF-8", body.encode())


def _esearch(numbers: Sequence[int]) -> ServedResponse:
    missing = {} if numbers else {"warninglist": {"phrasesignored": [], "outputmessages": ["No items found."]}}
    result = {
        "count": str(len(numbers)),
        "retmax": str(len(numbers)),
        "retstart": "0",
        "idlist": [str(n + 1) for n in numbers],
        **missing,
    }
    return _json({"header": {"type": "esearch", "version": "0.3"}, "esearchresult": result})


def _efetch(request: Received, pages: Sequence[WorldPage]) -> ServedResponse:
    numbers = [int(name) for name in parse_qs(urlsplit(request.path).query)["id"][0].split(",")]
    articles = "".join(
        f'<PubmedArticle><MedlineCitation Status="MEDLINE"><PMID Version="1">{n}</PMID><Article PubModel="Print"><Journal><JournalIssue>'
        f"<PubDate><Year>2024</Year></PubDate></JournalIssue></Journal><ArticleTitle>{escape(pages[n - 1].title)}</ArticleTitle><Abstract>"
        f'<AbstractText Label="RESULTS">{escape(pages[n - 1].paragraphs[0])}</AbstractText></Abstract><AuthorList><Author><LastName>Lee'
        "</LastName><Initials>A</Initials></Author></AuthorList></Article></MedlineCitation><PubmedData><ReferenceList><Reference>"
        "<ArticleIdList><ArticleId>9</ArticleId></ArticleIdList></Reference></ReferenceList></PubmedData></PubmedArticle>"
        for n in numbers
    )
    dtd = '"-//NLM//DTD PubMedArticle, 1st January 2025//EN" "https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd"'
    body = f'<?xml version="1.0" ?><!DOCTYPE PubmedArticleSet PUBLIC {dtd}><PubmedArticleSet>{articles}</PubmedArticleSet>'
    return ServedResponse(200, "text/xml; charset=UTF-8", body.encode())


_FORMATS = {
    "google_cse": _google, "searxng": _searxng, "tavily": _tavily, "brave": _brave, "wikipedia": _wikipedia, "openalex": _openalex,
}  # fmt: skip


def _json(data: dict[str, Any], status: int = 200) -> ServedResponse:
    return ServedResponse(status, "application/json", json.dumps(data).encode())
