"""The second round: at most as many searches as were approved, each from words that were found, and none lost or made twice."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.demo.web import answer
from stepwell.errors import AccessError
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.research.audit.trail import NewEntry
from stepwell.research.evidence.inquiry import Inquiry
from stepwell.research.finding.follow_ups import follow_ups
from stepwell.research.finding.results import rank_results
from stepwell.research.graph.nodes.follow_up import follow_up
from stepwell.research.graph.nodes.tool_executor import tool_executor
from stepwell.research.graph.schemas import ResearchPlan, ResearchStep, plan_sha256
from stepwell.research.graph.state import ResearchState
from stepwell.tools.web.search.outcomes import SearchResult

from .conftest import Bench, MakeBench, found

QUERY = "Which prize did the office win that designed the Vardal bridge?"
TEXT = "The Vardal bridge was designed by Kessel Works. For the Vardal bridge, the lamps were designed by Ann Lawton."
FOLLOWED = ["Kessel Works prize office win", "Ann Lawton prize office win"]
PAGE = answer(f"<html><body><p>{TEXT}</p></body></html>", content_type="text/html")
OTHER = answer(
    "<html><body><p>Kessel Works is a firm of Quellmouth, and was founded in 1901.</p></body></html>", content_type="text/html"
)
SNIPPET = {"id": "a:0", "document_id": "a", "label": "bridge.md", "text": TEXT}


class Round:
    """The nodes of an approved plan, with the state that they share."""

    def __init__(self, bench: Bench, plan: ResearchPlan, **question: Any) -> None:
        self.bench = bench
        self.question = {"query": QUERY, "only_documents": "no", **question}
        self.state: ResearchState = {
            "user_query": QUERY,
            "plan": plan,
            "human_approved": True,
            "approved_plan_sha256": plan_sha256(plan),
            "follow_ups_left": plan.follow_ups,
            "read_sources": [],
        }

    async def run(self, node: Any) -> str:
        await self.bench.vault.append(NewEntry("question", "q1:question", self.question))
        newest = self.state.get("newest_entry", "q1:question")
        inquiry = await Inquiry.open(self.bench.equipment, {}, number=1, newest=newest, retries=0)
        change, line = await node(inquiry, self.state)
        self.state |= {**change, "newest_entry": inquiry.newest}  # type: ignore[typeddict-item]
        return str(line)

    async def entries(self, kind: str) -> list[Any]:
        return [entry for entry in await self.bench.vault.entries() if entry.kind == kind]


def plan_of(tool: str = "web_search", most: int = 2) -> ResearchPlan:
    step = ResearchStep.model_validate({"id": "one", "tool": tool, "input": "prize office win Vardal bridge designed"})
    return ResearchPlan(objective="Know it", steps=(step,), follow_ups=most)


async def test_names_on_pages_are_followed_and_the_trail_says_why(bench: MakeBench) -> None:
    pages = {"https://a.example/": PAGE, "https://b.example/": OTHER}
    made = Round(bench(pages, found(*pages)), plan_of(most=1))
    await made.run(tool_executor)
    line = await made.run(follow_up)
    assert line.startswith("Follow-up 1 of at most 1: Kessel Works prize office win (from 'Kessel Works' in ")
    (told,) = await made.entries("follow_up")
    (done,) = made.state["followed"]
    assert told.key == "q1:follow_up:1"
    assert told.data == {
        "step": done.id, "tool": "web_search", "query": "Kessel Works prize office win", "source": "s1", "because": "Kessel Works",
        "after": "q1:question",
    }  # fmt: skip
    assert made.state["follow_ups_left"] == 0
    assert "https://engine.example/?q=Kessel Works prize office win" in made.bench.web.urls


async def test_a_node_that_runs_again_makes_the_same_follow_up(bench: MakeBench) -> None:
    pages = {"https://a.example/": PAGE}
    made = Round(bench(pages, found(*pages)), plan_of())
    await made.run(tool_executor)
    before = dict(made.state)
    await made.run(follow_up)
    first, requests = made.state["followed"], list(made.bench.web.urls)
    made.state = before  # type: ignore[assignment]  # as after a death before the checkpoint
    await made.run(follow_up)
    assert made.state["followed"] == first
    assert made.bench.web.urls == requests
    assert len(await made.entries("follow_up")) == 1
    await made.run(follow_up)
    assert len({each.id for each in made.state["followed"]}) == 2
    assert [each.data["query"] for each in await made.entries("follow_up")] == [
        "Kessel Works prize office win",
        "Ann Lawton prize office win",
    ]


async def test_where_nothing_is_left_to_follow_it_ends_in_silence(bench: MakeBench) -> None:
    made = Round(bench(), plan_of(most=4))
    await made.run(tool_executor)
    assert await made.run(follow_up) == ""
    assert made.state["follow_ups_left"] == 0
    assert await made.entries("follow_up") == []


async def test_the_users_documents_are_followed_in_these_and_never_on_the_web(bench: MakeBench) -> None:
    """Names of one's own material must not become queries, whether the plan uses the web or not."""
    for tool in ("web_search", "search_documents"):
        made = Round(bench(), plan_of(tool), snippets=[SNIPPET])
        await made.run(tool_executor)
        line = await made.run(follow_up)
        assert "in bridge.md)" in line
        assert made.state["followed"][0].tool == "search_documents"
        assert not any("Kessel" in url for url in made.bench.web.urls)
        assert [each.data["query"] for each in await made.entries("document_search")][-1] == "Kessel Works prize office win"


