"""Sentences that differ from their evidence go back to the writer once, before the report is shown."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stepwell.demo.web import OfflineWorld
from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.evidence.policy.file import default_policy
from stepwell.research.evidence.policy.rules import Limits
from stepwell.research.graph.replaying import replay_bundle
from stepwell.testing import fail

from .conftest import Research, StartResearch
from .forging import take_apart
from .roles import Evidence, Roles, plan

QUESTION = "How long is the bridge?"


class Writer:
    """Writes three true sentences and, between them, one with another figure than its source and one that its source does not have."""

    def __init__(self, world: OfflineWorld) -> None:
        self.number = next(fact for fact in world.pages[0].facts if fact.kind == "number").sentence
        self.wrong = re.sub(r"[\d,]+", "987,654", self.number, count=1)
        self.name = ""

    def write(self, shown: Evidence) -> str:
        self.name = next(name for name, text in shown.items() if self.number in text)
        true = [f"{text.split('. ')[0].rstrip('.')} [{name}]." for name, text in shown.items() if name != self.name][:2]
        ghosts = f"Seven ghosts live below it [{self.name}]."
        return f"## Found\n\n{true[0]}\n\n{self.wrong} [{self.name}] {ghosts}\n\n{true[1]}"

    def revise(self, asked: str) -> str:
        wrong, ghosts = re.findall(r"^(c\d+): ", asked, re.MULTILINE)
        return f"{wrong}: {self.number} [{self.name}]\n{ghosts}: drop\nc99: The moon is a cheese [{self.name}]."


async def trail(research: Research, kind: str) -> list[dict[str, Any]]:
    return [entry.data for entry in await research.vault.entries() if entry.kind == kind]


async def finish(research: Research) -> dict[str, Any]:
    await research.ask(QUESTION)
    return await research.answer(True)


async def seal(research: Research, folder: Path) -> Path:
    await write_bundle(research.vault, folder / "bundle.zip")
    return folder / "bundle.zip"


async def test_a_sentence_that_differs_is_corrected_once(world: OfflineWorld, start: StartResearch, tmp_path: Path) -> None:
    writer = Writer(world)
    roles = Roles(plans=[plan(world.pages[0].subject)], write=writer.write, revise=writer.revise)
    research = start(models=roles.routes)
    state = await finish(research)
    report = state["final_report"]
    assert f"{writer.number.rstrip('.')} [" in report
    for gone in ("987,654", "ghosts", "cheese", "left out"):
        assert gone not in report
    (asked,) = roles.revisions_asked
    assert writer.wrong in asked.human
    assert "why: the claim says '987,654" in asked.human
    assert writer.number in asked.human, "the quote goes along"
    (writing,) = await trail(research, "writing")
    claims = {claim["claim_id"]: claim for claim in await trail(research, "claim")}
    assert [claims[each]["text"] for each in writing["before"]] == [writer.wrong, "Seven ghosts live below it."]
    assert claims[writing["before"][0]]["verdict"] == "contradicted"
    (told,) = await trail(research, "report")
    assert len(told["claims"]) == 3
    assert state["reasoning"][-1].summary.endswith("2 went back to the writer.")
    bundle = await seal(research, tmp_path)
    assert verify_bundle(bundle).ok, verify_bundle(bundle).problems
    assert (await replay_bundle(bundle)).equal


@pytest.mark.parametrize("answer", ["", "I would rather not.", "c2: See https://invented.example/", "c2:"])
async def test_what_still_differs_is_left_out_as_before(
    world: OfflineWorld, start: StartResearch, tmp_path: Path, answer: str
) -> None:
    writer = Writer(world)
    roles = Roles(plans=[plan(world.pages[0].subject)], write=writer.write, revise=lambda asked: answer)
    research = start(models=roles.routes)
    report = (await finish(research))["final_report"]
    assert "2 sentences were left out" in report
    assert len(roles.revisions_asked) == 1
    assert verify_bundle(await seal(research, tmp_path)).ok


async def test_a_wrong_correction_is_judged_like_any_sentence(
    world: OfflineWorld, start: StartResearch, tmp_path: Path
) -> None:
    writer = Writer(world)
    roles = Roles(
        plans=[plan(world.pages[0].subject)],
        write=writer.write,
        revise=lambda asked: writer.revise(asked).replace(writer.number, writer.wrong.replace("987", "988")),
    )
    research = start(models=roles.routes)
    report = (await finish(research))["final_report"]
    assert "988,654" not in report
    assert "One sentence was left out" in report
    assert len(roles.revisions_asked) == 1, "it goes back once"
    assert verify_bundle(await seal(research, tmp_path)).ok


async def test_a_report_without_faults_is_not_sent_back(world: OfflineWorld, start: StartResearch) -> None:
    roles = Roles(plans=[plan(world.pages[0].subject)])
    research = start(models=roles.routes)
    await finish(research)
    assert roles.revisions_asked == []
    (writing,) = await trail(research, "writing")
    assert (writing["revision"], writing["before"]) == (None, [])


async def test_a_writer_that_fails_at_the_correction_does_not_cost_the_report(
    world: OfflineWorld, start: StartResearch, tmp_path: Path
) -> None:
    writer = Writer(world)
    broken = fail(RuntimeError("the provider is on fire"))
    roles = Roles(plans=[plan(world.pages[0].subject)], write=writer.write, revise=lambda asked: broken)
    research = start(models=roles.routes)
    state = await finish(research)
    assert state["status"] == "complete"
    assert (
        "- Sentences that differ from their sources were not sent back to the writer: The model did not answer."
        in (state["final_report"])
    )
    bundle = await seal(research, tmp_path)
    assert verify_bundle(bundle).ok, verify_bundle(bundle).problems
    assert (await replay_bundle(bundle)).equal


async def test_a_ceiling_stops_the_correction_with_a_sentence(
    world: OfflineWorld, start: StartResearch, tmp_path: Path
) -> None:
    writer = Writer(world)
    roles = Roles(plans=[plan(world.pages[0].subject)], write=writer.write, revise=writer.revise)
    spent = start(models=roles.routes)
    await finish(spent)
    calls = [entry for entry in await spent.vault.entries() if entry.kind == "model_call"]
    first = next(number for number, entry in enumerate(calls) if ":write:revise:" in entry.key)
    used = [entry.data["answer"]["input_tokens"] + entry.data["answer"]["output_tokens"] for entry in calls[:first]]
    roles = Roles(plans=[plan(world.pages[0].subject)], write=writer.write, revise=writer.revise)
    policy = replace(default_policy(), limits=Limits(tokens=sum(used)))
    research = start(models=roles.routes, policy=policy)
    report = (await finish(research))["final_report"]
    assert roles.revisions_asked == []
    assert "were not sent back to the writer: The ceiling of" in report
    bundle = await seal(research, tmp_path)
    assert verify_bundle(bundle).ok, verify_bundle(bundle).problems


@pytest.mark.parametrize("forged", ["a sentence more", "other numbers", "no revision", "no writing", "a bad sentence hidden"])
def test_a_forged_correction_is_found(world: OfflineWorld, start: StartResearch, tmp_path: Path, forged: str) -> None:
    writer = Writer(world)
    roles = Roles(plans=[plan(world.pages[0].subject)], write=writer.write, revise=writer.revise)
    research = start(models=roles.routes)

    async def make() -> Path:
        await finish(research)
        return await seal(research, tmp_path)

    forgery = take_apart(asyncio.run(make()))
    (writing,) = forgery.of_kind("writing")
    if forged == "a sentence more":
        writing.data["before"] = writing.data["before"][:1]
    elif forged == "other numbers":
        writing.data["before"] = writing.data["before"][::-1]
    elif forged == "no revision":
        writing.data["revision"], writing.data["before"] = None, []
    elif forged == "no writing":
        (report,) = forgery.of_kind("report")
        report.data["after"] = writing.data["after"]
        forgery.drop(writing)
    else:
        (answer,) = (entry for entry in forgery.of_kind("model_call") if ":write:revise:" in entry.key)
        draft = next(entry for entry in forgery.of_kind("model_call") if entry.key in writing.data["draft"])
        answer.data["body_sha256"] = draft.data["body_sha256"]
    assert not verify_bundle(forgery.seal(tmp_path / "forged.zip", None)).ok
