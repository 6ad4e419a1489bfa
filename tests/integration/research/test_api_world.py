"""`/api/research` with the real graph on the offline world (mission R3, R7, R11): extractive, and with a model that writes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.research.talking import approve, ask, read, serving, shape

from stepwell.demo.web import OfflineWorld, WorldPage
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.models.routing import ModelRoutes
from stepwell.research.evidence.equipment import make_equipment
from stepwell.research.graph.graph import build_graph
from stepwell.settings import SearchSettings, Settings
from stepwell.testing import Asked, ScriptedModel

WIKIPEDIA = SearchSettings(engines="wikipedia")


@pytest.fixture
def world() -> Iterator[OfflineWorld]:
    with OfflineWorld() as running:
        yield running


def graphs(world: OfflineWorld, folder: Path, models: ModelRoutes | None = None) -> dict[str, Any]:
    settings = Settings(data_dir=folder / "data", search=WIKIPEDIA)
    return {"research": build_graph(make_equipment(settings, web=world.web, models=models, embedder=LexicalEmbedder()))}


def reply(asked: Asked) -> str:
    """A model that plans one search, approves it, and writes one sentence from the first quote it is shown."""
    if asked.system.startswith("You write a research report"):
        name, quote = re.findall(r"^(e\d+) \([^)]*\): (.+)$", asked.human, re.MULTILINE)[0]
        return f"## Found\n\n{quote.split('.')[0]} [{name}]."
    if "verdict" in asked.system and "violations" in asked.system:
        return json.dumps({"verdict": "approved", "violations": [], "suggestions": []})
    if "verdict" in asked.system:
        return json.dumps({"verdict": "supported", "reason": "word for word"})
    subject = re.findall(r"about the (.+)\?", asked.human)[0]
    return json.dumps({"objective": "Know it", "steps": [{"tool": "web_search", "input": subject, "rationale": "first"}]})


def tells_of(page: WorldPage, report: str) -> bool:
    """A report has a fact of the page, word for word, with a source after it."""
    return any(f"{fact.sentence.rstrip('.')} [" in report for fact in page.facts)


@pytest.mark.parametrize("writes", [False, True], ids=["extractive", "written"])
async def test_a_question_is_researched_over_http(world: OfflineWorld, tmp_path: Path, writes: bool) -> None:
    page = world.pages[0]
    models = ModelRoutes(ScriptedModel.answering(reply)) if writes else None
    async with serving(tmp_path, graphs(world, tmp_path, models)) as http:
        asked = await ask(http, f"What is known about the {page.subject}?", retrievedContext="Bring a torch.")
        assert world.count() == 0, "nothing leaves the machine before a person has approved"
        waiting = asked[-1]
        assert shape(asked)[-2:] == [
            ("research", "hitl_gate", "awaiting_approval"),
            ("hitl_waiting", "hitl_gate", "awaiting_approval"),
        ]
        assert waiting.state["plan"]["steps"]
        assert waiting.state["estimate"]["requests"] > 0
        assert "J1" in waiting.state["rules"]
    async with serving(tmp_path, graphs(world, tmp_path, models)) as http:
        went_on = await approve(http, waiting, decision="approve", interruptId=waiting.state["interruptId"])
        whole = read((await http.get(f"/api/research/{waiting.state['threadId']}/stream")).text)
    assert shape(went_on)[-1] == ("research", "synthesizer", "complete"), went_on[-1]
    assert tells_of(page, went_on[-1].state["finalReport"])
    assert whole == asked + went_on
    assert world.count() > 0


async def test_an_edited_plan_is_audited_and_asked_for_again(world: OfflineWorld, tmp_path: Path) -> None:
    """Mission R7."""
    async with serving(tmp_path, graphs(world, tmp_path)) as http:
        waiting = (await ask(http, f"What about {world.pages[0].subject}?"))[-1]
        plan = {**waiting.state["plan"], "steps": [{"tool": "web_search", "input": world.pages[1].subject}]}
        again = await approve(http, waiting, decision="edit", plan=plan)
        assert [each.node for each in again[1:]] == ["hitl_gate", "auditor", "hitl_gate", "hitl_gate"]
        assert again[-1].state["plan"]["steps"][0]["input"] == world.pages[1].subject
        assert (await approve(http, again[-1], approved=True))[-1].state["status"] == "complete"


async def test_sources_are_admitted_one_by_one(world: OfflineWorld, tmp_path: Path) -> None:
    async with serving(tmp_path, graphs(world, tmp_path)) as http:
        waiting = (await ask(http, f"What about {world.pages[0].subject}?", reviewSources=True))[-1]
        review = (await approve(http, waiting, decision="approve"))[-1]
        assert (review.name, review.node) == ("hitl_waiting", "source_review")
        kept, *others = [source["id"] for source in review.state["sources"]]
        done = await approve(http, review, admit=[kept], interruptId=review.state["interruptId"])
        assert done[1].state["deniedSources"] == others
        assert done[-1].state["status"] == "complete"


async def test_a_second_question_on_a_thread_begins_anew(world: OfflineWorld, tmp_path: Path) -> None:
    async with serving(tmp_path, graphs(world, tmp_path)) as http:
        first = (await ask(http, f"What about {world.pages[0].subject}?"))[-1]
        await approve(http, first, decision="approve")
        second = await ask(http, f"What about {world.pages[40].subject}?", threadId=first.state["threadId"])
        assert second[1].state["finalReport"] is None
        assert world.pages[40].subject in second[-1].state["plan"]["objective"]
        done = (await approve(http, second[-1], decision="approve"))[-1]
        assert tells_of(world.pages[40], done.state["finalReport"])


async def test_an_answer_that_names_no_source_is_refused_and_can_be_given_again(world: OfflineWorld, tmp_path: Path) -> None:
    async with serving(tmp_path, graphs(world, tmp_path)) as http:
        waiting = (await ask(http, f"What about {world.pages[0].subject}?", reviewSources=True))[-1]
        review = (await approve(http, waiting, decision="approve"))[-1]
        wrong = {"threadId": review.state["threadId"], "admit": ["s99"]}
        refused = await http.post("/api/research/approve", json=wrong)
        assert refused.status_code == 422
        assert "ids of the list" in refused.json()["detail"]
        assert (await approve(http, review, deny=[], interruptId=review.state["interruptId"]))[-1].state["status"] == "complete"


async def test_an_address_inside_the_network_is_not_asked_for(world: OfflineWorld, tmp_path: Path) -> None:
    """Bad input of the issue: a context URL that points inside is refused, and the refusal is told."""
    async with serving(tmp_path, graphs(world, tmp_path)) as http:
        query = f"What about {world.pages[0].subject}?"
        waiting = (await ask(http, query, contextUrls=["http://inside.example/secret"]))[-1]
        done = await approve(http, waiting, decision="approve")
    assert world.count("inside.example") == 0
    assert any("inside.example" in sentence for sentence in done[-1].state["skipped"])
