"""A second question in a thread may cite what the first report cites: the same sources, under the same numbers where possible."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from stepwell.demo.web import OfflineWorld
from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.graph.replaying import replay_bundle

from .conftest import Research, StartResearch
from .roles import Evidence, Roles, plan


def listed(report: str) -> dict[str, str]:
    """The sources of a report: number -> address."""
    return dict(re.findall(r"^(\d+)\. \[.*?\]\((.*?)\)", report, re.MULTILINE))


async def reports_of(research: Research) -> list[dict[str, Any]]:
    return [entry.data for entry in await research.vault.entries() if entry.kind == "report"]


class Writer:
    """Cites one sentence of each source; in the second report, the sources in the opposite order."""

    def __init__(self) -> None:
        self.written = 0

    def __call__(self, shown: Evidence) -> str:
        self.written += 1
        lines = [f"{text.split('. ')[0].rstrip('.')} [{name}]." for name, text in shown.items()]
        return " ".join(lines if self.written == 1 else lines[::-1])


async def test_a_follow_up_cites_the_sources_of_the_first_report_under_their_numbers(
    world: OfflineWorld, start: StartResearch, tmp_path: Path
) -> None:
    subject = world.pages[0].subject
    roles = Roles(plans=[plan(subject), plan(world.pages[40].subject)], write=Writer())
    research = start(models=roles.routes)
    await research.ask(f"How long is the {subject}?")
    first = (await research.answer(True))["final_report"]
    await research.ask(f"And who designed the {subject}?")
    second = (await research.answer(True))["final_report"]
    assert listed(first)
    before, after = await reports_of(research)
    assert set(before["sources"]) <= set(after["sources"]), "they stay sources of the thread"
    assert set(before["quotes"]) & set(after["quotes"]), "and the same words keep their id"
    both = [number for number, address in listed(second).items() if address in listed(first).values()]
    assert both, "the second report cites sources of the first"
    kept = [address for address in listed(first).values() if address in listed(second).values()]
    assert [listed(second)[number] for number in both] == kept, "in the same order"
    assert both == [str(number) for number in range(1, len(both) + 1)], "before the new ones"
    if set(listed(first).values()) <= set(listed(second).values()):
        assert {number: listed(second)[number] for number in listed(first)} == listed(first)
    await write_bundle(research.vault, tmp_path / "bundle.zip")
    assert verify_bundle(tmp_path / "bundle.zip").ok, verify_bundle(tmp_path / "bundle.zip").problems
    replayed = await replay_bundle(tmp_path / "bundle.zip")
    assert replayed.equal, replayed.differences


@pytest.mark.parametrize("writes", [True, False])
async def test_own_documents_of_the_first_question_can_be_cited_again(
    world: OfflineWorld, start: StartResearch, tmp_path: Path, writes: bool
) -> None:
    note = "Our own survey of the Zorkmid pier found 41 cracked beams in the spring. Ann Lawton led the survey."
    roles = Roles(
        plans=[plan("Zorkmid pier", tool="search_documents")] * 2,
        write=lambda shown: " ".join(f"{text.split('. ')[0].rstrip('.')} [{name}]." for name, text in shown.items()),
    )
    research = start(models=roles.routes if writes else None)
    await research.ask("What did our survey of the Zorkmid pier find?", knowledge_context=note, only_documents=True)
    first = (await research.answer(True))["final_report"]
    await research.ask("How many beams of the Zorkmid pier cracked?", knowledge_context="Bring a torch.", only_documents=True)
    second = (await research.answer(True))["final_report"]
    for report in (first, second):
        assert "41 cracked beams" in report
        assert "1. Your notes" in report
    await write_bundle(research.vault, tmp_path / "bundle.zip")
    assert verify_bundle(tmp_path / "bundle.zip").ok, verify_bundle(tmp_path / "bundle.zip").problems
