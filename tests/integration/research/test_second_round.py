"""Follow-ups on the web: within what was approved, from pages alone, in trail, bundle and replay; a forged one is found."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stepwell.demo.web import OfflineWorld
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.signing import SigningKey
from stepwell.research.audit.story import hash_plan
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.evidence.policy.file import default_policy
from stepwell.research.evidence.policy.rules import Limits
from stepwell.research.graph.replaying import replay_bundle

from .conftest import Research, StartResearch
from .forging import Change, Forgery, take_apart
from .roles import Roles, plan


def about(world: OfflineWorld) -> str:
    return f"Which prizes did the office win that designed the {world.pages[0].subject}?"


async def researched(world: OfflineWorld, start: StartResearch, **asked: Any) -> tuple[Research, dict[str, Any]]:
    research = start()
    await research.ask(about(world), **asked)
    return research, await research.answer(True)


async def test_names_on_pages_are_searched_for_and_the_bundle_holds_and_replays(
    world: OfflineWorld, start: StartResearch, tmp_path: Path
) -> None:
    research, state = await researched(world, start)
    designer = next(fact.value for fact in world.pages[0].facts if fact.kind == "name")
    assert state["status"] == "complete"
    assert 1 <= len(state["followed"]) <= 2
    assert any(each.input.startswith(designer) for each in state["followed"])
    assert any(entry.summary.startswith("Follow-up 1 of at most 2: ") for entry in state["reasoning"])
    entries = await research.vault.entries()
    told = [entry.data for entry in entries if entry.kind == "follow_up"]
    assert [each["query"] for each in told] == [each.input for each in state["followed"]]
    sent = [entry.data["step"] for entry in entries if entry.kind == "request" and entry.data["why"].startswith("search:")]
    assert sent[-len(told) :] == [f"q1:{each['step']}" for each in told], "after the steps, one by one"
    bundle = tmp_path / "bundle.zip"
    await write_bundle(research.vault, bundle, SigningKey(tmp_path))
    checked = verify_bundle(bundle, key=SigningKey(tmp_path).public_key(), strict=True)
    assert checked.ok, checked.problems
    replayed = await replay_bundle(bundle, embedder=LexicalEmbedder())
    assert replayed.equal, replayed.differences


async def test_none_approved_means_none_made(world: OfflineWorld, start: StartResearch) -> None:
    research = start()
    state = await research.ask(about(world))
    shown = state["__interrupt__"][0].value["plan"]
    state = await research.answer({"decision": "edit", "plan": {**shown, "followUps": 0}})
    assert state["__interrupt__"][0].value["plan"]["followUps"] == 0
    state = await research.answer(True)
    assert (state["status"], state["followed"]) == ("complete", [])
    assert not any(entry.kind == "follow_up" for entry in await research.vault.entries())


async def test_a_model_may_say_how_many_and_not_more_than_four(world: OfflineWorld, start: StartResearch) -> None:
    subject = world.pages[0].subject
    many, few = (plan(subject).replace('"steps"', f'"followUps": {number}, "steps"') for number in (9, 1))
    roles = Roles(plans=[many, few])
    research = start(models=roles.routes)
    state = await research.ask(about(world))
    assert "followUps" in roles.planner.asked[1].human, "the fault is named, and the model answers again"
    assert state["plan"].follow_ups == 1
    assert len((await research.answer(True))["followed"]) == 1


async def test_ceilings_hold_for_follow_ups(world: OfflineWorld, start: StartResearch, tmp_path: Path) -> None:
    """The steps take what there is, the follow-ups say what they could not have, and the bundle still holds."""
    _, state = await researched(world, start)
    used = sum(1 for _ in world.requests)
    research = start(policy=replace(default_policy(), limits=Limits(requests=used - 2)))
    await research.ask(about(world))
    state = await research.answer(True)
    assert state["status"] == "complete"
    assert "limits.requests" in state["final_report"]
    await write_bundle(research.vault, tmp_path / "bundle.zip")
    checked = verify_bundle(tmp_path / "bundle.zip")
    assert checked.ok, checked.problems
    assert (await replay_bundle(tmp_path / "bundle.zip", embedder=LexicalEmbedder())).equal


async def test_names_of_ones_own_documents_do_not_reach_the_web(world: OfflineWorld, start: StartResearch) -> None:
    notes = f"The {world.pages[0].subject} was designed by Secret Partner Brigitte Obermeier."
    _, state = await researched(world, start, knowledge_context=notes)
    assert state["plan"].steps[0].tool == "search_documents"
    assert not any("Obermeier" in f"{request.path} {request.body!r}" for request in world.requests)


def _claim_more_than_approved(forgery: Forgery) -> None:
    """The plan is said to have allowed fewer, with hash and approval."""
    made, said = forgery.of_kind("plan")[-1], forgery.of_kind("approval")[-1]
    made.data["plan"]["follow_ups"] = 0
    made.data["sha256"] = said.data["plan_sha256"] = hash_plan(made.data["plan"])


def _raise_the_number_alone(forgery: Forgery) -> None:
    forgery.of_kind("plan")[-1].data["plan"]["follow_ups"] = 4


def _tell_of_one_that_was_never_asked_for(forgery: Forgery) -> None:
    last, report = forgery.of_kind("follow_up")[-1], forgery.of_kind("report")[-1]
    forgery.insert_after(last, "follow_up", "q1:follow_up:9", {**last.data, "step": "never", "after": last.key})
    report.data["after"] = "q1:follow_up:9"


def _hide_one_that_was_made(forgery: Forgery) -> None:
    first = forgery.of_kind("follow_up")[0]
    for entry in forgery.entries:
        if entry.data.get("after") == first.key:
            entry.data["after"] = first.data["after"]
    forgery.drop(first)


def _make_it_come_from_other_words(forgery: Forgery) -> None:
    forgery.of_kind("follow_up")[0].data["because"] = "Brigitte Obermeier"


def _make_it_come_from_a_page_that_nobody_read(forgery: Forgery) -> None:
    forgery.of_kind("follow_up")[0].data["source"] = "s99"


def _call_it_a_search_of_documents(forgery: Forgery) -> None:
    forgery.of_kind("follow_up")[0].data["tool"] = "search_documents"


def _make_it_before_the_approval(forgery: Forgery) -> None:
    said, told = forgery.of_kind("approval")[-1], forgery.of_kind("follow_up")[0]
    told.data["after"], said.data["after"] = said.data["after"], told.key


FORGED: list[Change] = [
    _claim_more_than_approved, _raise_the_number_alone, _tell_of_one_that_was_never_asked_for, _hide_one_that_was_made,
    _make_it_come_from_other_words, _make_it_come_from_a_page_that_nobody_read, _call_it_a_search_of_documents,
    _make_it_before_the_approval,
]  # fmt: skip


async def test_forged_follow_ups_are_found(world: OfflineWorld, start: StartResearch, tmp_path: Path) -> None:
    research, _ = await researched(world, start)
    bundle = tmp_path / "bundle.zip"
    await write_bundle(research.vault, bundle)
    assert verify_bundle(bundle).ok

    def forge(change: Change) -> Path:
        forgery = take_apart(bundle)
        change(forgery)
        return forgery.seal(tmp_path / "forged.zip")

    for change in FORGED:
        checked = verify_bundle(await asyncio.to_thread(forge, change))
        assert not checked.ok, change.__name__
        assert any(part.problems for part in checked.parts if part.part in ("plans", "requests", "story")), change.__name__


@pytest.mark.parametrize("number", [-1, 5, "two"])
async def test_a_number_that_is_none_is_refused_at_the_gate(world: OfflineWorld, start: StartResearch, number: Any) -> None:
    research = start()
    state = await research.ask(about(world))
    shown = state["__interrupt__"][0].value["plan"]
    state = await research.answer({"decision": "edit", "plan": {**shown, "followUps": number}})
    assert "followUps" in state["__interrupt__"][0].value["problem"]
