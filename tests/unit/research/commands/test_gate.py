"""The gate in the terminal: typed lines in, what resumes the run out."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from stepwell.research.commands.gate import Gate, GateAnswers, OutageError, estimate_line, parse_edited_plan, plan_lines
from stepwell.research.commands.progress import ResearchProgress
from stepwell.terminal.dialogue.session import OpenInterrupt
from stepwell.terminal.dialogue.terminal import Terminal

STEPS = [
    {"id": "one", "tool": "web_search", "input": "wells", "rationale": "first", "dependsOn": [], "output": None},
    {
        "id": "two",
        "tool": "fetch_page",
        "input": "https://wells.example/",
        "rationale": "",
        "dependsOn": ["one"],
        "output": None,
    },
]
INTERRUPT: dict[str, Any] = {
    "type": "plan_approval",
    "plan": {"objective": "Know wells", "steps": STEPS, "estimatedTokenBudget": 0, "revision": 0},
    "audit": {"verdict": "approved", "violations": [], "suggestions": ["ask fewer"], "leftToTheHuman": ["J2"]},
    "estimate": {"requests": 7, "tokens": 12000, "costUsd": None},
    "rules": {"J2": "Nothing private."},
}
SOURCES = {"type": "source_review", "sources": [{"id": f"s{n}", "title": f"Page {n}", "url": None} for n in (1, 2, 3)]}


def answer(
    typed: str, interrupt: dict[str, Any] = INTERRUPT, *, edit: Callable[[str], str] | None = None, yes: bool = False
) -> tuple[Any, str]:
    screen = io.StringIO()
    terminal = Terminal(io.StringIO(typed), screen)
    return Gate(terminal.ask, terminal.line, edit, approve_clean=yes).answer(interrupt), screen.getvalue()


def test_the_plan_is_shown_with_rules_and_estimate():
    text = "\n".join(plan_lines(INTERRUPT))
    assert "  1. web_search  wells  (first)" in text
    assert "[J2] Nothing private." in text
    assert "suggested: ask fewer" in text
    assert "at most 7 requests, 12,000 tokens, cost unknown" in text


def test_a_violation_is_shown_by_its_rule():
    audit = {"verdict": "rejected", "violations": [{"rule": "domains.denied", "reason": "'x' is denied"}]}
    assert "  [domains.denied] 'x' is denied" in list(plan_lines({**INTERRUPT, "audit": audit}))


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("a\n", {"decision": "approve"}),
        ("yes\n", {"decision": "approve"}),
        ("r too narrow\n", {"decision": "reject", "reason": "too narrow"}),
        ("s\n", {"decision": "reject", "stop": True}),
        ("s not today\n", {"decision": "reject", "stop": True, "reason": "not today"}),
        ("what?\n\nr\nr too wide\n", {"decision": "reject", "reason": "too wide"}),
    ],
)
def test_a_line_is_a_decision(typed: str, expected: dict[str, Any]):
    assert answer(typed)[0] == expected


def test_a_step_gets_another_input_and_keeps_the_rest():
    said, _ = answer("e 1 deep wells\n")
    assert said["decision"] == "edit"
    assert said["plan"]["steps"][0] == {**STEPS[0], "input": "deep wells"}
    assert said["plan"]["steps"][1] == STEPS[1]


def test_a_step_is_left_out_and_another_added():
    assert [step["id"] for step in answer("d 1\n")[0]["plan"]["steps"]] == ["two"]
    added = answer("+ wells in Gujarat\n")[0]["plan"]["steps"][-1]
    assert (added["tool"], added["input"]) == ("web_search", "wells in Gujarat")


@pytest.mark.parametrize("typed", ["e 3 x\n", "e 0 x\n", "d 9999999999999999999999\n", "e x\n", "e 1\n", "+\n"])
def test_an_edit_that_means_nothing_is_asked_again(typed: str):
    assert answer(typed + "s\n")[0] == {"decision": "reject", "stop": True}


def test_the_last_step_cannot_be_left_out():
    plan = {**INTERRUPT["plan"], "steps": STEPS[:1]}
    said, screen = answer("d 1\ns\n", {**INTERRUPT, "plan": plan})
    assert said["stop"]
    assert "A plan needs a step" in screen


def test_length_and_sections_of_the_report_can_be_changed():
    formed = {**INTERRUPT, "plan": {**INTERRUPT["plan"], "words": 200, "outline": ["Depth", "Age"]}}
    said, screen = answer("w many\nw 5\nw 150\n", formed)
    assert (said["decision"], said["plan"]["words"], said["plan"]["outline"]) == ("edit", 150, ["Depth", "Age"])
    assert "The report: about 200 words, sections Depth; Age." in screen
    assert "as in: w 200" in screen
    assert "words: " in screen, "5 are too few, and the fault is named"
    said, screen = answer("o 30 metres deep\no Age; Depth; Builders\n", formed)
    assert said["plan"]["outline"] == ["Age", "Depth", "Builders"]
    assert "cannot be the title of a section" in screen
    assert answer("o\n", formed)[0]["plan"]["outline"] == []
    assert answer("w\n", formed)[0]["plan"]["words"] is None


def test_the_whole_plan_is_edited_as_json():
    def edit(text: str) -> str:
        plan = json.loads(text)
        assert set(plan) == {"objective", "steps", "followUps", "words", "outline"}
        return json.dumps({**plan, "objective": "Know old wells", "followUps": 0})

    said, _ = answer("e\n", edit=edit)
    assert (said["decision"], said["plan"]["objective"], said["plan"]["followUps"]) == ("edit", "Know old wells", 0)


def test_a_person_says_how_many_further_searches_may_follow():
    said, screen = answer("f\nf many\nf 9\nf 1\n", {**INTERRUPT, "plan": {**INTERRUPT["plan"], "followUps": 2}})
    assert (said["decision"], said["plan"]["followUps"], said["plan"]["steps"]) == ("edit", 1, STEPS)
    assert "Then at most 2 further searches for names found on the pages." in screen
    assert "as in: f 1" in screen
    assert "followUps: " in screen, "9 are too many, and the fault is named"
    assert "further search" not in answer("a\n")[1], "a plan without follow-ups does not speak of them"


def test_a_plan_for_own_documents_says_that_nothing_leaves_and_another_search_stays_there():
    steps = [{**STEPS[0], "tool": "search_documents"}]
    estimate = {"requests": 0, "tokens": 0, "costUsd": 0.0, "sends": "Nothing will leave the machine."}
    asked = {**INTERRUPT, "plan": {**INTERRUPT["plan"], "steps": steps, "followUps": 1}, "estimate": estimate}
    said, screen = answer("+ cracked beams\n", asked)
    assert said["plan"]["steps"][-1]["tool"] == "search_documents"
    assert "Estimate: no requests to the web, 0 tokens, 0.00 USD\n  Nothing will leave the machine." in screen
    assert estimate_line({"requests": 0, "tokens": 8000, "costUsd": 0.0}) == (
        "no requests to the web, about 8,000 tokens to the model, 0.00 USD"
    )
    assert "Then at most 1 further search for names found in your documents." in screen


@pytest.mark.parametrize(
    ("edited", "sentence"),
    [
        ("{", "This is not JSON (line 1"),
        ("[]", "A plan must be a JSON object"),
        ('{"steps": []}', "steps: "),
        ('{"steps": [{"tool": "rm", "input": "x"}]}', "steps.0.tool: "),
    ],
)
def test_an_edit_that_cannot_be_read_leaves_the_plan_as_it_was(edited: str, sentence: str):
    said, screen = answer("e\na\n", edit=lambda text: edited)
    assert said == {"decision": "approve"}
    assert sentence in screen


def test_an_editor_that_changes_nothing_is_no_edit():
    assert answer("e\na\n", edit=lambda text: text)[0] == {"decision": "approve"}


def test_without_an_editor_the_way_out_is_said():
    assert "e 2 new words" in answer("e\ns\n")[1]


def test_yes_approves_only_without_violations():
    assert answer("", yes=True)[0] == {"decision": "approve"}
    broken = {**INTERRUPT, "audit": {"verdict": "rejected", "violations": [{"rule": "x", "reason": "y"}]}}
    assert answer("s\n", broken, yes=True)[0] == {"decision": "reject", "stop": True}


def test_nobody_there_is_the_end_of_input():
    with pytest.raises(EOFError):
        answer("")


@pytest.mark.parametrize(
    ("typed", "denied"),
    [("\n", []), ("s2\n", ["s2"]), ("s1, s3\n", ["s1", "s3"]), ("only s2\n", ["s1", "s3"]), ("s9\nonly\ns3\n", ["s3"])],
)
def test_sources_are_left_out_or_kept_by_name(typed: str, denied: list[str]):
    said = answer(typed, SOURCES)[0]
    assert said["deny"] == denied
    assert sorted(said["admit"] + said["deny"]) == ["s1", "s2", "s3"]


def test_a_problem_with_the_last_answer_is_said_first():
    assert answer("a\n", {**INTERRUPT, "problem": "It could not be understood."})[1].startswith("It could not be understood.")


def test_control_characters_of_a_plan_do_not_reach_the_screen():
    plan = {**INTERRUPT["plan"], "objective": "\x1b[2Jgone"}
    assert "\x1b" not in answer("a\n", {**INTERRUPT, "plan": plan})[1]


def test_progress_names_the_step_and_the_engine_once():
    progress = ResearchProgress()
    steps = [{**STEPS[0], "output": "duckduckgo found 9 results; 3 of 3 pages read."}, STEPS[1]]
    first = list(
        progress.lines("tool_executor", {"plan": {"steps": steps}, "reasoning": [{"summary": "Read 1 source for 1 step."}]})
    )
    assert first == ["search    step 1: duckduckgo found 9 results; 3 of 3 pages read."]
    done = [*steps[:1], {**STEPS[1], "output": "Read."}]
    assert list(progress.lines("tool_executor", {"plan": {"steps": done}})) == ["search    step 2: Read."]


def test_an_edited_plan_with_a_fault_names_its_place():
    said = parse_edited_plan(INTERRUPT["plan"], json.dumps({"steps": [{"tool": "web_search"}]}))
    assert isinstance(said, str)
    assert said.startswith("steps.0.input: Field required. The plan is unchanged.")


OUTAGE = OpenInterrupt("outage", {"type": "search_retry", "message": "No search engine serves us."})


def test_somebody_who_continues_tries_an_outage_again_once():
    answers = GateAnswers(Gate(lambda text: "a", lambda line: None), retries=True)
    assert answers([OUTAGE]) == {"outage": {"decision": "approve"}}
    with pytest.raises(OutageError, match="No search engine serves us"):
        answers([OUTAGE])


def test_an_outage_of_a_new_research_is_not_put_to_anybody():
    with pytest.raises(OutageError):
        GateAnswers(Gate(lambda text: pytest.fail("asked"), lambda line: None), retries=False)([OUTAGE])


WITH_DOCUMENTS = OpenInterrupt("outage", {**OUTAGE.value, "documents": True})


@pytest.mark.parametrize(
    ("typed", "decision"), [(["documents"], "documents"), (["hm", "AGAIN"], "approve"), (["yes", "documents"], "documents")]
)
def test_a_person_may_have_the_report_written_from_their_documents(typed: list[str], decision: str):
    said: list[str] = []
    gate = Gate(lambda text: typed.pop(0), said.append, approve_clean=True)
    assert GateAnswers(gate, retries=False)([WITH_DOCUMENTS]) == {"outage": {"decision": decision}}
    assert said == ["No search engine serves us."]


def test_nobody_and_nothing_typed_leave_the_outage_for_later():
    def nobody(text: str) -> str:
        raise EOFError

    for ask in (nobody, lambda text: ""):
        gate = Gate(ask, lambda line: None, approve_clean=True)
        with pytest.raises(OutageError, match="your documents alone were not chosen"):
            GateAnswers(gate, retries=False)([WITH_DOCUMENTS])


def test_every_other_interrupt_goes_to_the_gate():
    answers = GateAnswers(Gate(lambda text: "a", lambda line: None), retries=True)
    assert answers([OpenInterrupt("plan", INTERRUPT)]) == {"plan": {"decision": "approve"}}
