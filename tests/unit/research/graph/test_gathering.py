"""Carrying out a step: within the policy and the ceilings, and what cannot be had is said. Mission R1, R6, R8."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from stepwell.demo.web import answer
from stepwell.errors import FetchFailedError
from stepwell.research.audit.exchanges.receipt import egress_receipt
from stepwell.research.audit.exchanges.recording import count_requests
from stepwell.research.evidence.gathering import gather
from stepwell.research.evidence.policy.file import default_policy, parse_policy
from stepwell.research.evidence.policy.rules import Limits, ResearchPolicy
from stepwell.research.graph.schemas import ResearchStep
from stepwell.tools.web.search.outcomes import Blocked, Empty, Failed, SearchOutcome

from .conftest import MakeBench, found

PAGE = answer(
    "<html><body><p>The Vardal bridge is 300 metres long, and people cross it every day.</p></body></html>",
    content_type="text/html",
)
PAGES = {f"https://{name}.example/": PAGE for name in "abcdef"}
SEARCH = ResearchStep(id="one", input="Vardal bridge")


def limited(**limits: float) -> ResearchPolicy:
    return replace(default_policy(), limits=Limits(**limits))  # type: ignore[arg-type]  # whole numbers stay whole


async def test_a_search_reads_the_first_pages_that_are_new_and_allowed(bench: MakeBench) -> None:
    policy = parse_policy("```toml policy\n[domains]\ndenied = ['b.example']\n```\n", "POLICY.md")
    urls = [f"https://{name}.example/" for name in "aabcdef"]
    made = bench(PAGES, found(*urls), policy)
    got = await gather(await made.inquiry(), SEARCH, frozenset({"https://c.example/"}))
    assert [page.url for page in got.pages] == ["https://a.example/", "https://d.example/", "https://e.example/"]
    assert got.engine == "scripted"
    assert got.skipped == ()


@pytest.mark.parametrize(
    ("outcome", "said", "skips"),
    [
        (Empty("scripted"), "scripted found nothing.", False),
        (Blocked("scripted", "a puzzle"), "The search was blocked: scripted: a puzzle", True),
        (Failed("scripted", "rubbish"), "The search failed: scripted: rubbish", True),
    ],
)
async def test_blocked_and_failed_are_not_no_results(bench: MakeBench, outcome: SearchOutcome, said: str, skips: bool) -> None:
    """R8."""
    got = await gather(await bench(outcome=outcome).inquiry(), SEARCH, frozenset())
    assert (got.output, bool(got.skipped), got.pages) == (said, skips, ())


async def test_a_step_that_breaks_the_policy_is_not_done_even_if_somebody_approved_it(bench: MakeBench) -> None:
    """R6: the machine part is enforced again at execution."""
    made = bench(PAGES, found("https://a.example/"))
    inquiry = await made.inquiry()
    mail = await gather(inquiry, ResearchStep(input="write to ann@mail.example"), frozenset())
    inside = await gather(inquiry, ResearchStep(tool="fetch_page", input="http://localhost/admin"), frozenset())
    assert "outgoing.email_address" in mail.output
    assert "domains.denied" in inside.output
    assert "ann@mail.example" not in mail.output
    assert made.web.requests == []
    refused = egress_receipt(await made.vault.entries())["refused"]
    assert [(each["rule"], each["url"]) for each in refused] == [
        ("outgoing.email_address", None),
        ("domains.denied", "http://localhost/admin"),
    ]
    assert "ann@mail.example" not in repr(await made.vault.entries())


async def test_results_that_the_policy_denies_are_in_the_receipt_as_refused(bench: MakeBench) -> None:
    """R6: a page that was passed over because of a rule is not passed over in silence."""
    policy = parse_policy("```toml policy\n[domains]\ndenied = ['b.example']\n```\n", "POLICY.md")
    made = bench(PAGES, found("https://a.example/", "https://b.example/x"), policy)
    await gather(await made.inquiry(), SEARCH, frozenset())
    receipt = egress_receipt(await made.vault.entries())
    assert [(each["url"], each["rule"]) for each in receipt["refused"]] == [("https://b.example/x", "domains.denied")]
    assert sorted(receipt["totals"]["hosts"]) == ["a.example", "engine.example"]


async def test_a_robots_file_cannot_lead_to_a_denied_host(bench: MakeBench) -> None:
    """R6: the domains of the policy hold for every request, robots.txt and its redirects too."""
    policy = parse_policy("```toml policy\n[domains]\ndenied = ['b.example']\n```\n", "POLICY.md")
    moved = answer(status=301, location="https://b.example/robots.txt")
    made = bench({**PAGES, "https://a.example/robots.txt": moved}, policy=policy)
    got = await gather(await made.inquiry(), ResearchStep(tool="fetch_page", input="https://a.example/"), frozenset())
    assert got.pages == ()
    assert {request.url for request in made.web.requests} == {"https://a.example/robots.txt"}
    assert [each["rule"] for each in egress_receipt(await made.vault.entries())["refused"]] == ["robots_unreachable"]


async def test_a_redirect_to_a_denied_host_is_not_followed(bench: MakeBench) -> None:
    policy = parse_policy("```toml policy\n[domains]\ndenied = ['b.example']\n```\n", "POLICY.md")
    made = bench({"https://a.example/": answer(status=302, location="https://b.example/")}, policy=policy)
    got = await gather(await made.inquiry(), ResearchStep(tool="fetch_page", input="https://a.example/"), frozenset())
    assert made.web.urls == ["https://a.example/"]
    assert "domains.denied" in got.skipped[0]


@pytest.mark.parametrize("urls", [["https://[::1"], ["javascript:alert(1)"], ["http://127.0.0.1/"], ["https://a.example:22/"]])
async def test_addresses_of_an_engine_that_are_none_do_no_harm(bench: MakeBench, urls: list[str]) -> None:
    made = bench(PAGES, found(*urls, "https://a.example/"))
    got = await gather(await made.inquiry(), SEARCH, frozenset())
    assert [page.url for page in got.pages] == ["https://a.example/"]
    assert made.web.urls == ["https://engine.example/?q=Vardal bridge", "https://a.example/"]


async def test_a_page_that_cannot_be_read_is_said_and_the_others_stay(bench: MakeBench) -> None:
    pages = {**PAGES, "https://b.example/": FetchFailedError("The name has no address.", "network")}
    got = await gather(await bench(pages, found(*PAGES)).inquiry(), SEARCH, frozenset())
    assert len(got.pages) == 2
    assert got.skipped == ("A page of 'b.example' could not be read: The name has no address.",)


@pytest.mark.parametrize("broken", ["page", "robots.txt"])
async def test_a_broken_redirect_costs_one_page_and_not_the_step(bench: MakeBench, broken: str) -> None:
    nowhere = {f"https://b.example/{broken.removeprefix('page')}": answer(status=302, location="http://[")}
    made = bench(PAGES | nowhere, found("https://a.example/", "https://b.example/", "https://c.example/"))
    got = await gather(await made.inquiry(), SEARCH, frozenset())
    assert [page.url for page in got.pages] == ["https://a.example/", "https://c.example/"]
    assert len(got.skipped) == 1
    assert "b.example" in got.skipped[0]


@pytest.mark.parametrize("ceiling", range(8))
async def test_requests_are_counted_and_never_above_the_ceiling(bench: MakeBench, ceiling: int) -> None:
    """Known defect: request limits only in a prompt. Steps side by side count together."""
    made = bench(PAGES, found(*PAGES), limited(requests=ceiling))
    inquiry = await made.inquiry()
    steps = [ResearchStep(id=str(n), input=f"bridge {n}") for n in range(4)]
    got = await asyncio.gather(*(gather(inquiry, step, frozenset()) for step in steps))
    assert len(made.web.requests) == ceiling
    assert count_requests(await made.vault.entries()) == ceiling
    assert any("limits.requests" in sentence for one in got for sentence in one.skipped)


async def test_a_ceiling_of_time_ends_before_anything_is_sent(bench: MakeBench) -> None:
    made = bench(PAGES, found(*PAGES), limited(seconds=0))
    got = await gather(await made.inquiry(), SEARCH, frozenset())
    assert "limits.seconds" in got.skipped[0]
    assert made.web.requests == []


async def test_a_step_that_is_done_again_asks_nobody_twice(bench: MakeBench) -> None:
    made = bench(PAGES, found(*PAGES))
    first = await gather(await made.inquiry(), SEARCH, frozenset())
    asked = len(made.web.requests)
    again = await gather(await made.inquiry(), SEARCH, frozenset())
    assert len(made.web.requests) == asked
    assert [page.content for page in again.pages] == [page.content for page in first.pages]


class _StandingClock:
    """Time goes on only while somebody pauses."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


async def test_steps_of_a_question_keep_the_pauses_of_a_host_together(bench: MakeBench) -> None:
    """Each step used to have a line of its own, so four steps asked a host four times as often as it wished."""
    pages = {"https://a.example/robots.txt": answer("User-agent: *\nCrawl-delay: 4"), "https://a.example/": PAGE}
    made, clock = bench(pages), _StandingClock()
    made.equipment = replace(made.equipment, clock=clock, sleep=clock.sleep)
    inquiry = await made.inquiry()
    steps = [ResearchStep(id=name, tool="fetch_page", input="https://a.example/") for name in ("one", "two", "three")]
    gathered = await asyncio.gather(*(gather(inquiry, step, frozenset()) for step in steps))
    assert [len(one.pages) for one in gathered] == [1, 1, 1]
    assert clock.pauses == [4.0, 8.0]
    await gather(await made.inquiry(), ResearchStep(id="four", tool="fetch_page", input="https://a.example/"), frozenset())
    assert clock.pauses == [4.0, 8.0, 12.0], "another node of the same question stands in the same line"
    assert [request.url for request in made.web.requests].count("https://a.example/robots.txt") == 1
