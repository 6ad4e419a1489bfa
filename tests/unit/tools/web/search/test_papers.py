"""Engines for papers: what they answer in trouble, and how their XML is read."""

from __future__ import annotations

import asyncio
import json

import pytest

from stepwell.demo.web import ScriptedWeb, answer
from stepwell.errors import ConfigurationError, FetchFailedError, ToolUseError
from stepwell.settings import Settings
from stepwell.tools.documents.papers import read_papers
from stepwell.tools.documents.reader_pool import usual_readers
from stepwell.tools.web.search.chain import SearchChain
from stepwell.tools.web.search.choice import PAPER_ORDER, search_chain
from stepwell.tools.web.search.engines import arxiv, openalex, pubmed
from stepwell.tools.web.search.engines.arxiv import Arxiv
from stepwell.tools.web.search.engines.openalex import OpenAlex
from stepwell.tools.web.search.engines.pubmed import PubMed
from stepwell.tools.web.search.engines.wikipedia import Wikipedia
from stepwell.tools.web.search.guard import EngineLimits, GuardedEngine
from stepwell.tools.web.search.outcomes import Blocked, Empty, Failed, Found, SearchOutcome, SearchResult

FEED = (
    '<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom" '
    'xmlns:o="http://a9.com/-/spec/opensearch/1.1/"><o:totalResults>{total}</o:totalResults>{entries}</feed>'
)
ENTRY = (
    "<entry><id>http://arxiv.org/abs/2401.1v2</id><published>2024-01-05T00:00:00Z</published><title>Cables of\n  bridges</title>"
    "<summary>Steel ages.</summary><author><name>A. One</name></author><author><name>B. Two</name></author>"
    "<author><name>C. Three</name></author><author><name>D. Four</name></author>"
    '<link href="http://arxiv.org/abs/2401.1v2" rel="alternate" type="text/html"/></entry>'
)
ERROR = (
    "<entry><id>http://arxiv.org/api/errors#incorrect_id_format_for_1234</id><title>Error</title>"
    "<summary>incorrect id format for 1234</summary><author><name>arXiv api core</name></author></entry>"
)
ARTICLE = (
    '<PubmedArticle><MedlineCitation><PMID Version="1">{name}</PMID><Article><Journal><JournalIssue><PubDate><MedlineDate>1998 Dec-1999 Jan'
    "</MedlineDate></PubDate></JournalIssue></Journal><ArticleTitle>Sleep and <i>honey</i> at 5 &lt; 6</ArticleTitle><Abstract>"
    '<AbstractText Label="BACKGROUND">Honey is old.</AbstractText><AbstractText Label="RESULTS">It <b>keeps</b>.</AbstractText></Abstract>'
    "<AuthorList><Author><CollectiveName>Honey Group</CollectiveName></Author></AuthorList></Article>"
    "<CommentsCorrectionsList><CommentsCorrections><PMID>99</PMID></CommentsCorrections></CommentsCorrectionsList>"
    "</MedlineCitation></PubmedArticle>"
)
BOMB = '<?xml version="1.0"?><!DOCTYPE feed [<!ENTITY a "aaaaa"><!ENTITY b "&a;&a;&a;&a;">]><feed><entry><title>&b;</title></entry></feed>'
OUTSIDE = '<?xml version="1.0"?><!DOCTYPE feed [<!ENTITY x SYSTEM "file:///etc/passwd">]><feed><entry><title>&x;</title></entry></feed>'


async def ask_arxiv(body: str, status: int = 200, **headers: str) -> SearchOutcome:
    return await Arxiv(ScriptedWeb({arxiv.ADDRESS: answer(body, status, **headers)})).search("bridge cables")


async def ask_pubmed(found: object, papers: str = "", status: int = 200) -> SearchOutcome:
    web = {f"{pubmed.ADDRESS}/esearch.fcgi": answer(json.dumps(found)), f"{pubmed.ADDRESS}/efetch.fcgi": answer(papers, status)}
    return await PubMed(ScriptedWeb(web)).search("does honey spoil?")


def ids(*names: object, count: str | None = None) -> dict[str, object]:
    return {"esearchresult": {"count": count or str(len(names)), "idlist": list(names)}}


