"""The near side: starts the contestants, asks them in turn, and keeps the figures.

Rounds interleave (floor, peer, ours, floor, peer, ours ...), so that a slow minute of the machine hits everybody alike.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CONTESTANTS = ("floor", "peer", "ours")
ANSWER_TIMEOUT_S = 600
Figures = dict[str, list[dict[str, Any]]]
"""Per contestant, the result of each round."""
Ask = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Puts a claim's name and parameters to one contestant."""


class ContestantError(Exception):
    """A contestant could not do what was asked; the message goes into the table."""


@dataclass
class Row:
    """One line of the table. `limit` bounds ours: `at_most` it, or at least it."""

    claim: str
    target: str
    ours: float | None
    floor: float | None
    peer: float | None
    limit: float | None
    form: Callable[[float], str] = field(default="{:.2f}x".format)
    at_most: bool = True
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.limit is None:
            return "for information"
        if self.ours is None:
            return "not measured"
        met = self.ours <= self.limit if self.at_most else self.ours >= self.limit
        return "met" if met else "NOT MET"

    def cells(self) -> list[str]:
        figures = ["–" if value is None else self.form(value) for value in (self.ours, self.floor, self.peer)]
        return [self.claim, self.target, *figures, self.verdict]


@dataclass
class Bench:
    """How to run this time: where each contestant's Python is (none if it cannot take part), and whether to be quick."""

    pythons: dict[str, Path | None]
    quick: bool = False
    tokens_python: Path | None = None
    with_peer: bool = True
    problems: dict[str, str] = field(default_factory=dict)
    """What went wrong, by contestant and claim; printed below the table."""
    raw: dict[str, Any] = field(default_factory=dict)
    """Every figure of every round, for the JSON file."""

    def rounds(
        self,
        claim: str,
        parameters: dict[str, Any],
        *,
        count: int,
        who: tuple[str, ...] = CONTESTANTS,
        fresh: bool = False,
        label: str = "",
    ) -> Figures:
        """Ask every contestant `count` times, in turn; `fresh` gives every question a process of its own."""
        figures: Figures = {name: [] for name in who}
        if fresh:
            for _ in range(count):
                with self._workers(who) as ask:
                    self._round(ask, claim, parameters, figures)
        else:
            with self._workers(who) as ask:
                for _ in range(count):
                    self._round(ask, claim, parameters, figures)
        self.raw[label or claim] = {"parameters": parameters, "figures": figures}
        return figures

    def _round(self, ask: dict[str, Ask], claim: str, parameters: dict[str, Any], figures: Figures) -> None:
        for name, question in ask.items():
            if f"{name}: {claim}" in self.problems:
                continue
            try:
                figures[name].append(question(claim, parameters))
            except ContestantError as failure:
                self.problems[f"{name}: {claim}"] = str(failure)

    @contextmanager
    def _workers(self, who: tuple[str, ...]) -> Iterator[dict[str, Ask]]:
        processes = {name: self._start(name, python) for name in who if (python := self.pythons.get(name))}
        try:
            yield {name: _asker(process) for name, process in processes.items()}
        finally:
            for process in processes.values():
                _end(process)

    def _start(self, name: str, python: Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(python), "-m", "benchmarks.worker", name],
            cwd=ROOT,
            env=worker_environment(name),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("BENCH_SHOW_ERRORS") else subprocess.DEVNULL,
            text=True,
        )


def _end(process: subprocess.Popen[str]) -> None:
    """Let a worker finish by itself; one that hangs or is still busy is stopped."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def worker_environment(name: str) -> dict[str, str]:
    """The parent's environment without tracing, and without Stepwell's source where the peer runs."""
    environment = {**os.environ, "LANGSMITH_TRACING": "false", "PYTHONDONTWRITEBYTECODE": ""}
    if name == "peer":
        environment.pop("PYTHONPATH", None)
    return environment


def _asker(process: subprocess.Popen[str]) -> Ask:
    def ask(claim: str, parameters: dict[str, Any]) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({"claim": claim, "parameters": parameters}) + "\n")
            process.stdin.flush()
            if not select.select([process.stdout], [], [], ANSWER_TIMEOUT_S)[0]:
                raise ContestantError(f"no answer within {ANSWER_TIMEOUT_S} s")
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise ContestantError("its process ended; set BENCH_SHOW_ERRORS=1 to see why")
        answer = json.loads(line)
        if "error" in answer:
            raise ContestantError(answer["error"])
        result: dict[str, Any] = answer["result"]
        return result

    return ask


def best(figures: Figures, name: str, key: str) -> float | None:
    """The least of a contestant's rounds: what is left when the machine disturbs least."""
    values = [result[key] for result in figures.get(name, []) if result.get(key) is not None]
    return min(values) if values else None


def ratio(value: float | None, base: float | None) -> float | None:
    return None if value is None or not base else value / base


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
