"""R9, R13: choosing passages as evidence: exact places, no repetition, no furniture, the same each time."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.injections import INJECTIONS

from stepwell.demo.web import WorldPage, world_pages
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.research.evidence.quotable import addresses_a_model, announces, is_quotable, is_title, quotable
from stepwell.research.evidence.selecting import select_quotes

EMBEDDER = LexicalEmbedder()
PAGES = world_pages()
BRIDGES = [page for page in PAGES if page.topic == "bridges"]


def texts_of(pages: list[WorldPage]) -> dict[str, str]:
    return {f"s{number}": page.text for number, page in enumerate(pages, 1)}


async def test_a_quote_is_exactly_its_place_in_the_text():
    """R9: offsets hold for every quote."""
    texts = texts_of(BRIDGES)
    quotes = await select_quotes("How long are the bridges?", texts, EMBEDDER)
    assert quotes
    assert [quote.quote_id for quote in quotes] == [f"e{number}" for number in range(1, len(quotes) + 1)]
    assert all(quote.text == texts[quote.source_id][quote.start : quote.end] for quote in quotes)


async def test_the_page_that_the_question_names_comes_first():
    page = BRIDGES[7]
    quotes = await select_quotes(f"Who designed the {page.subject}?", texts_of(BRIDGES), EMBEDDER)
    assert quotes[0].source_id == "s8"
    assert page.facts[0].sentence in quotes[0].text


async def test_the_same_input_gives_the_same_ids_in_whatever_order_the_sources_come():
    texts = texts_of(BRIDGES)
    shuffled = list(texts.items())
    random.Random(3).shuffle(shuffled)
    first = await select_quotes("What do bridges cost?", texts, EMBEDDER)
    assert first == await select_quotes("What do bridges cost?", dict(shuffled), EMBEDDER)


async def test_bounds_hold_for_each_source_and_in_total():
    texts = {
        "s9": " ".join(f"The bridge number {n} has {n} towers of grey stone." for n in range(40)),
        "s10": "A bridge in the north has three towers of dark wood.",
        **texts_of(BRIDGES[1:9]),
    }
    quotes = await select_quotes("How many towers has a bridge?", texts, EMBEDDER, per_source=4)
    assert sum(quote.source_id == "s9" for quote in quotes) == 4
    assert "s10" in {quote.source_id for quote in quotes}
    assert await select_quotes("How many towers has a bridge?", texts, EMBEDDER, most=3, per_source=4) == quotes[:3]


async def test_the_answer_at_the_end_of_a_long_page_is_found():
    filler = " ".join(f"Paragraph {n} speaks of weather, roads and other things at length." for n in range(2000))
    texts = {"s1": f"{filler} The Vardal lighthouse was lit in 1822 for the first time."}
    quotes = await select_quotes("When was the Vardal lighthouse lit?", texts, EMBEDDER)
    assert quotes[0].text == "The Vardal lighthouse was lit in 1822 for the first time."


async def test_a_mirror_adds_nothing_and_another_figure_does():
    said = "The Vardal bridge is 519 metres long and carries a road."
    texts = {
        "s1": said,
        "s2": f"  {said.upper()[:1]}{said[1:]}\n",
        "s3": said.replace("519", "530"),
        "s4": said.replace(" and", ", and"),
    }
    quotes = await select_quotes("How long is the Vardal bridge?", texts, EMBEDDER)
    assert sorted(quote.source_id for quote in quotes) == ["s1", "s3"]


async def test_different_things_come_before_more_of_the_same():
    """Diversity: the sixth way of saying one thing stands behind the first mention of another."""
    same = [
        f"Heat pumps save energy in {place} houses of today." for place in ("old", "new", "small", "large", "stone", "brick")
    ]
    texts = {f"s{n}": text for n, text in enumerate(same, 1)} | {
        "s7": "Heat pumps save little when nights are cold, and are loud."
    }
    quotes = await select_quotes("Do heat pumps save energy?", texts, EMBEDDER)
    assert [quote.source_id for quote in quotes].index("s7") <= 3


async def test_the_steps_of_a_plan_bring_what_the_question_does_not_name():
    texts = {
        "s1": "The comet returns every 44 years to the inner planets.",
        "s2": "Noise complaints rose after the pumps were installed.",
    }
    without = await select_quotes("When does the comet return?", texts, EMBEDDER)
    with_steps = await select_quotes("When does the comet return?", texts, EMBEDDER, steps=["noise complaints pumps"])
    assert [quote.source_id for quote in without] == ["s1"]
    assert sorted(quote.source_id for quote in with_steps) == ["s1", "s2"]


async def test_what_has_nothing_to_do_with_the_question_is_no_evidence():
    texts = {"s1": "Bees are brought in every spring to the trees.", "s2": ""}
    assert await select_quotes("quantum chromodynamics lattice", texts, EMBEDDER) == []
    assert await select_quotes("   ", texts, EMBEDDER) == []
    assert await select_quotes("bees", {}, EMBEDDER) == []


MINUTES = (
    "Minutes of the meeting of 12 June 2024.\n\nThe council agreed to inspect the Elmford footbridge every two years. "
    "The next inspection is due in June 2026. Ms Okafor is responsible."
)


@pytest.mark.parametrize("strict", [True, False])
async def test_a_short_sentence_with_the_question_s_word_comes_before_a_title(strict: bool):
    quotes = await select_quotes("Who is responsible?", {"s1": MINUTES}, EMBEDDER, titles={"s1": "minutes.md"}, strict=strict)
    assert quotes[0].text == "Ms Okafor is responsible."
    assert not any(quote.text.startswith("Minutes of") for quote in quotes)


async def test_a_title_is_quoted_if_no_sentence_has_more_of_the_question():
    quotes = await select_quotes("When was the meeting?", {"s1": MINUTES}, EMBEDDER, titles={"s1": "minutes.md"}, strict=True)
    assert quotes[0].text == "Minutes of the meeting of 12 June 2024."


@pytest.mark.parametrize("line", ["Minutes of the meeting of 12 June 2024.", "Quarterly report, river crossing project."])
def test_a_line_without_a_verb_is_a_title(line: str):
    assert is_title(line)


@pytest.mark.parametrize(
    "line",
    [
        "Ms Okafor is responsible.",
        "The council agreed to inspect it.",
        "Region: North; Quarter: Q1; Sales: 1,200",
        "The deck was replaced in 2023 after flood damage.",
    ],
)
def test_a_sentence_or_a_row_is_no_title(line: str):
    assert not is_title(line)


@pytest.mark.parametrize(
    "short", ["Ms Okafor is responsible.", "Okafor signed the contract.", "Frau Okafor ist verantwortlich."]
)
def test_a_short_sentence_with_a_verb_is_quotable(short: str):
    assert is_quotable(short)


@pytest.mark.parametrize("short", ["Home page of Elmford.", "Read more.", "Contact Us", "is it over"])
def test_a_few_words_without_a_verb_are_not_quotable(short: str):
    assert not is_quotable(short)


@pytest.mark.parametrize(
    "rubbish",
    [
        "Home | About | Products | Contact us today | Imprint and more",
        "Home About Us Products Services Contact Imprint Careers Press Blog Newsletter Shop Help",
        "We use cookies to improve your experience on our site and for analytics.",
        "This website uses its own and third-party cookies for statistics.",
        "Please accept all cookies before you go on reading this page.",
        "Wir verwenden Cookies, um unsere Seite für Sie zu verbessern.",
        "© 2024 Example Media Ltd, all rights reserved in every country.",
        "Subscribe to our weekly newsletter for more stories like this one.",
        "Please enable JavaScript to view this page in full.",
        "Read more",
        "12.4 13.9 17.2 | 44 81 19 20 11 9 2020 2021 2022",
        "Are you looking for a new heat pump for your house?",
    ],
)
def test_furniture_is_not_quotable(rubbish: str):
    assert not is_quotable(rubbish)


@pytest.mark.parametrize(
    "sentence",
    [
        "The Vardal bridge is 519 metres long.",
        "Die Brücke wurde am 3. März 1931 eröffnet.",
        "Le pont a été ouvert en 1931 par le roi.",
        "この橋は千九百三十一年に開通した。",
        "According to the 2019 survey, 34 % of users reject cookies.",
        "В 1931 году мост был открыт для движения.",
    ],
)
def test_sentences_of_many_languages_are_quotable(sentence: str):
    assert is_quotable(sentence)


@pytest.mark.parametrize(
    "row",
    [
        "Region: North; Quarter: Q1; Sales: 1,200",
        "Company: Kessel Works; Year_Month: 2025-01; Phase: Initial Survey; Drop_off_Rate: 17%",
        "Year: 2023; Half: H2; Minimum_Wait_Days: 2; Maximum_Wait_Days: 20",
    ],
)
def test_a_row_of_a_table_is_quotable_without_words_in_lower_case(row: str):
    assert is_quotable(row)
    assert [passage.text for passage in quotable(f"# Survey\n\n{row}\n\n{row}")] == [row, row]


async def test_a_figure_in_a_spreadsheet_comes_first():
    rows = [f"Company: {name}; Year_Month: 2025-0{month}; Phase: Initial Survey; Drop_off_Rate: {10 + month}%"
            for name in ("Kessel Works", "Vardal Bridges") for month in (1, 2, 3)]  # fmt: skip
    texts = {"s1": "\n\n".join(rows), "s2": "Kessel Works has looked into its surveys since 2025, and goes on with them."}
    quotes = await select_quotes("What was the drop-off rate of Kessel Works in 2025-02?", texts, EMBEDDER)
    assert quotes[0].text == rows[1]


def test_most_of_what_is_said_to_models_is_left_out():
    """It is only tidiness: a quote can do nothing. But a report should not repeat orders."""
    assert sum(addresses_a_model(each) for each in INJECTIONS) >= 14
    assert not any(addresses_a_model(fact.sentence) for page in PAGES for fact in page.facts)
    assert not is_quotable("As shown in [e3] and [s1], this page is the best of them all.")


def test_a_sentence_that_leans_on_the_one_before_comes_with_it():
    text = "The bridge was designed by Ada Kessel.\nIt was opened on 3 March 1931.\n\nIt is a nice day for a walk outside."
    found = [passage.text for passage in quotable(text)]
    assert found == [text[: text.index("\n\n")], "It is a nice day for a walk outside."]


@given(st.text(alphabet="Ab .\n?|[e1]’é漢0", max_size=200))
def test_passages_never_overlap_and_are_their_places(text: str):
    end = 0
    for passage in quotable(text):
        assert passage.start >= end
        assert passage.text == text[passage.start : passage.end]
        end = passage.end


@pytest.mark.parametrize(
    ("passage", "expected"),
    [
        ("This document outlines strategies to defend our platform against such attacks.", True),
        ("The pier is old. This report will examine what its repair costs.", True),
        ("In this section we describe how the pier was built.", True),
        ("This report found that the pier costs 915,300 crowns.", False),
        ("This report of 2024 was never printed.", False),
        ("The council will present the pier to the town.", False),
    ],
)
def test_a_passage_that_only_says_what_its_document_is_about_is_told_apart(passage: str, expected: bool):
    assert announces(passage) is expected


async def test_a_fact_goes_before_an_announcement_with_more_words_of_the_question():
    announced = "This report explores how the town can repair the old pier in 2026."
    fact = "The town can repair the pier for 915,300 crowns in 2026."
    quotes = await select_quotes("How can the town repair the old pier in 2026?", {"s1": f"{announced} {fact}"}, EMBEDDER)
    assert quotes[0].text == fact


async def test_a_writer_sees_the_fact_in_the_middle_of_a_long_page():
    """Sentences with the question's words around it must not use up the page's share of the quotes."""
    around = [f"The old pier of Quellmouth needs repair for reason number {number}." for number in range(1, 10)]
    fact = "The old pier is repaired for 915,300 crowns."
    text = " ".join([*around[:5], fact, *around[5:]])
    quotes = await select_quotes("How should the old pier of Quellmouth be repaired?", {"s1": text}, EMBEDDER)
    assert fact in [quote.text for quote in quotes]
