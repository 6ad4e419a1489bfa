"""A report of several writers, one for each approved section, with the answer at the top and a critic before the one revision."""

from __future__ import annotations

import asyncio
import json
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

OUTLINE = ["Size", "People", "History"]


def planned(world: OfflineWorld, **more: Any) -> str:
    subjects = [world.pages[number].subject for number in (0, 40)]
    return json.dumps({**json.loads(plan(*subjects)), "outline": OUTLINE, **more})


def sentences_of(shown: Evidence) -> list[str]:
    return [f"{text.split('. ')[0].rstrip('.')} [{name}]." for name, text in shown.items()]


class Writers:
    """Each section has two sentences; the one at the top repeats the first of the report. The second section has a wrong figure too."""

    def __init__(self) -> None:
        self.count = 0

    def write(self, shown: Evidence) -> str:
        self.count += 1
        said = sentences_of(shown)
        at = (self.count - 1) * 2
        wrong = f"It has 77,777 doors [{next(iter(shown))}]." if self.count == 2 else ""
        return f"## A heading of my own\n\n{' '.join(said[at : at + 2] or said[:2])} {wrong}\n\n## Not found\n- its colour"

    @staticmethod
    def top(shown: dict[str, str]) -> str:
        text, name = next(iter(shown.items()))
        return f"# Answer\n\n{text.rstrip('.')} [{name}]."


async def finish(research: Research, **more: Any) -> dict[str, Any]:
    await research.ask("How large is the bridge, who made it, and what is its colour?", outline=True, **more)
    return await research.answer(True)


async def seal(research: Research, folder: Path) -> Path:
    await write_bundle(research.vault, folder / "bundle.zip")
    return folder / "bundle.zip"


async def check(research: Research, folder: Path, *, replays: bool = True) -> None:
    bundle = await seal(research, folder)
    assert verify_bundle(bundle).ok, verify_bundle(bundle).problems
    if replays:
        replayed = await replay_bundle(bundle)
        assert replayed.equal, replayed.differences


async def calls(research: Research) -> list[str]:
    entries = await research.vault.entries()
    return [entry.key.split(":", 1)[1].rsplit(":", 2)[0] for entry in entries if entry.kind == "model_call"]


def headings(report: str) -> list[str]:
    return [line for line in report.split("\n") if line.startswith("#")]


async def test_sections_stand_in_the_approved_order_below_the_answer(
    world: OfflineWorld, start: StartResearch, tmp_path: Path
) -> None:
    writers = Writers()
    roles = Roles(plans=[planned(world)], write=writers.write, top=writers.top)
    research = start(models=roles.routes)
    state = await finish(research)
    report = state["final_report"]
    assert headings(report) == ["## Size", "## People", "## History", "## Not found", "## Sources"]
    assert not report.startswith("#"), "the answer comes first"
    assert "- Nothing was found on: its colour" in report
    assert "77,777" not in report
    made = [each for each in await calls(research) if not each.startswith(("judge", "thinker", "auditor"))]
    assert sorted(made[:3]) == ["write:section:1", "write:section:2", "write:section:3"]
    assert made[3:] == ["write:answer", "critic", "write:revise"]
    (section, *_) = (asked for asked in roles.writer.asked if asked.system.startswith("You write one section"))
    assert "Your section: Size" in section.human
    assert "Sections of others: People; History" in section.human
    await check(research, tmp_path)


async def test_each_section_has_passages_on_its_own_title(world: OfflineWorld, start: StartResearch) -> None:
    """Also below a long question, whose words stand in more passages than a section has room for."""
    reasons = [
        f"Sailors, merchants and teachers of the harbour town trust the old lighthouse, reason {n}." for n in range(1, 30)
    ]
    own = "The masonry was cleaned in May."
    roles = Roles(plans=[planned(world, outline=["Masonry", "Reasons"])], write=Writers().write, top=Writers.top)
    research = start(models=roles.routes)
    question = "Why do sailors, merchants and teachers of the harbour town trust the old lighthouse, and for which reason?"
    await research.ask(question, outline=True, knowledge_context="\n\n".join([*reasons, own]))
    await research.answer(True)
    (section,) = (each.human for each in roles.writer.asked if "Your section: Masonry" in each.human)
    assert own in section


