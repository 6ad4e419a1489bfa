"""The form of a report: its length and sections are approved with the plan, and it says what was not found."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from stepwell.demo.web import OfflineWorld
from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.graph.replaying import replay_bundle

from .conftest import Research, StartResearch
from .forging import take_apart
from .roles import Evidence, Roles, plan


def gate(state: dict[str, Any]) -> dict[str, Any]:
    (question,) = state["__interrupt__"]
    value: dict[str, Any] = question.value
    return value


def planned(world: OfflineWorld, **more: Any) -> str:
    return json.dumps({**json.loads(plan(world.pages[0].subject)), **more})


def first_sentences(shown: Evidence) -> list[str]:
    return [f"{text.split('. ')[0].rstrip('.')} [{name}]." for name, text in shown.items()]


async def seal(research: Research, folder: Path) -> Path:
    await write_bundle(research.vault, folder / "bundle.zip")
    return folder / "bundle.zip"


async def check(research: Research, folder: Path) -> None:
    bundle = await seal(research, folder)
    assert verify_bundle(bundle).ok, verify_bundle(bundle).problems
    replayed = await replay_bundle(bundle)
    assert replayed.equal, replayed.differences


async def test_the_length_is_read_shown_and_told_to_the_writer(
    world: OfflineWorld, start: StartResearch, tmp_path: Path
) -> None:
    roles = Roles(plans=[planned(world)])
    research = start(models=roles.routes)
    state = await research.ask("How long is the bridge, in at most 300 words?")
    assert gate(state)["plan"]["words"] == 300
    state = await research.answer(True)
    assert "Length: about 300 words." in roles.writer.asked[0].human
    assert state["reasoning"][-1].summary.endswith("about 300 were asked for.")
    await check(research, tmp_path)


async def test_a_person_changes_length_and_sections_at_the_gate(
    world: OfflineWorld, start: StartResearch, tmp_path: Path
) -> None:
    def write(shown: Evidence) -> str:
        said = first_sentences(shown)
        return f"{said[0]}\n\n## size:\n\n{said[1]}\n\n## My own heading\n\n{said[2]}"

    roles = Roles(plans=[planned(world, words=200, outline=["Size", "Growth of 40 percent", "Builders"])], write=write)
    research = start(models=roles.routes)
    state = await research.ask("How long is the bridge?", outline=True)
    asked = gate(state)
    assert (asked["plan"]["words"], asked["plan"]["outline"]) == (200, ["Size", "Builders"])
    assert '"outline":["Size","Builders"]' in roles.audits_asked[0].human, "the auditor sees them"
    state = await research.answer({"decision": "edit", "plan": {**asked["plan"], "words": 20, "outline": ["Size"]}})
    assert gate(state)["plan"]["outline"] == ["Size"]
    report = (await research.answer(True))["final_report"]
    assert [line for line in report.split("\n") if line.startswith("#")] == ["## Size", "## Sources"]
    assert "## Size" in roles.writer.asked[0].human
    await check(research, tmp_path)


async def test_sections_in_the_question_are_the_reports(world: OfflineWorld, start: StartResearch) -> None:
    roles = Roles(plans=[planned(world, outline=["Another"]), planned(world, outline=["Another"])])
    state = await start(models=roles.routes).ask("How long is the bridge? Sections: Length, Cost")
    assert gate(state)["plan"]["outline"] == ["Length", "Cost"]
    state = await start(models=roles.routes).ask("How long is the bridge?")
    assert gate(state)["plan"]["outline"] == [], "nobody asked for any"


@pytest.mark.parametrize("title", ["It is 30 metres long", "Sources", "A sentence.", "https://evil.example/"])
async def test_a_title_that_states_something_is_refused_at_the_gate(
    world: OfflineWorld, start: StartResearch, title: str
) -> None:
    research = start(models=Roles(plans=[planned(world)]).routes)
    asked = gate(await research.ask("How long is the bridge?"))
    state = await research.answer({"decision": "edit", "plan": {**asked["plan"], "outline": [title]}})
    assert "cannot be the title of a section" in gate(state)["problem"]


async def test_what_was_not_found_is_said_in_words_of_the_question(
    world: OfflineWorld, start: StartResearch, tmp_path: Path
) -> None:
    def write(shown: Evidence) -> str:
        lines = ["- The sources do not say who painted it.", "- The mayor was jailed in 1990.", "- Its colour"]
        return "\n".join([*first_sentences(shown)[:2], "", "## Not found", *lines])

    roles = Roles(plans=[planned(world)], write=write)
    research = start(models=roles.routes)
    await research.ask(f"How long is the {world.pages[0].subject}, who painted it, and what is its colour?")
    report = (await research.answer(True))["final_report"]
    assert "## Not found\n\n- Nothing was found on: who painted it\n- Nothing was found on: Its colour\n" in report
    assert "left out" not in report
    assert "mayor" not in report
    await check(research, tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda report: report.replace("on: colour", "on: the mayor's arrest"),
        lambda report: report.replace("- Nothing was found on: colour\n", ""),
        lambda report: report.replace("on: colour\n", "on: colour\n- Nothing was found on: painted\n"),
        lambda report: report.replace("## Size", "## Fraud"),
    ],
)
async def test_a_forged_form_is_found(world: OfflineWorld, start: StartResearch, tmp_path: Path, change: Any) -> None:
    def write(shown: Evidence) -> str:
        said = first_sentences(shown)
        return f"{said[0]}\n\n## Size\n\n{said[1]}\n\n## Not found\n- colour"

    roles = Roles(plans=[planned(world, outline=["Size"])], write=write)
    research = start(models=roles.routes)
    await research.ask("How long is the bridge, who painted it, and what is its colour?", outline=True)
    await research.answer(True)

    def forge(bundle: Path) -> bool:
        forgery = take_apart(bundle)
        assert change(forgery.report) != forgery.report
        forgery.report = change(forgery.report)
        return verify_bundle(forgery.seal(tmp_path / "forged.zip", None)).ok

    await check(research, tmp_path)
    assert not await asyncio.to_thread(forge, tmp_path / "bundle.zip")
