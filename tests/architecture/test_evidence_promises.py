"""What docs/explanation/evidence.md promises of bundles, row by row, is what a test does: each row names one that exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "evidence.md"
_ROW = re.compile(
    r"^\| (?P<what>[^|]+) \| (?P<alone>[^|]+) \| (?P<key>[^|]+) \| (?P<head>[^|]+) \| (?P<tests>[^|]*) \|$", re.MULTILINE
)
_SEEN = re.compile(r"SEEN_ALONE: dict.*?^\}", re.MULTILINE | re.DOTALL)
_UNSEEN = re.compile(r"NOT_SEEN_ALONE: list.*?^\]", re.MULTILINE | re.DOTALL)


def _rows() -> list[re.Match[str]]:
    table = PAGE.read_text(encoding="utf-8").partition("## What a bundle proves")[2]
    return [row for row in _ROW.finditer(table) if row["what"].strip("- ") and "what is changed" not in row["what"]]


def test_every_promise_about_bundles_names_a_test_that_exists() -> None:
    tests = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests").glob("*/**/test_*.py"))
    assert len(_rows()) > 15
    for row in _rows():
        named = re.findall(r"`(\w+)`", row["tests"])
        assert named or set(row.group("alone", "key", "head")) == {"no"}, row["what"]
        for name in named:
            assert re.search(rf"def {name}\(", tests), (row["what"], name)


def test_what_is_called_found_or_not_found_is_among_the_forgeries_that_are() -> None:
    """A forgery of a row that says *found* is one that the file alone shows, and one of a row that says *no* is one that it does not."""
    source = (ROOT / "tests" / "integration" / "research" / "test_forgeries.py").read_text(encoding="utf-8")
    seen = "".join(_SEEN.findall(source)) + source[source.index("FORMS: list") : source.index("SEEN_ALONE: dict")]
    unseen = "".join(_UNSEEN.findall(source))
    for row in _rows():
        for name in re.findall(r"`(_\w+)`", row["tests"]):
            where = {"found": seen, "no": unseen}[row["alone"]]
            assert re.search(rf"\b{name}\b", where), (row["what"], name)
