"""A thread that goes back and goes on otherwise: each branch tells its own story, and the bundle tells that of its report."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.integration.research.talking import ask, post, serving

from stepwell.demo.web import OfflineWorld
from stepwell.errors import BundleError
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.models.routing import ModelRoutes
from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.export.dossier import read_dossier
from stepwell.research.audit.trail import Entry
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.graph.graph import build_graph
from stepwell.research.graph.replaying import replay_bundle
from stepwell.testing import Asked, ScriptedModel

from .conftest import MakeEquipment, Research, StartResearch
from .roles import Roles, plan


async def go_back(research: Research, until: Any) -> Any:
    """The newest checkpoint of which something holds; what is sent there begins a branch."""
    async for state in research.graph.aget_state_history(research.config):
        if until(state):
            return state.config
    raise AssertionError("no such checkpoint")


async def trail(research: Research, kind: str) -> list[Entry]:
    return [entry for entry in await research.vault.entries() if entry.kind == kind]


async def bundle_of(research: Research, folder: Path) -> Path:
    path = folder / "bundle.zip"
    await write_bundle(research.vault, path)
    checked = verify_bundle(path)
    assert checked.ok, checked.problems
    return path


def begins(state: Any) -> bool:
    return state.next == ("__start__",)


async def test_a_question_that_is_sent_instead_of_another_has_a_story_of_its_own(
    world: OfflineWorld, start: StartResearch, tmp_path: Path
) -> None:
    one, two = world.pages[0].subject, world.pages[80].subject
    roles = Roles(plans=[plan(one), plan(two)])
    research = start(models=roles.routes)
    await research.ask(f"What is the {one}?")
    earlier = await go_back(research, begins)
    await research.graph.ainvoke({"user_query": f"What is the {two}?"}, earlier)
    state = await research.answer(True)
    assert state["status"] == "complete"

    questions, plans, (approval,) = [await trail(research, kind) for kind in ("question", "plan", "approval")]
    assert [entry.data["query"] for entry in questions] == [f"What is the {one}?", f"What is the {two}?"]
    assert [entry.data["plan"]["steps"][0]["input"] for entry in plans] == [one, two]
    assert [entry.key for entry in questions] == ["q1:question", "q2:question"]
    assert approval.data["plan_sha256"] == plans[1].data["sha256"]

    path = await bundle_of(research, tmp_path)
    dossier = read_dossier(path)
    assert dossier.question == f"What is the {two}?"
    assert [step["input"] for step in dossier.steps] == [two]
    assert [entry.seq for entry in dossier.approvals] == [approval.seq]
    assert [entry.data["query"] for entry in dossier.elsewhere if entry.kind == "question"] == [f"What is the {one}?"]
    replayed = await replay_bundle(path, embedder=LexicalEmbedder())
    assert replayed.equal, replayed.differences


async def test_without_a_model_the_report_is_about_the_question_of_its_trail_too(
    world: OfflineWorld, start: StartResearch, tmp_path: Path
) -> None:
    one, two = (f"What is known about the {world.pages[number].subject}?" for number in (0, 80))
    research = start()
    await research.ask(one)
    await research.graph.ainvoke({"user_query": two}, await go_back(research, begins))
    assert (await research.answer(True))["status"] == "complete"
    dossier = read_dossier(await bundle_of(research, tmp_path))
    assert dossier.question == two
    assert all(world.pages[80].subject.split()[0] in step["input"] for step in dossier.steps)


async def test_two_answers_at_one_gate_are_two_branches(world: OfflineWorld, start: StartResearch, tmp_path: Path) -> None:
    """Rejected first, with a plan that followed and was carried out; then, from the same gate, rejected for another reason."""
    first, second, third = (world.pages[number].subject for number in (0, 80, 1))
    roles = Roles(plans=[plan(first), plan(second), plan(third)])
    research = start(models=roles.routes)
    await research.ask("What is known?")
    gate = await go_back(research, lambda state: state.next == ("hitl_gate",))
    await research.answer({"decision": "reject", "reason": "other"})
    assert (await research.answer(True))["status"] == "complete"
    await research.graph.aupdate_state(gate, {"review_sources": False}, as_node="auditor")
    await research.graph.ainvoke(None, research.config)
    state = await research.answer({"decision": "reject", "reason": "third, please"})
    assert state["plan"].steps[0].input == third
    assert "third, please" in roles.planner.last_asked.human
    state = await research.answer(True)
    assert state["status"] == "complete", state["error_message"]

    path = await bundle_of(research, tmp_path)
    dossier = read_dossier(path)
    assert [step["input"] for step in dossier.steps] == [third]
    assert [(said.data["decision"], said.data["reason"]) for said in dossier.approvals] == [
        ("reject", "third, please"),
        ("approve", ""),
    ]
    assert len(await trail(research, "report")) == 2
    read = {source.url for source in dossier.sources}
    assert world.pages[1].url in read
    assert world.pages[80].url not in read, "that page belongs to the other branch"
    replayed = await replay_bundle(path, embedder=LexicalEmbedder())
    assert replayed.equal, replayed.differences


async def test_a_report_that_is_come_to_again_is_the_one_its_bundle_tells(
    world: OfflineWorld, start: StartResearch, tmp_path: Path
) -> None:
    """Approved; then rejected at the same gate, and another plan carried out; then approved there once more."""
    first, second = world.pages[0].subject, world.pages[80].subject
    research = start(models=Roles(plans=[plan(first), plan(second)]).routes)
    await research.ask("What is known?")
    gate = await go_back(research, lambda state: state.next == ("hitl_gate",))

    async def enter_gate_again() -> None:
        await research.graph.aupdate_state(gate, {"review_sources": False}, as_node="auditor")
        await research.graph.ainvoke(None, research.config)

    once = await research.answer(True)
    await enter_gate_again()
    await research.answer({"decision": "reject", "reason": "other"})
    other = await research.answer(True)
    await enter_gate_again()
    again = await research.answer(True)
    assert once["final_report"] == again["final_report"] != other["final_report"]
    path = await bundle_of(research, tmp_path)
    dossier = read_dossier(path)
    assert dossier.report == again["final_report"]
    assert [step["input"] for step in dossier.steps] == [first]
    assert dossier.head == again["trail_head"] != once["trail_head"]


async def test_the_same_question_again_is_asked_again(world: OfflineWorld, start: StartResearch) -> None:
    """Sent once more from the earlier checkpoint, as a chat's "try again" does: its ceilings begin anew."""
    roles = Roles(plans=[plan(world.pages[0].subject), plan(world.pages[80].subject)])
    research = start(models=roles.routes)
    await research.ask("What is known?")
    earlier = await go_back(research, begins)
    state = await research.graph.ainvoke({"user_query": "What is known?"}, earlier)
    assert state["question_number"] == 2
    assert state["plan"].steps[0].input == world.pages[80].subject
    assert [entry.key for entry in await trail(research, "question")] == ["q1:question", "q2:question"]


