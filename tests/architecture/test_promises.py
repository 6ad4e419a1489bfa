"""What docs/ promises is what a test does: each row of a table with a column `tested by` names tests that exist, and figures in the text
are those of the code. What evidence.md says of forged bundles has a stricter test of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stepwell.database.postgres import patience
from stepwell.database.queue import suspects
from stepwell.database.queue import types as queue
from stepwell.database.sqlite import write_ahead_log
from stepwell.research.audit import bundle, checking_process, limits
from stepwell.runs import stopping

DURABILITY, SCALE, EVIDENCE = "explanation/durability.md", "how-to/scale.md", "explanation/evidence.md"
TESTED_BY = "tested by"
FIGURES = {
    DURABILITY: [
        f"after {queue.LEASE_S:g} seconds another worker drives its runs",
        f"After {queue.LEASE_S:g} seconds without one",
        f"away for up to {patience.AWAY_S:g} seconds",
        f"the server waits {stopping._STOP_S:g} seconds",
        f"of the last {write_ahead_log.LATEST_S:g} seconds on a server that is never quiet",
        f"has lived for {suspects._WAIT_S:g} second;",
        f"up to {suspects._LONGEST_WAIT_S:g} seconds",
        f"at least {suspects._CALM:g} times as long",
        {5: "The fifth death that counts ends the run"}[queue.MAX_COUNTED_CRASHES],
        {2: "two deaths of its worker at the same step is a suspect"}[suspects._SUSPECT_AFTER],
    ],
    SCALE: [
        f"about {queue.LEASE_S:g} seconds later",
        f"wait up to {patience.AWAY_S:g} seconds",
        f"After {queue.HELD_UP_S:g} seconds others take them over",
    ],
    EVIDENCE: [
        f"There is one format, `{bundle.FORMAT}`",
        f"checks a file for {limits.VERIFY_S:g} seconds (`--seconds`",
        f"a report of up to {limits.MAX_REPORT_BYTES // 10**6} MB",
        f"up to {limits.MAX_ENTRIES:,} entries with {limits.MAX_CLAIMS:,} claims",
        {2: f"two at once, for {checking_process.ROUTE_S:g} seconds"}[checking_process.AT_ONCE],
    ],
}


def _rows(page: str) -> list[list[str]]:
    """The cells of each row of the tables that say what tests them."""
    rows: list[list[str]] = []
    promises = False
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("|") else []
        if not cells:
            promises = False
        elif cells[-1] == TESTED_BY:
            promises = True
        elif promises and not line.startswith("|---"):
            rows.append(cells)
    return rows


@pytest.mark.parametrize(("name", "least"), [(DURABILITY, 25), (SCALE, 10)])
def test_every_promise_names_a_test_that_exists(root: Path, name: str, least: int):
    places = (root / "tests").rglob("*.py")
    known = set(re.findall(r"def (test_\w+)\(", "\n".join(file.read_text(encoding="utf-8") for file in places)))
    rows = _rows((root / "docs" / name).read_text(encoding="utf-8"))
    assert len(rows) >= least
    for row in rows:
        named = re.findall(r"`(test_\w+)`", row[-1])
        assert named or row[-1].startswith("not tested"), row[0]
        assert set(named) <= known, row[0]


@pytest.mark.parametrize("name", FIGURES)
def test_figures_of_a_promise_are_those_of_the_code(root: Path, name: str):
    page = " ".join((root / "docs" / name).read_text(encoding="utf-8").split())
    assert [figure for figure in FIGURES[name] if figure not in page] == []


def test_every_test_in_the_docs_exists(root: Path):
    for page in (root / "docs").rglob("*.md"):
        for name in re.findall(r"`(tests/[\w/.]+)`", page.read_text(encoding="utf-8")):
            assert (root / name).exists(), (page.name, name)


def test_every_metric_in_the_docs_is_one_that_the_program_has(root: Path):
    source = "\n".join(file.read_text(encoding="utf-8") for file in (root / "src/stepwell").rglob("*.py"))
    for page in (root / "docs").rglob("*.md"):
        for name in re.findall(r"`(stepwell_[a-z_]+)`", page.read_text(encoding="utf-8")):
            assert name.removesuffix("_total") in source, (page.name, name)
