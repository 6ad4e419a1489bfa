"""Excerpts from a device in a research: cited, checked, exported, replayed; and a page can find its way back to them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.integration.research.conftest import StartResearch
from tests.integration.research.forging import take_apart
from tests.integration.research.roles import Roles, plan

from stepwell.demo.web import OfflineWorld
from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.evidence import HELD
from stepwell.research.audit.export import export_bundle
from stepwell.research.audit.story import evidence_of, story_of
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.graph.replaying import replay_bundle
from stepwell.research.http.evidence_schemas import report_wire

TEXT = "Our own survey of the Zorkmid pier found 41 cracked beams in the spring."
SNIPPET: dict[str, Any] = {
    "id": "d1:4", "document_id": "d1", "label": "survey.pdf", "place": "page 3", "text": TEXT, "start": 2000, "end": 2000 + len(TEXT),
}  # fmt: skip
QUESTION = "What did our survey of the Zorkmid pier find?"


async def test_an_excerpt_is_cited_as_evidence_of_the_device(world: OfflineWorld, start: StartResearch, tmp_path: Path) -> None:
    """R13: it is quoted word for word, its sentence is checked, and the bundle verifies and replays without the device."""
    research = start()
    await research.ask(QUESTION, snippets=[SNIPPET])
    state = await research.answer(True)
    assert "41 cracked beams" in state["final_report"]
    assert "survey.pdf (from your device), page 3, read" in state["final_report"]
    assert not any("cracked" in f"{request.path} {request.body!r}" for request in world.requests), "no excerpt goes to the web"

    entries = await research.vault.entries()
    story = story_of(entries)
    evidence = evidence_of(entries, story)
    shown = report_wire(entries, story, evidence, state["final_report"])
    device = next(source["source_id"] for source in shown["sources"] if source["kind"] == "device")
    (quote,) = [quote for quote in shown["quotes"] if quote["source_id"] == device]
    assert quote["place"] == "page 3"
    assert quote["passage"] == {"snippet_id": "d1:4", "document_id": "d1", "start": 2000, "end": 2000 + len(TEXT)}
    assert all(quote["passage"] is quote["place"] is None for quote in shown["quotes"] if quote["source_id"] != device)
    cited = [claim for claim in shown["claims"] if "cracked beams" in claim["text"]]
    assert cited
    assert all(claim["verdict"] in HELD for claim in cited)

    bundle = tmp_path / "bundle.zip"
    await write_bundle(research.vault, bundle)
    assert verify_bundle(bundle).ok
    assert b"survey.pdf</a>, page 3, characters 0 to 72" in export_bundle(bundle, "html")
    assert (await replay_bundle(bundle)).equal


BEAMS = "Our survey of the Zorkmid pier counted 41 cracked beams in the spring."
DECK = "Our survey of the Zorkmid pier found that the deck had lost 230 planks."
OTHER = "Another survey of the Zorkmid pier found 12 broken lamps in the autumn."


def excerpt(document: str, start: int, text: str, place: str = "") -> dict[str, Any]:
    named = {"id": f"{document}:{start}", "document_id": document, "label": "survey.xlsx", "place": place, "text": text}
    return {**named, "start": start, "end": start + len(text)}


async def test_excerpts_of_one_document_are_one_source_and_documents_of_one_name_are_two(
    start: StartResearch, tmp_path: Path
) -> None:
    research = start()
    excerpts = [
        excerpt("d1", 900, DECK, "sheet Deck, A5:C5"),
        excerpt("d2", 40, OTHER),
        excerpt("d1", 100, BEAMS, "sheet Beams, A2:C2"),
    ]
    await research.ask(QUESTION, snippets=excerpts)
    report = (await research.answer(True))["final_report"]
    assert "survey.xlsx (from your device), sheet Beams, A2:C2; sheet Deck, A5:C5, read" in report
    assert "survey.xlsx, 2 (from your device), read" in report

    entries = await research.vault.entries()
    own = [entry.data for entry in entries if entry.kind == "source" and entry.data["kind"] == "device"]
    assert [each["title"] for each in own] == ["survey.xlsx", "survey.xlsx, 2"]
    assert own[0]["parts"] == [[0, "sheet Beams", "A2:C2"], [len(BEAMS) + 2, "sheet Deck", "A5:C5"]]
    assert (await research.vault.get(own[0]["text_sha256"])).decode() == f"{BEAMS}\n\n{DECK}"
    shown = report_wire(entries, story_of(entries), evidence_of(entries, story_of(entries)), report)
    led = {quote["text"]: (quote["passage"] or {}) for quote in shown["quotes"]}
    for each in excerpts:
        assert led[each["text"]] == {"snippet_id": each["id"], **{name: each[name] for name in ("document_id", "start", "end")}}

    bundle = tmp_path / "bundle.zip"
    await write_bundle(research.vault, bundle)
    checked = verify_bundle(bundle)
    assert checked.ok, checked.problems
    assert (await replay_bundle(bundle)).equal


async def test_a_document_of_a_later_question_does_not_take_the_name_of_an_earlier_one(
    start: StartResearch, tmp_path: Path
) -> None:
    research = start()
    for document, text in (("d1", BEAMS), ("d2", OTHER), ("d1", DECK)):
        await research.ask(QUESTION, snippets=[excerpt(document, 0, text)])
        report = (await research.answer(True))["final_report"]
    titles = [entry.data["title"] for entry in await research.vault.entries() if entry.data.get("kind") == "device"]
    assert titles == ["survey.xlsx", "survey.xlsx, 2", "survey.xlsx"]
    assert "230 planks" in report
    bundle = tmp_path / "bundle.zip"
    await write_bundle(research.vault, bundle)
    checked = verify_bundle(bundle)
    assert checked.ok, checked.problems
    assert (await replay_bundle(bundle)).equal


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"parts": [[0, "page 4", ""]]}, "came along with no question before it"),
        ({"parts": []}, "came along with no question before it"),
        ({"title": "The mayor's diary"}, "came along under another name"),
    ],
)
async def test_a_device_source_with_another_place_or_name_is_found_out(
    start: StartResearch, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    research = start()
    await research.ask(QUESTION, snippets=[SNIPPET])
    await research.answer(True)
    bundle = tmp_path / "bundle.zip"
    await write_bundle(research.vault, bundle)
    forgery = await asyncio.to_thread(take_apart, bundle)
    source = next(entry for entry in forgery.of_kind("source") if entry.data["kind"] == "device")
    source.data.update(changes)
    forged = await asyncio.to_thread(forgery.seal, tmp_path / "forged.zip")
    assert said in str(verify_bundle(forged).problems)


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
