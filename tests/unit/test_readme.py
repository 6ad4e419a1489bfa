"""What README.md shows is true today: its figures are those of docs/benchmarks.md, its commands exist, and its pictures are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image

from stepwell.cli import make_parser
from stepwell.products import installed_products

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BENCHMARKS = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
COMPARED = README.partition("## Why not")[2].partition("\n## ")[0]
AGAINST = {
    "CPU per no-op step, sync": "step",
    "SQLite after 100 writes of 10 kB and 100 edits, per live byte": "storage",
    "cold start of the server, p50": "server_start",
    "1 client, first event, p50": "server_runs",
}
"""Rows of the benchmarks that the table shows as `ours against theirs`, and the claim that measures each."""


def row(claim: str) -> tuple[str, str]:
    """What the benchmarks say of us and of the peer."""
    (cells,) = [line.split(" | ") for line in BENCHMARKS.splitlines() if line.startswith(f"| {claim} | ")]
    return cells[2], cells[4]


def figures() -> list[str]:
    """Every figure of the comparison, as today's benchmarks give it."""
    found = [f"{ours} against {theirs} (`{by}`)" for claim, by in AGAINST.items() for ours, theirs in [row(claim)]]
    found.append(f"{row('50 clients, POST /threads/…/runs/wait, runs per second')[0]} as many")
    on_postgres = re.search(r"trivial graph: (\d+) and \d+ runs/s.*?Aegra (\d+)", BENCHMARKS)
    assert on_postgres is not None
    found.append(f"{on_postgres[1]} against {on_postgres[2]} (`scale_out`)")
    return found


def test_every_figure_of_the_comparison_is_one_of_the_benchmarks():
    left = COMPARED
    for figure in figures():
        assert figure in left
        left = left.replace(figure, "")
    prose = re.sub(r"`[^`]*`|\([^)\s]*\)", "", left)
    assert re.findall(r"\d[\d.,]*", prose) == []


def test_every_row_of_the_comparison_has_a_figure_or_says_that_there_is_none():
    rows = [line for line in COMPARED.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 7
    assert [line for line in rows if not re.search(r"\d|not measured", line)] == []


def test_readme_is_short_and_says_alpha():
    assert len(README.splitlines()) <= 150
    assert "Alpha" in README


def test_the_first_code_is_six_lines():
    code = README.partition("```python\n")[2].partition("```")[0]
    assert len(code.strip().splitlines()) <= 6


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/tutorial/tour.md"])
def test_every_make_target_on_a_page_exists(page: str):
    targets = set(re.findall(r"^([a-z_]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^|`)make ([a-z_]+)", text, re.MULTILINE))
    assert named
    assert named <= targets


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial/tour.md"])
def test_every_stepwell_command_on_a_page_exists(page: str, capsys: pytest.CaptureFixture[str]):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^|[`/])stepwell ([a-z]+)(?= |`)", text, re.MULTILINE))
    assert named
    parser = make_parser(installed_products())
    for command in named:
        with pytest.raises(SystemExit) as ended:
            parser.parse_args([command, "--help"])
        assert ended.value.code == 0, capsys.readouterr().err


def test_every_picture_is_there_and_described():
    pictures = re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", README)
    assert len(pictures) >= 4
    for description, place in pictures:
        assert description
        assert (ROOT / place).is_file()
    for place in re.findall(r'(?:src|srcset)="([^"]+)"', README):
        assert (ROOT / place).is_file()


def test_the_animation_is_small_and_short():
    path = ROOT / "docs" / "images" / "research.webp"
    assert path.stat().st_size <= 1_500_000
    with Image.open(path) as clip:
        shown_ms = 0
        for number in range(clip.n_frames):
            clip.seek(number)
            clip.load()
            shown_ms += clip.info["duration"]
    assert 10_000 <= shown_ms <= 20_000
