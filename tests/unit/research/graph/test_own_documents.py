"""Plans and steps for the user's own documents: nothing of them leaves, and what was found is said."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from stepwell.errors import ToolUseError
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.research.audit.trail import NewEntry
from stepwell.research.evidence.gathering import gather
from stepwell.research.evidence.inquiry import Inquiry
from stepwell.research.evidence.own_documents import has_route, read_own, search_own
from stepwell.research.evidence.policy.file import default_policy, parse_policy
from stepwell.research.graph.nodes.thinker import plan_by_rules
from stepwell.research.graph.schemas import MAX_STEPS, ResearchStep

from .conftest import Bench, MakeBench, found

QUESTION: dict[str, Any] = {
    "query": "Who repaired the Zorkmid pier?",
    "only_documents": "asked",
    "knowledge_context": "Remember to call the harbour office.",
    "snippets": [
        {"id": "a:0", "document_id": "a", "label": "survey.md", "text": "Kessel Works repaired the Zorkmid pier in 2019."},
        {"id": "a:60", "document_id": "a", "label": "survey.md", "text": "The Zorkmid pier has 41 beams made of oak."},
        {"id": "b:0", "document_id": "b", "label": "cake.md", "text": "Bake the cake at a low heat for an hour."},
    ],
}
LOCAL = ResearchStep(id="one", tool="search_documents", input="Zorkmid pier repaired")


async def open_question(made: Bench, **changes: Any) -> Inquiry:
    await made.vault.append(NewEntry("question", "q1:question", {**QUESTION, **changes}))
    return await Inquiry.open(made.equipment, {}, number=1, newest="", retries=0)


async def test_a_local_step_says_what_matched_and_records_it(bench: MakeBench) -> None:
    made = bench()
    got = await gather(await open_question(made), LOCAL, frozenset())
    assert got.output == "Matched 2 of 4 passages, in 1 of 3 documents."
    (entry,) = [entry for entry in await made.vault.entries() if entry.kind == "document_search"]
    assert entry.key == "q1:document_search:one"
    assert entry.data == {"step": "one", "query": "Zorkmid pier repaired", "found": ["a:0", "a:60"], "searched": 4}
    assert made.web.requests == []


async def test_a_local_step_that_finds_nothing_says_so(bench: MakeBench) -> None:
    step = LOCAL.model_copy(update={"input": "quantum chromodynamics"})
    got = await gather(await open_question(bench()), step, frozenset())
    assert got.output == "Matched none of 4 passages of 3 documents of yours."
    assert (got.skipped, got.unreached) == ((), None)


async def test_a_local_step_may_look_for_what_must_not_leave(bench: MakeBench) -> None:
    step = LOCAL.model_copy(update={"input": "letters of ann@mail.example about the pier"})
    got = await gather(await open_question(bench()), step, frozenset())
    assert "of 4 passages" in got.output


async def test_a_step_on_the_web_is_not_done_if_only_documents_are_to_be_searched(bench: MakeBench) -> None:
    made = bench(outcome=found("https://a.example/"))
    got = await gather(await open_question(made), ResearchStep(id="web", input="Zorkmid pier"), frozenset())
    assert "documents.only" in got.output
    assert made.web.requests == []
    assert (await open_question(bench(), only_documents="no")).only_documents is False


async def test_a_search_does_not_depend_on_ids_being_different() -> None:
    own = read_own({"snippets": [{**each, "id": "same"} for each in QUESTION["snippets"]]})
    assert len(await search_own("Zorkmid pier", own, LexicalEmbedder())) == 2


def test_the_policy_knows_the_tool_and_refuses_the_web_where_it_is_not_wanted() -> None:
    policy, web = default_policy(), ResearchStep(input="wells")
    assert policy.check_step(LOCAL, only_documents=True) == []
    assert [broken.rule for broken in policy.check_step(web, only_documents=True)] == ["documents.only"]
    assert policy.check_step(web) == []
    strict = parse_policy('```toml policy\n[tools]\nallowed = ["web_search"]\n```\n', "POLICY.md")
    assert [broken.rule for broken in strict.check_step(LOCAL)] == ["tools.allowed"]
    with pytest.raises(ToolUseError, match="does not allow your documents to be searched"):
        plan_by_rules("Why wells?", policy=strict, documents="only")


def test_with_documents_a_plan_looks_there_first_and_then_on_the_web() -> None:
    urls = [f"https://a.example/{n}" for n in range(9)]
    steps = plan_by_rules("Who repaired the Zorkmid pier?", urls, documents="too").steps
    assert [step.tool for step in steps[:2]] == ["search_documents", "fetch_page"]
    assert (steps[-1].tool, len(steps)) == ("web_search", MAX_STEPS)
    assert steps[0].input == "Who repaired the Zorkmid pier?"
    assert [step.tool for step in plan_by_rules("Zorkmid pier", documents="too", max_steps=1).steps] == ["search_documents"]


def test_with_only_documents_a_plan_looks_nowhere_else() -> None:
    steps = plan_by_rules("causes of the French Revolution and effects of the Continental System", documents="only").steps
    assert {step.tool for step in steps} == {"search_documents"}
    assert [step.input for step in steps[1:]] == ["causes French Revolution", "effects Continental System"]
    (step,) = plan_by_rules("What did ann@mail.example write?", documents="only").steps
    assert "ann@mail.example" in step.input, "it stays here, so it may be looked for"


@pytest.mark.parametrize(
    ("answers", "expected"), [([None], True), ([OSError(errno.ENETUNREACH, "no"), None], True), ([OSError()] * 2, False)]
)
def test_a_machine_without_a_way_out_is_offline(answers: list[OSError | None], expected: bool) -> None:
    asked: list[str] = []

    def connect(family: int, address: str) -> None:
        asked.append(address)
        if (said := answers[len(asked) - 1]) is not None:
            raise said

    assert has_route(connect) is expected
    assert set(asked) <= {"192.0.2.1", "2001:db8::1"}, "addresses that nobody has"
