"""Claim: a second worker does nearly as much again, and a second process costs little. One server that only takes runs in and sends events
out, one or two workers, one Postgres that writes to its disk, all on this machine, beside the embedded mode (one process, one SQLite
file), `langgraph dev` in memory (the peer), and Aegra on a Postgres of the same kind (in a note).

On few cores everything here shares them: driver, server, workers, Postgres. So three graphs are tried. One waits, as for a model, with few
runs at once: then only the number of workers counts. One uses the CPU: then the cores are the limit. And the trivial one, whose cost is
all ours. CPU per run, by process, holds whatever the machine does besides.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import time
import uuid
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench, ContestantError, Row, log, ratio
from benchmarks.environments import EnvironmentFailure
from benchmarks.servers import aegra
from benchmarks.servers.http import Connection, Frames
from benchmarks.servers.installation import GRAPH_NAMES, Installation, installation, one_more, resident_mb
from benchmarks.servers.load import percentile
from benchmarks.servers.process import Server, serving, start

CLIENTS = 50
RUN_TIMEOUT_S = 60.0
RECOVERY_RUNS = 10
IDLE_CLIENTS = 1_000
HEARTBEATS_S = 11.0
WAITING = ("waits", {"seconds": 0.05}, 2)
WORKING = ("works", {"seconds": 0.02}, 4)
TRIVIAL = ("two_nodes", {"word": "w"}, 50)
"""Graph, input, and how many runs each worker drives at once."""
_CONTROL = re.compile(r"^(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|SET|LISTEN|LOCK)\b")


def rows(bench: Bench) -> list[Row]:
    python = bench.pythons["ours"]
    if python is None:
        return []
    seconds = 4.0 if bench.quick else 10.0
    found: dict[str, Any] = {
        "embedded": _embedded(python, seconds),
        "peer": _peer(bench, seconds),
        "aegra": _aegra(bench, seconds),
    }
    for name, (graph, given, concurrency) in {"trivial": TRIVIAL, "waiting": WAITING, "working": WORKING}.items():
        with installation(python, workers=1, concurrency=concurrency) as one:
            # In turns, so that a slow minute of the machine hits both; the better round counts.
            for _ in range(1 if bench.quick else 3):
                log(f"  {name}")
                _keep_better(found, f"{name}, 1", asyncio.run(load_runs(one, graph, given, seconds)))
                with one_more(one, python, concurrency) as two:
                    _keep_better(found, f"{name}, 2", asyncio.run(load_runs(two, graph, given, seconds)))
    with installation(python, workers=2) as it:
        found["cancel"] = asyncio.run(_cancel(it.server.port, 5 if bench.quick else 20))
        found["recovery"] = asyncio.run(_recover(it))
    with installation(python, workers=0) as it:
        found["idle"] = asyncio.run(_idle(it.server, IDLE_CLIENTS))
    bench.raw["scale_out"] = found
    return _table(found)


def _keep_better(found: dict[str, Any], name: str, measured: dict[str, Any]) -> None:
    if name not in found or measured["runs_per_s"] > found[name]["runs_per_s"]:
        found[name] = measured


def _embedded(python: Path, seconds: float) -> dict[str, Any]:
    log("  embedded")
    with start("ours", python, graph_names=GRAPH_NAMES) as server:
        return asyncio.run(load_runs(server, *TRIVIAL[:2], seconds))


def _peer(bench: Bench, seconds: float) -> dict[str, Any] | None:
    log("  peer")
    with serving(bench, claim="scale_out", who=("peer",)) as servers:
        try:
            return asyncio.run(load_runs(servers["peer"], *TRIVIAL[:2], seconds)) if servers else None
        except (ContestantError, OSError, TimeoutError) as failure:
            bench.problems["peer: scale_out"] = str(failure) or type(failure).__name__
            return None


def _aegra(bench: Bench, seconds: float) -> dict[str, Any] | None:
    if not bench.with_peer:
        return None
    log("  Aegra")
    try:
        return aegra.measure(CLIENTS, seconds)
    except (ContestantError, EnvironmentFailure, OSError, TimeoutError) as failure:
        bench.problems["Aegra: scale_out"] = str(failure) or type(failure).__name__
        return None


def _order(graph: str, given: Any, mode: str = "values") -> dict[str, Any]:
    return {"assistant_id": graph, "input": given, "stream_mode": [mode], "if_not_exists": "create"}


async def load_runs(target: Installation | Server, graph: str, given: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Runs per second and CPU per run, by process, of clients that do one run after the other."""
    it = target if isinstance(target, Installation) else None
    port = it.server.port if it else target.port  # type: ignore[union-attr]
    connections = [await Connection.open(port) for _ in range(CLIENTS)]

    async def once(connection: Connection) -> float:
        began = time.perf_counter()
        async with asyncio.timeout(RUN_TIMEOUT_S):
            status, body = await connection.post(f"/threads/{uuid.uuid4()}/runs/wait", _order(graph, given))
        if status != 200 or json.loads(body).keys() != given.keys():
            raise ContestantError(f"a run was answered with {status} and {body[:200]!r}")
        return time.perf_counter() - began

    await asyncio.gather(*(once(connection) for connection in connections))  # warm
    written = it.written() if it else {}
    if it:
        it.statements()  # counting begins
    before, own, began = _cpu(target), time.process_time(), time.perf_counter()

    async def client(connection: Connection) -> list[float]:
        took = []
        while time.perf_counter() < began + seconds:
            took.append(await once(connection))
        return took

    took = [each for those in await asyncio.gather(*(client(connection) for connection in connections)) for each in those]
    elapsed, after = time.perf_counter() - began, _cpu(target)
    for connection in connections:
        connection.close()
    found = {
        "runs": len(took),
        "runs_per_s": len(took) / elapsed,
        "run_p50_ms": 1000 * (percentile(took, 0.5) or 0),
        "cpu_ms": {name: 1000 * (after[name] - before[name]) / len(took) for name in after},
        "driver_cpu_ms": 1000 * (time.process_time() - own) / len(took),
        "cores_used": (sum(after.values()) - sum(before.values()) + time.process_time() - own) / elapsed,
    }
    if it is None:
        return found
    growth = {f"{name}_per_run": (count - written[name]) / len(took) for name, count in it.written().items()}
    return {**found, **growth, **_statements(it, len(took))}


