"""What has changed between two reports about one question."""

from __future__ import annotations

from stepwell.research.audit.evidence import Claim, Source
from stepwell.research.audit.export.changes import compare, describe
from stepwell.research.audit.export.dossier import Dossier
from stepwell.research.audit.ledger import Evidence


def dossier(claims: list[str], pages: dict[str, str]) -> Dossier:
    sources = {
        f"s{n}": Source(f"s{n}", "web", url, url, f"Page {url[-1]}", "text/html", 200, "2026-01-02", text, text)
        for n, (url, text) in enumerate(pages.items(), 1)
    }
    said = {f"c{n}": Claim(f"c{n}", text, ("e1",), "supported") for n, text in enumerate(claims, 1)}
    return Dossier("q", "written", "", "", "", evidence=Evidence(sources=sources, claims=said))


def test_nothing_changed():
    one = dossier(["The well has 12 steps."], {"https://a.example/1": "aa"})
    assert not compare(one, one)
    assert describe(compare(one, one)) == "Nothing has changed: the same sentences from the same pages.\n"


def test_sentences_that_came_went_and_were_rewritten():
    before = dossier(
        ["The well has 12 steps.", "Its roof is made of oak."], {"https://a.example/1": "aa", "https://a.example/2": "bb"}
    )
    after = dossier(
        ["The well has 14 steps.", "Goats drink there."], {"https://a.example/1": "cc", "https://a.example/3": "dd"}
    )
    changes = compare(before, after)
    assert [(each.before.text, each.after.text) for each in changes.rewritten] == [
        ("The well has 12 steps.", "The well has 14 steps.")
    ]
    assert [claim.text for claim in changes.came] == ["Goats drink there."]
    assert [claim.text for claim in changes.gone] == ["Its roof is made of oak."]
    said = describe(changes)
    assert "## Pages that changed\n\n- Page 1 (https://a.example/1)" in said
    assert "- Page 3 (https://a.example/3)" in said.partition("## Pages read for the first time")[2]
    assert "- Page 2 (https://a.example/2)" in said.partition("## Pages not read this time")[2]


def test_a_sentence_left_out_in_both_is_no_change():
    weak = Claim("c1", "It never froze.", ("e1",), "unsupported")
    one = Dossier("q", "written", "", "", "", evidence=Evidence(claims={"c1": weak}))
    assert not compare(one, Dossier("q", "written", "", "", "", evidence=Evidence()))