async def test_after_an_outage_that_was_left_the_web_is_not_searched_again(bench: MakeBench) -> None:
    pages = {"https://a.example/": PAGE}
    made = Round(bench(pages, found(*pages)), plan_of(), snippets=[SNIPPET])
    await made.run(tool_executor)
    made.state["from_documents"] = True
    await made.run(follow_up)
    assert made.state["followed"][0].tool == "search_documents"


async def test_what_the_policy_forbids_to_send_is_not_followed(bench: MakeBench) -> None:
    page = answer(
        f"<p>The Vardal bridge was designed by Ann 4111111111111111 Lawton Works. {TEXT}</p>", content_type="text/html"
    )
    made = Round(bench({"https://a.example/": page}, found("https://a.example/")), plan_of(most=4))
    await made.run(tool_executor)
    while made.state["follow_ups_left"]:
        await made.run(follow_up)
    assert not any("4111" in url for url in made.bench.web.urls)


async def test_a_plan_that_nobody_approved_has_no_second_round(bench: MakeBench) -> None:
    made = Round(bench(), plan_of())
    plan = made.state["plan"]
    assert plan is not None
    made.state["plan"] = plan.model_copy(update={"follow_ups": 4})
    with pytest.raises(AccessError):
        await made.run(follow_up)


def test_names_of_the_question_and_of_earlier_searches_are_not_followed() -> None:
    assert [each.query for each in follow_ups(QUERY, {"s1": TEXT}, [], 4)] == [
        "Kessel Works prize office win",
        "Ann Lawton prize office win",
    ]
    assert [each.query for each in follow_ups(QUERY, {"s1": TEXT}, ["kessel works"], 4)] == ["Ann Lawton prize office win"]
    assert follow_ups(QUERY, {"s1": TEXT}, [], 0) == []
    assert follow_ups(QUERY, {"s1": "Something about Grand Hotels elsewhere."}, [], 4) == [], "no word of the question near it"
    further = {"s1": TEXT, "s2": "The Selmouth bridge was designed by Lund Bureau."}
    assert follow_ups(QUERY, further, ["Kessel Works", "Ann Lawton"], 4) == [], "another bridge is another matter"


async def test_results_that_share_words_with_the_search_are_read_first() -> None:
    results = [SearchResult("Cake", "https://a.example/"), SearchResult("Vardal", "https://b.example/", "a bridge")]
    ranked = await rank_results("the Vardal bridge", results, LexicalEmbedder())
    assert [each.url for each in ranked] == ["https://b.example/", "https://a.example/"]


async def test_a_follow_up_on_the_web_sends_no_word_of_the_question_that_was_not_approved(bench: MakeBench) -> None:
    pages = {"https://a.example/": PAGE, "https://b.example/": OTHER}
    made = Round(bench(pages, found(*pages)), plan_of(most=1))
    made.state["user_query"] = "Who designed the Vardal bridge, asks ann@mail.example of project Nightjar, and when?"
    await made.run(tool_executor)
    await made.run(follow_up)
    (done,) = made.state["followed"]
    assert done.tool == "web_search"
    assert done.input in ("Kessel Works", "Ann Lawton"), "a name of the page alone"


async def test_a_follow_up_in_ones_documents_may_look_for_every_word_of_the_question(bench: MakeBench) -> None:
    made = Round(bench(), plan_of("search_documents", most=1), snippets=[SNIPPET], only_documents="asked")
    made.state["user_query"] = "Who designed the Vardal bridge of project Nightjar?"
    await made.run(tool_executor)
    await made.run(follow_up)
    (done,) = made.state["followed"]
    assert done.input == "Kessel Works project Nightjar"


async def test_a_follow_up_on_the_web_keeps_the_words_that_were_approved(bench: MakeBench) -> None:
    pages = {"https://a.example/": PAGE, "https://b.example/": OTHER}
    step = ResearchStep.model_validate({"id": "one", "tool": "web_search", "input": "Vardal bridge designers founded"})
    plan = ResearchPlan(objective="Know it", steps=(step,), follow_ups=1)
    made = Round(bench(pages, found(*pages)), plan)
    made.state["user_query"] = "When was the designer of the Vardal bridge founded for Nightjar?"
    await made.run(tool_executor)
    await made.run(follow_up)
    (done,) = made.state["followed"]
    assert done.input == "Kessel Works designer founded"


@pytest.mark.parametrize("date", ["June 2026", "12 June 2024", "Monday", "Q3 2025"])
def test_a_date_is_no_name_to_follow(date: str):
    texts = {
        "s1": f"The Elmford footbridge is inspected next in {date}. For the Elmford footbridge, Ann Lawton inspected the deck."
    }
    found = follow_ups("How long is the Elmford footbridge that was inspected?", texts, (), 4)
    assert [each.because for each in found] == ["Ann Lawton"]
