"""Research with models that plan, audit, judge and write, on the offline world. Mission R1 to R7, R9."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.types import Command

from stepwell.demo.web import OfflineWorld
from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.audit.writing.references import check_references
from stepwell.research.graph.schemas import ResearchPlan, ResearchStep
from stepwell.testing import fail

from .conftest import Research, StartResearch
from .roles import Evidence, Roles, audit, plan

QUESTION = "How long is the Vardal bridge?"


async def trail(research: Research, kind: str) -> list[dict[str, Any]]:
    return [entry.data for entry in await research.vault.entries() if entry.kind == kind]


def gate(state: dict[str, Any]) -> dict[str, Any]:
    (question,) = state["__interrupt__"]
    return question.value


async def test_what_a_model_thinks_before_it_answers_stands_in_the_trace(world: OfflineWorld, start: StartResearch) -> None:
    """R3: `rawThought`, where a model gives it."""
    thinking = AIMessage(
        [{"type": "reasoning", "reasoning": "One search will do."}, {"type": "text", "text": plan(world.pages[0].subject)}]
    )
    state = await start(models=Roles(plans=[thinking], audits=[audit()]).routes).ask(QUESTION)
    thoughts = {entry.node: entry.raw_thought for entry in state["reasoning"]}
    assert (thoughts["thinker"], thoughts["auditor"]) == ("One search will do.", None)


async def test_a_plan_is_revised_with_what_was_said_against_it(world: OfflineWorld, start: StartResearch) -> None:
    """R1, R4, R6: the machine part and the auditing model both send a plan back, with the rule."""
    roles = Roles(
        plans=[plan("ask ann@mail.example"), plan("bridges are bad"), plan(world.pages[0].subject)],
        audits=[audit("needs_revision", "J4"), audit()],
    )
    research = start(models=roles.routes)
    state = await research.ask(QUESTION)
    assert gate(state)["plan"]["steps"][0]["input"] == world.pages[0].subject
    first, second, third = (asked.human for asked in roles.planner.asked)
    assert "Your last plan" not in first
    assert "outgoing.email_address" in second
    assert "J4: it is so" in third
    assert "look at both sides" in third
    assert len(roles.audits_asked) == 2, "what the machine part refuses, no model is asked about"
    assert (state["plan_revision_count"], state["plan"].revision) == (2, 2)
    assert [len(await trail(research, kind)) for kind in ("plan", "audit")] == [3, 3]
    assert world.requests == []


@pytest.mark.parametrize(
    ("answer", "rule"),
    [(audit("rejected"), "audit.no_reason"), (audit("approved", "J3"), "J3")],
    ids=["no reasons", "approved in spite of a rule"],
)
async def test_the_ceiling_of_revisions_says_so(world: OfflineWorld, start: StartResearch, answer: str, rule: str) -> None:
    """R5, R6. Known defects: silent end at the revision ceiling; a rejection without listed violations counted as approval."""
    roles = Roles(plans=[plan(f"bridge {n}") for n in range(5)], audits=[answer])
    state = await start(models=roles.routes).ask(QUESTION)
    assert "__interrupt__" not in state
    assert state["status"] == "failed"
    assert state["error_message"].startswith("No plan follows the policy: 5 of 5 plans were not approved.")
    assert rule in state["error_message"]
    assert state["reasoning"][-1].summary == state["error_message"]
    assert state["final_report"] is None
    assert world.requests == []


async def test_an_auditor_that_cannot_be_read_ends_the_research(world: OfflineWorld, start: StartResearch) -> None:
    """R6: fail closed, and at once: another plan would not help."""
    roles = Roles(plans=[plan(f"bridge {n}") for n in range(5)], audits=["Fine by me!"])
    state = await start(models=roles.routes).ask(QUESTION)
    assert "__interrupt__" not in state
    assert (state["status"], state["final_report"]) == ("failed", None)
    assert state["error_message"] == (
        "The plan could not be audited, so it is not approved. The model gave no usable audit in 3 tries. "
        "What is wrong with the last one: there is no JSON object in it. Ask again, or choose another model."
    )
    assert (len(roles.planner.asked), len(roles.audits_asked)) == (1, 3)
    assert world.requests == []


async def test_a_judge_that_cannot_be_read_is_asked_about_one_sentence(world: OfflineWorld, start: StartResearch) -> None:
    roles = Roles(plans=[plan(world.pages[0].subject)], judge=lambda asked: "splendid")
    research = start(models=roles.routes)
    await research.ask(QUESTION)
    state = await research.answer(True)
    judged = [asked for asked in roles.auditor.asked if asked.system.startswith("You check one sentence")]
    assert (state["status"], len(judged)) == ("complete", 3)


async def test_the_cap_of_the_view_does_not_shorten_the_record(start: StartResearch) -> None:
    """R2. Known defect: the trace cap eating the audit record."""
    roles = Roles(plans=[plan(f"bridge {n}") for n in range(15)], audits=[audit("rejected", "J1")])
    research = start(models=roles.routes)
    state = await research.ask(QUESTION, max_plan_revisions=15)
    assert len(state["reasoning"]) == 20
    assert len(await trail(research, "plan")) == 15
    assert len(await trail(research, "audit")) == 15


async def test_three_tries_then_the_node_fails_in_the_trace(start: StartResearch) -> None:
    """R4, R5."""
    roles = Roles(plans=["no plan", '{"objective": "x"}', '{"objective": "x", "steps": []}'])
    state = await start(models=roles.routes).ask(QUESTION)
    assert (state["status"], len(roles.planner.asked)) == ("failed", 3)
    assert "The model gave no usable plan in 3 tries" in state["error_message"]
    assert (state["reasoning"][-1].node, state["reasoning"][-1].summary) == ("thinker", f"Error: {state['error_message']}")
    assert "steps: Field required" in roles.planner.asked[2].human


@pytest.mark.parametrize("role", ["planner", "auditor", "writer"])
async def test_a_model_that_breaks_ends_the_research_with_a_message(
    world: OfflineWorld, start: StartResearch, role: str
) -> None:
    """R5."""
    broken = fail(RuntimeError("the provider is on fire"))
    roles = Roles(
        plans=[broken if role == "planner" else plan(world.pages[0].subject)],
        audits=[broken] if role == "auditor" else None,
        write=lambda shown: broken if role == "writer" else "",  # type: ignore[arg-type, return-value]  # a script may hold it
    )
    research = start(models=roles.routes)
    state = await research.ask(QUESTION)
    if role == "writer":
        state = await research.answer(True)
    assert (state["status"], state["error_message"]) == ("failed", "the provider is on fire")
    assert state["reasoning"][-1].summary == "Error: the provider is on fire"
    assert not state["final_report"]


async def test_an_edited_plan_is_audited_again(world: OfflineWorld, start: StartResearch) -> None:
    """R7: what a person wrote has to keep to the policy too."""
    roles = Roles(plans=[plan("bridges"), plan("other bridges")])
    research = start(models=roles.routes)
    await research.ask(QUESTION)
    own = {"objective": "Mine", "steps": [{"input": world.pages[0].subject}]}
    state = await research.answer({"decision": "edit", "plan": own})
    assert gate(state)["plan"]["steps"][0]["input"] == world.pages[0].subject
    assert (state["human_approved"], len(roles.audits_asked)) == (False, 2)
    bad = {"objective": "Mine", "steps": [{"tool": "fetch_page", "input": "http://router.local/"}]}
    state = await research.answer({"decision": "edit", "plan": bad})
    assert "domains.denied" in roles.planner.last_asked.human, "it went back to the thinker, with the rule"
    assert gate(state)["plan"]["steps"][0]["input"] == "other bridges"
    assert world.requests == []
    assert [said["decision"] for said in await trail(research, "approval")] == ["edit", "edit"]
    assert (await research.answer(True))["status"] == "complete"


async def test_a_rejected_plan_goes_back_with_the_reason_as_often_as_the_person_likes(
    world: OfflineWorld, start: StartResearch
) -> None:
    """R7. Two plain rejections are two: the second plan must not be the first again, and the record has all of them."""
    roles = Roles(plans=[plan("one"), plan("two"), plan("three"), plan("four")])
    research = start(models=roles.routes)
    await research.ask(QUESTION)
    seen = [gate(await research.answer(answer))["plan"]["steps"][0]["input"] for answer in (False, False)]
    state = await research.answer({"decision": "reject", "reason": "Too broad."})
    assert [*seen, gate(state)["plan"]["steps"][0]["input"]] == ["two", "three", "four"]
    assert "Too broad." in roles.planner.last_asked.human
    assert '"three"' in roles.planner.last_asked.human, "the thinker is shown what was rejected"
    assert (await research.answer(True))["status"] == "complete"
    assert [said["decision"] for said in await trail(research, "approval")] == ["reject", "reject", "reject", "approve"]


async def test_the_same_plan_again_can_be_approved(world: OfflineWorld, start: StartResearch) -> None:
    roles = Roles(plans=[plan(world.pages[0].subject), plan(world.pages[0].subject)])
    research = start(models=roles.routes)
    await research.ask(QUESTION)
    await research.answer({"decision": "reject", "reason": "sure?"})
    assert (await research.answer(True))["status"] == "complete"
    assert [said["decision"] for said in await trail(research, "approval")] == ["reject", "approve"]


async def test_an_approved_plan_stays_settled(world: OfflineWorld, start: StartResearch) -> None:
    """R7: nothing but what was approved is carried out, whoever changes the state in between."""
    roles = Roles(plans=[plan(world.pages[0].subject)])
    research = start(models=roles.routes)
    await research.ask(QUESTION)
    await research.graph.ainvoke(Command(resume=True), research.config, interrupt_before=["tool_executor"])
    other = ResearchPlan(objective="x", steps=(ResearchStep(tool="fetch_page", input="https://collector.example/?all"),))
    await research.graph.aupdate_state(research.config, {"plan": other}, as_node="hitl_gate")
    state = await research.graph.ainvoke(None, research.config)
    assert state["status"] == "failed"
    assert "not the one that was approved" in state["error_message"]
    assert world.requests == []


def lying(world: OfflineWorld, shown: Evidence) -> str:
    """True, false, made up, and dressed with addresses."""
    page = world.pages[0]
    number = next(fact for fact in page.facts if fact.kind == "number")
    where = next(name for name, text in shown.items() if number.sentence in text)
    wrong = re.sub(r"[\d,]+", "987,654", number.sentence, count=1)
    return "\n\n".join(
        [
            "## Length",
            f"{number.sentence} [{where}]",
            f"{wrong} [{where}]",
            f"The {page.subject} is haunted by seven ghosts [{where}].",
            "Everybody loves it.",
            f"{number.sentence} [e999]",
            f"See [the proof](https://invented.example/proof) and https://invented.example/more [{where}].",
            "## Sources",
            "1. https://invented.example/bibliography",
        ]
    )


async def test_a_report_holds_only_what_its_sources_say(world: OfflineWorld, start: StartResearch, tmp_path: Path) -> None:
    """R9: no invented address, no unsupported and no contradicted sentence; every citation leads to a stored source."""
    roles = Roles(plans=[plan(world.pages[0].subject)], write=lambda shown: lying(world, shown))
    research = start(models=roles.routes)
    await research.ask(QUESTION)
    state = await research.answer(True)
    report = state["final_report"]
    number = next(fact for fact in world.pages[0].facts if fact.kind == "number")
    assert f"{number.sentence.rstrip('.')} [1]." in report
    for gone in ("987,654", "ghosts", "Everybody", "invented.example", "e999"):
        assert gone not in report
    assert "left out because the evidence does not support" in report
    sources = (await trail(research, "source"))[0]
    assert sources["url"] in report
    path = tmp_path / "bundle.zip"
    await write_bundle(research.vault, path)
    assert verify_bundle(path).ok, verify_bundle(path).problems
    verdicts = {claim["text"]: claim["verdict"] for claim in await trail(research, "claim")}
    assert verdicts["Everybody loves it."] == "unsupported"
    assert next(verdict for text, verdict in verdicts.items() if "987,654" in text) == "contradicted"


@pytest.mark.parametrize(
    ("opinion", "kept"), [("supported", True), ("partial", True), ("unsupported", False), ("contradicted", False)]
)
async def test_a_judge_can_lower_a_verdict(world: OfflineWorld, start: StartResearch, opinion: str, kept: bool) -> None:
    roles = Roles(plans=[plan(world.pages[0].subject)], judge=lambda asked: opinion)
    research = start(models=roles.routes)
    await research.ask(QUESTION)
    report = (await research.answer(True))["final_report"]
    assert ("## Sources" in report) is kept
    assert ("*(not settled)*" in report) is (opinion == "partial")
    assert report.startswith("# Insufficient evidence") is not kept


async def test_no_evidence_is_no_report(world: OfflineWorld, start: StartResearch) -> None:
    for engine in ("duckduckgo", "wikipedia"):
        world.engine(engine, "empty")
    roles = Roles(plans=[plan("nothing at all")], write=lambda shown: "All is well [e1].")
    research = start(models=roles.routes)
    await research.ask(QUESTION)
    state = await research.answer(True)
    assert state["final_report"].startswith("# Insufficient evidence")
    assert roles.writer.asked == [], "nobody is asked to write from nothing"


async def test_notes_of_the_device_reach_thinker_and_writer_and_can_be_cited(world: OfflineWorld, start: StartResearch) -> None:
    """R3: evidence of kind `device`; the notes themselves go nowhere."""
    note = "Our own survey of the Zorkmid pier found 41 cracked beams in the spring."
    roles = Roles(
        plans=[plan(world.pages[0].subject)],
        write=lambda shown: "\n\n".join(f"{text} [{name}]" for name, text in shown.items() if "Zorkmid" in text),
    )
    research = start(models=roles.routes)
    await research.ask(
        "What did our survey of the Zorkmid pier find?", knowledge_context=note, context_urls=[world.pages[0].url]
    )
    assert note in roles.planner.asked[0].human
    assert world.pages[0].url in roles.planner.asked[0].human
    state = await research.answer(True)
    assert "41 cracked beams" in state["final_report"]
    assert "(from your device)" in state["final_report"]
    device = [source for source in await trail(research, "source") if source["kind"] == "device"]
    assert [(source["url"], source["title"]) for source in device] == [(None, "Your notes (q1)")]
    assert not any("Zorkmid" in f"{request.path} {request.body!r}" for request in world.requests)


async def test_sources_are_admitted_or_denied_before_anything_is_written(world: OfflineWorld, start: StartResearch) -> None:
    roles = Roles(plans=[plan(world.pages[0].subject)])
    research = start(models=roles.routes)
    await research.ask(QUESTION, review_sources=True)
    state = await research.answer(True)
    question = gate(state)
    assert question["type"] == "source_review"
    assert roles.writer.asked == []
    state = await research.answer({"deny": ["s99"]})
    assert "problem" in gate(state)
    denied, *_ = [source for source in question["sources"] if source["url"] == world.pages[0].url]
    state = await research.answer({"deny": [denied["id"]]})
    assert state["status"] == "complete"
    assert state["denied_sources"] == [denied["id"]]
    assert denied["url"] not in state["final_report"]
    shown = "\n".join(asked.human for asked in roles.writer.asked)
    assert world.pages[0].facts[0].sentence not in shown
    (said,) = await trail(research, "source_review")
    assert said["deny"] == [denied["id"]]


async def test_a_thread_holds_several_questions(world: OfflineWorld, start: StartResearch) -> None:
    """Each has its own plan, gate and ceilings; ids of sources and quotes go on."""
    one, two = world.pages[0], world.pages[80]
    roles = Roles(plans=[plan(one.subject), plan(two.subject), plan(two.subject)])
    research = start(models=roles.routes)
    await research.ask(f"What is the {one.subject}?")
    first = await research.answer(True)
    state = await research.ask(f"What is the {two.subject}?")
    assert gate(state)["type"] == "plan_approval"
    assert (state["human_approved"], state["final_report"], state["question_number"]) == (False, None, 2)
    await research.answer(False)
    second = await research.answer(True)
    assert one.subject in first["final_report"]
    assert two.subject in second["final_report"]
    assert [message.type for message in second["messages"]] == ["ai", "ai"]
    ids = [source["source_id"] for source in await trail(research, "source")]
    assert ids == [f"s{n}" for n in range(1, len(ids) + 1)]
    claims = [claim["claim_id"] for claim in await trail(research, "claim")]
    assert len(set(claims)) == len(claims)
    assert any(claim.startswith("q2.") for claim in claims)


async def test_an_old_message_is_not_asked_again(start: StartResearch) -> None:
    """A research that ended without a report leaves the question as the last message of its thread."""
    research = start(models=Roles(plans=[plan("a"), plan("b")]).routes)
    await research.graph.ainvoke({"messages": [HumanMessage("How tall is it?")]}, research.config)
    await research.answer({"decision": "reject", "stop": True})
    state = await research.ask("How old is it?")
    assert state["user_query"] == "How old is it?"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"user_query": "  "}, "There is no question"),
        ({"user_query": "why " * 2000}, "the limit is 4,000"),
        ({"user_query": "why", "max_plan_revisions": 0}, "whole number"),
        ({"user_query": "why", "max_plan_revisions": "many"}, "whole number"),
    ],
)
async def test_bad_input_fails_with_a_sentence(start: StartResearch, given: dict[str, Any], says: str) -> None:
    research = start()
    state = await research.graph.ainvoke(given, research.config)
    assert state["status"] == "failed"
    assert says in state["error_message"]


async def test_the_report_cites_by_number_and_lists_what_it_cites(world: OfflineWorld, start: StartResearch) -> None:
    from stepwell.research.audit.ledger import read_evidence

    roles = Roles(plans=[plan(world.pages[0].subject, world.pages[5].subject)])
    research = start(models=roles.routes)
    await research.ask(QUESTION)
    state = await research.answer(True)
    evidence = read_evidence(await research.vault.entries())
    assert check_references(state["final_report"], evidence.sources) == []
    assert json.dumps(state["plan"].model_dump(mode="json"))
    assert all(step.output for step in state["plan"].steps), "what came of each step is told"
