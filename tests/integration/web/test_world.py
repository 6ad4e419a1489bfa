"""Search and fetch on the offline world: production code down to the socket (mission R8)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stepwell.demo.web import OfflineWorld, world_pages
from stepwell.demo.web.facts import TOPICS
from stepwell.demo.web.search_pages import ENGINE_HOSTS, SEARXNG_URL
from stepwell.errors import FetchFailedError, FetchRefusedError, WebError
from stepwell.settings import Settings
from stepwell.tools.web.fetch import PageFetcher
from stepwell.tools.web.search.chain import SearchChain
from stepwell.tools.web.search.choice import search_chain
from stepwell.tools.web.search.outcomes import Blocked, Empty, Failed, Found

KEYS = {
    "GOOGLE_CSE_API_KEY": "k", "GOOGLE_CSE_CX": "c", "TAVILY_API_KEY": "k", "BRAVE_API_KEY": "k", "STEPWELL_SEARXNG_URL": SEARXNG_URL,
}  # fmt: skip


def chain(world: OfflineWorld, engine: str) -> SearchChain:
    return search_chain(Settings.load({**KEYS, "STEPWELL_SEARCH_ENGINES": engine}), world.web, cached=False)


def test_the_world_is_the_same_each_time_and_large_enough():
    pages = world_pages()
    assert pages == world_pages()
    assert len(pages) >= 250
    assert len({page.url for page in pages}) == len(pages)
    assert {page.topic for page in pages} == set(TOPICS)
    assert {page.form for page in pages} == {"html", "pdf", "text"}
    assert all(fact.value in fact.sentence and fact.sentence in page.text for page in pages for fact in page.facts)


async def test_every_fact_of_a_topic_is_in_the_text_that_is_fetched(world: OfflineWorld):
    pages = [page for page in world.pages if page.topic == "bridges"]
    fetcher = PageFetcher(world.web)
    for page in pages:
        text = " ".join((await fetcher.fetch_page(page.url)).text.split())
        assert [fact.sentence for fact in page.facts if fact.sentence not in text] == []
    hosts = {page.url.split("/")[2] for page in pages}
    assert world.count() == len(pages) + len(hosts), "robots.txt once for each host"


@pytest.mark.parametrize("engine", sorted(set(ENGINE_HOSTS.values())))
async def test_each_engine_finds_a_page_that_can_then_be_fetched(world: OfflineWorld, engine: str):
    page = world.pages[4]
    searched = await chain(world, engine).search(f"Who designed the {page.subject}?")
    assert isinstance(searched.outcome, Found)
    assert searched.engine == engine
    fetched = await PageFetcher(world.web).fetch_page(searched.outcome.results[0].url)
    assert page.facts[0].sentence in fetched.text


@pytest.mark.parametrize("engine", sorted(set(ENGINE_HOSTS.values())))
@pytest.mark.parametrize(
    ("mode", "outcome"), [("empty", Empty), ("blocked", Blocked), ("limited", Blocked), ("rubbish", Failed), ("broken", Failed)]
)
async def test_each_trouble_of_an_engine_has_its_own_outcome(world: OfflineWorld, engine: str, mode, outcome: type):
    world.engine(engine, mode)
    assert isinstance((await chain(world, engine).search("Quellmouth bridge")).outcome, outcome)


async def test_a_blocked_engine_hands_over_to_the_next_and_both_are_told(world: OfflineWorld):
    """The defect: a search engine's block page read as "no results"."""
    world.engine("duckduckgo", "blocked")
    searched = await chain(world, "duckduckgo,wikipedia").search("Quellmouth bridge")
    assert [type(one) for one in searched.tried] == [Blocked, Found]
    assert searched.engine == "wikipedia"


async def test_the_same_search_is_sent_once(world: OfflineWorld, tmp_path: Path):
    settings = Settings.load({"STEPWELL_DATA_DIR": str(tmp_path)})
    first = await search_chain(settings, world.web).search("Quellmouth bridge")
    again = await search_chain(settings, world.web).search("Quellmouth bridge")
    assert again == first
    assert world.count("html.duckduckgo.com") == 1


