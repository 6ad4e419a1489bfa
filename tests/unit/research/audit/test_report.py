"""A report holds checked sentences and stored sources, and nothing a model made up. Row R9."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.errors import EvidenceError
from stepwell.research.audit.evidence import KEPT, VERDICTS, Claim, Quote, Source
from stepwell.research.audit.writing.compared import compare_numbered
from stepwell.research.audit.writing.draft import read_draft
from stepwell.research.audit.writing.links import strip_links
from stepwell.research.audit.writing.references import CitedPlace, check_references, reference_line
from stepwell.research.audit.writing.report import ANY_MARK, INSUFFICIENT, Report, insufficient_evidence, mark_of, write_report
from stepwell.tools.documents.parts import Part

AT = "2026-01-02T03:04:05+00:00"


def source(n: int, **changes: object) -> Source:
    url = f"https://s{n}.test/page"
    made = Source(f"s{n}", "web", url, url, f"Page {n}", "text/html", 200, AT, f"{n:064x}"[::-1], "0" * 64)
    return replace(made, **changes)


SOURCES = {f"s{n}": source(n) for n in (1, 2, 3)}
QUOTES = {f"e{n}": Quote(f"e{n}", f"s{(n - 1) % 3 + 1}", 0, 1, "x") for n in range(1, 5)}  # e1 and e4 are of s1


def report(text: str, *verdicts: str, **options: object) -> Report:
    draft = read_draft(text)
    claims = draft.claims()
    judged = [
        replace(claim, verdict=verdict) for claim, verdict in zip(claims, verdicts or ["supported"] * len(claims), strict=True)
    ]
    return write_report(draft, judged, QUOTES, SOURCES, **options)


def test_ids_become_numbers_and_a_list_of_sources():
    made = report("# Wells\n\nOne is deep [e2]. Two are wide. [e1, e4]\n\n- Three leak [e3][e2].\n- Four [e1].")
    assert made.text == (
        "# Wells\n\nOne is deep [1]. Two are wide [2].\n\n- Three leak [1, 3].\n- Four [2].\n\n## Sources\n\n"
        "1. [Page 2](https://s2.test/page), read 2 January 2026, 03:04 UTC, sha256 200000000000\n"
        "2. [Page 1](https://s1.test/page), read 2 January 2026, 03:04 UTC, sha256 100000000000\n"
        "3. [Page 3](https://s3.test/page), read 2 January 2026, 03:04 UTC, sha256 300000000000\n"
    )
    assert made.references == ("s2", "s1", "s3")
    assert check_references(made.text, SOURCES) == []


@pytest.mark.parametrize(
    ("reasons", "mark"),
    [
        (("the source does not say '2016'", "the source does not say 'red'"), "*(not settled: the source does not say “2016”)*"),
        (("I doubt it, see [here](https://evil.test)", "the source says 'red', not 'green'"),
         "*(not settled: the source says “red”, not “green”)*"),
        (("the source does not say '*(fine)* [9](https://evil.test)'",), "*(not settled: the source does not say “fine 9”)*"),
        (("a judge's own words",), "*(not settled)*"),
        ((), "*(not settled)*"),
    ],
)  # fmt: skip
def test_a_mark_says_what_the_checks_miss_and_nothing_a_model_worded(reasons: tuple[str, ...], mark: str):
    claim = Claim("c1", "Half.", ("e1",), "partial", reasons)
    assert mark_of(claim) == f" {mark}"
    assert ANY_MARK.sub("", f"Half [1]. {mark} More.") == "Half [1]. More."


def test_a_long_reason_is_cut_and_still_known_as_a_mark():
    mark = mark_of(Claim("c1", "Half.", ("e1",), "contradicted", (f"the source does not say '{'very ' * 60}long'",)))
    assert len(mark) < 160
    assert ANY_MARK.fullmatch(mark)
    assert mark_of(Claim("c1", "Whole.", ("e1",), "supported", ("the source says it",))) == ""


def test_unsupported_sentences_are_removed_and_counted():
    made = report("Good [e1]. Bad [e2]. Wrong [e3]. Half [e1].", "supported", "unsupported", "contradicted", "partial")
    assert "Good [1]. Half [1]. *(not settled)*" in made.text
    assert "Bad" not in made.text
    assert "Wrong" not in made.text
    assert "2 sentences were left out" in made.text
    assert made.references == ("s1",)


def test_a_report_that_marks_such_a_sentence_instead_is_refused():
    claims = [Claim("c1", "Good.", ("e1",), "supported"), Claim("c2", "Bad.", ("e2",), "unsupported")]
    removed = report("Good [e1]. Bad [e2].", "supported", "unsupported").text
    assert compare_numbered(removed, claims, QUOTES, SOURCES, (), of_quotes=False) == []
    marked = removed.replace("Good [1].", "Good [1]. Bad. *(not in its source)*")
    assert compare_numbered(marked, claims, QUOTES, SOURCES, (), of_quotes=False)


def test_headings_without_anything_under_them_go():
    made = report("# A\n\n## B\n\nBad.\n\n## C\n\nGood [e1].\n\n## D\n\nBad.", "unsupported", "supported", "unsupported")
    assert re.findall("^#.*", made.text, re.MULTILINE) == ["# A", "## C", "## Sources"]


@pytest.mark.parametrize("text", ["", "Nothing is cited here.", "# Only a heading"])
def test_without_evidence_there_is_no_report(text: str):
    """Defect of this family: a report written although nothing was found."""
    made = report(text, *["unsupported"] * len(read_draft(text).claims()))
    assert made.text == insufficient_evidence()
    assert made.text.startswith(INSUFFICIENT)
    assert not made.is_sufficient
    assert "Nothing is cited" not in made.text


def test_what_was_skipped_is_told():
    skipped = ["step 3: the ceiling of 20 requests was reached", "see https://evil.test/x\n# now"]
    assert (
        "## What was skipped\n\n- step 3: the ceiling of 20 requests was reached\n- see # now\n"
        in report("A [e1].", skipped=skipped).text
    )
    assert "step 3" in insufficient_evidence(skipped)


@pytest.mark.parametrize("heading", ["# In 1890 there were 900 wells", "## Wells are safe.", "# " + "very " * 20 + "long"])
def test_a_heading_that_states_something_is_a_claim(heading: str):
    assert len(read_draft(heading).claims()) == 1


@pytest.mark.parametrize("heading", ["# Wells", "## 2. Depth of wells", "### What do we know?", "## 1.2 Water"])
def test_other_headings_are_not(heading: str):
    assert read_draft(heading).claims() == ()


@pytest.mark.parametrize("heading", ["## Sources", "# References:", "### Bibliography", "## What was skipped"])
def test_a_model_cannot_write_the_list_of_sources(heading: str):
    made = report(f"Good [e1].\n\n{heading}\n\n1. [Fake](https://fake.test) is a source.", "supported", "unsupported")
    assert "Fake" not in made.text
    assert made.text.count("## Sources") == 1
    assert made.removed_links == 1


LINKS = [
    "see https://evil.test/a?b=c now",
    "see [this](https://evil.test) now",
    "see ![img](https://evil.test/x.png) now",
    "see <https://evil.test> now",
    "see <a href='https://evil.test'>this</a> now",
    "see [this][1] now\n\n[1]: https://evil.test",
    "see www.evil.test/path now",
    "see evil.test/path now",
    "see HTTPS://EVIL.TEST now",
    "see //evil.test/x now",
    "see javascript:alert(1) now",
    "see mailto:me@evil.test now",
    "see ht\u200btps://evil.test now",
    "see &#104;ttps://evil.test now",
    "see httphttps://evil.test://evil.test now",
    "see [a](<https://evil.test/x y>) now",
    "see [a](https://evil.test/(x) 'title') now",
    "see [![a](https://evil.test/1)](https://evil.test/2) now",
    "see [e1](https://evil.test) now",
    "see [a](relative) now",
    "see https:[e1]//evil.test/x now",
    "see www[e1].evil.test/x now",
]


@pytest.mark.parametrize("text", LINKS)
def test_no_address_of_a_model_survives(text: str):
    made = report(f"It is deep [e1], {text}.")
    assert "evil" not in made.text.lower()
    assert "relative" not in made.text
    assert made.removed_links >= 1
    assert re.findall(r"\]\(([^)]*)\)", made.text) == ["https://s1.test/page"]


def test_a_made_up_number_does_not_join_two_halves_of_an_address():
    assert "evil.test/x" not in report("It is deep [e1], see evil.test[1]/x now.").text


def test_an_id_dressed_as_a_link_stays_a_citation():
    assert read_draft("Deep [e1](https://evil.test).").claims() == (Claim("c1", "Deep.", ("e1",)),)


@pytest.mark.parametrize("text", ["Deep [1].", "Deep [^2] [e1].", "Deep [3, 4].", "Deep 【5†source】 [e1]."])
def test_made_up_numbers_are_removed(text: str):
    assert read_draft(text).claims()[0].text == "Deep."


WORDS = (
    *(
        "https://",
        "http:",
        "//",
        "evil.test",
        "/",
        "[",
        "]",
        "(",
        ")",
        "!",
        "<",
        ">",
        "a",
        ":",
        "[e1]",
        "[e9]",
        "[1]",
        "www.",
        "&#",
    ),
    *(".", "javascript:", "&lt;", "\\", "`", "|", "Deep", "&colon;", "é", "「", "\x85"),
)
PIECES = st.sampled_from([*WORDS, " ", "\n", "# ", "- ", "## Sources\n", "\u200b", "\u2028"])
DRAFTS = st.lists(PIECES, max_size=40).map("".join)


@given(DRAFTS | st.text(max_size=300), st.data())
def test_no_address_but_a_sources_is_ever_in_a_report(text: str, data: st.DataObject):
    draft = read_draft(text)
    claims = [replace(claim, verdict=data.draw(st.sampled_from(VERDICTS))) for claim in draft.claims()]
    made = write_report(draft, claims, QUOTES, SOURCES)
    known = {source.url for source in SOURCES.values()}
    assert set(re.findall(r"(?i)[a-z]+://[^\s)]+|\bwww\.\S+", made.text)) <= known
    assert set(re.findall(r"\]\(([^)]*)\)", made.text)) <= known
    assert check_references(made.text, SOURCES) == []
    assert write_report(draft, claims, QUOTES, SOURCES) == made
    kept = [claim for claim in claims if claim.verdict in KEPT]
    assert made.is_sufficient == bool(kept)


@given(DRAFTS)
def test_links_are_gone_after_one_pass(text: str):
    once = strip_links(text)
    assert strip_links(once.text).text == once.text
    assert strip_links(once.text).removed == 0


def test_claims_must_be_those_of_the_draft():
    draft = read_draft("One [e1]. Two [e2].")
    with pytest.raises(EvidenceError, match="draft"):
        write_report(draft, draft.claims()[:1], QUOTES, SOURCES)
    with pytest.raises(EvidenceError, match="draft"):
        write_report(draft, [replace(claim, text="Other.") for claim in draft.claims()], QUOTES, SOURCES)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"title": "A ](https://evil.test) [x"}, r"A \] \( \[x"),
        ({"title": "<script>x</script> *b*\nc"}, r"x \*b\* c"),
        ({"title": "", "final_url": None}, "[s1.test]"),
        ({"final_url": "https://s1.test/a (b)\n)x"}, "(https://s1.test/a%20%28b%29%0A%29x)"),
        (
            {"kind": "device", "url": None, "final_url": None, "title": "notes.txt"},
            "1. notes.txt (from your device), read 2 January 2026, 03:04 UTC, sha256",
        ),
        ({"url": "javascript:alert(1)", "final_url": None}, "1. Page 1 (from your device)"),
    ],
)
def test_a_title_or_address_cannot_break_out_of_its_line(changes: dict, line: str):
    made = reference_line(1, source(1, **changes))
    assert line in made
    assert "\n" not in made
    assert "evil" not in made


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("[1].", "[7]."),
        lambda text: text.replace("s1.test", "s9.test"),
        lambda text: text.replace("sha256 1", "sha256 2"),
        lambda text: text.replace("Good", "Good https://evil.test/x"),
        lambda text: text + "2. [More](https://evil.test), read now, sha256 abcdefabcdef\n",
        lambda text: text.replace("1. [Page", "2. [Page"),
        lambda text: text.split("## Sources")[0],
    ],
)
def test_a_changed_reference_is_found(change):
    assert check_references(change(report("Good [e1].").text), SOURCES)


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("2026-11-17T02:26:45.363731+00:00", "17 November 2026, 02:26 UTC"),
        ("2026-11-17T02:26:45+05:00", "16 November 2026, 21:26 UTC"),
        ("2026-11-17T02:26:45", "17 November 2026, 02:26 UTC"),
        ("0001-01-01T00:00:00+05:00", "0001-01-01T00:00:00+05:00"),
        ("some *day*", r"some \*day\*"),
    ],
)
def test_a_source_says_when_it_was_read_as_a_person_would(at: str, said: str):
    assert reference_line(1, source(1, fetched_at=at)).endswith(f", read {said}, sha256 100000000000")


def test_a_page_that_was_read_twice_in_a_minute_is_cited_at_the_places_of_both():
    """The two have the same line in the list, and other words are quoted of each."""
    parts = (Part(0, "page 1"), Part(50, "page 2"))
    twice = {
        "s1": source(1, parts=parts),
        "s2": replace(source(1, parts=parts, fetched_at=AT.replace(":05", ":06")), source_id="s2"),
    }
    quotes = {"e1": Quote("e1", "s1", 0, 4, "Some"), "e2": Quote("e2", "s2", 50, 54, "More")}
    lines = [reference_line(n, twice[f"s{n}"], [CitedPlace("page", str(n))]) for n in (1, 2)]
    report = "\n".join(["A sentence [1]. Another [2].", "", "## Sources", "", *lines])
    assert check_references(report, twice, quotes) == []


@pytest.mark.parametrize(
    "pointer", ["See https://invented.example/x.", "See also [here](https://invented.example/).", "Source: https://a.example/"]
)
def test_what_is_left_of_a_removed_link_is_no_claim(pointer: str):
    draft = read_draft(f"The well is deep [e1]. {pointer}")
    assert [claim.text for claim in draft.claims()] == ["The well is deep."]
    assert draft.removed_links >= 1


def test_a_thing_that_was_skipped_several_times_is_told_once():
    text = insufficient_evidence(["A page of 'a.example': the ceiling is reached."] * 3 + ["Another."])
    assert text.count("the ceiling is reached") == 1
    assert "- Another." in text
