"""How each engine is asked and read.

Mission R8: `web_search` with DuckDuckGo without a key and Google CSE with its two; bounded counts; blocked is not "no results".
The defect: a search engine's block page read as "no results".
"""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.support.growth import assert_linear

from stepwell.demo.web import ScriptedWeb, answer, world_pages
from stepwell.demo.web.search_pages import Mode, bot_check, engine_reply
from stepwell.demo.web.serving import Received
from stepwell.errors import FetchFailedError, ToolUseError
from stepwell.settings import Secret
from stepwell.tools.documents.reader_pool import ReaderPool
from stepwell.tools.web.search.engines import arxiv, brave, duckduckgo, google_cse, openalex, pubmed, tavily
from stepwell.tools.web.search.engines.arxiv import Arxiv
from stepwell.tools.web.search.engines.asking import retry_after_s, usable_results
from stepwell.tools.web.search.engines.brave import Brave
from stepwell.tools.web.search.engines.duckduckgo import DuckDuckGo
from stepwell.tools.web.search.engines.google_cse import GoogleCse
from stepwell.tools.web.search.engines.openalex import OpenAlex
from stepwell.tools.web.search.engines.pubmed import PubMed
from stepwell.tools.web.search.engines.searxng import SearXng
from stepwell.tools.web.search.engines.tavily import Tavily
from stepwell.tools.web.search.engines.wikipedia import Wikipedia
from stepwell.tools.web.search.outcomes import Blocked, Empty, Failed, Found, SearchOutcome
from stepwell.tools.web.transport import WebRequest, WebResponse

PAGES = world_pages()
KEY = Secret("k3y")
MAKE = {
    "duckduckgo": (duckduckgo.ADDRESS, DuckDuckGo),
    "google_cse": (google_cse.ADDRESS, lambda web: GoogleCse(web, KEY, "cx1")),
    "searxng": ("http://searx.example/search", lambda web: SearXng(web, "http://searx.example/")),
    "tavily": (tavily.ADDRESS, lambda web: Tavily(web, KEY)),
    "brave": (brave.ADDRESS, lambda web: Brave(web, KEY)),
    "wikipedia": ("https://en.wikipedia.org/w/rest.php/v1/search/page", Wikipedia),
    "arxiv": (arxiv.ADDRESS, Arxiv),
    "pubmed": (f"{pubmed.ADDRESS}/esearch.fcgi", PubMed),
    "openalex": (openalex.ADDRESS, OpenAlex),
}
ENGINES = sorted(MAKE)


def playing(engine: str, mode: Mode) -> ScriptedWeb:
    """A web on which the engine answers as the offline world's does."""

    def reply(request: WebRequest) -> WebResponse:
        parts = urlsplit(request.url)
        received = Received(parts.hostname or "", request.method, f"{parts.path}?{parts.query}", {}, request.body)
        said = engine_reply(engine, mode, received, PAGES)
        return answer(said.body, said.status, **dict(said.headers))

    return ScriptedWeb(dict.fromkeys([MAKE[engine][0], f"{pubmed.ADDRESS}/efetch.fcgi"], reply))


async def ask(engine: str, web: ScriptedWeb, query: str = PAGES[0].subject, limit: int = 5) -> SearchOutcome:
    return await MAKE[engine][1](web).search(query, limit)


@pytest.mark.parametrize("engine", ENGINES)
async def test_results_are_found_with_plain_text_and_real_addresses(engine: str):
    outcome = await ask(engine, playing(engine, "normal"))
    assert isinstance(outcome, Found)
    assert outcome.engine == engine
    assert 1 <= len(outcome.results) <= 5
    first = outcome.results[0]
    assert PAGES[0].subject in first.title
    assert first.url in (
        PAGES[0].url, f"https://en.wikipedia.org/wiki/{PAGES[0].subject.replace(' ', '_')}",
        "https://arxiv.org/abs/2401.00000v1", "https://pubmed.ncbi.nlm.nih.gov/1/",
    )  # fmt: skip
    assert PAGES[0].facts[0].sentence in first.snippet
    assert "<" not in first.snippet


