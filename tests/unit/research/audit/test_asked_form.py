"""What a question says about the form of its report."""

from __future__ import annotations

import pytest

from stepwell.research.audit.asked_form import read_sections, read_words


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Explain the tides in 200 words.", 200),
        ("Write a 300-word summary of the treaty.", 300),
        ("What is known about the bridge? At most 150 words, please.", 150),
        ("Erkläre die Gezeiten in höchstens 120 Wörtern.", 120),
        ("Fasse den Vertrag mit etwa 250 Worten zusammen.", 250),
        ("Describe the harbour on one page.", 400),
        ("Describe the harbour in about half a page", 200),
        ("Beschreibe den Hafen auf zwei Seiten.", 800),
        ("Briefly: who built the bridge?", 120),
        ("Who built the bridge? Answer briefly.", 120),
        ("Fasse kurz zusammen, wer die Brücke gebaut hat.", 120),
        ("Say it in 5 words", None),
        ("Explain it in 12 words.", 20),
        ("Why was the bridge briefly closed in 1990?", None),
        ("What does page 3 say?", None),
        ("How many words has the treaty?", None),
        ("Wie kurz ist die Brücke gegenüber der anderen?", None),
        ("What was written in 1932?", None),
    ],
)
def test_a_length_is_read_from_the_question(question: str, words: int | None) -> None:
    assert read_words(question) == words


@pytest.mark.parametrize(
    ("question", "titles"),
    [
        ("What about the bridge? Sections: Length, Cost and Builder.", ("Length", "Cost", "Builder")),
        ("Was ist mit der Brücke?\nGliederung:\n- Länge\n- Kosten\n", ("Länge", "Kosten")),
        ("The bridge. Outline: Who built it; What it cost; who built it", ("Who built it", "What it cost")),
        ("The bridge. Sections: Sources, Growth of 40 percent", ()),
        ("Which sections does the treaty have?", ()),
    ],
)
def test_sections_are_read_from_the_question(question: str, titles: tuple[str, ...]) -> None:
    assert read_sections(question) == titles
