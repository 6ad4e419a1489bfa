"""R8, R9, R13 without a model: a plan by rules, and a report of which every sentence is a quote."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.demo.web import world_pages
from stepwell.errors import ToolUseError
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.research.audit.evidence import Quote, Source
from stepwell.research.audit.verdicts import verdict
from stepwell.research.audit.writing.draft import Draft
from stepwell.research.audit.writing.quoted import quoted_sentences
from stepwell.research.audit.writing.report import QUOTES_NOTE, write_report
from stepwell.research.evidence.extractive import TITLE, add_note, extractive_draft, heading_of
from stepwell.research.evidence.policy.file import default_policy
from stepwell.research.evidence.selecting import select_quotes
from stepwell.research.graph.nodes.thinker import plan_by_rules
from stepwell.research.graph.schemas import MAX_STEPS

EMBEDDER = LexicalEmbedder()
PAGES = world_pages()


def searches(question: str) -> list[str]:
    return [step.input for step in plan_by_rules(question).steps if step.tool == "web_search"]


def test_a_claim_is_searched_for_from_both_sides():
    """J4 of the policy: evidence for and against."""
    assert searches("Is it true that honey never spoils?") == ["honey never spoils", "honey never spoils myth"]


def test_given_pages_are_fetched_first_and_a_search_stays():
    urls = [f"https://a.example/{n}" for n in range(9)]
    steps = plan_by_rules("What is a stepwell?", urls).steps
    assert len(steps) == MAX_STEPS
    assert [step.input for step in steps[:-1]] == urls[: MAX_STEPS - 1]
    assert steps[-1].tool == "web_search"


@pytest.mark.parametrize(
    "question",
    [
        "Where does this source come from: who wrote it, when, and what does it rest on? https://a.example/0",
        "Compare these two sources. Where do they agree, and where do they differ? https://a.example/0 https://a.example/1",
        "Summarize this page.",
    ],
)
def test_a_question_about_given_pages_alone_searches_for_nothing(question: str):
    urls = ["https://a.example/0", "https://a.example/1"]
    assert [(step.tool, step.input) for step in plan_by_rules(question, urls).steps] == [("fetch_page", url) for url in urls]
    assert {step.tool for step in plan_by_rules(question).steps} == {"web_search"}


def test_beside_given_pages_only_a_subject_is_searched_for_and_no_address():
    question = "Compare these two sources. How deep is Rani ki Vav? https://a.example/0"
    steps = plan_by_rules(question, ["https://a.example/0"]).steps
    assert [(step.tool, step.input) for step in steps] == [
        ("fetch_page", "https://a.example/0"),
        ("web_search", "how deep is Rani ki Vav"),
    ]


def test_what_is_no_address_or_carries_a_secret_is_not_fetched():
    urls = [
        "ftp://a.example/",
        "file:///etc/passwd",
        "nonsense",
        "https://[",
        "https://a.example/?mail=jo@private.example",
        "https://ok.example/",
    ]
    steps = plan_by_rules("What is a stepwell?", urls).steps
    assert [step.input for step in steps if step.tool == "fetch_page"] == ["https://ok.example/"]


@pytest.mark.parametrize(
    "private",
    [
        "jo.doe@private.example",
        "+49 170 1234567",
        "4111 1111 1111 1111",
        "sk-abcdefghijklmnop1234",
        "tvly-abcdefghijklmnop",
        "DE89 3704 0044 0532 0130 00",
        "078-05-1120",
    ],
)
def test_personal_data_stay_here(private: str):
    plan = plan_by_rules(f"Why does {private} get letters about heat pumps from 1982-1983?")
    assert private not in plan.model_dump_json()
    assert all("heat pumps" in step.input and "1982-1983" in step.input for step in plan.steps)


def test_a_long_word_is_no_key():
    plan = plan_by_rules("What is the skeletonization of an image?")
    assert "skeletonization" in plan.steps[0].input
    assert default_policy().check_plan(plan) == []


def test_the_default_policy_has_nothing_against_such_plans():
    policy = default_policy()
    for question in ("Who is jo@private.example?", "sodium vs lithium", "Mail 4111-1111-1111-1111 please"):
        assert policy.check_plan(plan_by_rules(question, ["https://a.example/"])) == []


def test_a_step_that_the_policy_forbids_is_not_proposed():
    steps = plan_by_rules("stepwells", ["http://printer.local/", "https://a.example/"], policy=default_policy()).steps
    assert [step.input for step in steps if step.tool == "fetch_page"] == ["https://a.example/"]


@pytest.mark.parametrize("question", ["", "   ", "???", "jo@private.example"])
def test_a_question_with_nothing_to_look_for_is_refused(question: str):
    with pytest.raises(ToolUseError, match="few plain words"):
        plan_by_rules(question)


@given(st.text(max_size=300), st.integers(1, 8))
def test_any_question_gives_a_short_plan_that_is_the_same_each_time(question: str, most: int):
    """R3: validated, at most six steps; ids are made from the question."""
    try:
        plan = plan_by_rules(question, max_steps=most)
    except ToolUseError:
        return
    assert plan == plan_by_rules(question, max_steps=most)
    assert 1 <= len(plan.steps) <= min(most, MAX_STEPS)
    assert len({step.id for step in plan.steps}) == len({step.input for step in plan.steps}) == len(plan.steps)


def test_an_enormous_question_still_gives_short_queries():
    assert all(len(query.split()) <= 12 for query in searches("Some background about my life. " * 500 + "What is a stepwell?"))


def source(source_id: str) -> Source:
    return Source(
        source_id, "web", f"https://{source_id}.example/", None, source_id, "text/html", 200, "2026-01-01", "0" * 64, "0" * 64
    )


def show(draft: Draft) -> str:
    """A draft as text: headings, and items whose sentences have their ids behind them."""
    lines = []
    for block in draft.blocks:
        words = " ".join(
            f"{each.text} [{', '.join(each.evidence)}]" if each.evidence else each.text for each in block.sentences
        )
        lines.append(f"\n{'#' * block.level} {words}\n" if block.kind == "heading" else f"- {words}")
    return "\n".join(lines).strip().replace("\n\n\n", "\n\n")


async def drafted(question: str, most: int = 30) -> tuple[Draft, list[Quote], dict[str, Source]]:
    texts = {f"s{number}": page.text for number, page in enumerate(PAGES, 1)}
    quotes = await select_quotes(question, texts, EMBEDDER, most=most)
    sources = {source_id: source(source_id) for source_id in texts}
    return extractive_draft(quotes, sources), quotes, sources


async def test_every_sentence_is_a_quote_and_survives_the_checks():
    """R9: the draft goes through the same audit as a model's, and nothing is taken out of it."""
    draft, quotes, sources = await drafted("What is known about glaciers and libraries?")
    by_id = {quote.quote_id: quote for quote in quotes}
    claims = [await verdict(claim, by_id) for claim in draft.claims()]
    assert len(claims) >= 30
    assert {claim.verdict for claim in claims} == {"verbatim"}
    assert all(len(claim.evidence) == 1 and claim.text.rstrip(".") in by_id[claim.evidence[0]].text for claim in claims)
    assert {each for claim in claims for each in claim.evidence} == set(by_id)
    report = write_report(draft, claims, by_id, sources)
    assert "left out" not in report.text
    assert report.text.startswith(TITLE)