async def test_a_paper_of_arxiv_leads_to_its_abstract_and_names_authors_and_year():
    outcome = await ask_arxiv(FEED.format(total=1, entries=ENTRY))
    assert outcome == Found(
        "arxiv",
        (
            SearchResult(
                "Cables of bridges", "https://arxiv.org/abs/2401.1v2", "A. One, B. Two, C. Three et al. (2024): Steel ages."
            ),
        ),
    )


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        (FEED.format(total=0, entries=""), Empty("arxiv")),
        (FEED.format(total=7, entries=""), Failed("arxiv", "none of its results can be used")),
        (
            FEED.format(total=1, entries=ERROR),
            Failed("arxiv", "it reported an error: arXiv api core: incorrect id format for 1234"),
        ),
        (FEED.format(total=1, entries=ENTRY)[:-3], Failed("arxiv", "The list of papers is not well-formed XML.")),
        (BOMB, Failed("arxiv", "The list of papers declares entities, which no honest one does.")),
        (OUTSIDE, Failed("arxiv", "The list of papers declares entities, which no honest one does.")),
        ("<feed>" * 5_000, Failed("arxiv", "The list of papers is nested too deeply.")),
        ("<rss></rss>", Failed("arxiv", "its answer is not a feed of papers")),
    ],
)
async def test_what_arxiv_answers_in_trouble(body: str, outcome: SearchOutcome):
    assert await ask_arxiv(body) == outcome


@pytest.mark.parametrize("status", [429, 503])
async def test_arxiv_says_when_to_come_again(status: int):
    assert await ask_arxiv("busy", status, retry_after="7") == Blocked("arxiv", f"it answered with status {status}", 7.0)


async def test_a_query_for_arxiv_holds_words_and_none_of_its_operators():
    web = ScriptedWeb({arxiv.ADDRESS: answer(FEED.format(total=0, entries=""))})
    await Arxiv(web).search('What is "state of the art" (ti:x) ANDNOT au:y in LLMs?')
    asked = web.requests[0].url.split("search_query=")[1].split("&")[0]
    assert asked == "all%3Astate+AND+all%3Aart+AND+all%3Ati+AND+all%3Ax+AND+all%3AANDNOT+AND+all%3Aau"


async def test_a_paper_of_pubmed_keeps_the_order_and_text_inside_markup():
    papers = f"<PubmedArticleSet>{ARTICLE.format(name=7)}{ARTICLE.format(name=5)}</PubmedArticleSet>"
    outcome = await ask_pubmed(ids("5", "7"), papers)
    assert isinstance(outcome, Found)
    assert [one.url for one in outcome.results] == [f"{pubmed.PAGES}/5/", f"{pubmed.PAGES}/7/"]
    assert outcome.results[0].title == "Sleep and honey at 5 < 6"
    assert outcome.results[0].snippet == "Honey Group (1998): Honey is old. It keeps."


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (ids(), Empty("pubmed")),
        (ids(count="3"), Failed("pubmed", "none of its results can be used")),
        (ids("../x", 5, None), Failed("pubmed", "none of its results can be used")),
        (
            {"esearchresult": {"ERROR": "Invalid db name: x"}},
            Failed("pubmed", "it reported an error: Invalid db name: x"),
        ),
        ({"error": "API rate limit exceeded", "count": "4", "limit": "3"}, Blocked("pubmed", "API rate limit exceeded")),
        ({"error": "down"}, Failed("pubmed", "it reported an error: down")),
        ({"esearchresult": {"count": "1"}}, Failed("pubmed", "its answer has no list of results")),
    ],
)
async def test_what_pubmed_answers_in_trouble(found: object, outcome: SearchOutcome):
    assert await ask_pubmed(found) == outcome


@pytest.mark.parametrize(
    ("papers", "status", "kind"),
    [
        ("<html>", 200, Failed),
        ("<PubmedArticleSet></PubmedArticleSet>", 200, Failed),
        ("x", 429, Blocked),
        ("x", 400, Failed),
        (BOMB, 200, Failed),
    ],
)
async def test_papers_of_pubmed_that_cannot_be_read(papers: str, status: int, kind: type):
    assert isinstance(await ask_pubmed(ids("5"), papers, status), kind)


def work(**more: object) -> dict[str, object]:
    return {"display_name": "Tides", "doi": "https://doi.org/10.5555/1", "publication_year": 2019, **more}


async def ask_openalex(body: object, status: int = 200, **headers: str) -> SearchOutcome:
    return await OpenAlex(ScriptedWeb({openalex.ADDRESS: answer(json.dumps(body), status, **headers)})).search("tides")


@pytest.mark.parametrize(
    ("location", "address"),
    [
        ({"landing_page_url": "https://free.example/a", "pdf_url": "https://free.example/a.pdf"}, "https://free.example/a"),
        ({"landing_page_url": None, "pdf_url": "https://free.example/a.pdf"}, "https://free.example/a.pdf"),
        (None, "https://doi.org/10.5555/1"),
        (7, "https://doi.org/10.5555/1"),
    ],
)
async def test_openalex_leads_to_a_free_copy_if_there_is_one(location: object, address: str):
    outcome = await ask_openalex({"meta": {"count": 1}, "results": [work(best_oa_location=location)]})
    assert isinstance(outcome, Found)
    assert outcome.results[0].url == address