async def test_an_engine_that_is_silent_is_given_up(world: OfflineWorld):
    world.engine("duckduckgo", "slow")
    outcome = (await chain(world, "duckduckgo").search("Quellmouth bridge")).outcome
    assert isinstance(outcome, Failed)
    assert "took too long" in outcome.why


REFUSED = {
    "redirect/private": "address", "redirect/odd-private": "address", "redirect/metadata": "address", "redirect/mapped": "address",
    "redirect/name-inside": "address", "redirect/port": "port", "redirect/file": "scheme", "redirect/script": "scheme",
    "redirect/downgrade": "downgrade", "redirect/closed": "robots", "private/notes": "robots", "lying/png-as-html": "type",
    "lying/html-as-png": "type", "video": "type",
}  # fmt: skip
FAILED = {
    "redirect/loop": "redirects", "redirect/chain/5": "redirects", "lying/packed": "encoding", "lying/damaged-pdf": "unreadable",
    "huge": "size", "gzip-bomb": "size", "slow": "time", "stalled": "time", "empty": "empty", "blank": "empty", "gone": "status",
    "error": "status", "login": "status", "missing": "status",
}  # fmt: skip
READ = {
    "redirect/good": "sentence long enough", "redirect/elsewhere": "Quellmouth", "redirect/chain/4": "sentence long enough",
    "lying/pdf-as-html": "sentence long enough", "lying/html-as-pdf": "sentence long enough", "lying/untyped-html": "sentence long enough",
    "lying/latin-as-utf8": "Zürich öffnet", "lying/utf8-as-latin": "Zürich öffnet", "lying/unknown-charset": "sentence long enough",
    "packed": "sentence long enough", "private/press": "sentence long enough", "data.json": "42", "notes.md": "# Notes",
}  # fmt: skip


@pytest.mark.parametrize(("path", "reason"), REFUSED.items())
async def test_a_trap_is_refused(world: OfflineWorld, path: str, reason: str):
    with pytest.raises(FetchRefusedError) as refused:
        await PageFetcher(world.web, timeout_s=10).fetch_page(f"https://traps.example/{path}")
    assert refused.value.reason == reason
    assert {host for host, _ in world.connected} == {"93.184.216.34"}


@pytest.mark.parametrize(("path", "reason"), FAILED.items())
async def test_a_trap_fails(world: OfflineWorld, path: str, reason: str):
    with pytest.raises(FetchFailedError) as failed:
        await PageFetcher(world.web, timeout_s=10).fetch_page(f"https://traps.example/{path}")
    assert failed.value.reason == reason


@pytest.mark.parametrize(("path", "words"), READ.items())
async def test_a_page_that_only_looks_like_a_trap_is_read(world: OfflineWorld, path: str, words: str):
    assert words in (await PageFetcher(world.web).fetch_page(f"https://traps.example/{path}")).text


@pytest.mark.parametrize(
    ("host", "said"),
    [("robots-moved", "allowed"), ("robots-huge", "allowed"), ("robots-none", "none"),
     ("robots-broken", "robots_unreachable"), ("robots-closed", "robots"), ("robots-slow", "robots_unreachable")],
)  # fmt: skip
async def test_robots_are_honoured_and_recorded(world: OfflineWorld, host: str, said: str):
    try:
        verdict = (await PageFetcher(world.web).fetch_page(f"https://{host}.example/ok")).robots
    except WebError as error:
        verdict = error.reason
    assert verdict == said


async def test_a_crawl_delay_is_waited_for(world: OfflineWorld):
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(round(seconds))

    fetcher = PageFetcher(world.web, sleep=sleep)
    await asyncio.gather(*(fetcher.fetch_page("https://robots-delay.example/ok") for _ in range(3)))
    assert slept == [2, 4]