@pytest.mark.parametrize("engine", ENGINES)
async def test_an_engine_that_knows_nothing_is_empty(engine: str):
    assert await ask(engine, playing(engine, "normal"), "xyzzy plugh") == Empty(engine)


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_block_is_blocked_and_never_no_results(engine: str):
    outcome = await ask(engine, playing(engine, "blocked"))
    assert isinstance(outcome, Blocked)
    assert outcome.engine == engine


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_limit_says_when_to_come_again(engine: str):
    outcome = await ask(engine, playing(engine, "limited"))
    assert isinstance(outcome, Blocked)
    assert outcome.retry_after_s == 30


RUBBISH = [
    b"", b"null", b"[]", b"{}", b'"text"', b"[" * 100_000, b"\xff\xfe\x00", b'{"results": 1, "pages": 1, "web": 1}',
    b'{"results": [1, null], "pages": [1], "items": [{}], "kind": "customsearch#search", "type": "search", "web": {"results": [{}]}}',
    b"<html><body>Welcome to our new design</body></html>", b'{"error": "maintenance"}',
]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rubbish", RUBBISH, ids=range(len(RUBBISH)))
async def test_rubbish_is_failed_and_never_no_results(engine: str, rubbish: bytes):
    assert isinstance(await ask(engine, ScriptedWeb({MAKE[engine][0]: answer(rubbish)})), Failed)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "said", [answer("x", 500), answer("x", 302, location="/"), answer("x", 401), FetchFailedError("slow", "time")]
)
async def test_an_engine_that_does_not_answer_is_failed(engine: str, said):
    assert isinstance(await ask(engine, ScriptedWeb({MAKE[engine][0]: said})), Failed)


@pytest.mark.parametrize("status", [200, 202, 403, 429])
async def test_duckduckgos_bot_check_is_blocked_with_any_status(status: int):
    web = ScriptedWeb({duckduckgo.ADDRESS: answer(bot_check(), status)})
    assert isinstance(await ask("duckduckgo", web), Blocked)


async def test_a_block_page_without_a_puzzle_is_not_read_as_no_results():
    web = ScriptedWeb({duckduckgo.ADDRESS: answer("<html><body><p>If this persists, please email us.</p></body></html>")})
    assert isinstance(await ask("duckduckgo", web), Failed)


async def test_duckduckgos_links_are_unwrapped_and_its_advertisements_left_out():
    web = playing("duckduckgo", "normal")
    outcome = await ask("duckduckgo", web)
    assert isinstance(outcome, Found)
    assert [one.url for one in outcome.results if "duckduckgo" in one.url] == []
    assert "Buy it cheap" not in [one.title for one in outcome.results]
    assert b"y.js" in (await web.send(web.requests[0])).content


async def test_results_about_bot_checks_are_still_results():
    page = engine_reply("duckduckgo", "normal", Received("h", "POST", "/html/", {}, b"q=bridge"), PAGES).body
    web = ScriptedWeb({duckduckgo.ADDRESS: answer(page + b"<!-- anomaly.js -->")})
    assert isinstance(await ask("duckduckgo", web), Found)


async def test_searxng_without_its_engines_has_not_searched():
    silent = {"results": [], "unresponsive_engines": [["google", "timeout"], ["bing", "CAPTCHA"]]}
    outcome = await ask("searxng", ScriptedWeb({MAKE["searxng"][0]: answer(json.dumps(silent))}))
    assert isinstance(outcome, Failed)
    assert "google (timeout)" in outcome.why


async def test_addresses_that_are_not_of_the_web_are_left_out():
    rows = [
        {"title": "a", "url": url, "content": "c"}
        for url in ("file:///x", "javascript:1", "ftp://a/", 7, None, "https://a.example/#x")
    ]
    outcome = await ask("tavily", ScriptedWeb({tavily.ADDRESS: answer(json.dumps({"results": [*rows, rows[-1]]}))}))
    assert isinstance(outcome, Found)
    assert [one.url for one in outcome.results] == ["https://a.example/"]


