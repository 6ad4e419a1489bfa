"""D16, R9: what a deep research shows at its end; no address but those of pages that were read, whatever the agent wrote."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.research.audit.evidence import Source
from stepwell.research.audit.writing.links import ADDRESS
from stepwell.research.deep.report import NO_SOURCES, finish_message, finish_report

SOURCES = {
    f"s{n}": Source(
        f"s{n}", "web", f"https://real{n}.example/page", f"https://real{n}.example/page", f"Page {n}", "text/html", 200,
        "2026-01-02T03:04:05+00:00", f"{n}" * 64, f"{n}" * 64,
    )
    for n in (1, 2)
}  # fmt: skip
REAL = {source.final_url for source in SOURCES.values()}


def addresses(text: str) -> set[str]:
    return {found.rstrip(").,") for found in ADDRESS.findall(text)}


def test_ids_become_links_and_a_list():
    finished = finish_report("# Title\n\nIt opened in 1932 [s2]. It is red [s1, s2].", SOURCES)
    assert finished.cited == ("s2", "s1")
    assert "opened in 1932 [s2](https://real2.example/page)." in finished.text
    assert "red [s1](https://real1.example/page) [s2](https://real2.example/page)." in finished.text
    listed = finished.text.partition("## Sources\n\n")[2].splitlines()
    assert listed[0].startswith("- s2 [Page 2](https://real2.example/page), read 2 January 2026, 03:04 UTC, sha256")
    assert len(listed) == 2


@pytest.mark.parametrize(
    "invented",
    [
        "See https://made.up/x.",
        "See [the study](https://made.up/x).",
        "See [s1](https://made.up/x).",
        "[study]: https://made.up/x",
        "See <https://made.up/x>.",
        '<a href="https://made.up/x">there</a>',
        "See www.made.up/x",
        "See made.up/x",
        "[s1][s2] [e1](https://made.up/x)",
        "## References\n- [1] https://made.up/x\n",
        "## 5. Sources:\nmade.up/x\n## Next\nMore [s1].",
        "https://made.up/x ## Sources\n",
    ],
)
def test_an_address_that_the_agent_wrote_is_gone(invented: str):
    finished = finish_report(f"A fact [s1].\n\n{invented}\n", SOURCES)
    assert "made.up" not in finished.text
    assert addresses(finished.text) <= REAL
    assert finished.cited[0] == "s1"


def test_an_unknown_id_is_marked_and_not_linked():
    finished = finish_report("A fact [s7]. Another [s1, s8].", SOURCES)
    assert finished.unknown == ("s7", "s8")
    assert "A fact *(s7 is no source that was read)*." in finished.text
    assert finished.cited == ("s1",)


def test_a_report_without_sources_says_so_at_the_end():
    finished = finish_report("Everybody knows it. See https://made.up/x", SOURCES)
    assert finished.text.rstrip().endswith(NO_SOURCES)
    assert finished.removed_links == 1


def test_a_heading_that_an_address_hid_goes_with_the_list_of_sources():
    once = finish_report("https://made.up/x ## Sources\nmore", SOURCES).text
    assert finish_report(once, SOURCES).text == once
    assert once.count("## Sources") == 0


def test_a_message_gets_no_list():
    assert finish_message("Yes [s1].", SOURCES).text == "Yes [s1](https://real1.example/page)."
    assert finish_message("No ids, no change.", SOURCES).text == "No ids, no change."


PIECES = st.sampled_from(
    ["A fact ", "[s1]", "[s2]", "[s9]", "[s1, s2]", ". ", "\n\n", "## Sources\n", "## Part\n", "https://made.up/x ", "[x](http://made.up)",
     "](", "[", "<", "http", "://", "made.up/", "e1", "[e1]", "*(s9 is no source that was read)*", "&#104;ttp://made.up/", "[s1](https://real1.example/page)"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=12).map("".join))
def test_finishing_twice_changes_nothing_and_leaves_no_invented_address(text: str):
    """An agent may go on editing a finished report."""
    once = finish_report(text, SOURCES)
    linked = set(re.findall(r"\]\(([^)]*)\)", once.text))
    assert linked <= REAL
    assert {found for found in addresses(once.text) if "made.up" in found} == set()
    assert finish_report(once.text, SOURCES).text == once.text