async def test_what_the_critic_misses_is_mended_once(world: OfflineWorld, start: StartResearch, tmp_path: Path) -> None:
    seen: dict[str, str] = {}

    def criticise(asked: str) -> str:
        seen["report"], _, unused = asked.partition("Evidence that it does not use:")
        seen["unused"], seen["text"] = re.findall(r"^(e\d+) \(.*?\): (.+)$", unused, re.MULTILINE)[0]
        lacks = [
            {"kind": "repetition", "sentence": "c2", "what": "c1 says the same."},
            {"kind": "unanswered", "sentence": None, "what": "Say more."},
            {"kind": "off_topic", "sentence": "c99", "what": "There is no such sentence."},
            {"kind": "praise", "what": "Well done."},
        ]
        return json.dumps({"lacks": lacks})

    def revise(asked: str) -> str:
        assert "repetition: c1 says the same." in asked
        more = f"{seen['text'].split('. ')[0].rstrip('.')} [{seen['unused']}]."
        return f"c2: drop\n+c3: {more}\nc4: The moon is a cheese [{seen['unused']}]."

    writers = Writers()
    roles = Roles(plans=[planned(world)], write=writers.write, top=writers.top, critic=criticise, revise=revise)
    research = start(models=roles.routes)
    state = await finish(research)
    report = state["final_report"]
    assert seen["text"].split(". ")[0].rstrip(".") in report
    assert "cheese" not in report
    (writing,) = (entry.data for entry in await research.vault.entries() if entry.kind == "writing")
    assert next(name.rpartition(".")[2] for name in writing["before"]) == "b2"
    assert "a critic missed 2 things" in state["reasoning"][-1].summary
    await check(research, tmp_path)


@pytest.mark.parametrize("answer", ["Fine by me.", '{"lacks": "many"}', "{"])
async def test_a_critic_that_cannot_be_read_misses_nothing(
    world: OfflineWorld, start: StartResearch, tmp_path: Path, answer: str
) -> None:
    roles = Roles(plans=[planned(world)], write=lambda shown: sentences_of(shown)[0], critic=lambda asked: answer)
    research = start(models=roles.routes)
    assert (await finish(research))["status"] == "complete"
    assert roles.revisions_asked == []
    await check(research, tmp_path, replays=False)


async def test_a_critic_that_fails_does_not_cost_the_report(world: OfflineWorld, start: StartResearch, tmp_path: Path) -> None:
    broken = fail(RuntimeError("the provider is on fire"))
    roles = Roles(plans=[planned(world)], write=lambda shown: sentences_of(shown)[0], critic=lambda asked: broken)
    research = start(models=roles.routes)
    assert "No critic read the report: The model did not answer." in (await finish(research))["final_report"]
    await check(research, tmp_path)


@pytest.mark.parametrize("until", ["write:section:3", "write:answer", "critic"])
async def test_a_ceiling_leaves_the_rest_out_with_a_sentence(
    world: OfflineWorld, start: StartResearch, tmp_path: Path, until: str
) -> None:
    def make() -> Roles:
        return Roles(plans=[planned(world)], write=lambda shown: sentences_of(shown)[0])

    spent = start(models=make().routes)
    await finish(spent)
    entries = [entry for entry in await spent.vault.entries() if entry.kind == "model_call"]
    last = next(number for number, entry in enumerate(entries) if f":{until}:" in entry.key)
    used = [entry.data["answer"]["input_tokens"] + entry.data["answer"]["output_tokens"] for entry in entries[:last]]
    policy = replace(default_policy(), limits=Limits(tokens=sum(used) if until != "write:section:3" else sum(used[:3])))
    research = start(models=make().routes, policy=policy)
    state = await finish(research)
    assert state["status"] == "complete"
    assert "(rule limits.tokens)" in state["final_report"]
    assert until not in await calls(research) or until == "write:section:3", "three are written at once"
    await check(research, tmp_path, replays=False)


async def test_the_estimate_counts_every_writer(world: OfflineWorld, start: StartResearch) -> None:
    research = start(models=Roles(plans=[planned(world, followUps=0), planned(world, followUps=0)]).routes)
    state = await research.ask("How large is the bridge?", outline=True)
    (question,) = state["__interrupt__"]
    several = question.value["estimate"]["tokens"]
    state = await research.answer({"decision": "edit", "plan": {**question.value["plan"], "outline": []}})
    (question,) = state["__interrupt__"]
    assert several - question.value["estimate"]["tokens"] == 3 * 3000 + 4000


@pytest.mark.parametrize("forged", ["a section less", "other order", "no answer", "no critic"])
def test_a_forged_composition_is_found(world: OfflineWorld, start: StartResearch, tmp_path: Path, forged: str) -> None:
    writers = Writers()
    roles = Roles(plans=[planned(world)], write=writers.write, top=writers.top)
    research = start(models=roles.routes)

    async def make() -> Path:
        await finish(research)
        return await seal(research, tmp_path)

    forgery = take_apart(asyncio.run(make()))
    (writing,) = forgery.of_kind("writing")
    draft = writing.data["draft"]
    if forged == "a section less":
        writing.data["draft"] = [draft[0], *draft[2:]]
    elif forged == "other order":
        writing.data["draft"] = [draft[1], draft[0], *draft[2:]]
    elif forged == "no answer":
        writing.data["draft"] = draft[:-1]
    else:
        writing.data["critic"] = None
    assert not verify_bundle(forgery.seal(tmp_path / "forged.zip", None)).ok
