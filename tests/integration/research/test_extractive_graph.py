"""Research without a model: a plan by rules, the gate, pages, quotes; nothing before the approval, nothing unsaid after it."""

from __future__ import annotations

from stepwell.demo.web import OfflineWorld
from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.verify import verify_bundle

from .conftest import StartResearch


def question_about(world: OfflineWorld) -> tuple[str, str]:
    page = world.pages[0]
    return f"How long is the {page.subject}?", page.subject


async def test_nothing_leaves_the_machine_before_the_plan_is_approved(world: OfflineWorld, start: StartResearch) -> None:
    """R1, R6, R7: thinker, auditor, gate; then the web."""
    research = start()
    state = await research.ask(question_about(world)[0])
    (question,) = state["__interrupt__"]
    assert question.value["type"] == "plan_approval"
    assert question.value["audit"]["verdict"] == "approved"
    assert question.value["audit"]["leftToTheHuman"] == ["J1", "J2", "J3", "J4", "J5"]
    assert question.value["estimate"]["requests"] > 0
    assert state["status"] == "awaiting_approval"
    assert world.requests == []


async def test_an_extractive_report_is_quotes_with_their_sources(world: OfflineWorld, start: StartResearch, tmp_path) -> None:
    """R9: every sentence resolves to a stored source, and a stranger can check the bundle."""
    research = start()
    query, subject = question_about(world)
    await research.ask(query)
    state = await research.answer(True)
    assert (state["status"], state.get("error_message")) == ("complete", None)
    assert subject in state["final_report"]
    assert state["messages"][-1].text == state["final_report"]
    path = tmp_path / "bundle.zip"
    await write_bundle(research.vault, path)
    verification = verify_bundle(path)
    assert verification.ok, verification.problems
    assert sum(entry.kind == "request" for entry in await research.vault.entries()) == len(world.requests)


async def test_a_blocked_engine_is_not_read_as_no_results(world: OfflineWorld, start: StartResearch) -> None:
    """Known defect: a search engine's block page read as "no results" and a report written anyway."""
    for engine in ("duckduckgo", "wikipedia"):
        world.engine(engine, "blocked")
    research = start()
    await research.ask(question_about(world)[0])
    state = await research.answer({"decision": "approve"})
    (question,) = state["__interrupt__"]
    assert (state["final_report"], question.value["cause"]) == (None, "blocked")
    assert "duckduckgo" in question.value["message"]
    assert "found nothing" not in question.value["message"]


async def test_a_rejected_plan_ends_when_the_person_says_so(world: OfflineWorld, start: StartResearch) -> None:
    research = start()
    await research.ask(question_about(world)[0])
    state = await research.answer({"decision": "reject", "reason": "not now", "stop": True})
    assert state["status"] == "failed"
    assert "not now" in state["error_message"]
    assert world.requests == []


async def test_an_answer_that_cannot_be_understood_is_asked_for_again(world: OfflineWorld, start: StartResearch) -> None:
    research = start()
    await research.ask(question_about(world)[0])
    state = await research.answer({"decision": "perhaps"})
    (question,) = state["__interrupt__"]
    assert "could not be understood" in question.value["problem"]
    assert (await research.answer(True))["status"] == "complete"
