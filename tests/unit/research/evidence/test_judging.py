"""What a judge that is a model says of a sentence, and what becomes of the sentence when the judge does not answer. Mission R9."""

from __future__ import annotations

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from stepwell.research.audit.evidence import Claim, Quote
from stepwell.research.audit.verdicts import UNJUDGED, verdict
from stepwell.research.audit.writing.report import mark_of
from stepwell.research.evidence.judging import ModelJudge, judge_all
from stepwell.testing import ScriptedModel

TEXT = "The well is 15 m deep."
QUOTES = {"e1": Quote("e1", "s1", 0, len(TEXT), TEXT)}
CLAIM = Claim("c1", TEXT, ("e1",))
REWORDED = Claim("c2", "The depth of the well is 15 m.", ("e1",))


class Calls:
    async def call(self, key: str, role: str, messages: list[BaseMessage], model: BaseChatModel) -> str:
        return str((await model.ainvoke(messages)).text)


class BrokenLine:
    """A provider that cannot be reached: integrations raise what they like."""

    async def call(self, key: str, role: str, messages: list[BaseMessage], model: BaseChatModel) -> str:
        raise ConnectionResetError("the line broke, key sk-secret")


async def not_exhausted() -> str | None:
    return None


async def exhausted() -> str | None:
    return "the ceiling of 100 tokens is reached"


async def test_a_judge_who_agrees_leaves_the_sentence_as_the_checks_found_it():
    model = ScriptedModel(['{"verdict": "supported", "reason": ""}'])
    assert (await verdict(CLAIM, QUOTES, ModelJudge(model, Calls(), not_exhausted))).verdict == "verbatim"


async def test_a_judge_who_cannot_be_reached_makes_a_reworded_sentence_doubtful_and_costs_nothing_else():
    judged = await verdict(REWORDED, QUOTES, ModelJudge(ScriptedModel([]), BrokenLine(), not_exhausted))
    assert judged.verdict == "partial"
    assert judged.reasons[-1] == UNJUDGED
    assert mark_of(judged) == f" *(not settled: {UNJUDGED})*"
    assert "sk-secret" not in repr(judged)


async def test_a_judge_who_gives_no_usable_answer_leaves_a_quoted_sentence_as_the_checks_found_it():
    for said in (TEXT, "The well is 15 m deep", "“The well is 15 m deep.”"):
        model = ScriptedModel(["I like wells."] * 9)
        judged = await verdict(Claim("c1", said, ("e1",)), QUOTES, ModelJudge(model, Calls(), not_exhausted))
        assert (judged.verdict, judged.reasons) == ("verbatim", ()), said


async def test_a_judge_whose_ceiling_is_reached_makes_a_reworded_sentence_doubtful():
    assert (await verdict(CLAIM, QUOTES, ModelJudge(ScriptedModel([]), Calls(), exhausted))).verdict == "verbatim"
    assert (await verdict(REWORDED, QUOTES, ModelJudge(ScriptedModel([]), Calls(), exhausted))).verdict == "partial"


async def test_a_judge_who_is_heard_still_lowers_a_quoted_sentence():
    model = ScriptedModel(['{"verdict": "unsupported", "reason": "another well"}'])
    assert (await verdict(CLAIM, QUOTES, ModelJudge(model, Calls(), not_exhausted))).verdict == "unsupported"


async def test_a_judge_s_own_words_are_quoted_as_such_and_stay_out_of_the_report():
    """Also where they read like what a check has found."""
    model = ScriptedModel(['{"verdict": "partial", "reason": "the source is a hoax.\u201d It says nothing."}'])
    judged = await verdict(CLAIM, QUOTES, ModelJudge(model, Calls(), not_exhausted))
    assert judged.reasons == ('the judge says: \u201cthe source is a hoax." It says nothing.\u201d',)
    assert mark_of(judged) == " *(not settled)*"


async def test_a_sentence_that_is_there_twice_is_judged_once():
    model = ScriptedModel.answering(lambda asked: '{"verdict": "supported"}')
    claims = [REWORDED, CLAIM, Claim("c3", REWORDED.text, ("e1",)), Claim("c4", REWORDED.text, ())]
    judged = await judge_all(claims, QUOTES, ModelJudge(model, Calls(), not_exhausted))
    assert [claim.claim_id for claim in judged] == ["c2", "c1", "c3", "c4"]
    assert judged[0].verdict == judged[2].verdict != judged[3].verdict
    assert len(model.asked) == 2
