"""Levels: the words for a verdict that a person reads, and how many such sentences are true."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.claims.levels import FEWEST, to_json
from benchmarks.claims.score import Score, score

from stepwell.research.audit.checks import CHECKS_VERSION
from stepwell.research.audit.evidence import HELD, VERDICTS
from stepwell.research.audit.levels import (
    LEVELS,
    describe_meaning,
    describe_method,
    legend,
    measurement,
    name_level,
    spell_reason,
)
from stepwell.research.judges.pairs import Pair

ROOT = Path(__file__).parents[4]


def test_the_stored_figures_were_measured_with_the_current_checks():
    found = measurement()
    assert found.checks == CHECKS_VERSION, (
        "measure again: python -m benchmarks.claims FOLDER --half odd --write .../levels.json"
    )
    assert sum(found.sets.values()) > 1_000
    for measured in found.levels.values():
        assert (measured.true is None) == (not measured.sets)
        assert measured.true is None or 0 <= measured.lowest <= measured.true <= measured.highest <= 100


def test_sentences_of_a_higher_level_are_true_more_often():
    true = {verdict: measured.true for verdict, measured in measurement().levels.items() if measured.true is not None}
    held, out = [true[each] for each in HELD if each in true], [true[each] for each in ("unsupported", "contradicted")]
    assert min(held) > true["partial"] > max(out)


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_level_has_a_meaning_in_a_sentence(verdict):
    figure = measurement().levels[verdict].true
    said = describe_meaning(verdict)
    assert said.startswith("Not measured" if figure is None else f"On public data, {figure} of 100 such sentences are true (")


def test_a_legend_has_the_levels_that_are_shown_from_the_best():
    (first, share), (second, _) = legend({"contradicted", "supported"})
    found = measurement().levels["supported"]
    assert (first, second) == ("Supported", "Differs")
    assert share == f"{found.true} ({found.lowest} to {found.highest})"
    assert "right 60 % of the time" in describe_method()


def test_the_page_has_the_same_words_and_reads_the_same_figures():
    wording = (ROOT / "web/src/report/wording.ts").read_text(encoding="utf-8")
    assert 'from "../../../src/stepwell/research/audit/levels.json"' in wording
    for verdict in VERDICTS:
        assert f'{verdict}: {{ word: "{name_level(verdict)}"' in wording


@pytest.mark.parametrize("verdict", VERDICTS)
def test_the_documentation_has_the_same_words_and_figures(verdict):
    page = (ROOT / "docs/explanation/evidence.md").read_text(encoding="utf-8")
    figures = dict(legend(VERDICTS))[name_level(verdict)]
    (row,) = [line for line in page.splitlines() if line.startswith(f"| {LEVELS[verdict]} | `{verdict}` |")]
    assert row.endswith(f"| {figures} |")


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("the claim says '30 metres', the source 'about 20'", "“30 metres”; the source says “about 20”"),
        ("the claim says '5 km', the source '5 m': another unit", "“5 km”; the source says “5 m”"),
        ("the source says 'red', not 'green'", "the source says “red”, not “green”"),
        ("the source does not say 'Ada's mill'", "the source does not say “Ada's mill”"),
        ("the judge says: “it isn't so”", "the judge says: “it isn't so”"),
    ],
)
def test_a_reason_with_two_values_shows_both(reason: str, said: str):
    assert spell_reason(reason) == said


def test_a_level_counts_only_sets_with_enough_of_its_sentences():
    mill = "The mill has two wheels and a pond."
    true, false = (
        Pair("The mill has a pond and two wheels.", mill, "supported"),
        Pair("The mill has nine wheels.", mill, "refuted"),
    )
    sets: dict[str, Score] = {"large": score([true, false] * FEWEST), "small": score([true, false])}
    found = json.loads(to_json(sets))
    assert found["checks"] == CHECKS_VERSION
    assert found["sets"] == {"large": 2 * FEWEST, "small": 2}
    assert list(found["levels"]) == list(LEVELS)
    assert found["levels"]["supported"] == {"claims": FEWEST, "true": 100, "lowest": 100, "highest": 100, "sets": ["large"]}
    assert found["levels"]["contradicted"]["true"] == 0
    assert found["levels"]["verbatim"] == {"claims": 0, "true": None, "lowest": None, "highest": None, "sets": []}