async def test_an_abstract_is_put_together_from_its_index():
    people = [{"author": {"display_name": name}} for name in ("A", "B", "C", "D")]
    index = {"rise": [1, 4], "Tides": [0], "and": [3], "fall": [2], "again": [5], "far": [10**9, -1, "x"], "odd": None}
    outcome = await ask_openalex({"meta": {"count": 1}, "results": [work(authorships=people, abstract_inverted_index=index)]})
    assert isinstance(outcome, Found)
    assert outcome.results[0].snippet == "A, B, C et al. (2019): Tides rise fall and rise again"


@pytest.mark.parametrize(
    ("body", "status", "outcome"),
    [
        ({"meta": {"count": 0}, "results": []}, 200, Empty("openalex")),
        ({"meta": {"count": 5}, "results": []}, 200, Failed("openalex", "its answer says there are results and has none")),
        ({"error": "Invalid filter"}, 400, Failed("openalex", "it answered with status 400")),
        ({"error": "Rate limit exceeded"}, 429, Blocked("openalex", "it answered with status 429", 60.0)),
        ({"error": "slow down"}, 403, Blocked("openalex", "it answered with status 403", 60.0)),
        ({"error": "x"}, 503, Failed("openalex", "it answered with status 503")),
        ({"meta": {"count": 1}, "results": [work(doi=None)]}, 200, Failed("openalex", "none of its results can be used")),
    ],
)
async def test_what_openalex_answers_in_trouble(body: object, status: int, outcome: SearchOutcome):
    assert await ask_openalex(body, status, retry_after="60") == outcome


async def test_foreign_xml_is_parsed_in_the_readers_process_and_bounded():
    many = FEED.format(total=500, entries=ENTRY.replace("Steel ages.", "Steel ages. " * 10_000) * 300)
    papers = await usual_readers().read_papers(many.encode())
    assert len(papers.rows) == 200
    assert all(len(excerpt) < 21_000 for _, _, excerpt in papers.rows)
    with pytest.raises(FetchFailedError):
        read_papers(BOMB.encode())


async def test_wikipedia_is_not_asked_for_words_that_only_ask():
    web = ScriptedWeb({"https://en.wikipedia.org/w/rest.php/v1/search/page": answer('{"pages": []}')})
    await Wikipedia(web).search("how long is the Brooklyn Bridge?")
    await Wikipedia(web).search("The Who")
    assert [url.split("?")[1] for url in web.urls] == ["q=long+Brooklyn+Bridge&limit=10", "q=The+Who&limit=10"]


class Named:
    """An engine that counts how many of its searches run at the same time."""

    def __init__(self, name: str) -> None:
        self.name, self.asked, self.now, self.most = name, [], 0, 0

    async def search(self, query: str, limit: int = 10) -> SearchOutcome:
        self.asked.append(query)
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.now -= 1
        return Empty(self.name)


async def test_a_query_for_papers_goes_to_the_engines_for_papers():
    web, papers = Named("web"), Named("papers")
    chain = SearchChain([web], [papers])
    assert (await chain.search("Papers: honey")).engine == "papers"
    assert (await chain.search("papers about honey")).engine == "web"
    assert (papers.asked, web.asked) == (["honey"], ["papers about honey"])
    await SearchChain([web]).search("papers: honey")
    assert web.asked[-1] == "honey"
    with pytest.raises(ToolUseError):
        await chain.search("papers: ")


async def test_an_engine_that_allows_one_connection_is_asked_once_at_a_time(clock):
    engine = Named("arxiv")
    limits = EngineLimits(per_s=100, burst=10, one_at_a_time=True)

    async def sleep(seconds: float) -> None:
        clock.pass_s(seconds)
        await asyncio.sleep(0)

    guard = GuardedEngine(engine, clock, limits, sleep=sleep)
    await asyncio.gather(*(guard.search(f"query {n}") for n in range(5)))
    assert (len(engine.asked), engine.most) == (5, 1)


def test_settings_choose_the_engines_for_papers():
    web = ScriptedWeb({})
    assert search_chain(Settings.load({"STEPWELL_SEARCH_ENGINES": "arxiv,wikipedia"}), web).engines == ("arxiv", "wikipedia")
    assert search_chain(Settings.load({}), web).papers == PAPER_ORDER
    assert search_chain(Settings.load({"STEPWELL_PAPER_ENGINES": "pubmed"}), web).papers == ("pubmed",)
    with pytest.raises(ConfigurationError, match="STEPWELL_PAPER_ENGINES names 'scholar', which is unknown"):
        search_chain(Settings.load({"STEPWELL_PAPER_ENGINES": "scholar"}), web)
