"""A research in the user's own documents alone: asked for, by default without a network, or as a way on when nobody could be reached."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.integration.research.talking import approve, ask, refused, serving

from stepwell.cli import main
from stepwell.demo.web import OfflineWorld
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.research.audit.bundle import BundleReader, write_bundle
from stepwell.research.audit.signing import SigningKey
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.commands import listing
from stepwell.research.commands.command import run
from stepwell.research.commands.options import ResearchOptions
from stepwell.research.evidence.equipment import Equipment
from stepwell.research.graph.graph import build_graph
from stepwell.research.graph.replaying import replay_bundle
from stepwell.settings import Settings
from stepwell.terminal.dialogue.terminal import Terminal

from .conftest import MakeEquipment, Research, StartResearch
from .forging import Change, Forgery, take_apart
from .roles import Roles, plan
from .test_outage import Cable

QUESTION = "Who repaired the Zorkmid pier, and what did it cost?"
TEXTS = {
    "survey.md": "The Zorkmid pier was repaired by Kessel Works in 2019. The repair of the pier cost 41,000 crowns.",
    "firm.md": "Kessel Works is a firm in Quellmouth that employs 112 welders.",
    "cake.md": "Bake the cake at a low heat for one hour and let it rest overnight.",
}
SNIPPETS: list[dict[str, Any]] = [
    {"id": f"{name}:0", "document_id": name, "label": name, "text": text, "start": 0, "end": len(text)}
    for name, text in TEXTS.items()
]


async def sealed(research: Research, folder: Path) -> Path:
    bundle = folder / "bundle.zip"
    await write_bundle(research.vault, bundle, SigningKey(folder))
    return bundle


async def check(research: Research, folder: Path) -> Path:
    """The bundle verifies strictly and replays."""
    bundle = await sealed(research, folder)
    checked = verify_bundle(bundle, key=SigningKey(folder).public_key(), strict=True)
    assert checked.ok, checked.problems
    replayed = await replay_bundle(bundle, embedder=LexicalEmbedder())
    assert replayed.equal, replayed.differences
    return bundle


async def test_only_documents_are_searched_and_the_report_comes_from_them(
    world: OfflineWorld, start: StartResearch, tmp_path: Path
) -> None:
    research = start()
    state = await research.ask(QUESTION, snippets=SNIPPETS, only_documents=True)
    (gate,) = state["__interrupt__"]
    assert {step["tool"] for step in gate.value["plan"]["steps"]} == {"search_documents"}
    assert gate.value["estimate"]["requests"] == 0
    assert gate.value["estimate"]["sends"] == "Nothing will leave the machine."
    assert "Only your documents are searched, as you asked." in state["reasoning"][0].summary
    state = await research.answer(True)
    assert state["status"] == "complete"
    assert "41,000 crowns" in state["final_report"]
    assert world.requests == []
    first = state["plan"].steps[0].output
    assert re.fullmatch(r"Matched \d of 3 passages, in \d of 3 documents\.", first), first
    entries = await research.vault.entries()
    assert not any(entry.kind in ("request", "response") for entry in entries)
    searched = [entry for entry in entries if entry.kind == "document_search"]
    assert "survey.md:0" in searched[0].data["found"]
    assert "cake.md:0" not in searched[0].data["found"]
    await check(research, tmp_path)


async def test_a_name_in_ones_documents_is_followed_there(world: OfflineWorld, start: StartResearch, tmp_path: Path) -> None:
    research = start()
    await research.ask("How many welders has the firm that repaired the Zorkmid pier?", snippets=SNIPPETS, only_documents=True)
    state = await research.answer(True)
    followed = state["followed"][0]
    assert (followed.tool, followed.input, followed.source) == ("search_documents", "Kessel Works welders firm", "survey.md:0")
    line = "Follow-up 1 of at most 2: Kessel Works welders firm (from 'Kessel Works' in survey.md)"
    assert any(line in each.summary for each in state["reasoning"])
    found = [entry.data["found"] for entry in await research.vault.entries() if entry.kind == "document_search"]
    assert "firm.md:0" in found[1]
    await check(research, tmp_path)


async def test_without_a_network_documents_are_searched_alone_and_the_plan_says_why(
    world: OfflineWorld, start: StartResearch, tmp_path: Path
) -> None:
    research = start(has_route=lambda: False)
    state = await research.ask(QUESTION, snippets=SNIPPETS)
    assert "Only your documents are searched, because this machine has no network connection." in state["reasoning"][0].summary
    assert (await research.answer(True))["status"] == "complete"
    (question,) = [entry for entry in await research.vault.entries() if entry.kind == "question"]
    assert question.data["only_documents"] == "offline"
    await check(research, tmp_path)


@pytest.mark.parametrize(
    "asked",
    [{}, {"snippets": SNIPPETS, "only_documents": False}, {"snippets": SNIPPETS, "context_urls": ["https://a.example/"]}],
)
async def test_without_a_network_the_web_is_still_tried_where_the_user_wants_it(start: StartResearch, asked: Any) -> None:
    state = await start(has_route=lambda: False).ask(QUESTION, **asked)
    assert state["plan"].uses_web


async def test_a_second_question_decides_anew(world: OfflineWorld, start: StartResearch) -> None:
    research = start()
    await research.ask(QUESTION, snippets=SNIPPETS, only_documents=True)
    await research.answer(True)
    state = await research.ask(QUESTION, snippets=SNIPPETS, only_documents=None)
    assert [step.tool for step in state["plan"].steps[:2]] == ["search_documents", "web_search"], (
        "one's own first, then the web"
    )


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({}, "none came with the question"),
        ({"knowledge_context": "  "}, "none came with the question"),
        ({"snippets": SNIPPETS, "context_urls": ["https://a.example/"]}, "addresses of pages to read came along"),
    ],
)
async def test_what_contradicts_itself_is_refused(world: OfflineWorld, start: StartResearch, asked: Any, sentence: str) -> None:
    state = await start().ask(QUESTION, only_documents=True, **asked)
    assert sentence in state["error_message"]


async def test_a_model_is_told_to_plan_for_documents_and_its_web_step_is_refused(
    world: OfflineWorld, start: StartResearch, tmp_path: Path
) -> None:
    roles = Roles(plans=[plan("Zorkmid pier"), plan("Zorkmid pier repaired cost", tool="search_documents")])
    research = start(models=roles.routes)
    state = await research.ask(QUESTION, snippets=SNIPPETS, only_documents=True)
    assert "`web_search`" not in roles.planner.asked[0].system
    assert "documents.only" in roles.planner.asked[1].human
    (gate,) = state["__interrupt__"]
    assert "will be sent passages of your documents" in gate.value["estimate"]["sends"]
    assert (await research.answer(True))["status"] == "complete"
    assert world.requests == []
    await check(research, tmp_path)


async def test_a_person_cannot_edit_the_web_into_it(world: OfflineWorld, start: StartResearch) -> None:
    research = start()
    state = await research.ask(QUESTION, snippets=SNIPPETS, only_documents=True)
    shown = state["__interrupt__"][0].value["plan"]
    edited = {**shown, "steps": [{"tool": "web_search", "input": "Zorkmid pier"}]}
    state = await research.answer({"decision": "edit", "plan": edited})
    assert any("documents.only" in entry.summary for entry in state["reasoning"])
    assert not state["plan"].uses_web, "the next plan keeps to the documents"
    assert world.requests == []


async def offline(world: OfflineWorld, start: StartResearch, **asked: Any) -> tuple[Research, dict[str, Any]]:
    research = start(web=Cable(world.web))
    await research.ask(QUESTION, **asked)
    return research, await research.answer(True)


async def test_a_failed_search_can_go_on_from_the_documents(world: OfflineWorld, start: StartResearch, tmp_path: Path) -> None:
    research, state = await offline(world, start, snippets=SNIPPETS)
    (question,) = state["__interrupt__"]
    assert (question.value["type"], question.value["documents"]) == ("search_retry", True)
    state = await research.answer({"decision": "documents"})
    assert state["status"] == "complete", state.get("error_message")
    assert "41,000 crowns" in state["final_report"]
    assert "reached nobody" in state["final_report"], "what could not be asked is said"
    assert all(each.tool == "search_documents" for each in state["followed"])
    said = [entry.data["decision"] for entry in await research.vault.entries() if entry.kind == "approval"]
    assert said == ["approve", "documents"]
    await check(research, tmp_path)


async def test_without_documents_that_answer_is_not_offered(world: OfflineWorld, start: StartResearch) -> None:
    research, state = await offline(world, start)
    assert state["__interrupt__"][0].value["documents"] is False
    state = await research.answer({"decision": "documents"})
    assert "to try again" in state["__interrupt__"][0].value["problem"]


def _search_the_web(forgery: Forgery) -> None:
    """The plan of a question for documents alone gets a step on the web, with hash and approval."""
    from stepwell.research.audit.story import hash_plan

    made, said = forgery.of_kind("plan")[-1], forgery.of_kind("approval")[-1]
    made.data["plan"]["steps"].append({**made.data["plan"]["steps"][0], "id": "web", "tool": "web_search"})
    made.data["sha256"] = said.data["plan_sha256"] = hash_plan(made.data["plan"])


def _find_more(forgery: Forgery) -> None:
    forgery.of_kind("document_search")[0].data["found"].append("secret.md:0")


def _search_for_something_else(forgery: Forgery) -> None:
    forgery.of_kind("document_search")[0].data["query"] = "what nobody approved"


def _hide_a_search(forgery: Forgery) -> None:
    forgery.drop(forgery.of_kind("document_search")[0])


def _bring_no_documents(forgery: Forgery) -> None:
    forgery.of_kind("question")[0].data.update(snippets=[], knowledge_context="")


def _follow_other_words(forgery: Forgery) -> None:
    forgery.of_kind("follow_up")[0].data["because"] = "Castellan Guild"


def _follow_another_document(forgery: Forgery) -> None:
    forgery.of_kind("follow_up")[0].data["source"] = "secret.md:0"


def _follow_words_that_are_not_searched_for(forgery: Forgery) -> None:
    forgery.of_kind("follow_up")[0].data["because"] = "Zorkmid pier"


def _follow_up_with_another_search(forgery: Forgery) -> None:
    for entry in (forgery.of_kind("follow_up")[0], forgery.of_kind("document_search")[-1]):
        entry.data["query"] = "salaries of welders"


def _find_the_same_twice(forgery: Forgery) -> None:
    forgery.of_kind("document_search")[0].data["found"] *= 2


def _allow_too_many_follow_ups(forgery: Forgery) -> None:
    from stepwell.research.audit.story import hash_plan

    made, said = forgery.of_kind("plan")[-1], forgery.of_kind("approval")[-1]
    made.data["plan"]["follow_ups"] = 99
    made.data["sha256"] = said.data["plan_sha256"] = hash_plan(made.data["plan"])


FORGED: list[Change] = [
    _search_the_web, _find_more, _search_for_something_else, _hide_a_search, _bring_no_documents, _follow_other_words,
    _follow_another_document, _follow_words_that_are_not_searched_for, _follow_up_with_another_search, _find_the_same_twice,
    _allow_too_many_follow_ups,
]  # fmt: skip


async def test_forged_searches_of_documents_are_found(start: StartResearch, tmp_path: Path) -> None:
    research = start()
    await research.ask("How many welders has the firm that repaired the Zorkmid pier?", snippets=SNIPPETS, only_documents=True)
    await research.answer(True)
    bundle = await sealed(research, tmp_path)
    await _each_forgery_is_found(bundle, FORGED, tmp_path)


async def _each_forgery_is_found(bundle: Path, changes: list[Change], folder: Path) -> None:
    import asyncio

    def forge(change: Change) -> Path:
        forgery = take_apart(bundle)
        change(forgery)
        return forgery.seal(folder / "forged.zip")

    assert verify_bundle(bundle).ok
    for change in changes:
        assert not verify_bundle(await asyncio.to_thread(forge, change)).ok, change.__name__


async def test_choosing_documents_that_never_came_is_found(world: OfflineWorld, start: StartResearch, tmp_path: Path) -> None:
    research, _ = await offline(world, start, snippets=SNIPPETS)
    await research.answer({"decision": "documents"})
    await _each_forgery_is_found(await sealed(research, tmp_path), [_bring_no_documents], tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "papers"
    made.mkdir()
    for name, text in TEXTS.items():
        (made / name).write_text(text)
    (made / "minutes.html").write_text("<html><body><h1>Minutes</h1><p>The pier reopened on 4 May 2019.</p></body></html>")
    return made


Shell = Callable[..., tuple[int, str, str]]


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    def type_(equipment: Equipment, question: str | None, typed: str = "", **asked: Any) -> tuple[int, str, str]:
        screen, settings = io.StringIO(), Settings.load({"STEPWELL_DATA_DIR": str(tmp_path)})
        options = ResearchOptions(question, **asked)
        code = run(options, equipment=equipment, settings=settings, terminal=Terminal(io.StringIO(typed), screen))
        return code, screen.getvalue(), capsys.readouterr().out

    return type_


def bundle_of(screen: str, folder: Path) -> Path:
    thread = re.findall(r"^Thread (\S+)$", screen, re.MULTILINE)[0]
    return folder / "research" / thread / "bundle.zip"


def test_the_command_researches_a_folder_without_the_web(
    world: OfflineWorld, equipment_for: MakeEquipment, shell: Shell, folder: Path, tmp_path: Path, capsys: Any
) -> None:
    code, screen, report = shell(equipment_for(), QUESTION, yes=True, context=[folder], only_documents=True)
    assert code == 0, screen
    assert "41,000 crowns" in report
    assert world.requests == []
    assert "Estimate: no requests to the web, 0 tokens, 0.00 USD\n  Nothing will leave the machine.\n" in screen
    assert re.search(r"^search    step 1: Matched \d of 4 passages, in \d of 4 documents\.$", screen, re.MULTILINE)
    bundle = bundle_of(screen, tmp_path)
    assert verify_bundle(bundle, strict=True, key=SigningKey(tmp_path).public_key()).ok
    assert listing.run("Zorkmid", settings=Settings.load({"STEPWELL_DATA_DIR": str(tmp_path)})) == 0
    assert QUESTION in capsys.readouterr().out
    code, screen, _ = shell(equipment_for(), None, yes=True, refresh=bundle)
    assert code == 0, screen
    assert world.requests == [], "asked again in the same way"
    code, screen, report = shell(
        equipment_for(), "What is Kessel Works?", yes=True, origin=bundle, context=[folder], only_documents=True
    )
    assert code == 0, screen
    assert "112 welders" in report


def test_a_person_at_the_terminal_goes_on_from_the_documents(
    world: OfflineWorld, equipment_for: MakeEquipment, shell: Shell, folder: Path, tmp_path: Path
) -> None:
    offline = equipment_for(web=Cable(world.web))
    code, screen, report = shell(offline, QUESTION, yes=True, context=[folder])
    assert (code, report) == (1, ""), "--yes does not choose the documents"
    assert "Type 'documents' to write from your documents alone" in screen
    code, screen, report = shell(offline, QUESTION, "documents\n", yes=True, context=[folder])
    assert code == 0, screen
    assert "41,000 crowns" in report
    assert verify_bundle(bundle_of(screen, tmp_path)).ok
    with BundleReader(bundle_of(screen, tmp_path)) as bundle:
        assert [entry.data["decision"] for entry in bundle.entries() if entry.kind == "approval"] == ["approve", "documents"]


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        (["--only-documents", "Why?"], "--only-documents needs documents to search. Name files or folders with --context."),
        (["--only-documents", "--context", ".", "--context-url", "https://a.example/", "Why?"], "Leave out --context-url"),
    ],
)
def test_the_command_says_what_only_documents_needs(
    typed: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(["research", *typed])
    except SystemExit as ended:
        code = int(str(ended.code))
    assert code == 2
    assert sentence in capsys.readouterr().err


async def test_a_client_of_the_api_asks_for_its_documents_alone(
    world: OfflineWorld, equipment_for: MakeEquipment, tmp_path: Path
) -> None:
    snippets = [{**each, "documentId": each["document_id"]} for each in SNIPPETS]
    async with serving(tmp_path, {"research": build_graph(equipment_for())}) as http:
        asked = "What did the repair of the Zorkmid pier cost, and how many welders has the firm?"
        gate = (await ask(http, asked, snippets=snippets, onlyDocuments=True))[-1]
        assert {step["tool"] for step in gate.state["plan"]["steps"]} == {"search_documents"}
        assert gate.state["plan"]["followUps"] == 2
        assert gate.state["estimate"]["sends"] == "Nothing will leave the machine."
        done = await approve(http, gate, decision="approve")
        assert any("41,000 crowns" in (each.state.get("finalReport") or "") for each in done)
        assert any(each.state.get("followed") for each in done if each.node == "follow_up")
        fault = await refused(http, 422, "/api/research", {"query": QUESTION, "onlyDocuments": True})
        assert "none came with the question" in fault
    assert world.requests == []


async def test_a_client_of_the_api_goes_on_from_its_documents(
    world: OfflineWorld, equipment_for: MakeEquipment, tmp_path: Path
) -> None:
    graph = build_graph(equipment_for(web=Cable(world.web)))
    async with serving(tmp_path, {"research": graph}) as http:
        gate = (await ask(http, QUESTION, retrievedContext=TEXTS["survey.md"]))[-1]
        waiting = (await approve(http, gate, decision="approve"))[-1]
        assert (waiting.node, waiting.state["documents"]) == ("search_retry", True)
        done = await approve(http, waiting, decision="documents")
    assert any("41,000 crowns" in (each.state.get("finalReport") or "") for each in done)
