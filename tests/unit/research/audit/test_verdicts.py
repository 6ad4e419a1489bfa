"""A judge confirms or lowers what the machine allows, and never raises it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.errors import ModelBusyError
from stepwell.research.audit.checks import check
from stepwell.research.audit.evidence import HELD, KEPT, VERDICTS, Claim, Quote, Verdict
from stepwell.research.audit.judge import JUDGED_AS, JudgedAs, Judgement, LexicalJudge
from stepwell.research.audit.verdicts import RANK as ORDER
from stepwell.research.audit.verdicts import UNJUDGED, lower_of, verdict

DEEP = "In 1890 Dresden had 40 deep wells."
QUOTES = {"e1": Quote("e1", "s1", 0, len(DEEP), DEEP)}
RANK = ["contradicted", "unsupported", "partial", "supported", "verbatim"]


class Says:
    """A judge that always says the same, and counts how often it was asked."""

    def __init__(self, answer: JudgedAs | Exception) -> None:
        self.answer = answer
        self.asked = 0

    async def judge(self, claim_text: str, quotes) -> Judgement:
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return Judgement(self.answer, "because I say so")


CLAIMS = {
    "verbatim": Claim("c0", DEEP, ("e1",)),
    "supported": Claim("c1", "Dresden had 40 wells in 1890.", ("e1",)),
    "partial": Claim("c2", "Dresden had 40 wells near Prague.", ("e1",)),
    "unsupported": Claim("c3", "Dresden had 40 wells in 1890."),
    "contradicted": Claim("c4", "Dresden had 47 wells in 1890.", ("e1",)),
}


@pytest.mark.parametrize("ceiling", VERDICTS)
@pytest.mark.parametrize("said", JUDGED_AS)
async def test_the_lower_of_both_counts(ceiling: Verdict, said: JudgedAs):
    judge = Says(said)
    result = await verdict(CLAIMS[ceiling], QUOTES, judge)
    agrees = said == "supported"  # a judge that agrees leaves a sentence word for word
    expected = min(ceiling, said, key=RANK.index) if judge.asked and not agrees else ceiling
    assert result.verdict == expected
    assert judge.asked == (ceiling in KEPT)
    assert (result.claim_id, result.text, result.evidence) == (
        CLAIMS[ceiling].claim_id,
        CLAIMS[ceiling].text,
        CLAIMS[ceiling].evidence,
    )
    assert result.reasons or expected in HELD


@pytest.mark.parametrize("error", [ModelBusyError("busy"), TimeoutError()])
async def test_a_judge_that_fails_leaves_doubt(error: Exception):
    result = await verdict(CLAIMS["supported"], QUOTES, Says(error))
    assert result.verdict == "partial"
    assert result.reasons == (UNJUDGED,)


@pytest.mark.parametrize("ceiling", VERDICTS)
async def test_a_judge_that_fails_raises_nothing_above_what_the_checks_allow(ceiling: Verdict):
    result = await verdict(CLAIMS[ceiling], QUOTES, Says(ModelBusyError("busy")))
    assert result.verdict == ("verbatim" if ceiling == "verbatim" else min(ceiling, "partial", key=RANK.index))


@pytest.mark.parametrize("text", [DEEP, "In 1890, Dresden had 40 deep wells"])
async def test_a_sentence_of_its_quote_needs_no_judge(text: str):
    result = await verdict(Claim("c6", text, ("e1",)), QUOTES, Says(ModelBusyError("busy")))
    assert (result.verdict, result.reasons) == ("verbatim", ())


async def test_a_part_of_a_sentence_and_another_order_are_not_word_for_word():
    for text in ("Dresden had 40 deep wells.", "In 1890 Dresden had deep 40 wells."):
        assert (await verdict(Claim("c7", text, ("e1",)), QUOTES, Says(TimeoutError()))).verdict == "partial"


async def test_anything_else_a_judge_raises_passes_through():
    with pytest.raises(ZeroDivisionError):
        await verdict(CLAIMS["supported"], QUOTES, Says(ZeroDivisionError()))


async def test_without_a_judge_shared_words_decide():
    assert (await verdict(CLAIMS["supported"], QUOTES)).verdict == "supported"
    loose = Claim("c5", "Dresden maintained 40 drinking fountains downtown.", ("e1",))
    assert (await verdict(loose, QUOTES)).verdict in ("partial", "unsupported")


async def test_the_lexical_judge_supports_a_quote_and_not_another_subject():
    judge = LexicalJudge()
    assert (await judge.judge(DEEP, list(QUOTES.values()))).verdict == "supported"
    assert (await judge.judge("Bananas are yellow.", list(QUOTES.values()))).verdict == "unsupported"
    assert (await judge.judge("Dresden had deep green bananas.", list(QUOTES.values()))).verdict == "partial"


WORDS = st.sampled_from(
    ["Dresden", "Prague", "40", "47", "deep", "wells", "had", "no", "In 1890", "never", "had 40 deep wells."]
)
TEXTS = st.one_of(st.just(DEEP), st.lists(WORDS, min_size=1, max_size=7).map(" ".join))
OPINIONS = st.one_of(st.sampled_from(VERDICTS), st.just(ModelBusyError("busy")), st.just(TimeoutError()))


@given(ceiling=st.sampled_from(VERDICTS), said=st.sampled_from(VERDICTS))
def test_no_opinion_is_above_the_ceiling(ceiling: Verdict, said: Verdict):
    assert ORDER[lower_of(ceiling, said)] <= ORDER[ceiling]


@given(text=TEXTS, cited=st.sampled_from([(), ("e1",), ("e9",), ("e1", "e9")]), said=OPINIONS)
async def test_no_judge_raises_a_sentence_above_what_the_checks_allow(
    text: str, cited: tuple[str, ...], said: Verdict | Exception
):
    ceiling = check(text, cited, QUOTES).ceiling
    assert ORDER[(await verdict(Claim("c9", text, cited), QUOTES, Says(said))).verdict] <= ORDER[ceiling]