async def test_a_plan_edited_at_the_gate_is_the_plan_of_bundle_and_documents(
    world: OfflineWorld, start: StartResearch, tmp_path: Path
) -> None:
    one, two = world.pages[0].subject, world.pages[80].subject
    research = start(models=Roles(plans=[plan(one, two)]).routes)
    state = await research.ask("What is known?")
    shown = state["__interrupt__"][0].value["plan"]
    await research.answer({"decision": "edit", "plan": {**shown, "steps": shown["steps"][:1]}})
    assert (await research.answer(True))["status"] == "complete"
    path = await bundle_of(research, tmp_path)
    assert [step["input"] for step in read_dossier(path).steps] == [one]
    assert [entry.data["by"] for entry in await trail(research, "plan")] == ["model", "person"]
    replayed = await replay_bundle(path, embedder=LexicalEmbedder())
    assert replayed.equal, replayed.differences


async def fetched_bundle(http: httpx.AsyncClient, thread: str, folder: Path) -> Path:
    packed = await http.get(f"/api/research/{thread}/bundle")
    path = folder / f"{thread}.zip"
    path.write_bytes(packed.content)
    checked = verify_bundle(path)
    assert checked.ok, checked.problems
    return path


async def test_a_copy_of_a_thread_tells_what_led_to_it(
    world: OfflineWorld, equipment_for: MakeEquipment, tmp_path: Path
) -> None:
    subject = world.pages[0].subject
    async with serving(tmp_path, {"research": build_graph(equipment_for())}) as http:
        waiting = (await ask(http, f"What is known about the {subject}?"))[-1]
        copied = (await http.post(f"/threads/{waiting.state['threadId']}/copy")).json()["thread_id"]
        (report,) = [
            each
            for each in await post(http, "/api/research/approve", threadId=copied, decision="approve")
            if each.state.get("finalReport")
        ]
        assert subject in report.state["finalReport"]
        dossier = read_dossier(await fetched_bundle(http, copied, tmp_path))
    assert dossier.question == f"What is known about the {subject}?"
    assert dossier.steps
    assert [said.data["decision"] for said in dossier.approvals] == ["approve"]


