"""What an installation needs, and what breaks first, with 10, 100 and 1,000 times as much to do: a model, fed with measured figures.

    python benchmarks/scale_model.py              prints the tables of docs/how-to/scale.md
    python benchmarks/scale_model.py --publish    puts them there

| | |
|---|---|
| measured | `FIGURES`: CPU per run by process, statements, transactions and bytes per run, memory (`make bench ARGS="--only scale_out"`) |
| assumed | `ASSUMED`: how long a run waits for models, what cores and disks cost, how quick a disk and a network are |
| modelled | processes needed at a given use of their cores; and the one place through which all commits of one Postgres pass, simulated |

The simulation: runs come at random, each hands in its pieces one after the other, and each process commits all that waits in one
transaction, as `GroupCommit` does. Commits that tell other processes something pass one at a time, because `NOTIFY` has a lock for the
whole database that is held while the log is flushed: a fixed time, and the bytes of the group. Everything else is arithmetic.
"""

from __future__ import annotations

import random
import sys
from collections import deque
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "how-to" / "scale.md"
BEGIN, END = "<!-- tables: written by benchmarks/scale_model.py --publish -->", "<!-- end of tables -->"


@dataclass(frozen=True)
class Figures:
    """Of one run of the trivial graph (two nodes, three states), measured by `scale_out` with one worker."""

    api_cpu_ms: float
    worker_cpu_ms: float
    postgres_cpu_ms: float
    embedded_cpu_ms: float
    kept_bytes: float
    """On the disk of the database, until the thread is deleted."""
    log_bytes: float
    """In the log of the database, and so to every replica."""
    pieces: int
    """Transactions for a run when few are under way, so that hardly any share one (`waiting`), less the seven that only read."""
    stream_mb: float
    """Memory of one idle stream."""


@dataclass(frozen=True)
class Assumed:
    use: float = 0.6
    """How much of a core may be in use on average, so that waiting stays short."""
    steps: int = 10
    """Of an agent's run; the trivial graph has two."""
    wait_s: float = 20.0
    """For models and tools, per run."""
    commit_ms: float = 1.0
    """Until a commit is on the disk (a network disk of a cloud; a local one with a battery is ten times as quick)."""
    log_mb_s: float = 200.0
    """How much of its log Postgres can write to that disk."""
    core_usd_hour: float = 0.04
    disk_usd_gb_month: float = 0.12
    days_kept: int = 30


FIGURES = Figures(
    api_cpu_ms=2.9,
    worker_cpu_ms=6.0,
    postgres_cpu_ms=3.1,
    embedded_cpu_ms=9.3,
    kept_bytes=13_100,
    log_bytes=21_000,
    pieces=17,
    stream_mb=0.042,
)
ASSUMED = Assumed()
TRIVIAL_STEPS = 2
BASE_PER_S = 10.0
TIMES = (1, 10, 100, 1_000)
SIMULATED_S = 2.0
CORES_OF_A_POSTGRES = 16
"""Larger ones can be had; from here on it is cut into parts."""


@dataclass(frozen=True)
class Need:
    """What so many runs in a second need."""

    per_s: float
    api_cores: float
    worker_cores: float
    postgres_cores: float
    under_way: float
    processes: int
    """A core each."""
    connections: int
    gb_a_day: float
    usd_per_thousand: float


