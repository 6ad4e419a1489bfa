"""What the checks see without a judge, rule by rule: sentences that pass, that are marked, and that are contradicted. Row R9.

Each rule has both forms, what it must catch and what it must let pass. The sentences are our own; public sets of claims are measured with
`benchmarks/claims`, and none of their sentences is here.
"""

from __future__ import annotations

import sys

import pytest

from stepwell.research.audit.checks import Check, check
from stepwell.research.audit.evidence import HELD, Quote
from stepwell.research.audit.facts.reading.negations import denials

MILL = (
    "The Orrin mill is a brick building in Fenwick. It was bought by Ada Lunn in 1874 and restored by her brother. "
    "Its red wheel drives two stones."
)
LUNN = "Ada Lunn (born 4 May 1851) was a Danish engraver. Lunn engraved bank notes and, in the 1890s, stamps."


def checked(claim: str, *quotes: str) -> Check:
    by_id = {f"e{n}": Quote(f"e{n}", "s1", 0, len(text), text) for n, text in enumerate(quotes, 1)}
    return check(claim, list(by_id), by_id)


SUPPORTED = {
    "the words of a family": [
        ("Ada Lunn restored the clock.", "The restoration of the clock was Ada Lunn's work."),
        ("The dyes were produced in Fenwick.", "Fenwick was known for the production of dyes."),
        ("The theater has a gray façade.", "The theatre has a gray façade."),
        ("She wrote three plays.", "Three plays were written by her."),
    ],
    "everyday synonyms": [
        ("The firm purchased the mill.", "The company bought the mill."),
        ("The tunnel was constructed by convicts.", "The tunnel was built by convicts."),
    ],
    "hyphens": [
        ("It is the best preserved barn of the valley.", "It is the best-preserved barn of the valley."),
        ("The e-mail was short.", "The email was short."),
        ("Sample KT-90 was dry.", "Sample KT(90) was dry."),
    ],
    "decades and years": [
        ("Ada Lunn engraved stamps in the 1890s.", LUNN),
        ("Lunn was born in the 1850s.", LUNN),
        ("The mill was bought after 1850.", MILL),
        ("The mill was bought before 1900.", MILL),
        ("The hall dates from 1911.", "The hall is a 1911 Danish building. It dates from 1911."),
        ("The 2018–19 season was short.", "The season of 2018-2019 was short."),
    ],
    "a surname for the full name": [
        ("Ada Lunn engraved bank notes.", "Lunn engraved bank notes."),
        ("Lunn engraved bank notes.", "Ada Lunn engraved bank notes."),
    ],
    "places and their people": [
        ("She is an engraver from Denmark.", "She is a Danish engraver."),
        ("The dish is Korean.", "The dish comes from Korea."),
        ("The law is American.", "It is a law of the United States."),
    ],
    "short forms": [
        ("All common spotted newts hibernate.", "All CSNs hibernate; a CSN is small."),
        ("The Harbour Safety Board (HSB) met twice.", "The HSB met twice."),
    ],
    "passives": [
        ("The mill was bought by Ada Lunn.", "Ada Lunn bought the mill."),
        ("Ada Lunn bought the mill in 1874.", MILL),
        ("The post was recommended to him by his aunt.", "His aunt recommended the post to him."),
    ],
    "denials that are denied": [
        ("The bell has not been rung.", "The bell has yet to be rung."),
        ("The pump failed to start.", "The pump did not start."),
        ("The house No. 7 is green.", "House No. 7 is green."),
    ],
    "a clause of its own": [
        ("Sales of tea rose.", "Sales of tea rose, whereas sales of coffee fell."),
        ("Sales of coffee fell.", "Sales of tea rose, whereas sales of coffee fell."),
        ("Prices dropped after the fair.", "After the fair, prices dropped."),
    ],
    "what belongs together by 'of'": [
        ("Moss growth darkens the roof.", "The growth of moss darkens the roof."),
    ],
}
MARKED = {
    "only names are shared": [
        ("The Orrin mill employs forty widows of sailors, and pays them well.", MILL),
        ("Ada Lunn is a violinist.", LUNN),
        ("Lunn adored grey horses.", LUNN),
    ],
    "a replaced word": [
        ("The red lever drives two stones.", "The red wheel drives two stones."),
        ("Its green wheel drives two stones.", MILL),
        ("The Orrin mill is a wooden building in Fenwick.", MILL),
    ],
    "a fact of another sentence's subject": [
        ("Joan Brand is the author of Low Tide.", "Joan Brand is an author. Low Tide is a novel by the author Piet Holm."),
        ("Ann Lawton is a judge.", "Ann Lawton is a painter. Joan Lawton is a judge."),
    ],
    "a name that is missing": [
        ("The mill at Harle was bought in 1874.", MILL),
        ("Otto Lunn engraved stamps.", LUNN),
    ],
    "a denial that the source does not make": [
        ("The mill has no cellar.", "The mill has a brick tower."),
    ],
    "words from all over the source": [
        (
            "The painter opened the railway bridge with a golden trumpet.",
            "The painter was ill. A bridge was opened in May. The railway paid for it. "
            "Nobody saw the trumpet again. The golden hall is closed. It has three doors.",
        ),
    ],
}
CONTRADICTED = {
    "opposites by form": [
        ("The notice was valid.", "The notice was invalid."),
        ("The use of bells was unofficial in the town.", "The use of bells was official in the town."),
        ("The club is a non-profit body of farmers.", "The club is a profit body of farmers."),
        ("The new valve can disconnect both tanks.", "The new valve can connect both tanks."),
        ("The harmless dye is used in bread.", "The harmful dye is used in bread."),
        ("The drug acted negatively on growth.", "The drug acted positively on growth."),
        ("The anti-noise party won the vote.", "The noise party won the vote."),
    ],
    "opposites by list": [
        ("The review of the play was good.", "The review of the play was bad."),
        ("Frost rarely harms the vines.", "Frost often harms the vines."),
    ],
    "somebody else did it": [
        ("Emil Roth bought the mill.", "The mill was bought by Ada Lunn."),
        ("The mill was bought by Emil Roth.", "The mill was bought and repaired by Ada Lunn in 1874."),
    ],
    "a name in the place of another": [
        ("The mill stands in Harle.", "The mill stands in Fenwick."),
        ("Ada Lunn was a Swedish engraver.", LUNN),
    ],
    "another place in an order": [
        ("It was her third novel.", "It was her second published novel."),
        ("Fenwick is the largest town of the shire.", "Fenwick is the fourth largest town of the shire."),
    ],
    "another day": [
        ("Ada Lunn was born on 9 June 1919.", "She was born in 1851. Ada Lunn died on 9 June 1919."),
        ("The hall was finished in 1921.", "The hall was finished in 1911."),
    ],
    "a denial of what the source says": [
        ("Ada Lunn has not died.", "Her death was noted by the papers. Ada Lunn was a Danish engraver."),
        ("The wheel is yet to turn.", "The wheel turns."),
    ],
    "the other way, in other words": [
        (
            "Smoking reduces the risk of falls among sailors.",
            "Among sailors, those who smoke had an increased risk of accidents.",
        ),
    ],
}


