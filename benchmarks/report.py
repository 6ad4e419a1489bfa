"""The results as a table for the terminal, as Markdown for `docs/benchmarks.md`, and as JSON. It measures nothing."""

from __future__ import annotations

import json
import os
import platform
import re
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.bench import ROOT, Bench, Row

HEAD = ["claim", "target", "ours", "floor", "peer", "verdict"]
JSON_FILE = ROOT / "build" / "benchmarks.json"
PAGE = ROOT / "docs" / "benchmarks.md"
START, END = "<!-- table: written by benchmarks/run.py --publish -->", "<!-- end of table -->"


def text_table(rows: list[Row]) -> str:
    """Columns padded to one width, the first two to the left."""
    lines = [HEAD, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    sides = [str.ljust, str.ljust, str.rjust, str.rjust, str.rjust, str.ljust]
    padded = ["  ".join(pad(cell, width) for pad, cell, width in zip(sides, line, widths, strict=True)) for line in lines]
    padded.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in padded)


def notes(rows: list[Row], bench: Bench) -> list[str]:
    """What the cells have no room for: the floor's absolute figures, and what went wrong."""
    remarks = [f"{row.claim}: {row.note}" for row in rows if row.note]
    return remarks + [f"problem: {where}: {what}" for where, what in bench.problems.items()]


def conditions() -> dict[str, str]:
    """The machine and the versions, without anything that names the host."""
    names = ("langchain", "langchain-core", "langgraph")
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        **{name: version(name) for name in names},
    }


def write_json(rows: list[Row], bench: Bench, path: Path = JSON_FILE) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = ("claim", "target", "limit", "ours", "floor", "peer", "verdict", "note")
    content: dict[str, Any] = {
        "conditions": conditions(),
        "quick": bench.quick,
        "rows": [{name: getattr(row, name) for name in kept} for row in rows],
        "problems": bench.problems,
        "rounds": bench.raw,
    }
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def publish(rows: list[Row], bench: Bench, page: Path = PAGE) -> None:
    """Put the table into the page, between its two markers."""
    facts = ", ".join(value if key in ("date", "machine") else f"{key} {value}" for key, value in conditions().items())
    lines = [HEAD, ["---"] * len(HEAD), *(row.cells() for row in rows)]
    table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    remarks = "\n".join(f"- {remark}" for remark in notes(rows, bench))
    block = f"{START}\n{facts}\n\n{table}\n\n{remarks}\n{END}"
    before = page.read_text()
    after, count = re.subn(f"{re.escape(START)}.*?{re.escape(END)}", lambda _: block, before, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"docs/benchmarks.md must hold one block between '{START}' and '{END}'.")
    page.write_text(after)
