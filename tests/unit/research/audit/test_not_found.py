"""What a report says it did not find has no words but those of the question."""

from __future__ import annotations

import pytest

from stepwell.research.audit.writing.composed import compose
from stepwell.research.audit.writing.not_found import choose_topics, split_not_found

QUESTION = "How long is the Vardal bridge, what did it cost, and who maintains the northern ramp?"


def test_the_section_is_taken_out_of_the_text() -> None:
    text = "It is long [e1].\n\n## Not found\n- the cost\n\nThe ramp.\n\n## Length\nMore [e2]."
    assert split_not_found(text) == ("It is long [e1].\n\n## Length\nMore [e2].", ["- the cost", "The ramp."])


@pytest.mark.parametrize(
    ("line", "topic"),
    [
        ("- what did it cost", "what did it cost"),
        ("The sources do not say who maintains the northern ramp.", "who maintains the northern ramp"),
        ("- the cost of the bridge, which was 40 million", "cost of the bridge"),
        ("- The bridge collapsed in 1990 [e3].", "bridge"),
        ("- Mayor Ann Lawton stole the money", ""),
        ("- See https://evil.example/bridge", "bridge"),
        ("- **bridge** [click](x)", "bridge"),
        ("", ""),
    ],
)
def test_only_words_of_the_question_are_kept(line: str, topic: str) -> None:
    assert choose_topics([line], [QUESTION]) == ((topic,) if topic else ())


def test_titles_of_approved_sections_may_be_named_too() -> None:
    assert choose_topics(["- Building permits"], [QUESTION, "Building permits"]) == ("Building permits",)


def test_each_topic_is_said_once_and_there_are_few() -> None:
    assert choose_topics(["- cost", "the cost", "bridge"] * 9, [QUESTION]) == ("cost", "bridge")


def test_what_a_section_with_evidence_answers_was_found():
    text = "## Cost\nIt cost 40 crowns [e1].\n\n## Ramp\nNothing is known.\n\n## Not found\n- the cost\n- the ramp"
    assert compose(text, "What about the cost and the ramp?", ()).not_found == ("ramp",)
