"""Claim: the server is there soon, and small. From the start of the process to the first good answer at `/ok`, with a project of three
graphs; and the memory it holds then.

Wall time, the median of five; servers are started one at a time, in turn. The floor is a bare Starlette server without a graph.
"""

from __future__ import annotations

from statistics import median

from benchmarks.bench import Bench, ContestantError, Row
from benchmarks.servers.process import pythons, start

WHO = ("floor", "peer", "ours")
STARTS = 5


def rows(bench: Bench) -> list[Row]:
    found = pythons(bench, WHO)
    walls: dict[str, list[float]] = {name: [] for name in WHO}
    cpus: dict[str, list[float]] = {name: [] for name in WHO}
    held: dict[str, list[float]] = {name: [] for name in WHO}
    for _ in range(2 if bench.quick else STARTS):
        for name, python in found.items():
            if f"{name}: server_start" in bench.problems:
                continue
            try:
                with start(name, python) as server:
                    walls[name].append(server.start_s)
                    cpus[name] += [used] if (used := server.cpu_s()) is not None else []
                    held[name] += [memory] if (memory := server.resident_mb()) is not None else []
            except ContestantError as failure:
                bench.problems[f"{name}: server_start"] = str(failure)
    bench.raw["server_start"] = {"wall_s": walls, "cpu_s": cpus, "memory_mb": held}
    wall = {name: median(values) if values else None for name, values in walls.items()}
    cpu = {name: median(values) if values else None for name, values in cpus.items()}
    memory_mb = {name: median(values) if values else None for name, values in held.items()}
    seconds = "{:.2f} s".format
    return [
        Row("cold start of the server, p50", "≤ 1.2 s", wall["ours"], wall["floor"], wall["peer"], 1.2, form=seconds),
        Row("the same, CPU", "–", cpu["ours"], cpu["floor"], cpu["peer"], None, form=seconds),
        Row(
            "the same, memory of the idle server",
            "≤ 120 MB",
            memory_mb["ours"],
            memory_mb["floor"],
            memory_mb["peer"],
            120.0,
            form="{:.0f} MB".format,
        ),
    ]
