"""R8 without a model: the searches for a question are what a person would type."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stepwell.research.evidence.queries import MOST_QUERIES, make_queries, remove_private, sub_questions
from stepwell.words import stem, words

QUESTIONS: dict[str, list[str]] = {
    # a claim: the talk goes, one search looks for the other side
    "Is it true that honey never spoils? What do sources say, and where do they disagree?": [
        "honey never spoils",
        "honey never spoils myth",
    ],
    "I've heard that the Great Wall of China is visible from space. Is that true?": [
        "Great Wall of China is visible from space",
        "Great Wall of China is visible from space myth",
    ],
    "The mayor says the new tram will pay for itself. Check this claim.": [
        "mayor says the new tram will pay for itself",
        "mayor says the new tram will pay for itself myth",
    ],
    "Please research whether vitamin D prevents colds.": ["vitamin D prevents colds", "vitamin D prevents colds myth"],
    "Does coffee cause cancer?": ["does coffee cause cancer", "coffee cause cancer myth"],
    # a judgement
    "Are heat pumps efficient?": ["are heat pumps efficient", "heat pumps criticism"],
    "Should schools give marks?": ["should schools give marks", "schools give marks arguments against"],
    "Is remote work good for productivity? Please give me evidence for and against.": [
        "is remote work good for productivity",
        "remote work criticism",
    ],
    # facts: no counter-evidence
    "stepwell": ["stepwell"],
    "Could you please tell me what a stepwell is?": ["stepwell"],
    "What is the population of Oslo?": ["population of Oslo"],
    "Why do cats purr?": ["why do cats purr"],
    "Where is the largest stepwell in India?": ["where is the largest stepwell in India"],
    "When was the first stepwell built, and which sources give that date?": ["when was the first stepwell built"],
    "In what year did the Bank of England become independent?": ["what year did the Bank of England become independent"],
    "How do I remove rust from a cast iron pan?": ["how to remove rust from a cast iron pan"],
    "What are the pros and cons of a four-day working week?": ["pros and cons of a four-day working week"],
    "What does the EU AI Act require of small companies?": ["EU AI Act require small companies"],
    "Summarise the history of the Suez Canal between 1956 and 1975 with sources.": [
        "history of the Suez Canal between 1956 and 1975"
    ],
    "What do studies say about intermittent fasting and weight loss in adults over 60?": [
        "intermittent fasting and weight loss in adults over 60",
        "papers: intermittent fasting and weight loss in adults over 60",
    ],
    "Did the U.S. Supreme Court overturn Roe v. Wade in 2022, and what happened next?": [
        "U.S. Supreme Court overturn Roe v. Wade 2022"
    ],
    # several questions in one: each has the subject
    "How long is the Quellmouth bridge, and who designed it?": [
        "how long is the Quellmouth bridge",
        "who designed Quellmouth bridge",
    ],
    "Who was the chief engineer of the Brooklyn Bridge, and how did he die?": [
        "chief engineer of the Brooklyn Bridge",
        "how did chief engineer of the Brooklyn Bridge die",
    ],
    'Who wrote "The Old Man and the Sea" and when was it published?': [
        'who wrote "The Old Man and the Sea"',
        'when was "The Old Man and the Sea" published',
    ],
    "Explain how mRNA vaccines work and what side effects they have.": [
        "how mRNA vaccines work",
        "what side effects mRNA vaccines have",
    ],
    "Tell me about the Battle of Hastings: who fought, who won and why does it matter?": [
        "Battle of Hastings",
        "Battle of Hastings who fought",
        "Battle of Hastings who won",
        "why does Battle of Hastings matter",
    ],
    "causes of the French Revolution and effects of the Continental System": [
        "causes of the French Revolution",
        "effects of the Continental System",
    ],
    "What is photosynthesis and how do solar panels work?": ["photosynthesis", "how do solar panels work"],
    "How has the price of lithium carbonate developed since 2021, and what do analysts expect for 2025?": [
        "price lithium carbonate developed since 2021",
        "price of lithium carbonate analysts expect for 2025",
    ],
    # background first, then questions
    "Our client is considering entering the German heat pump market in 2026.\n"
    "What is the market size, who are the main competitors, and which subsidies apply?": [
        "German heat pump market size 2026",
        "German heat pump market main competitors 2026",
        "German heat pump market subsidies apply 2026",
    ],
    "I am writing a paper about the Treaty of Versailles. Why did Germany resent it?": [
        "why did Germany resent Treaty of Versailles"
    ],
    "How can Lee's Market leverage FSMA 204 regulations to enhance food safety and customer trust?": [
        "Lee's Market leverage FSMA 204 regulations enhance food safety customer trust"
    ],
    # comparisons
    "sodium vs lithium batteries": ["sodium batteries vs lithium batteries", "sodium batteries", "lithium batteries"],
    "What is the difference between HTTP/2 and HTTP/3?": ["HTTP/2 vs HTTP/3", "HTTP/2", "HTTP/3"],
    "Do electric cars pollute more than petrol cars over their lifetime?": [
        "electric cars pollute vs petrol cars lifetime",
        "electric cars pollute lifetime",
        "petrol cars lifetime",
    ],
    "What is the difference between HTTP/2 and HTTP/3, and who designed QUIC?": [
        "HTTP/2 vs HTTP/3",
        "who designed QUIC",
        "HTTP/2",
        "HTTP/3",
    ],
    "Is nuclear power better than solar power?": ["nuclear power vs solar power", "nuclear power", "solar power"],
    "Compare SQLite and PostgreSQL for an application with one server and a thousand users.": [
        "SQLite vs PostgreSQL application one server thousand users",
        "SQLite application one server thousand users",
        "PostgreSQL application one server thousand users",
    ],
    "What are the Vardal bridge and the Lorholm bridge?": [
        "Vardal bridge and Lorholm bridge",
        "Vardal bridge",
        "Lorholm bridge",
    ],
    "Were Scott Derrickson and Ed Wood of the same nationality?": [
        "Scott Derrickson and Ed Wood nationality",
        "Scott Derrickson nationality",
        "Ed Wood nationality",
    ],
    "Which magazine was started first, Arthur's Magazine or First for Women?": [
        "Arthur's Magazine or First for Women started",
        "Arthur's Magazine started",
        "First for Women magazine started",
    ],
    # several hops
    "Who is the wife of the director of Titanic?": ["wife of the director of Titanic", "director of Titanic"],
    "In what year was the university where Sergei Tokarev was a professor founded?": [
        "year university Sergei Tokarev professor founded",
        "Sergei Tokarev university",
    ],
    # other languages
    "Wie effizient ist eine Wärmepumpe und was kostet die Anlage?": [
        "wie effizient ist eine Wärmepumpe",
        "Wärmepumpe was kostet die Anlage",
    ],
    "Stimmt es, dass Honig nie verdirbt? Was sagen die Quellen dazu?": ["Honig nie verdirbt", "Honig nie verdirbt Mythos"],
    "Wer hat den Berliner Fernsehturm entworfen und wie hoch ist er?": [
        "wer hat den Berliner Fernsehturm entworfen",
        "wie hoch ist Berliner Fernsehturm",
    ],
    "Est-il vrai que le miel ne se périme jamais ? Que disent les sources ?": [
        "miel ne se périme jamais",
        "miel ne se périme jamais idée reçue",
    ],
    "Qui a construit la tour Eiffel et combien de temps cela a-t-il pris ?": [
        "qui a construit la tour Eiffel",
        "combien de temps tour Eiffel a-t-il pris",
    ],
    "¿Es cierto que la miel nunca caduca?": ["miel nunca caduca", "miel nunca caduca mito"],
    "¿Quién diseñó el puente de Brooklyn y cuánto mide?": [
        "quién diseñó el puente de Brooklyn",
        "puente de Brooklyn cuánto mide",
    ],
}


def test_the_users_documents_are_searched_for_the_parts_alone():
    assert sub_questions("What do studies say about honey? Is it safe for babies?") == ["honey", "is honey safe for babies"]
    assert sub_questions("Is it true that honey never spoils?") == ["honey never spoils"]
    assert sub_questions("???") == []


PRIVATE = ("jo.doe@private.example", "+49 170 1234567", "4111 1111 1111 1111", "sk-abcdefghijklmnop1234", "078-05-1120")


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_query_is_what_a_person_would_type(question: str):
    assert [query for query, _ in make_queries(question)] == QUESTIONS[question]


def stems(text: str) -> set[str]:
    return {stem(word.text) for word in words(text)}


@given(st.one_of(st.sampled_from(sorted(QUESTIONS)), st.text(max_size=300)), st.sampled_from(["", *PRIVATE]))
@example("? ", "")
@example("What? Why? It is. How so?", "")
@example("and or but", "")
def test_every_query_is_about_the_question_and_holds_nothing_private(question: str, private: str):
    found = list(make_queries(f"{question} {private}"))
    assert len(found) <= MOST_QUERIES
    for query, why in found:
        assert query.strip() == query
        assert query
        assert why
        assert remove_private(query) == query
        assert not private or private not in query
        assert not stems(query) or stems(query) & stems(question)


def test_a_long_question_costs_little():
    """The rules are patterns; none may take long on a text that almost matches."""
    for text in (
        "is it true that " * 250,
        "the of a of the who " * 200,
        "and what, " * 400,
        "A" * 4_000,
        "Ann Lee and " * 330,
        '"' * 4_000,
        "so " * 1_300,
    ):
        assert len(list(make_queries(text))) <= MOST_QUERIES
