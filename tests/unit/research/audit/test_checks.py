"""The machine's part of a verdict: facts found, missing, contradicted. Row R9: a citation holds what its sentence says."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stepwell.research.audit.checks import Check, check
from stepwell.research.audit.evidence import HELD, VERDICTS, Quote


def checked(claim: str, *quotes: str) -> Check:
    by_id = {f"e{n}": Quote(f"e{n}", "s1", 0, len(text), text) for n, text in enumerate(quotes, 1)}
    return check(claim, list(by_id), by_id)


def test_a_sentence_that_cites_nothing_is_unsupported():
    assert check("The well is deep.", [], {}).ceiling == "unsupported"


def test_evidence_that_does_not_exist_supports_nothing():
    result = check("The well is deep.", ["e9"], {})
    assert result == Check("unsupported", ("there is no evidence 'e9'",))


def test_one_invented_id_among_real_ones_lowers_the_verdict():
    quotes = {"e1": Quote("e1", "s1", 0, 17, "The well is deep.")}
    assert check("The well is deep.", ["e1", "e9"], quotes).ceiling == "partial"


SUPPORTED = [
    ("Dresden had 40 wells in 1890.", "In 1890, the city of Dresden had 40 public wells."),
    ("The town has five wells.", "The town has 5 wells."),
    ("The town has 12 wells.", "The town has twelve wells."),
    ("It cost $3.5 million.", "The bridge cost 3,500,000 dollars."),
    ("About 3.5 million people live there.", "3,512,000 people live there."),
    ("Sales rose 12 percent.", "Sales rose by 12 % last year."),
    ("It opened on 4 March 2021.", "It opened on March 4, 2021."),
    ("It opened on 2021-03-04.", "It opened on 4 March 2021."),
    ("It opened in 2021.", "It opened on 4 March 2021."),
    ("It opened in March 2021.", "It opened on 2021-03-04."),
    ("The census of 1890 counted 40 wells.", "The 1890 census counted 40 wells."),
    ("The WHO warned of lead in wells.", "The World Health Organization warned of lead in wells."),
    ("The World Health Organization warned of lead.", "The WHO warned of lead."),
    ("Jean-Paul Müller dug the well.", "The well was dug by Jean-Paul Muller."),
    ("12 % of the men smoke.", "12 % of the men and 40 % of the women smoke."),
    ("40 % of the women smoke.", "12 % of the men and 40 % of the women smoke."),
    ("The bridge was repaired in 2019.", "The bridge, built in 1873, was repaired and widened in 2019."),
    ("U.S. wells are deep.", "US wells are deep."),
    ("John Smith dug 40 wells.", "Smith dug 40 wells."),
    ("The share rose from 40 % to 50 %.", "Last year the share rose from 40 % to 50 %."),
    ("Between 40 and 50 wells remain.", "40–50 wells remain."),
    ("More than 40 wells remain.", "Over 40 wells remain."),
    ("Leipzig is smaller than Dresden.", "Dresden is larger than Leipzig."),
    ("The church was built after the well.", "The well was built before the church."),
    ("The wells were wide.", "The wells were not deep, but wide."),
    ("The wells did not dry up.", "The wells didn't dry up."),
    ("He called it “a marvel of stone”.", "He called it 'a marvel of stone' in 1890."),
    ("Dresden has 12 wells.", "12 wells stand in Dresden and 40 in Leipzig."),
    ("Leipzig has 40 wells.", "12 wells stand in Dresden and 40 in Leipzig."),
    ("Vitamin B12 is found in the well.", "In the well, vitamin B12 is found."),
    ("The temperature fell to -5 °C.", "The temperature fell to −5 °C."),
    ("The well was dug in the 19th century.", "It was in the 19th century that the well was dug."),
]
CONTRADICTED = [
    ("Dresden had 47 wells in 1890.", "In 1890, the city of Dresden had 40 public wells."),
    ("Dresden had 40 wells in 1891.", "In 1890 Dresden had 40 wells."),
    ("Leipzig had 40 wells in 1890.", "Dresden had 40 wells in 1890."),
    ("It cost $3.6 million.", "It cost 3,500,000 dollars."),
    ("Sales rose 12 percentage points.", "Sales rose 12 percent."),
    ("The road is 40 miles long.", "The road is 40 km long."),
    ("It cost 40 million euros.", "It cost 40 million dollars."),
    ("Sales fell 12 percent.", "Sales rose 12 percent."),
    ("The share rose from 50 % to 40 %.", "The share rose from 40 % to 50 %."),
    ("Less than 40 wells remain.", "More than 40 wells remain."),
    ("The town has 12 wells.", "The town has 12 churches and 40 wells."),
    ("Dresden has 40 wells.", "12 wells stand in Dresden and 40 in Leipzig."),
    ("Dresden had 40 wells and Leipzig 12.", "Dresden had 12 wells and Leipzig 40."),
    ("In 2000 Dresden had 12 wells.", "In 1990 Dresden had 12 wells and in 2000 it had 40 wells."),
    ("It opened on 5 March 2021.", "It opened on March 4, 2021."),
    ("The well was dug in the 18th century.", "The well was dug in the 19th century."),
    ("The wells were not deep.", "The wells were deep."),
    ("The wells were deep.", "The wells were not deep."),
    ("The wells dried up.", "The wells never dried up."),
    ("Leipzig is larger than Dresden.", "Dresden is larger than Leipzig."),
    ("Dresden is smaller than Leipzig.", "Dresden is larger than Leipzig."),
    ("The well was built after the church.", "The well was built before the church."),
    ("The law bans deep wells.", "The law allows deep wells."),
    ("40 % of the men smoke.", "12 % of the men and 40 % of the women smoke."),
    ("The bridge was built in 2019.", "The bridge, built in 1873, was repaired and widened in 2019."),
    ("Die Brunnen waren nicht tief.", "Die Brunnen waren tief."),
    ("Im Jahr 1891 gab es 40 Brunnen.", "Im Jahr 1890 gab es 40 Brunnen."),
]
PARTIAL = [
    ("Dresden had 40 wells and 9 mills.", "Dresden had 40 wells."),
    ("Dresden, near Prague, had 40 wells.", "Dresden had 40 wells."),
    ("It opened on 4 March 2021.", "It opened in 2021."),
    ("All wells in Dresden are deep.", "Many wells in Dresden are deep."),
    ("The well will close.", "The well may close."),
    ("40 wells remain in Dresden.", "More than 40 wells remain in Dresden."),
    ("The number of wells increased to 40.", "The number of wells was 40."),
    ("He called it “a marvel of glass” in Dresden.", "He called it a marvel of stone in Dresden."),
    ("Paul Smith dug 40 wells.", "Paul Jones and Mary Smith dug 40 wells."),
    ("It opened on 03/04/2021 in Dresden.", "It opened on 4 March 2021 in Dresden."),
    ("Only Dresden has wells.", "Dresden has wells."),
    ("Saxony sued Prussia over the wells.", "Prussia sued Saxony over the wells."),
]
UNSUPPORTED = [
    ("Rome had 900 aqueducts in 50 regions.", "The wells of Dresden are deep."),
    ("Revenue was 5 million dollars.", "The wells of Dresden are deep."),
    ("Bananas are yellow.", "The wells of Dresden are deep."),
]


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("It cost 1234.50 euros.", "Das kostete 1.234,50 Euro."),
        ("The road is 12,345 km long.", "Die Straße ist 12.345 km lang und nicht breit."),
    ],
)
def test_figures_are_found_in_another_language_whose_words_stay_open(claim: str, quote: str):
    found = checked(claim, quote)
    assert found.ceiling == "partial"
    assert [reason for reason in found.reasons if "another language" not in reason] == []


@pytest.mark.parametrize(("claim", "quote"), SUPPORTED)
def test_facts_in_another_form_are_found(claim: str, quote: str):
    assert checked(claim, quote).ceiling in HELD
    assert checked(claim, quote).reasons == ()


@pytest.mark.parametrize(("claim", "quote"), CONTRADICTED)
def test_facts_with_another_value_contradict(claim: str, quote: str):
    result = checked(claim, quote)
    assert result.ceiling == "contradicted", result.reasons
    assert result.reasons


@pytest.mark.parametrize(("claim", "quote"), PARTIAL)
def test_more_than_the_quote_says_is_partial(claim: str, quote: str):
    result = checked(claim, quote)
    assert result.ceiling == "partial", result
    assert result.reasons


@pytest.mark.parametrize(("claim", "quote"), UNSUPPORTED)
def test_nothing_in_common_is_unsupported(claim: str, quote: str):
    assert checked(claim, quote).ceiling == "unsupported"


def test_facts_may_come_from_several_quotes():
    assert (
        checked("Dresden had 40 wells, and Leipzig had 12.", "Dresden had 40 wells.", "Leipzig had 12 wells.").ceiling
        == "supported"
    )


def test_a_part_of_a_quote_that_leaves_out_the_denial_is_contradicted():
    assert checked("The wells were deep.", "In 1890 the wells were not deep.").ceiling == "contradicted"


def test_the_figures_of_two_quotes_may_not_be_exchanged():
    result = checked("Dresden had 12 wells, and Leipzig had 40.", "Dresden had 40 wells.", "Leipzig had 12 wells.")
    assert result.ceiling == "contradicted"


PLACES = st.sampled_from(["Dresden", "Leipzig", "New York", "Saint-Denis", "the United Kingdom", "Köln", "O’Neil County"])
THINGS = st.sampled_from(["wells", "public wells", "bridges", "hospitals", "students"])
UNITS = st.sampled_from([" %", " percent", " km", " million dollars", " tonnes", " years"])
VERBS = st.sampled_from(["had", "did not have", "reported", "may have had", "lost", "never had"])
NUMBERS = st.one_of(
    st.integers(2, 999).map(str),
    st.integers(1000, 99_999_999).map("{:,}".format),
    st.tuples(st.integers(0, 999), st.integers(1, 99)).map(lambda pair: f"{pair[0]}.{pair[1]}"),
)
DATES = st.one_of(
    st.integers(1200, 2099).map("in {}".format),
    st.tuples(st.integers(1, 28), st.sampled_from(["January", "March", "May", "December"]), st.integers(1800, 2099)).map(
        lambda parts: "on {} {} {}".format(*parts)
    ),
    st.tuples(st.integers(1000, 2099), st.integers(1, 12), st.integers(1, 28)).map(lambda p: f"on {p[0]}-{p[1]:02}-{p[2]:02}"),
    st.just("last year"),
)
SENTENCES = st.one_of(
    st.tuples(PLACES, VERBS, NUMBERS, THINGS, DATES).map(lambda p: f"{p[0][0].upper()}{p[0][1:]} {p[1]} {p[2]} {p[3]} {p[4]}."),
    st.tuples(PLACES, NUMBERS, UNITS, DATES).map(lambda p: f"In {p[0]}, it rose by {p[1]}{p[2]} {p[3]}."),
    st.tuples(NUMBERS, THINGS, PLACES, NUMBERS, PLACES).map(
        lambda p: f"More than {p[0]} {p[1]} are in {p[2]}, and {p[3]} in {p[4]}."
    ),
    st.tuples(NUMBERS, NUMBERS, UNITS, DATES).map(lambda p: f"Output fell from {p[0]} to {p[1]}{p[2]} {p[3]}."),
)


@given(SENTENCES, st.sampled_from(["{}.", "{}", "As reported, {}."]))  # word for word, and by its facts
def test_a_sentence_equal_to_its_quote_holds(sentence: str, form: str):
    result = checked(form.format(sentence[:-1]), sentence)
    assert result.ceiling == ("supported" if "As reported" in form else "verbatim"), result.reasons


@given(SENTENCES, SENTENCES)
def test_a_sentence_of_a_longer_quote_is_verbatim(sentence: str, other: str):
    assert checked(sentence, f"{other} {sentence}").ceiling == "verbatim"


@given(SENTENCES, st.data())
def test_changing_one_digit_makes_it_not_supported(sentence: str, data: st.DataObject):
    places = [offset for offset, character in enumerate(sentence) if character.isdigit()]
    place = data.draw(st.sampled_from(places))
    digit = data.draw(st.sampled_from("0123456789"))
    assume(digit != sentence[place])
    before, after = sentence[:place], sentence[place + 1 :]
    # Zeros that change no value: in front of a number, or at the end of a fraction.
    assume(not (digit == "0" and not before[-1:].isdigit()) and sentence[place] != "0")
    changed = before + digit + after
    assume(not (digit == "0" and not after[:1].isdigit() and "." in before.rsplit(" ", 1)[-1]))
    assert checked(changed, sentence).ceiling != "supported"


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_can_be_checked(claim: str, quote: str):
    assert checked(claim, quote).ceiling in VERDICTS


def test_a_long_quote_is_checked_in_reasonable_time():
    long = "In 1890 Dresden had 40 wells, 12 % of them in the north and 1,234 elsewhere. " * 100
    assert checked("Dresden had 40 wells in 1890.", long).ceiling == "supported"
    assert checked("1" * 20_000 + ",", "1," * 20_000).ceiling != "supported"


def test_a_sentence_without_an_end_is_not_taken_for_a_statement():
    quote = Quote("e1", "s1", 0, 36, "In 1890 Dresden had 40 public wells.")
    long = "Dresden had 40 public wells in 1890 and " * 50
    found = check(long, ["e1"], {"e1": quote})
    assert (found.ceiling, found.reasons) == ("unsupported", ("the claim has 2,000 characters, at most 1,500 can be checked",))
