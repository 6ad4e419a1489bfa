"""The measurement of the checks on pairs that a user brings: what it reads, counts and prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.claims.__main__ import main
from benchmarks.claims.score import score

from stepwell.research.judges.pairs import PairsError, find_sets, read_pairs
from stepwell.research.judges.shares import precision, share

PAIRS = [
    ("The mill has two wheels and a pond.", "There are two wheels and a pond at the mill.", "supported"),
    ("The mill has nine wheels.", "The mill has two wheels and a pond.", "refuted"),
    ("The mill is haunted.", "The mill has two wheels and a pond.", "nei"),
    ("The mill has two wheels and a bakery.", "The mill has two wheels and a pond.", "partial"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [json.dumps({"id": str(n), "claim": c, "evidence": e, "label": label}) for n, (c, e, label) in enumerate(PAIRS)]
    (tmp_path / "mills.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_each_label_is_counted_by_what_becomes_of_it(folder: Path):
    found = score(read_pairs(find_sets(folder)["mills"]))
    assert found.of(["supported"], "supported", "verbatim").value == 1
    assert found.of(["refuted"], "supported", "partial").value == 0
    assert found.of(["nei", "partial"], "supported").value == 0
    assert found.of(["partial"], "partial").value == 1
    assert found.unmarked.value == 1


def test_a_half_is_every_other_line_and_the_first_is_odd(folder: Path):
    file = find_sets(folder)["mills"]
    assert [pair.label for pair in read_pairs(file, "odd")] == ["supported", "nei"]
    assert [pair.label for pair in read_pairs(file, "even")] == ["refuted", "partial"]


def test_the_table_has_a_column_a_set_with_intervals(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main([str(folder), "--half", "all"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("|  | mills |")
    assert "| true: unmarked | 100.0 (20.7–100.0) |" in shown
    assert "| *supported*: true | 100.0 (" in shown
    assert "| *word for word or nearly*: true | – |" in shown
    assert "| *differs* right | 100.0 (" in shown
    assert "| true claims not shown as supported | 0.0 (" in shown
    assert "| true and false claims | 1 and 3 |" in shown


@pytest.mark.parametrize(
    ("line", "told"),
    [("no json", "line 1"), ('{"claim": "a", "evidence": "b", "label": "maybe"}', "'maybe'"), ('{"claim": "a"}', "evidence")],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, line: str, told: str, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "bad.jsonl").write_text(line, encoding="utf-8")
    assert main([str(tmp_path)]) == 1
    assert told in capsys.readouterr().err


def test_a_folder_without_sets_says_where_to_look(tmp_path: Path):
    with pytest.raises(PairsError, match="See docs"):
        find_sets(tmp_path)


def test_an_interval_is_wilsons():
    found = share(10, 100)
    assert (round(found.low, 3), round(found.high, 3)) == (0.055, 0.174)
    assert share(0, 0).of == 0


def test_precision_is_for_a_writer_who_is_right_that_often():
    found = precision(share(50, 100), share(5, 100), 0.6)
    assert round(found.value, 4) == round(0.6 * 0.5 / (0.6 * 0.5 + 0.4 * 0.05), 4)
    assert found.low < found.value < found.high
