"""Ceilings are enforced by counting, and end in a partial report that says what was skipped. Mission R5, R6; known defect: request
limits only in a prompt."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from stepwell.demo.web import OfflineWorld
from stepwell.research.audit.exchanges.receipt import egress_receipt
from stepwell.research.audit.exchanges.recording import count_requests
from stepwell.research.evidence.policy.file import default_policy
from stepwell.research.evidence.policy.rules import Limits, ResearchPolicy
from stepwell.testing import ScriptedModel, say

from .conftest import StartResearch
from .roles import Roles, audit, plan, word_for_word


def limited(**limits: Any) -> ResearchPolicy:
    return replace(default_policy(), limits=Limits(**limits))


@pytest.mark.parametrize("ceiling", [0, 1, 2, 5, 9])
@pytest.mark.parametrize("writes", [False, True], ids=["extractive", "written"])
async def test_requests_never_exceed_the_ceiling_and_the_report_says_what_is_missing(
    world: OfflineWorld, start: StartResearch, ceiling: int, writes: bool
) -> None:
    subjects = [world.pages[number].subject for number in (0, 12, 24, 3)]
    roles = Roles(plans=[plan(*subjects)])
    research = start(models=roles.routes if writes else None, policy=limited(requests=ceiling))
    await research.ask(f"What are the {subjects[0]} and the {subjects[1]}?")
    state = await research.answer(True)
    assert state["status"] == "complete"
    assert world.count() <= ceiling
    assert count_requests(await research.vault.entries()) <= ceiling
    assert "limits.requests" in state["final_report"]
    assert "## What was skipped" in state["final_report"]
    if not any(page.subject in state["final_report"] for page in world.pages):
        assert state["final_report"].startswith("# Insufficient evidence")


async def test_the_next_question_has_a_ceiling_of_its_own(world: OfflineWorld, start: StartResearch) -> None:
    one, two = world.pages[0].subject, world.pages[80].subject
    research = start(models=Roles(plans=[plan(one), plan(two)]).routes, policy=limited(requests=7))
    for subject in (one, two):
        await research.ask(f"What is the {subject}?")
        state = await research.answer(True)
        assert subject in state["final_report"]
    assert 7 < world.count() <= 14


async def test_tokens_are_counted_while_planning_too(start: StartResearch) -> None:
    """A loop of plans and audits cannot run past the ceiling, whatever number of revisions a caller asks for."""
    costly = say(plan("bridges")).using(input_tokens=400, output_tokens=100)
    roles = Roles(plans=[costly] * 50, audits=[say(audit("rejected", "J1")).using(input_tokens=400, output_tokens=100)])
    state = await start(models=roles.routes, policy=limited(tokens=2500)).ask("Why?", max_plan_revisions=1000)
    assert state["status"] == "failed"
    assert "limits.tokens" in state["error_message"]
    assert len(roles.planner.asked) + len(roles.auditor.asked) == 5


async def test_a_ceiling_of_tokens_before_writing_gives_quotes_and_says_so(world: OfflineWorld, start: StartResearch) -> None:
    roles = Roles(
        plans=[say(plan(world.pages[0].subject)).using(input_tokens=900, output_tokens=50)],
        audits=[say(audit()).using(input_tokens=40, output_tokens=20)],
        write=word_for_word,
    )
    research = start(models=roles.routes, policy=limited(tokens=1000))
    await research.ask("How long is it?")
    state = await research.answer(True)
    assert state["status"] == "complete"
    assert roles.writer.asked == []
    assert "limits.tokens" in state["final_report"]


class Watch:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time


async def test_a_ceiling_of_time_ends_the_search_and_not_the_research(world: OfflineWorld, start: StartResearch) -> None:
    watch = Watch()
    research = start(clock=watch, policy=limited(seconds=60))
    await research.ask(f"What is the {world.pages[0].subject}?")
    watch.time += timedelta(seconds=61)
    state = await research.answer(True)
    assert state["status"] == "complete"
    assert world.requests == []
    assert "limits.seconds" in state["final_report"]


async def test_the_receipt_lists_what_left_and_nothing_else(world: OfflineWorld, start: StartResearch) -> None:
    research = start()
    await research.ask(f"What is the {world.pages[0].subject}?")
    await research.answer(True)
    receipt = egress_receipt(await research.vault.entries())
    hosts = sorted(request.host for request in world.requests)
    assert sorted(line["host"] for line in receipt["requests"]) == hosts


async def test_the_receipt_keeps_apart_what_was_refused(world: OfflineWorld, start: StartResearch) -> None:
    """By the address a name leads to, by robots.txt, by a redirect: none of it left, and each is told with its rule."""
    urls = [
        "https://inside.example/secret",
        "https://traps.example/private/notes",
        "https://traps.example/redirect/private",
        "https://127.0.0.1/admin",
    ]
    research = start(models=Roles(plans=[plan(*urls[:3], tool="fetch_page")]).routes)
    await research.ask("What is there?", context_urls=urls[3:])
    await research.answer(True)
    receipt = egress_receipt(await research.vault.entries())
    sent = [(line["host"], line["why"]) for line in receipt["requests"] if line["to"] == "web"]
    assert sorted({host for host, _ in sent}) == sorted({request.host for request in world.requests}) == ["traps.example"]
    assert len(sent) == world.count()
    refused = {(line["url"], line["rule"]) for line in receipt["refused"]}
    assert refused == {
        ("https://inside.example/robots.txt", "address"),
        ("https://inside.example/secret", "address"),
        ("https://traps.example/private/notes", "robots"),
        ("https://traps.example/redirect/private", "address"),
        ("https://127.0.0.1/admin", "address"),
    }


class Known(ScriptedModel):
    """A model whose price is in the table."""

    model_name: str = "gpt-5"

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return {"ls_provider": "openai", "ls_model_name": self.model_name}


async def test_the_ceiling_of_money_holds_beside_a_model_without_a_price(start: StartResearch) -> None:
    """Known calls count against it, and the sentence names the models whose price nobody knows."""
    costly = say(plan("bridges")).using(input_tokens=100_000, output_tokens=0)
    refused = say(audit("rejected", "J1")).using(input_tokens=1, output_tokens=0)
    roles = Roles(audits=[refused])
    roles.planner = Known([costly] * 50)
    state = await start(models=roles.routes, policy=limited(cost_usd=0.3, tokens=10**9)).ask("Why?", max_plan_revisions=1000)
    assert state["status"] == "failed"
    assert "limits.cost_usd" in state["error_message"]
    assert "scriptedmodel" in state["error_message"]
    assert len(roles.planner.asked) == 3


async def test_a_model_without_a_price_does_not_switch_the_ceiling_of_money_off(start: StartResearch) -> None:
    """Its calls count with an assumed price, which the gate and the sentence about the ceiling say."""
    costly = say(plan("bridges")).using(input_tokens=100_000, output_tokens=0)
    roles = Roles(plans=[costly] * 50, audits=[say(audit("rejected", "J1")).using(input_tokens=1, output_tokens=0)])
    state = await start(models=roles.routes, policy=limited(cost_usd=1.2, tokens=10**9)).ask("Why?", max_plan_revisions=1000)
    assert state["status"] == "failed"
    assert (
        "The ceiling of 1.2 USD is reached (rule limits.cost_usd). No price is known for scriptedmodel"
        in state["error_message"]
    )
    assert len(roles.planner.asked) == 3
