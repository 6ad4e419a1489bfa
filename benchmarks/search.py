"""Claim: searching many files costs about what a plain scan costs. grep, glob and ls over 5,000 files in state, in a store, on
disk.

Every contestant must find the same number of rows. CPU of the process and its children. The floor of the state and store
rows is a scan over a plain dictionary (`contestants/floor.py`); that of the disk rows the system's own `grep -r` and `find`,
their start included. ripgrep is hidden from everybody.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.bench import Bench, Row, best, ratio

FILES = 5000
FOLDERS = 50
LINES = 20
NEEDLE = "needle-in-hay"
VERBS = {"grep": NEEDLE, "glob": "**/*.py", "ls": "/folder-07"}
LIMITS = {
    "state": {"grep": 2.0, "glob": 3.0, "ls": 3.0},
    "store": dict.fromkeys(VERBS, 5.0),
    "disk": {"grep": 3.0, "glob": 4.0, "ls": None},
}
FLOORS = {
    "state": "a plain Python scan",
    "store": "a plain Python scan",
    "disk": {"grep": "`grep -r`", "glob": "`find`", "ls": "`ls -l`"},
}


def measure(contestant: ModuleType, *, place: str, files: int, repeats: int) -> dict[str, Any]:
    """CPU milliseconds and rows of each verb; the least of `repeats`, after one that warms."""
    _hide_ripgrep()
    made = make_files(files)
    if place == "disk":
        with tempfile.TemporaryDirectory() as folder:
            _spill(Path(folder), made)
            with contestant.disk_files(Path(folder)) as verbs:
                return _measure_verbs(verbs, repeats)
    with getattr(contestant, f"{place}_files")(made) as verbs:
        return _measure_verbs(verbs, repeats)


def make_files(count: int) -> dict[str, str]:
    """Files of 20 lines and about 1 kB in 50 folders; every tenth is Python, every hundredth holds the needle once."""
    chance = random.Random(11)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(500)]
    files = {}
    for number in range(count):
        lines = [" ".join(chance.choices(words, k=6)) for _ in range(LINES)]
        if number % 100 == 0:
            lines[LINES // 2] += f" {NEEDLE}"
        files[f"/folder-{number % FOLDERS:02}/file-{number:04}.{'py' if number // FOLDERS % 10 == 0 else 'txt'}"] = "\n".join(
            lines
        )
    return files


def _spill(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        target = folder / path[1:]
        target.parent.mkdir(exist_ok=True)
        target.write_text(text + "\n")


def _hide_ripgrep() -> None:
    keep = [part for part in os.environ["PATH"].split(os.pathsep) if not shutil.which("rg", path=part)]
    os.environ["PATH"] = os.pathsep.join(keep)


def _measure_verbs(verbs: Any, repeats: int) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for name, argument in VERBS.items():
        verb = getattr(verbs, name)
        verb(argument)
        spent = []
        for _ in range(repeats):
            started = _cpu()
            found = verb(argument)
            spent.append(_cpu() - started)
        figures |= {f"{name}_ms": 1000 * min(spent), f"{name}_rows": found}
    return figures


def _cpu() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def rows(bench: Bench) -> list[Row]:
    found = []
    for place in LIMITS:
        parameters = {"place": place, "files": FILES, "repeats": 3 if bench.quick else 5}
        figures = bench.rounds("search", parameters, count=1 if bench.quick else 2, label=f"search {place}")
        found += [_row(bench, figures, place, verb) for verb in VERBS]
    return found


def _row(bench: Bench, figures: Any, place: str, verb: str) -> Row:
    times = {name: best(figures, name, f"{verb}_ms") for name in figures}
    counts = {name: best(figures, name, f"{verb}_rows") for name in figures if figures[name]}
    if len(set(counts.values())) > 1:
        bench.problems[f"search {place} {verb}"] = f"rows found differ: {counts}"
    floor, limit = times["floor"], LIMITS[place][verb]
    against = FLOORS[place] if isinstance(FLOORS[place], str) else FLOORS[place][verb]
    note = f"floor {floor:.2f} ms, {counts.get('floor', 0):.0f} rows" if floor else ""
    return Row(
        f"{verb} over 5,000 files, {place}",
        f"≤ {limit:.0f}x {against}" if limit else f"– ({against} is 1x)",
        ratio(times["ours"], floor),
        ratio(floor, floor),
        ratio(times["peer"], floor),
        limit,
        form="{:.1f}x".format,
        note=note,
    )