def _cpu(target: Installation | Server) -> dict[str, float]:
    return target.cpu_s() if isinstance(target, Installation) else {"server": target.cpu_s() or 0.0}


def _statements(it: Installation, runs: int) -> dict[str, Any]:
    """How much Postgres is asked for each run."""
    asked = it.statements()
    control = sum(calls for query, calls in asked if _CONTROL.match(query))
    work = [(query, calls) for query, calls in asked if not _CONTROL.match(query)]
    return {
        "statements_per_run": sum(calls for _, calls in work) / runs,
        "control_per_run": control / runs,
        "statements": {query[:160]: round(calls / runs, 2) for query, calls in work if calls > runs / 20},
    }


async def _follow(port: int, thread: str, seconds: float, seen: asyncio.Queue[tuple[str, Any]]) -> None:
    """A run of the graph that waits; puts what it says into `seen`, with an empty name at the end."""
    frames, connection = Frames(), await Connection.open(port)

    def take(piece: bytes) -> None:
        for name, data in frames.feed(piece):
            seen.put_nowait((name, json.loads(data)))

    await connection.stream(f"/threads/{thread}/runs/stream", _order("waits", {"seconds": seconds}, "custom"), take)
    connection.close()
    seen.put_nowait(("", time.time()))


async def _next(seen: asyncio.Queue[tuple[str, Any]], name: str) -> Any:
    async with asyncio.timeout(RUN_TIMEOUT_S):
        while True:
            found, data = await seen.get()
            if found == name:
                return data


async def _cancel(port: int, times: int) -> dict[str, Any]:
    """From the request to the end of the stream, of a run that another process drives."""
    took, asking = [], await Connection.open(port)
    for _ in range(times):
        seen: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        thread = str(uuid.uuid4())
        following = asyncio.create_task(_follow(port, thread, RUN_TIMEOUT_S, seen))
        run = await _next(seen, "metadata")
        await _next(seen, "custom")
        began = time.time()
        status, body = await asking.post(f"/threads/{thread}/runs/{run['run_id']}/cancel", {})
        if status >= 300:
            raise ContestantError(f"cancelling was answered with {status} and {body[:200]!r}")
        took.append(await _next(seen, "") - began)
        await following
    asking.close()
    return {"p50_ms": 1000 * (percentile(took, 0.5) or 0), "max_ms": 1000 * max(took)}


async def _recover(it: Installation) -> dict[str, Any]:
    """From the kill of a worker until its runs are driven by the other."""
    runs: list[asyncio.Queue[tuple[str, Any]]] = [asyncio.Queue() for _ in range(RECOVERY_RUNS)]
    async with asyncio.TaskGroup() as group:
        for seen in runs:
            group.create_task(_follow(it.server.port, str(uuid.uuid4()), 2.0, seen))
        started = [await _next(seen, "custom") for seen in runs]
        killed = started[0]["process"]
        os.kill(killed, signal.SIGKILL)
        at = time.time()
        lost = [seen for seen, said in zip(runs, started, strict=True) if said["process"] == killed]
        again = [await _next(seen, "custom") for seen in lost]
    if any(said["process"] == killed for said in again):
        raise ContestantError("a run was said to be driven by a process that is dead")
    took = [said["at"] - at for said in again]
    return {"runs": len(took), "p50_s": percentile(took, 0.5), "max_s": max(took)}