def need(per_s: float, figures: Figures = FIGURES, assumed: Assumed = ASSUMED) -> Need:
    """Of an agent's runs: what grows with steps is multiplied, the rest is not known apart, so all of it is."""
    steps = assumed.steps / TRIVIAL_STEPS
    cores = [
        per_s * steps * cpu / 1000 / assumed.use for cpu in (figures.api_cpu_ms, figures.worker_cpu_ms, figures.postgres_cpu_ms)
    ]
    processes = sum(max(1, round(-(-count // 1))) for count in cores[:2])
    kept_gb = per_s * steps * figures.kept_bytes * 86_400 / 1e9
    core_seconds = sum(cores) / per_s
    disk = figures.kept_bytes * steps * 1000 / 1e9 * assumed.disk_usd_gb_month * assumed.days_kept / 30
    return Need(
        per_s,
        *cores,
        under_way=per_s * (assumed.wait_s + 1),
        processes=processes,
        connections=8 * processes,
        gb_a_day=kept_gb,
        usd_per_thousand=1000 * core_seconds / 3600 * assumed.core_usd_hour + disk,
    )


@dataclass(frozen=True)
class Passed:
    """What came of a simulation."""

    in_use: float
    """Of the time, somebody was committing."""
    p50_ms: float
    p99_ms: float
    group: float
    """Pieces in a commit."""


def simulate(
    per_s: float, processes: int, *, figures: Figures = FIGURES, assumed: Assumed = ASSUMED, seed: int = 1
) -> Passed | None:
    """Pieces of work that come at random to so many processes, each of which commits all it has at once, one process at a time.

    `None` when more comes than can pass: the waiting grows without end.
    """
    each_s = figures.log_bytes / figures.pieces / (assumed.log_mb_s * 1e6)
    if per_s * each_s >= 0.95:
        return None
    chance, coming, now = random.Random(seed), [], 0.0
    while now < SIMULATED_S:
        now += chance.expovariate(per_s)
        coming.append((now, chance.randrange(processes)))
    waiting: list[list[float]] = [[] for _ in range(processes)]
    in_line: deque[int] = deque()
    free_at, busy, groups, next_one = 0.0, 0.0, 0, 0
    took: list[float] = []
    while next_one < len(coming) or in_line:
        if not in_line:
            free_at = max(free_at, coming[next_one][0])
        while next_one < len(coming) and coming[next_one][0] <= free_at:
            at, process = coming[next_one]
            next_one += 1
            if not waiting[process]:
                in_line.append(process)
            waiting[process].append(at)
        process = in_line.popleft()
        group, waiting[process] = waiting[process], []
        lasts = assumed.commit_ms / 1000 + len(group) * each_s
        free_at, busy, groups = free_at + lasts, busy + lasts, groups + 1
        took += [free_at - at for at in group]
    took.sort()
    return Passed(busy / free_at, 1000 * took[len(took) // 2], 1000 * took[int(0.99 * len(took))], len(took) / groups)


def tables() -> str:
    return "\n\n".join((_needs_table(), _passing_table()))


def _needs_table() -> str:
    lines = [
        "| | runs/s | runs a day | under way at once | server cores | worker cores | Postgres cores | connections | kept a day"
        " | USD per 1,000 runs |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for times in TIMES:
        each = need(BASE_PER_S * times)
        cells = [
            f"{times:,}x", f"{each.per_s:,.0f}", f"{each.per_s * 0.0864:,.1f} million", f"{each.under_way:,.0f}", f"{each.api_cores:,.1f}",
            f"{each.worker_cores:,.1f}", f"{each.postgres_cores:,.1f}", f"{each.connections:,}", f"{each.gb_a_day:,.0f} GB",
            f"{each.usd_per_thousand:.3f}",
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _passing_table() -> str:
    """One Postgres, and several with threads divided among them."""
    steps = ASSUMED.steps / TRIVIAL_STEPS
    lines = [
        "| | pieces/s | processes | Postgres databases | committing | a piece waits, p50 / p99 | pieces in a commit |",
        "|---|---|---|---|---|---|---|",
    ]
    for times in TIMES:
        pieces = BASE_PER_S * times * steps * FIGURES.pieces
        each = need(BASE_PER_S * times)
        for parts in sorted({1, max(1, round(each.postgres_cores / CORES_OF_A_POSTGRES))}):
            passed = simulate(pieces / parts, max(2, each.processes // parts))
            result = (
                ["**too much**", "grows without end", "–"]
                if passed is None
                else [
                    f"{passed.in_use:.0%} of the time",
                    f"{passed.p50_ms:.1f} / {passed.p99_ms:.1f} ms",
                    f"{passed.group:.1f}",
                ]
            )
            lines.append(
                "| " + " | ".join([f"{times:,}x", f"{pieces:,.0f}", f"{each.processes:,}", str(parts), *result]) + " |"
            )
    return "\n".join(lines)


def publish() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{tables()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    print(tables())
    if "--publish" in sys.argv:
        publish()
