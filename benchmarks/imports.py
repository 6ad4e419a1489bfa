"""Claim: importing and asking for help are quick. CPU of `import stepwell` alone, and of a whole `stepwell --help` process."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from benchmarks.bench import ROOT, Bench, Row, worker_environment

IMPORT = "import time; a = time.process_time(); import {module}; print(time.process_time() - a)"
MODULES = {"floor": "langchain.agents", "peer": "deepagents", "ours": "stepwell"}


def rows(bench: Bench) -> list[Row]:
    count = 3 if bench.quick else 6
    imports: dict[str, list[float]] = {name: [] for name in MODULES}
    helps: list[float] = []
    for _ in range(count + 1):
        for name, module in MODULES.items():
            if (python := bench.pythons.get(name)) and f"{name}: imports" not in bench.problems:
                _note(bench, f"{name}: imports", imports[name], lambda p=python, m=module, n=name: _import_cpu(n, p, m))  # type: ignore[misc]  # mypy cannot type a lambda's defaults
        if (ours := bench.pythons.get("ours")) and "ours: --help" not in bench.problems:
            _note(bench, "ours: --help", helps, lambda p=ours: _help_cpu(p))  # type: ignore[misc]  # as above
    bench.raw["imports"] = {"import_s": imports, "help_s": helps}
    least = {name: min(values) if values else None for name, values in imports.items()}
    seconds = "{:.3f} s".format
    note = "floor imports langchain.agents, the peer deepagents"
    return [
        Row("`import stepwell`, CPU", "≤ 0.1 s", least["ours"], least["floor"], least["peer"], 0.1, form=seconds, note=note),
        Row("`stepwell --help`, CPU", "≤ 0.4 s", min(helps) if helps else None, None, None, 0.4, form=seconds),
    ]


def _note(bench: Bench, label: str, values: list[float], ask: object) -> None:
    try:
        values.append(ask())  # type: ignore[operator]  # a function without arguments
    except (subprocess.CalledProcessError, ValueError) as failure:
        errors = getattr(failure, "stderr", "") or str(failure)
        bench.problems[label] = errors.strip().splitlines()[-1][:200]


def _import_cpu(name: str, python: Path, module: str) -> float:
    command = [str(python), "-c", IMPORT.format(module=module)]
    answer = subprocess.run(command, cwd=ROOT, env=worker_environment(name), capture_output=True, text=True, check=True)
    return float(answer.stdout)


def _help_cpu(python: Path) -> float:
    before = os.times()
    subprocess.run([str(python), "-m", "stepwell", "--help"], cwd=ROOT, capture_output=True, text=True, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system
