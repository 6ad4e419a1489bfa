"""Claim: many clients get many runs, and one client gets its first event at once. `stepwell serve` with one SQLite file on disk
and durability sync, beside `langgraph dev` in memory.

One driver (this process) puts the same load on each server in turn. The floor has no HTTP and no queue: the same graph in
process, on LangGraph's own `AsyncSqliteSaver` and `InMemorySaver`.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from benchmarks.bench import ROOT, Bench, ContestantError, Figures, Row, best, ratio
from benchmarks.servers.load import percentile, run_load
from benchmarks.servers.process import Server, serving

CLIENTS = 50
WHO = ("peer", "ours")
KINDS = ("wait", "stream")


def measure(contestant: ModuleType, *, saver: str, clients: int, runs: int) -> dict[str, Any]:
    """The floor: runs per second, and the time to the first chunk, of the graph in this process."""
    with TemporaryDirectory(dir=ROOT / "build") as folder:
        return asyncio.run(_in_process(saver, Path(folder) / "floor.db", clients, runs))


async def _in_process(saver: str, file: Path, clients: int, runs: int) -> dict[str, Any]:
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    from benchmarks.servers.graphs import build_two_nodes

    async def load(checkpointer: Any) -> dict[str, Any]:
        graph = build_two_nodes().compile(checkpointer=checkpointer)
        left = iter(range(clients + runs))
        firsts: list[float] = []

        async def client() -> None:
            for _ in left:
                config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
                began, first = time.perf_counter(), None
                async for _ in graph.astream({"word": "w"}, config, stream_mode="values", durability="sync"):
                    first = first or time.perf_counter() - began
                firsts.append(1000 * (first or 0))

        wall, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(client() for _ in range(clients)))
        took, spent = time.perf_counter() - wall, time.process_time() - cpu
        return {
            "runs_per_s": len(firsts) / took,
            "s_per_run": took / len(firsts),
            "cpu_ms_per_run": 1000 * spent / len(firsts),
            "first_event_p50_ms": percentile(firsts, 0.5),
            "run_p50_ms": 1000 * took / len(firsts) if clients == 1 else None,
        }

    if saver == "memory":
        return await load(InMemorySaver())
    async with AsyncSqliteSaver.from_conn_string(str(file)) as checkpointer:
        await checkpointer.setup()
        return await load(checkpointer)


def rows(bench: Bench) -> list[Row]:
    (ROOT / "build").mkdir(exist_ok=True)
    rounds = 1 if bench.quick else 3
    seconds = 4.0 if bench.quick else 8.0
    many: dict[str, Figures] = {kind: {name: [] for name in WHO} for kind in KINDS}
    one: Figures = {name: [] for name in WHO}
    floors: dict[str, Figures] = {}
    with serving(bench, claim="server_runs", who=WHO) as servers:
        for _ in range(rounds):
            for saver in ("sqlite", "memory"):
                found = bench.rounds("server_runs", _floor(saver, CLIENTS, bench), count=1, who=("floor",), label="-")
                floors.setdefault(saver, {"floor": []})["floor"] += found["floor"]
            for kind in KINDS:
                for server in servers.values():
                    _load(bench, many[kind], server, clients=CLIENTS, seconds=seconds, kind=kind)
            for server in servers.values():
                _load(bench, one, server, clients=1, seconds=seconds, kind="stream")
    single = bench.rounds("server_runs", _floor("sqlite", 1, bench), count=rounds, who=("floor",), label="-")
    del bench.raw["-"]
    bench.raw["server_runs"] = {"50 clients": many, "1 client": one, "in process": floors, "in process, 1 client": single}
    many_rows = [row for kind in KINDS for row in _many_rows(kind, many[kind], floors)]
    return [*many_rows, _cpu_row(many["stream"], floors), *_one_rows(one, single)]


def _floor(saver: str, clients: int, bench: Bench) -> dict[str, Any]:
    return {"saver": saver, "clients": clients, "runs": 100 if bench.quick else 400}


def _load(bench: Bench, figures: Figures, server: Server, **load: Any) -> None:
    label = f"{server.name}: server_runs, {load['kind']}"
    if label in bench.problems:
        return
    try:
        found = run_load(server, **load)
    except (ContestantError, OSError, TimeoutError) as failure:
        bench.problems[label] = str(failure) or type(failure).__name__
        return
    figures[server.name].append({**found, "s_per_run": 1 / found["runs_per_s"]})


def _per_s(figures: Figures, name: str) -> float | None:
    return ratio(1.0, best(figures, name, "s_per_run"))


def _many_rows(kind: str, figures: Figures, floors: dict[str, Figures]) -> list[Row]:
    peer, floor = _per_s(figures, "peer"), _per_s(floors["sqlite"], "floor")
    ours, memory = _per_s(figures, "ours"), _per_s(floors["memory"], "floor")
    share = max((result["driver_cpu_share"] for results in figures.values() for result in results), default=0.0)
    note = (
        f"runs/s: ours {_number(ours)}, peer {_number(peer)}, in process on SQLite {_number(floor)} and in memory "
        f"{_number(memory)}; the driver used {share:.0%} of a core at most"
    )
    claim = f"{CLIENTS} clients, POST /threads/…/runs/{kind}, runs per second"
    return [
        Row(claim, "≥ 5x peer", ratio(ours, peer), ratio(floor, peer), ratio(peer, peer), 5.0, at_most=False, note=note),
        Row("the same", "≥ 1x floor", ratio(ours, floor), ratio(floor, floor), ratio(peer, floor), 1.0, at_most=False),
    ]


def _cpu_row(figures: Figures, floors: dict[str, Figures]) -> Row:
    ours, peer = best(figures, "ours", "cpu_ms_per_run"), best(figures, "peer", "cpu_ms_per_run")
    floor = best(floors["sqlite"], "floor", "cpu_ms_per_run")
    return Row("the same, CPU of the server per run", "–", ours, floor, peer, None, form="{:.1f} ms".format)


def _one_rows(figures: Figures, single: Figures) -> list[Row]:
    milliseconds = "{:,.1f} ms".format
    first = {name: best(figures, name, "first_event_p50_ms") for name in WHO}
    whole = {name: best(figures, name, "run_p50_ms") for name in WHO}
    floor = best(single, "floor", "first_event_p50_ms"), best(single, "floor", "run_p50_ms")
    return [
        Row("1 client, first event, p50", "≤ 30 ms", first["ours"], floor[0], first["peer"], 30.0, form=milliseconds),
        Row("the same, whole run, p50", "–", whole["ours"], floor[1], whole["peer"], None, form=milliseconds),
    ]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"