async def _idle(server: Server, clients: int) -> dict[str, Any]:
    """What a server holds in memory while so many follow runs that nobody drives yet."""
    connection = await Connection.open(server.port)
    places = []
    for _ in range(clients):
        thread = str(uuid.uuid4())
        _, body = await connection.post(f"/threads/{thread}/runs", _order("waits", {"seconds": 1.0}, "custom"))
        places.append(f"/threads/{thread}/runs/{json.loads(body)['run_id']}/stream")
    connection.close()
    before = resident_mb(server.pid)
    streams = [await _open_stream(server.port, place) for place in places]
    await asyncio.sleep(HEARTBEATS_S)
    found = {"clients": clients, "before_mb": before, "with_clients_mb": resident_mb(server.pid)}
    alive = 0
    for reader, writer in streams:
        alive += b": heartbeat" in await asyncio.wait_for(reader.read(65536), 10)
        writer.close()
    if alive < clients:
        raise ContestantError(f"only {alive} of {clients} streams are alive")
    return found


async def _open_stream(port: int, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n".encode())
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), RUN_TIMEOUT_S)
    if b" 200 " not in head.split(b"\r\n")[0]:
        raise ContestantError(f"a stream was answered with {head[:100]!r}")
    return reader, writer


def _table(found: dict[str, Any]) -> list[Row]:
    times, milliseconds = "{:.2f}x".format, "{:.1f} ms".format
    peer = found["peer"] or {}
    one, two, embedded = found["trivial, 1"], found["trivial, 2"], found["embedded"]

    def scaling(name: str, claim: str, target: str, limit: float | None) -> Row:
        first, second = found[f"{name}, 1"], found[f"{name}, 2"]
        note = (
            f"runs/s: {first['runs_per_s']:.0f} with one, {second['runs_per_s']:.0f} with two; all processes together used "
            f"{first['cores_used']:.1f} and {second['cores_used']:.1f} of {os.cpu_count()} cores"
        )
        gain = ratio(second["runs_per_s"], first["runs_per_s"])
        return Row(claim, target, gain, 1.0, None, limit, times, at_most=False, note=note)

    by_process = ", ".join(f"{name} {value:.1f}" for name, value in one["cpu_ms"].items())
    asked = f"{one['statements_per_run']:.0f} statements and {one['control_per_run']:.1f} of BEGIN, COMMIT and the like for each run"
    idle = found["idle"]
    return [
        scaling("waiting", "2 workers over 1, node of 50 ms, 2 runs at once each", "≥ 1.8x", 1.8),
        scaling("trivial", "2 workers over 1, trivial graph", "–", None),
        scaling("working", "2 workers over 1, node that uses 20 ms of CPU", "–", None),
        Row("trivial graph on Postgres, runs/s", "–", two["runs_per_s"] / peer["runs_per_s"] if peer else None,
            embedded["runs_per_s"] / peer["runs_per_s"] if peer else None, 1.0 if peer else None, None, times, at_most=False,
            note=f"runs/s: {one['runs_per_s']:.0f} and {two['runs_per_s']:.0f} with one and two workers, floor is the embedded mode: "
            f"{embedded['runs_per_s']:.0f}" + (f", peer {peer['runs_per_s']:.0f}" if peer else "")
            + (f", Aegra {found['aegra']['runs_per_s']:.0f} ({found['aegra']['cpu_ms']:.0f} ms of CPU each, without its Postgres)"
               if found["aegra"] else "")),
        Row("the same, CPU of all processes per run", "≤ 11 ms", sum(one["cpu_ms"].values()), sum(embedded["cpu_ms"].values()),
            sum(peer["cpu_ms"].values()) if peer else None, 11.0, milliseconds, note=f"one worker: {by_process} ms; {asked}"),
        Row("the same, whole run, p50", "–", one["run_p50_ms"], embedded["run_p50_ms"], peer.get("run_p50_ms"), None, milliseconds),
        Row("cancel, to the end of the stream, slowest", "≤ 200 ms", found["cancel"]["max_ms"], None, None, 200.0, milliseconds,
            note=f"p50 {found['cancel']['p50_ms']:.0f} ms; the run is driven by another process"),
        Row("a worker is killed: its runs are driven again", "≤ 10 s", found["recovery"]["max_s"], None, None, 10.0, "{:.1f} s".format,
            note=f"the slowest of {found['recovery']['runs']}"),
        Row(f"{idle['clients']:,} idle streams on one server, memory", "≤ 300 MB", idle["with_clients_mb"], idle["before_mb"], None, 300.0,
            "{:.0f} MB".format, note="resident; floor is the same server before"),
    ]  # fmt: skip
