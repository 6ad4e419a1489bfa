"""What a claim leaves out of its source changes what it says: attempts, conditions, limits, doubts. True shorter sentences stay plain."""

from __future__ import annotations

import pytest

from stepwell.research.audit.checks import Check, check
from stepwell.research.audit.evidence import HELD, Quote


def checked(claim: str, quote: str) -> Check:
    return check(claim, ["e1"], {"e1": Quote("e1", "s1", 0, len(quote), quote)})


LEFT_OUT = [
    ("The guild bought the quarry at Selm.", "The guild tried to buy the quarry at Selm, and gave up after a year."),
    ("Norvik Rail built a line to the harbour.", "Norvik Rail was licensed in 1902 to build a line to the harbour."),
    ("Die Stadt baute am Markt eine Halle.", "Die Stadt plante, am Markt eine Halle zu bauen."),
    ("The ferry to Hamn will close in May.", "The ferry to Hamn will close in May if the repairs are not finished."),
    ("The ferry to Hamn will close in May.", "Should the repairs take longer, the ferry to Hamn will close in May."),
    ("All members of the choir voted for the merger.", "Nearly all members of the choir voted for the merger."),
    ("Trains on the coast line were delayed by four hours.", "Trains on the coast line were delayed by up to four hours."),
    ("The pump saves 40 litres a day.", "According to its maker, the pump saves 40 litres a day."),
    ("The weir has driven the trout from the Ister.", "Anglers claim that the weir has driven the trout from the Ister."),
    (
        "The tower at Lund is the tallest tower of the province.",
        "The tower at Lund is the tallest wooden tower of the province.",
    ),
    ("The drug halved falls in women.", "The drug halved falls in women with brittle bones."),
    ("The six mills on the Aller were sold in 1931.", "Five of the six mills on the Aller were sold in 1931."),
    ("Sales of the almanac fell to a third.", "Sales of the almanac fell by a third."),
    ("Sales rose to 15 %.", "In May sales rose by 15%."),
    ("King Orm founded the school at Vik.", "It is a myth that King Orm founded the school at Vik."),
    ("The layer was left by a flood.", "The team hypothesises that the layer was left by a flood."),
    ("Only members may borrow books on Mondays.", "Members may borrow books only on Mondays."),
    ("Mayor Ute Brand opened the fair.", "Deputy mayor Ute Brand opened the fair."),
    ("The bees preferred thyme to sage.", "The bees preferred sage to thyme."),
    ("Lund is larger than Vik.", "Vik is larger than Lund, which has few shops."),
]
KEPT = [
    ("The guild attempted to buy the quarry at Selm.", "The guild tried to buy the quarry at Selm."),
    ("The ferry to Hamn closes if the repairs fail.", "The ferry to Hamn will close if the repairs fail."),
    ("Almost all members of the choir voted for the merger.", "Nearly all members of the choir voted for the merger."),
    ("The maker says that the pump saves 40 litres a day.", "According to its maker, the pump saves 40 litres a day."),
    ("Ute Brand was mayor of Vik.", "Ute Brand, the former mayor of Vik, opened the fair."),
    ("Vik is smaller than Lund.", "Lund is larger than Vik."),
    ("The council did not approve the plan for a quarry.", "The council rejected the plan for a quarry."),
    ("Rebels destroyed the mill at Selm.", "The destruction of the mill at Selm by rebels was complete."),
    ("Half of the harvest was lost to hail.", "Hail destroyed the crop, and half of the harvest was lost."),
    ("50 percent of the harvest was lost to hail.", "To hail, half of the harvest was lost."),
    ("Ada Lunn engraved maps of Denmark.", "She engraved maps of Denmark and Norway."),
    ("Sales rose by 15 %, which is a 15 % rise.", "In May sales rose by 15%."),
    ("Norvik's average wait is 26 days.", "Our average wait is 26 days."),
    ("The board meets weekly.", "The board meets every week in Lund."),
    ("Zac Orrel is a singer.", "Zachary Mark Orrel is an English singer."),
    ("Ada Lunn was an artist.", "Ada Lunn was a Danish painter."),
    ("Das Dach der Scheune von Selm fing Feuer.", "Das Scheunendach von Selm fing Feuer."),
]


@pytest.mark.parametrize(("claim", "quote"), LEFT_OUT)
def test_a_sentence_that_leaves_out_what_limits_it_is_not_supported(claim: str, quote: str) -> None:
    found = checked(claim, quote)
    assert found.ceiling in ("partial", "contradicted", "unsupported"), found
    assert found.reasons


@pytest.mark.parametrize(("claim", "quote"), KEPT)
def test_a_sentence_that_keeps_it_in_other_words_is_supported(claim: str, quote: str) -> None:
    assert checked(claim, quote).ceiling in HELD, checked(claim, quote)


def test_another_value_counts_only_in_a_sentence_about_the_same_thing() -> None:
    far = "The mill at Selm was sold in 1902. A barn near the mill burned down in 1931."
    assert checked("The barn at Vik was painted red in 1950.", far).ceiling != "contradicted"
    assert checked("The mill at Selm was sold in 1950.", far).ceiling == "contradicted"


def test_somebody_else_named_before_is_not_the_subject() -> None:
    assert (
        checked("Ada Lunn engraved maps of Denmark.", "Emil Roth was a printer. He engraved maps of Denmark.").ceiling
        != "supported"
    )


def test_the_words_of_one_sentence_do_not_come_from_all_over_a_long_quote() -> None:
    scattered = (
        "The guild met in May. The bridge needed paint. A storm came in June. The mayor spoke for an hour. Nobody answered him. "
        "The river rose. The old mill was sold. Children sang outside."
    )
    assert checked("The mayor sold the old bridge in June after the storm.", scattered).ceiling not in HELD


def test_a_longer_name_that_begins_alike_is_another_name() -> None:
    assert checked("Niger opened a port in 1974.", "Nigeria Lines opened a port in 1974.").ceiling not in HELD