async def test_a_run_that_was_rolled_back_leaves_its_question_as_another_branch(
    world: OfflineWorld, equipment_for: MakeEquipment, tmp_path: Path
) -> None:
    subject, planning = world.pages[0].subject, asyncio.Event()

    async def reply(asked: Asked) -> str:
        if "first thought" in asked.human:
            planning.set()
            await asyncio.Event().wait()
        return plan(subject)

    roles = Roles()
    models = ModelRoutes(plan=ScriptedModel.answering(reply), audit=roles.auditor, write=roles.writer)
    async with serving(tmp_path, {"research": build_graph(equipment_for(models=models))}) as http:
        thread = (await http.post("/threads", json={})).json()["thread_id"]
        run = {"assistant_id": "research", "multitask_strategy": "rollback"}
        await http.post(f"/threads/{thread}/runs", json={**run, "input": {"user_query": "A first thought?"}})
        await asyncio.wait_for(planning.wait(), 60)
        await http.post(f"/threads/{thread}/runs/wait", json={**run, "input": {"user_query": "What is known?"}})
        await post(http, "/api/research/approve", threadId=thread, decision="approve")
        dossier = read_dossier(await fetched_bundle(http, thread, tmp_path))
    assert dossier.question == "What is known?"
    assert [entry.data.get("query") for entry in dossier.elsewhere] == ["A first thought?"]
    assert [step["input"] for step in dossier.steps] == [subject]


@pytest.mark.parametrize("begins_with_a_model", [False, True], ids=["a model comes", "the model goes"])
async def test_a_bundle_says_what_wrote_its_report_when_the_setup_changes_before_approval(
    world: OfflineWorld, equipment_for: MakeEquipment, tmp_path: Path, begins_with_a_model: bool
) -> None:
    subject = world.pages[0].subject
    routes = Roles(plans=[plan(subject)]).routes
    asked = Research(equipment_for(models=routes if begins_with_a_model else None))
    await asked.ask(f"How large is the {subject}?")
    answered = Research(equipment_for(models=None if begins_with_a_model else routes))
    answered.graph.checkpointer, answered.config = asked.graph.checkpointer, asked.config
    state = await answered.answer(True)
    assert state["status"] == "complete", state["error_message"]

    path = tmp_path / "bundle.zip"
    await write_bundle(answered.vault, path)
    checked = verify_bundle(path)
    assert checked.ok, checked.problems
    assert read_dossier(path).mode == ("extractive" if begins_with_a_model else "written")
    with pytest.raises(BundleError, match="changed between"):
        await replay_bundle(path, embedder=LexicalEmbedder())
