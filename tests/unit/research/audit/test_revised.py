"""The one revision of a draft, and what a critic's answer allows in it."""

from __future__ import annotations

import json

import pytest

from stepwell.research.audit.evidence import Claim, Verdict
from stepwell.research.audit.writing.composed import compose, compose_sections
from stepwell.research.audit.writing.draft import Draft, read_draft
from stepwell.research.audit.writing.lacks import allows_adding, list_criticised, read_lacks
from stepwell.research.audit.writing.revised import (
    MOST_REVISED,
    apply_revision,
    list_differing,
    read_revision,
    read_shown,
    show_sentence,
)

DRAFT = read_draft("One is red [e1]. Two is blue [e2].\n\n## More\n\n- Three is green [e3].")


def said(draft: Draft) -> list[str]:
    return [claim.text for claim in draft.claims()]


@pytest.mark.parametrize(
    ("answer", "stated", "origins"),
    [
        ("c2: Two is white [e2].", ["One is red.", "Two is white.", "Three is green."], (1, 0, 3)),
        (
            "- **c2**: Two is white. It is old [e2].",
            ["One is red.", "Two is white.", "It is old.", "Three is green."],
            (1, 0, 0, 3),
        ),
        ("c2: drop", ["One is red.", "Three is green."], (1, 3)),
        ("c3: (drop)", ["One is red.", "Two is blue."], (1, 2)),
        ("c2: Two is blue [e2].", ["One is red.", "Two is blue.", "Three is green."], (1, 2, 3)),
        ("Here you are.\nc2: Two is\nwhite [e2].", ["One is red.", "Two is white.", "Three is green."], (1, 0, 3)),
        ("c1: One is white [e1].\nc9: Nine [e1].", ["One is red.", "Two is blue.", "Three is green."], (1, 2, 3)),
        ("+c2: Two is old [e2].", ["One is red.", "Two is blue.", "Three is green."], (1, 2, 3)),
        ("c2:\nc2: See https://evil.example/", ["One is red.", "Two is blue.", "Three is green."], (1, 2, 3)),
    ],
)
def test_only_the_named_sentences_change(answer: str, stated: list[str], origins: tuple[int, ...]) -> None:
    revised = apply_revision(DRAFT, read_revision(answer, [2, 3]))
    assert (said(revised.draft), revised.origins) == (stated, origins)


def test_sentences_are_added_only_where_a_critic_misses_something() -> None:
    answer = "+c1: It is old [e1].\n+c1: It is tall [e1].\n+c3: drop\n+c9: Nine [e1]."
    revised = apply_revision(DRAFT, read_revision(answer, [], adding=True))
    assert said(revised.draft) == ["One is red.", "It is old.", "It is tall.", "Two is blue.", "Three is green."]
    many = "\n".join(f"+c1: It has {number} doors [e1]." for number in range(20))
    assert len(said(apply_revision(DRAFT, read_revision(many, [], adding=True)).draft)) == 3 + 5


def claim(verdict: Verdict, *evidence: str) -> Claim:
    return Claim("c1", "It is so.", evidence, verdict)


def test_what_cites_evidence_and_differs_goes_back() -> None:
    claims = [claim("supported", "e1"), claim("contradicted", "e1"), claim("unsupported"), claim("unsupported", "e9")]
    assert list_differing([*claims, claim("partial", "e1")]) == [2, 4]
    assert len(list_differing([claim("contradicted", "e1")] * 50)) == MOST_REVISED


def test_a_request_tells_which_sentences_it_is_about() -> None:
    shown = [
        show_sentence(2, claim("contradicted", "e1", "e2")),
        "why: c4 said so",
        "e1 (c5: a title): words",
        "(c6) more [e1]",
    ]
    assert read_shown("\n".join(shown)) == {2: shown[0]}


def test_a_critic_names_at_most_five_lacks_of_known_kinds() -> None:
    lacks = [
        {"kind": "repetition", "sentence": "c2", "what": "again"},
        {"kind": "off_topic", "sentence": 3, "what": "elsewhere"},
        {"kind": "off_topic", "sentence": 4, "what": "there are three"},
        {"kind": "praise", "sentence": 1, "what": "good"},
        {"kind": "unanswered", "what": ""},
        "nonsense",
    ]
    read = read_lacks(json.dumps({"lacks": lacks}), 3)
    assert (list_criticised(read), allows_adding(read)) == ([2, 3], False)
    many = [{"kind": "unanswered", "what": f"part {number}"} for number in range(9)]
    read = read_lacks(f"Sure: {json.dumps({'lacks': many})}", 3)
    assert (len(read), allows_adding(read), list_criticised(read)) == (5, True, [])


def test_sections_are_composed_in_their_order_and_the_top_is_short() -> None:
    sections = {3: "## Mine\n\nC is new [e3].", 1: "A is old [e1].\n## Not found\n- cost of it\n- who paid"}
    top = "# Answer\n\nOne [e1]. Two [e1]. Three [e1]. Four [e1]."
    composed = compose_sections(sections, top, "What does it cost, and who paid?", ["Age", "Size", "Cost"])
    headings = [block.sentences[0].text for block in composed.draft.blocks if block.kind == "heading"]
    assert headings == ["Age", "Cost"]
    assert said(composed.draft) == ["One.", "Two.", "Three.", "A is old.", "C is new."]
    assert composed.not_found == ("who paid",)


def test_one_writer_keeps_to_the_approved_headings() -> None:
    text = "It is old [e1].\n\n## size:\n\nIt is big [e2].\n\n## Gossip\n\nIt is said [e3]."
    headings = [block.sentences[0].text for block in compose(text, "?", ["Size"]).draft.blocks if block.kind == "heading"]
    assert headings == ["Size"]
    free = [block.sentences[0].text for block in compose(text, "?", []).draft.blocks if block.kind == "heading"]
    assert free == ["size:", "Gossip"]
