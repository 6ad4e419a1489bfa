"""Excerpts from a device in a research: cited, checked, exported, replayed; and a page can find its way back to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.integration.research.conftest import StartResearch
from tests.integration.research.roles import Roles, plan

from stepwell.demo.web import OfflineWorld
from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.export import export_bundle
from stepwell.research.audit.story import evidence_of, story_of
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.graph.replaying import replay_bundle
from stepwell.research.http.evidence_schemas import report_wire

TEXT = "Our own survey of the Zorkmid pier found 41 cracked beams in the spring."
SNIPPET: dict[str, Any] = {
    "id": "d1:4", "document_id": "d1", "label": "survey.pdf", "text": TEXT, "start": 2000, "end": 2000 + len(TEXT),
}  # fmt: skip
QUESTION = "What did our survey of the Zorkmid pier find?"


async def test_an_excerpt_is_cited_as_evidence_of_the_device(world: OfflineWorld, start: StartResearch, tmp_path: Path) -> None:
    """R13: it is quoted word for word, its sentence is checked, and the bundle verifies and replays without the device."""
    research = start()
    await research.ask(QUESTION, snippets=[SNIPPET])
    state = await research.answer(True)
    assert "41 cracked beams" in state["final_report"]
    assert "survey.pdf (from your device)" in state["final_report"]
    assert not any("cracked" in f"{request.path} {request.body!r}" for request in world.requests), "no excerpt goes to the web"

    entries = await research.vault.entries()
    story = story_of(entries)
    evidence = evidence_of(entries, story)
    shown = report_wire(entries, story, evidence, state["final_report"])
    device = next(source for source in shown["sources"] if source["kind"] == "device")
    assert device["passage"] == {"snippet_id": "d1:4", "document_id": "d1", "start": 2000, "end": 2000 + len(TEXT)}
    assert all(source["passage"] is None for source in shown["sources"] if source["kind"] == "web")
    cited = [claim for claim in shown["claims"] if "cracked beams" in claim["text"]]
    assert cited
    assert all(claim["verdict"] == "supported" for claim in cited)

    bundle = tmp_path / "bundle.zip"
    await write_bundle(research.vault, bundle)
    assert verify_bundle(bundle).ok
    assert b"survey.pdf" in export_bundle(bundle, "html")
    assert (await replay_bundle(bundle)).equal


async def test_the_planner_sees_excerpts_and_a_second_question_has_its_own(world: OfflineWorld, start: StartResearch) -> None:
    roles = Roles(plans=[plan(world.pages[0].subject), plan(world.pages[0].subject)])
    research = start(models=roles.routes)
    await research.ask(QUESTION, snippets=[SNIPPET])
    assert TEXT in roles.planner.asked[0].human
    await research.answer(True)
    await research.ask("And what does the web say?", snippets=[])
    assert TEXT not in roles.planner.asked[1].human


async def test_a_broken_excerpt_is_refused_before_anything_is_asked(world: OfflineWorld, start: StartResearch) -> None:
    state = await start().ask(QUESTION, snippets=[{**SNIPPET, "end": 0}])
    assert "ends before it begins" in (state.get("error_message") or "")
    assert world.requests == []
