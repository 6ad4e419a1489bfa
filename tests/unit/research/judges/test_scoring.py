"""What is counted of a judge's answers: by the rules, by the model, and by both, as in a report."""

from __future__ import annotations

from datetime import date

import pytest

from stepwell.research.audit.judge import Judgement
from stepwell.research.judges.pairs import Pair, draw
from stepwell.research.judges.scoring import Judged, judge_pairs, make_figures, table

HELD = Pair("The Ostra mill has two wheels.", "The Ostra mill has two wheels and a pond.", "supported")
OTHER = Pair("The Ostra mill has nine wheels.", "The Ostra mill has two wheels and a pond.", "refuted")


async def judge(pair: Pair, said: Judgement | None) -> Judged:
    return (await judge_pairs([pair], [said]))[0]


async def test_a_model_alone_can_be_wrong_where_both_together_are_not():
    assert await judge(OTHER, Judgement("supported")) == Judged(
        False, by_rules=False, by_model=True, by_both=False, unusable=False
    )


async def test_an_opinion_lowers_what_the_rules_allow():
    assert await judge(HELD, Judgement("partial")) == Judged(True, by_rules=True, by_model=False, by_both=False, unusable=False)


async def test_an_unusable_answer_is_doubt_as_in_a_report():
    assert await judge(HELD, None) == Judged(True, by_rules=True, by_model=False, by_both=False, unusable=True)
    word_for_word = Pair(HELD.evidence, HELD.evidence, "supported")
    assert (await judge(word_for_word, None)).by_both


async def test_figures_are_thousandths_of_all_sets_together():
    sets = {
        "a": await judge_pairs([HELD, HELD], [Judgement("supported"), None]),
        "b": [await judge(OTHER, Judgement("supported"))],
    }
    figures = make_figures(sets, date(2026, 11, 17))
    assert figures is not None
    assert (figures.day, figures.sets, figures.claims) == ("2026-11-17", ("a", "b"), 3)
    assert (figures.precision, figures.recall, figures.rules_recall, figures.unusable) == (1000, 500, 1000, 333)
    assert "| model alone: precision | – | – | 42.9 (" in table(sets)


async def test_there_are_no_figures_without_false_claims():
    assert make_figures({"a": [await judge(HELD, None)]}, date(2026, 11, 17)) is None


@pytest.mark.parametrize(("most", "true", "false"), [(2, 1, 1), (6, 3, 3), (100, 5, 20)])
def test_a_sample_is_half_true_as_far_as_there_are_enough(most: int, true: int, false: int):
    pairs = [
        *(Pair(f"Mill {n}.", "A mill.", "supported") for n in range(5)),
        *(Pair(f"Well {n}.", "A well.", "nei") for n in range(20)),
    ]
    drawn = draw(pairs, most, seed=7)
    assert (sum(each.is_true for each in drawn), sum(not each.is_true for each in drawn)) == (true, false)
    assert len(set(drawn)) == len(drawn)
    assert drawn == draw(pairs, most, seed=7)
    assert most == 100 or drawn != draw(pairs, most, seed=8)
