"""One added or changed word changes a claim: superlatives, exclusives, negation, hedges, reasons, directions, units, shares, order.

The sentences are those that the rules were made with. `benchmarks/research_runs/held_out.txt` has others, which they were not; its figures
are in docs/benchmarks.md and must not fall behind the bounds at the end here.
"""

from __future__ import annotations

import pytest
from benchmarks.research_runs.held_out_score import judged, measure_held_out

from stepwell.research.audit.evidence import HELD

DAM = "The Corvane reservoir holds 62 million cubic metres and was filled in 1974. Its dam is 118 m high and 540 m wide."
AIR = "Lindqvist Air carried 2.4 million passengers in 2022. It flies to 37 cities, none of them outside Europe, and posted a loss of €12m."
VOTE = "The committee approved the bylaw by 9 votes to 4 on Tuesday, 12 June. Two members abstained, and the mayor, who may not vote, left."
GLAZE = "Ferrin glaze contains no lead and fires at 1,240 °C. Potters in Osk have used it since at least the 1630s."
TEA = "Buyers in Egypt took 44 % of the crop, those in Pakistan 19 %. Tea was grown there first."
RUNAR = "Runar OS needs at least 4 GB of memory and starts in under six seconds. An ARM build is planned for next spring."
HALL = "The Brass Lantern theatre seats 420 and reopened on 1 October 2010. It has never received a state grant."
PAPER = "Graphene paper carries 1.3 times the current of copper at the same weight. It is brittle and costs $90 a gram."
FIRM = "Fabricant Oy bought 51 % of Telvia for SEK 920m in January. The deal still needs the approval of regulators; founders keep a fifth."
DISH = "Radar echoes from the Tolland dish gave a diameter of 1.4 ± 0.2 km. The body turns once every 7.2 hours and may be a binary."
TRAM = "The line opened in stages between 1996 and 2001; its 14 trams were built by Vastra Wagon. Only one of its two depots is heated."


@pytest.mark.parametrize(
    ("passage", "claim"),
    [
        (DAM, "The dam of the Corvane reservoir is 118 m high."),
        (AIR, "In 2022 Lindqvist Air carried 2.4m passengers."),
        (AIR, "The airline made a loss of €12 million."),
        (VOTE, "By nine votes to four the committee approved the bylaw."),
        (VOTE, "The mayor has no vote."),
        (GLAZE, "Ferrin glaze is free of lead."),
        (GLAZE, "Ferrin glaze is fired at 1240 °C."),
        (RUNAR, "Runar OS boots in less than six seconds."),
        (HALL, "With 420 seats, the Brass Lantern reopened in October 2010."),
        (HALL, "The theatre has never had a state grant."),
        (FIRM, "In January Fabricant Oy acquired 51 % of Telvia."),
        (FIRM, "SEK 920 million was paid."),
        (DISH, "The Tolland dish gave a diameter of 1.4 km."),
        (DISH, "The body rotates once in 7.2 hours."),
        (TRAM, "The line was opened in stages from 1996 to 2001."),
        (PAPER, "One gram costs $90."),
    ],
)
async def test_what_is_true_in_other_words_stays_plain(passage: str, claim: str) -> None:
    assert await judged(passage, claim) in HELD


@pytest.mark.parametrize(
    ("passage", "claim"),
    [
        (DAM, "The Corvane reservoir, the deepest in the country, holds 62 million cubic metres."),
        (GLAZE, "Ferrin glaze, the toughest known, fires at 1,240 °C."),
        (PAPER, "Graphene paper is the most valuable conductor."),
        (GLAZE, "Ferrin glaze is used only in Osk."),
        (FIRM, "Fabricant Oy is the sole owner of Telvia."),
        (AIR, "Lindqvist Air flies to 37 sunny cities."),
        (FIRM, "Fabricant Oy secretly bought 51 % of Telvia for SEK 920m in January."),
        (AIR, "Lindqvist Air posted a loss of €12m because of storms."),
        (PAPER, "Graphene paper will replace copper."),
        (RUNAR, "Runar OS has an ARM build."),
        (FIRM, "Regulators have approved the deal of Fabricant Oy."),
        (DISH, "The body is a binary."),
        (PAPER, "Copper carries 1.3 times the current of graphene paper."),
        (DAM, "The whole Corvane reservoir was filled in 1974."),
    ],
)
async def test_what_says_more_than_its_quote_is_marked(passage: str, claim: str) -> None:
    assert await judged(passage, claim) in ("partial", "unsupported", "contradicted")


@pytest.mark.parametrize(
    ("passage", "claim"),
    [
        (DAM, "Its dam is 118 km high."),
        (VOTE, "The committee approved the bylaw by 4 votes to 9."),
        (VOTE, "The committee rejected the bylaw by 9 votes to 4."),
        (GLAZE, "Ferrin glaze contains lead."),
        (TEA, "Buyers in Pakistan took 44 % of the crop."),
        (RUNAR, "Runar OS needs at most 4 GB of memory."),
        (HALL, "The Brass Lantern theatre has received a state grant."),
        (PAPER, "It costs $90 a kilogram."),
        (FIRM, "Founders keep a third of Telvia."),
        (TRAM, "Both of its depots are heated."),
        (
            "Ownership was higher in towns than in villages, and lowest among the old.",
            "Ownership was higher in villages than in towns.",
        ),
        ("Rents were 12 points lower than a year before.", "Rents were 12 points higher than a year before."),
        ("Membership halved to 300 between 1990 and 1995.", "Membership doubled to 300 between 1990 and 1995."),
        ("The plant was switched off on 2 June.", "The plant was switched on on 2 June."),
        ("The minister supports the plan.", "The minister opposes the plan."),
        ("Effects dropped by 8 points.", "Effects rose by 8 points."),
    ],
)
async def test_what_its_quote_denies_is_contradicted(passage: str, claim: str) -> None:
    assert await judged(passage, claim) == "contradicted"


async def test_once_is_no_number_and_a_unit_no_name() -> None:
    assert await judged("The body turned once in May 2010.", "In May 2010 the body turned.") == "supported"
    assert await judged("In May 2010 the body turned.", "The body turned eleven times in May 2010.") != "supported"
    assert (
        await judged("There were 186 dead trees per km² in 2020.", "In 2020 there were 186 dead trees per km².") == "supported"
    )


def test_on_sentences_that_the_rules_were_not_made_with_they_do_no_worse_than_published() -> None:
    """The published figures are honest only as long as this file's cases are not used to make rules."""
    measured = measure_held_out()
    assert measured["claims"] >= 198
    assert measured["citation_precision"] >= 98, measured
    assert measured["left_unmarked"] <= 2, measured
    assert measured["true_plain"] >= 66, measured