def cases(table: dict[str, list[tuple[str, str]]]) -> list[object]:
    return [pytest.param(claim, quote, id=f"{rule}: {claim}") for rule, pairs in table.items() for claim, quote in pairs]


@pytest.mark.parametrize(("claim", "quote"), cases(SUPPORTED))
def test_what_the_source_says_stays_plain(claim: str, quote: str):
    assert checked(claim, quote).ceiling in HELD, checked(claim, quote).reasons


@pytest.mark.parametrize(("claim", "quote"), cases(MARKED))
def test_what_the_source_does_not_say_is_never_plain(claim: str, quote: str):
    result = checked(claim, quote)
    assert result.ceiling in ("partial", "unsupported"), result
    assert result.reasons


@pytest.mark.parametrize(("claim", "quote"), cases(CONTRADICTED))
def test_what_the_source_denies_is_contradicted(claim: str, quote: str):
    assert checked(claim, quote).ceiling == "contradicted", checked(claim, quote)


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("Ada Lunn engraved stamps for the post office.", "Lunn engraved stamps for the post office, and Emil Roth sold them."),
        ("Fenwick has a mill.", "The mill of the Orrin valley stands near Harle."),
        ("Advertising sells soap in Fenwick.", "In Fenwick, soap is sold by Advertising Partners and by Emil Roth."),
    ],
)
def test_another_name_in_the_quote_alone_is_no_contradiction(claim: str, quote: str):
    assert checked(claim, quote).ceiling != "contradicted"