@pytest.mark.parametrize("engine", ENGINES)
async def test_the_count_is_bounded(engine: str):
    many = playing(engine, "normal")
    outcome = await ask(engine, many, "bridge bridges opened", 10_000)
    assert isinstance(outcome, Found)
    assert len(outcome.results) <= 20
    asked = parse_qs(urlsplit(many.requests[0].url).query)
    assert all(
        int(asked[name][0]) <= 20 for name in ("num", "count", "limit", "max_results", "retmax", "per_page") if name in asked
    )


@pytest.mark.parametrize("engine", ENGINES)
async def test_no_key_is_in_an_address_or_shown(engine: str):
    web = playing(engine, "normal")
    await ask(engine, web)
    assert KEY.reveal() not in web.requests[0].url
    assert KEY.reveal() not in repr(web.requests[0])
    assert web.requests[0].purpose == f"search:{engine}"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("query", ["", " \n ", "x" * 401])
async def test_an_empty_or_enormous_query_is_not_sent(engine: str, query: str):
    web = playing(engine, "normal")
    with pytest.raises(ToolUseError):
        await ask(engine, web, query)
    assert web.requests == []


@pytest.mark.parametrize("engine", ENGINES)
async def test_only_the_operators_searxng_may_be_inside_the_network(engine: str):
    web = playing(engine, "normal")
    await ask(engine, web)
    assert {request.inside for request in web.requests} == {engine == "searxng"}


@pytest.mark.parametrize(
    ("said", "date", "seconds"),
    [("30", "", 30.0), ("0", "", 0.0), ("9" * 30, "", 86400.0), ("-5", "", None), ("soon", "", None),
     ("Fri, 02 Jan 2026 03:05:00 GMT", "Fri, 02 Jan 2026 03:04:00 GMT", 60.0),
     ("Fri, 02 Jan 2026 03:00:00 GMT", "Fri, 02 Jan 2026 03:04:00 GMT", 0.0)],
)  # fmt: skip
def test_retry_after_is_read_as_seconds_or_as_a_date(said: str, date: str, seconds: float | None):
    assert retry_after_s(answer(retry_after=said, date=date)) == seconds


@pytest.mark.parametrize("piece", ["<a ", "<!--", "</a", "&#", "<b>a</b>", "<![CDATA[", "a < b "])
def test_the_time_to_take_the_markup_off_an_excerpt_grows_with_its_length(piece: str):
    def rows(length: int) -> list[tuple[str, str, str]]:
        return [(piece * length, f"https://a.example/{n}", piece * length) for n in range(20)]

    assert_linear(lambda found: usable_results(found, 20), rows, 1_000)
    assert all("<b>" not in result.snippet for result in usable_results(rows(1_000), 20))


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("<b>wa</b>ter &amp; wells", "water & wells"),
        ("one<br>two<p class='x'>three</p>", "one two three"),
        ("a < b and c > d", "a < b and c > d"),
        ("<!-- not shown -->shown<script>", "shown"),
    ],
)
def test_an_excerpt_reads_as_a_person_sees_it(written: str, shown: str):
    assert usable_results([("T", "https://a.example/", written)], 1)[0].snippet == shown


async def test_a_link_in_a_page_of_results_that_is_no_address_is_left_out():
    row = '<div class="result"><a class="result__a" href="{}">A title</a></div>'
    page = row.format("http://[") + row.format("https://a.example/")
    found = await DuckDuckGo(ScriptedWeb({duckduckgo.ADDRESS: answer(page)})).search("wells")
    assert isinstance(found, Found)
    assert [result.url for result in found.results] == ["https://a.example/"]


async def test_a_page_of_results_that_is_too_much_is_a_failure_of_the_engine():
    web = ScriptedWeb({duckduckgo.ADDRESS: answer("<div class='result'>" * 20_000 + "<a " * 200_000)})
    readers = ReaderPool(size=1, timeout_s=0.5)
    outcome = await DuckDuckGo(web, readers).search("wells")
    readers.close()
    assert outcome == Failed("duckduckgo", "The page of results is too complex to be read within 0.5 s.")
