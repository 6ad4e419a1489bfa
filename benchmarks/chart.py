"""Draws the main figures of the published table beside the rivals': `python benchmarks/chart.py` writes `docs/images/benchmarks.svg`.

The table in `docs/benchmarks.md` is the only source; `--publish` redraws the chart with it, and a test keeps the two in step. Every row
has its own scale, which starts at zero, so only bars of one row can be compared.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
IMAGE = ROOT / "docs" / "images" / "benchmarks.svg"

DEEPAGENTS, LANGGRAPH_DEV = "deepagents", "langgraph dev"


@dataclass(frozen=True)
class Shown:
    """A row of the table, and what the chart says about it."""

    claim: str
    title: str
    rival: str
    unit: str = "plain agent = 1x"
    more_is_better: bool = False


SHOWN = (
    Shown("CPU per no-op step, sync", "CPU per step", DEEPAGENTS),
    Shown("CPU per no-op step with InMemorySaver, sync", "CPU per step, with a checkpointer", DEEPAGENTS),
    Shown("create with 5 subagents", "Creating an agent with 5 subagents", DEEPAGENTS),
    Shown("grep over 5,000 files, store", "Searching 5,000 files in a store", DEEPAGENTS, "plain scan = 1x"),
    Shown("1 client, first event, p50", "First event of a run", LANGGRAPH_DEV, ""),
    Shown("the same, false claims left unmarked", "False claims left unmarked", DEEPAGENTS, ""),
    Shown(
        "1,000 concurrent runs of 5 steps, runs per CPU-second",
        "1,000 runs at once, per CPU-second",
        DEEPAGENTS,
        more_is_better=True,
    ),
    Shown(
        "50 clients, POST /threads/…/runs/stream, runs per second",
        "50 clients, streamed runs per second",
        LANGGRAPH_DEV,
        "",
        True,
    ),
)

WIDTH = 800
MARGIN = 28
BARS_FROM, BARS_TO = 310, 686
ROW = 52
BAR = 15
STYLE = """
.card { fill: #ffffff; stroke: #d9dee5; }
.text { fill: #1c2430; }
.faint { fill: #5d6978; }
.ours { fill: #0d7d74; }
.rival { fill: #b4bdc9; }
.gain { fill: #0b6a62; font-weight: 700; }
.line { stroke: #e6eaef; }
text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; font-size: 14px; }
.title { font-size: 20px; font-weight: 700; }
.head { font-size: 13px; font-weight: 600; }
.small { font-size: 13px; }
.gain { font-size: 20px; }
@media (prefers-color-scheme: dark) {
  .card { fill: #12171e; stroke: #2c3541; }
  .text { fill: #e8edf3; }
  .faint { fill: #9aa7b6; }
  .ours { fill: #2cc4b5; }
  .rival { fill: #566375; }
  .gain { fill: #4fd8ca; }
  .line { stroke: #242d38; }
}"""


def write(page: Path = PAGE, image: Path = IMAGE) -> None:
    """Redraw the chart from the table in the page."""
    image.parent.mkdir(parents=True, exist_ok=True)
    image.write_text(draw(page.read_text()))


def draw(page: str) -> str:
    """The chart of the table in a page, as SVG. Rows that the table lacks are left out."""
    found = [(shown, *figures) for shown in SHOWN if (figures := _figures(page).get(shown.claim))]
    parts: list[str] = []
    y = 84
    for heading, gain, more in (("Less is better", "times less", False), ("More is better", "times as many", True)):
        rows = [row for row in found if row[0].more_is_better is more]
        if not rows:
            continue
        parts.append(_text(MARGIN, y + 8, heading, "head faint"))
        parts.append(_text(WIDTH - MARGIN, y + 8, gain, "head faint", "end"))
        parts.append(f'<line class="line" x1="{MARGIN}" y1="{y + 18}" x2="{WIDTH - MARGIN}" y2="{y + 18}"/>')
        y += 30
        for shown, ours, peer in rows:
            parts += _row(y, shown, ours, peer)
            y += ROW
        y += 14
    height = y + 30
    spoken = "; ".join(f"{shown.title}: Stepwell {ours}, {shown.rival} {peer}" for shown, ours, peer in found)
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img"'
            f' aria-label="{escape(spoken)}">',
            f"<style>{STYLE}\n</style>",
            f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="12"/>',
            _text(MARGIN, 42, "Stepwell, measured", "title text"),
            *_legend(),
            *parts,
            _text(
                MARGIN,
                height - 20,
                "Every row has its own scale. docs/benchmarks.md says how each was measured.",
                "small faint",
            ),
            "</svg>",
            "",
        )
    )


def _figures(page: str) -> dict[str, tuple[str, str]]:
    """Claim -> ours and the peer's, as the table has them; of several rows with one name the first."""
    found: dict[str, tuple[str, str]] = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if len(cells) == 6 and "–" not in (cells[2], cells[4]):
            found.setdefault(cells[0], (cells[2], cells[4]))
    return found


def _row(y: int, shown: Shown, ours: str, peer: str) -> Iterator[str]:
    mine, theirs = _number(ours), _number(peer)
    full = BARS_TO - BARS_FROM - 70
    for top, value, told, kind in ((y, mine, ours, "ours"), (y + BAR + 4, theirs, peer, "rival")):
        length = max(2.0, full * value / max(mine, theirs))
        yield f'<rect class="{kind}" x="{BARS_FROM}" y="{top}" width="{length:.1f}" height="{BAR}" rx="3"/>'
        yield _text(BARS_FROM + length + 7, top + 12, told, f"small {'text' if kind == 'ours' else 'faint'}")
    yield _text(MARGIN, y + 12, shown.title, "text")
    yield _text(MARGIN, y + 31, f"{shown.rival} · {shown.unit}" if shown.unit else shown.rival, "small faint")
    yield _text(WIDTH - MARGIN, y + 23, _gain(shown, mine, theirs, ours), "gain", "end")


def _gain(shown: Shown, ours: float, peer: float, told: str) -> str:
    if not shown.more_is_better:
        ours, peer = peer, ours
    if not peer:
        return told
    times = ours / peer
    return f"{times:.1f}x" if times < 10 else f"{times:,.0f}x"


def _number(cell: str) -> float:
    return float(cell.split()[0].rstrip("x").replace(",", ""))


def _legend() -> Iterator[str]:
    for x, kind, name in ((BARS_FROM, "ours", "Stepwell"), (BARS_FROM + 96, "rival", "the project named at the left")):
        yield f'<rect class="{kind}" x="{x}" y="31" width="14" height="14" rx="3"/>'
        yield _text(x + 21, 43, name, "small text")


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


if __name__ == "__main__":
    sys.exit(write())