@pytest.mark.parametrize("first", ["Restoring", "Painted", "Winters"])
def test_the_first_word_of_a_sentence_is_no_name_by_itself(first: str):
    result = checked(f"{first} mills are rare in the valley.", f"In the valley, {first.lower()} mills are rare.")
    assert result == Check("supported", (), 0)


def test_a_sentence_may_take_its_subject_from_the_one_before():
    assert (
        checked("Ada Lunn sold the mill to Emil Roth.", "Ada Lunn was an engraver. She sold the mill to Emil Roth.").ceiling
        == "supported"
    )


@pytest.mark.parametrize(
    ("claim", "quote", "reason"),
    [
        ("The mill was bought in 2016.", "The mill was bought and cleaned.", "the source does not say '2016'"),
        ("Ada Lunn engraved portraits.", LUNN, "the source does not say 'portraits'"),
        ("Its green wheel drives two stones.", MILL, "the source says 'red', not 'green'"),
        ("The mill stands in Harle.", "The mill stands in Fenwick.", "the claim says 'Harle', the source 'Fenwick'"),
        (
            "The well is 38 metres deep.",
            "The well is 65 metres long and 28 metres deep.",
            "the claim says '38 metres', the source '28 metres'",
        ),
        (
            "Emil Roth bought the mill.",
            "The mill was bought by Ada Lunn.",
            "the claim says 'bought by Emil Roth', the source 'bought by Ada Lunn'",
        ),
        (
            "Joan Brand wrote Low Tide.",
            "Joan Brand wrote plays. Low Tide was written by a neighbour.",
            "no sentence of the source speaks of both 'Joan Brand' and 'Low Tide'",
        ),
    ],
)
def test_a_reason_says_in_a_few_words_what_is_missing(claim: str, quote: str, reason: str):
    assert reason in checked(claim, quote).reasons


def test_one_other_word_is_borne_out_by_a_figure_and_not_by_a_name():
    assert checked("The road covers 12 km of moor.", "The road crosses 12 km of moor.").ceiling == "partial"  # replaced
    assert (
        checked("Over the moor the road stretches for 12 km.", "The road is 12 km long and leads over the moor.").ceiling
        == "supported"
    )
    assert checked("Over the moor the road stretches.", "The road leads over the moor.").ceiling == "partial"


def test_reading_negations_takes_work_in_step_with_the_text() -> None:
    """Counted in calls, not in seconds: twice the text, about twice the calls."""

    def count_calls(negations: int) -> int:
        calls = 0

        def count(frame: object, event: str, argument: object) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        text = " ".join(f"not {chr(97 + n % 26)}{chr(97 + n // 26 % 26)}rk{n}" for n in range(negations))
        denials(text)  # so that stems that were never met before do not count
        sys.setprofile(count)
        try:
            denials(text)
        finally:
            sys.setprofile(None)
        return calls

    assert count_calls(800) < 3 * count_calls(400)