async def test_the_brief_comes_first_and_nothing_is_said_twice():
    draft, quotes, _ = await drafted("What is known about glaciers and libraries?")
    text = show(draft)
    assert text.startswith(f"{TITLE}\n\n## In brief\n\n- ")
    brief = text.split("## ")[1].strip().splitlines()[2:]
    assert len(brief) == 3
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    assert len(lines) == len(set(lines)) == len(quotes)
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert len(headings) >= 2
    assert len(headings) == len(set(headings))
    assert not any(character.isdigit() for heading in headings for character in heading)


@pytest.mark.parametrize(
    ("title", "heading"),
    [
        ("Retail personalization strategies", "Retail personalization strategies"),
        ("IN0001-retail_personalization-2026.docx", "Retail personalization"),
        ("Sales rose by 40 % in 2025.", "Sales rose by % in"),
        ("s1", "Further quotes"),
        ("# [A](b) *bold* title: ", "A (b) bold title"),
        ("word " * 60, ("Word " + "word " * 15).strip()),
    ],
)
def test_a_group_is_called_by_its_source_without_figures(title: str, heading: str):
    assert heading_of(replace(source("s1"), title=title)) == heading


def test_further_quotes_stand_source_by_source_in_the_order_of_reading():
    said = [("s2", 0), ("s1", 50), ("s1", 0), ("s1", 90), ("s2", 70), ("s1", 20)]
    quotes = [
        Quote(f"e{n}", each, at, at + 40, f"Sentence {n} is about the long bridge.") for n, (each, at) in enumerate(said, 1)
    ]
    sources = {name: replace(source(name), title=title) for name, title in (("s1", "Wells"), ("s2", "Towers"))}
    text = show(extractive_draft(quotes, sources))
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## In brief", "## Wells", "## Towers"]
    assert [int(each) for each in re.findall(r"\[e(\d)\]", text)] == [1, 2, 3, 6, 4, 5]


async def test_denied_sources_are_not_quoted_and_nothing_gives_nothing():
    quote = Quote("e1", "s1", 0, 35, "The bridge is 519 metres long today.")
    assert extractive_draft([quote], {}) == Draft(())
    assert extractive_draft([], {"s1": source("s1")}) == Draft(())
    assert "[e1]" in show(extractive_draft([quote], {"s1": source("s1")}))


async def test_a_reader_is_told_at_the_top_that_no_model_wrote_it():
    draft, _, _ = await drafted("glaciers", most=3)
    noted = add_note(show(draft))
    assert noted.index(QUOTES_NOTE) < noted.index("## In brief")
    assert noted.casefold().count("no model wrote this") == 1
    assert "STEPWELL_" not in noted
    assert add_note("Insufficient.").startswith(QUOTES_NOTE)


async def test_what_stands_in_one_quote_changes_no_other():
    """An open tag in one and its end in another would take away everything between, if they were read as one text."""
    said = ["Growth is low where x <y holds for the bridge.", "The bridge is long where a> b holds."]
    quotes = [Quote(f"e{n}", "s1", 0, len(text), text) for n, text in enumerate(said, 1)]
    draft = extractive_draft(quotes, {"s1": source("s1")})
    assert {claim.text for claim in draft.claims()} == set(said)
    for quote in quotes:
        assert quoted_sentences(quote) <= {(claim.text, claim.evidence) for claim in draft.claims()}


def test_sources_whose_headings_differ_in_capitals_share_one():
    titles = {"s1": "2026-cybersecurity-report.docx", "s2": "Q2-2025-Cybersecurity-Report.pdf"}
    sources = {name: replace(source(name), title=title) for name, title in titles.items()}
    text = "The harbour office was moved to the old mill in May."
    quotes = [Quote(f"e{n}", f"s{n % 2 + 1}", 0, len(text), text.replace("May", f"May {1990 + n}")) for n in range(1, 6)]
    headings = [line for line in show(extractive_draft(quotes, sources)).split("\n") if line.startswith("## ")]
    assert headings == ["## In brief", "## Cybersecurity report"]
