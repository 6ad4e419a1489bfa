"""R9 in deep research: which sentences of a free text are claims, which passages they are held against, and where marks go."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stepwell.research.audit.evidence import Claim, Source
from stepwell.research.audit.sentences import passages
from stepwell.research.audit.writing.marked import add_marks, remove_marks, sentences
from stepwell.research.audit.writing.references import check_references
from stepwell.research.deep.claims import Quotations, find_nearest
from stepwell.research.deep.report import finish_report

LINK = "[s1](https://real.example/)"
SOURCES = {
    "s1": Source(
        "s1", "web", "https://real.example/", "https://real.example/", "Page", "text/html", 200, "now", "a" * 64, "b" * 64
    )
}
REPORT = f"""# Wells

The well is old {LINK}. It has
12 steps {LINK}, says the keeper.

## 2 It is 40 m deep
> - Quoted {LINK}.
- An item *(s9 is no source that was read)*

| Well | Depth |
|---|---|
| First | 40 m {LINK} |

```
code is no claim
```
"""


def test_every_statement_is_found_with_what_it_cites():
    found = sentences(REPORT + f"\n## Sources\n\n- s1 {LINK} is no claim.\n")
    assert [(sentence.words, sentence.cited) for sentence in found] == [
        ("The well is old.", ("s1",)),
        ("It has 12 steps, says the keeper.", ("s1",)),
        ("It is 40 m deep", ()),
        ("Quoted.", ("s1",)),
        ("An item", ("s9",)),
        ("First, 40 m", ("s1",)),
    ]


def test_a_mark_stands_behind_its_sentence_and_can_be_taken_off():
    stated = sentences(REPORT)
    claims = [Claim("c", each.words, verdict="supported" if each.words == "Quoted." else "partial") for each in stated]
    text = add_marks(REPORT, list(zip(stated, claims, strict=True)))
    assert f"The well is old {LINK}. *(not settled)* It has" in text
    assert f"| First | 40 m {LINK} *(not settled)* |" in text
    assert f"> - Quoted {LINK}.\n" in text
    assert remove_marks(text) == REPORT
    assert [(each.words, each.cited) for each in sentences(remove_marks(text))] == [(each.words, each.cited) for each in stated]


def test_a_citation_behind_the_full_stop_belongs_to_the_sentence_before_it():
    (sentence,) = sentences(remove_marks(f"It is deep. {LINK}"))
    assert (sentence.words, sentence.cited) == ("It is deep.", ("s1",))


def test_the_nearest_passages_of_a_page_are_quoted_in_their_order():
    page = passages(
        "Wells are old. The north well has 12 steps. Nothing here. It was dug in 1890. The south well has 12 rooms."
    )
    assert [each.text for each in find_nearest("The north well has 12 steps.", page)] == [
        "Wells are old.", "The north well has 12 steps.", "The south well has 12 rooms.",
    ]  # fmt: skip
    assert find_nearest("Unrelated.", page) == []


def test_the_same_place_is_the_same_quote():
    quotations = Quotations({"s1": "The north well has 12 steps."}, {})
    first, again = (quotations.of(sentence, SOURCES) for sentence in sentences(f"A well {LINK}. The well {LINK}."))
    assert [quote.quote_id for quote in first] == [quote.quote_id for quote in again] == ["e1"]


PIECES = st.sampled_from(
    ["A fact ", "[s1]", "[s9]", ". ", "\n", "\n\n", "## Part\n", "| a | b |\n", "|---|\n", "- item ", "> ", "```\n", "1. ", "12 ", "*x* ",
     "## Sources\n"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=14).map("".join))
def test_marking_a_checked_report_again_changes_nothing(text: str):
    """An agent may go on editing a report that has marks."""

    def check(written: str) -> str:
        finished = finish_report(remove_marks(written), SOURCES).text
        stated = sentences(finished)
        return add_marks(finished, [(each, Claim("c", each.words, verdict="unsupported")) for each in stated])

    once = check(text)
    assert check(once) == once
    assert check_references(once, SOURCES) == []
