"""Loads on a server, from this process: clients that do one run after the other, and many streams at once.

Every run is on a thread of its own, made by the request that starts the run. Every answer is checked: a server is not quick
because it leaves something out.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Sequence
from typing import Any

from benchmarks.bench import ContestantError
from benchmarks.servers.http import BrokenAnswerError, Connection, Frames
from benchmarks.servers.process import Server

RUN_TIMEOUT_S = 60
ANSWER = {"word": "wab"}
Figures = dict[str, Any]


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value that `share` of all do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def run_load(server: Server, *, clients: int, seconds: float, kind: str) -> Figures:
    """`clients` do runs for some seconds, `kind` being the last word of the path: wait or stream."""
    return asyncio.run(_run_load(server, clients, seconds, kind))


async def _run_load(server: Server, clients: int, seconds: float, kind: str) -> Figures:
    connections = [await Connection.open(server.port) for _ in range(clients)]
    once = one_wait if kind == "wait" else one_stream
    await asyncio.gather(*(once(connection) for connection in connections))  # warm
    own, its, began = time.process_time(), server.cpu_s(), time.perf_counter()
    until = began + seconds

    async def work(connection: Connection) -> list[Figures]:
        done = []
        while time.perf_counter() < until:
            done.append(await once(connection))
        return done

    runs = [run for each in await asyncio.gather(*(work(connection) for connection in connections)) for run in each]
    took, after = time.perf_counter() - began, server.cpu_s()
    for connection in connections:
        connection.close()
    return {
        "runs": len(runs),
        "runs_per_s": len(runs) / took,
        "run_p50_ms": percentile([run["took_ms"] for run in runs], 0.5),
        "run_p99_ms": percentile([run["took_ms"] for run in runs], 0.99),
        "first_event_p50_ms": percentile([run["first_ms"] for run in runs if "first_ms" in run], 0.5),
        "cpu_ms_per_run": None if its is None or after is None else 1000 * (after - its) / len(runs),
        "driver_cpu_share": (time.process_time() - own) / took,
    }


def _order(graph: str, given: Any, modes: list[str]) -> Figures:
    return {"assistant_id": graph, "input": given, "stream_mode": modes, "if_not_exists": "create"}


async def one_wait(connection: Connection) -> Figures:
    """A run, and its values at the end."""
    began = time.perf_counter()
    async with asyncio.timeout(RUN_TIMEOUT_S):
        status, body = await connection.post(
            f"/threads/{uuid.uuid4()}/runs/wait", _order("two_nodes", {"word": "w"}, ["values"])
        )
    if status != 200 or json.loads(body) != ANSWER:
        raise ContestantError(f"a run was answered with {status} and {body[:100]!r}")
    return {"took_ms": 1000 * (time.perf_counter() - began)}


async def one_stream(connection: Connection) -> Figures:
    """A run, followed to its end."""
    frames, stamps, values = Frames(), [], []

    def take(piece: bytes) -> None:
        for name, data in frames.feed(piece):
            stamps.append(time.perf_counter())
            if name == "values":
                values.append(data)

    began = time.perf_counter()
    async with asyncio.timeout(RUN_TIMEOUT_S):
        path = f"/threads/{uuid.uuid4()}/runs/stream"
        status = await connection.stream(path, _order("two_nodes", {"word": "w"}, ["values"]), take)
    if status != 200 or len(values) != 3 or json.loads(values[-1]) != ANSWER:
        raise ContestantError(f"a stream was answered with {status} and {len(values)} of 3 values")
    return {"took_ms": 1000 * (time.perf_counter() - began), "first_ms": 1000 * (stamps[0] - began)}


def stream_load(server: Server, *, streams: int, events: int, ramp_s: float) -> Figures:
    """`streams` at once, started one after the other within `ramp_s`, each of `events` events."""
    return asyncio.run(_stream_load(server, streams, events, ramp_s))


async def _stream_load(server: Server, streams: int, events: int, ramp_s: float) -> Figures:
    own, its, began = time.process_time(), server.cpu_s(), time.perf_counter()

    async def later(index: int) -> Figures:
        await asyncio.sleep(index * ramp_s / streams)
        return await _one_ticker(server, events)

    results = await asyncio.gather(*(later(index) for index in range(streams)))
    took, after = time.perf_counter() - began, server.cpu_s()
    delivery = [value for result in results for value in result["delivery_ms"]]
    at_once = _while_all_are_open(results)
    since_due = [value for result in results for value in result["since_due_ms"]]
    firsts = [result["first_s"] for result in results if result["first_s"] is not None]
    return {
        "events": len(delivery),
        "lost": streams * events - sum(result["in_order"] for result in results),
        "broken": [result["broken"] for result in results if result["broken"]][:3],
        "delivery_p50_ms": percentile(delivery, 0.5),
        "delivery_p99_ms": percentile(delivery, 0.99),
        "all_open_events": len(at_once),
        "all_open_p50_ms": percentile(at_once, 0.5),
        "all_open_p99_ms": percentile(at_once, 0.99),
        "delivery_max_ms": max(delivery, default=None),
        "since_due_p99_ms": percentile(since_due, 0.99),
        "first_event_p50_s": percentile(firsts, 0.5),
        "first_event_max_s": max(firsts) if len(firsts) == streams else None,
        "cpu_us_per_event": None if its is None or after is None else 1e6 * (after - its) / max(1, len(delivery)),
        "driver_cpu_share": (time.process_time() - own) / took,
        "took_s": took,
        "peak_mb": server.peak_mb(),
    }


def _while_all_are_open(results: Sequence[Figures]) -> list[float]:
    """The delivery of events that were written when every stream had begun and none had ended."""
    if not all(result["written"] for result in results):
        return []
    begin, end = max(result["written"][0] for result in results), min(result["written"][-1] for result in results)
    return [
        delay
        for result in results
        for written, delay in zip(result["written"], result["delivery_ms"], strict=True)
        if begin <= written <= end
    ]


async def _one_ticker(server: Server, events: int) -> Figures:
    result: Figures = {"delivery_ms": [], "written": [], "since_due_ms": [], "in_order": 0, "first_s": None, "broken": None}
    frames = Frames()
    began = time.time()

    def take(piece: bytes) -> None:
        now = time.time()
        for name, data in frames.feed(piece):
            if name != "custom":
                continue
            event = json.loads(data)
            if result["first_s"] is None:
                result["first_s"] = now - began
            result["delivery_ms"].append(1000 * (now - event["written"]))
            result["written"].append(event["written"])
            result["since_due_ms"].append(1000 * (now - event["due"]))
            result["in_order"] += event["number"] == result["in_order"]

    try:
        async with asyncio.timeout(RUN_TIMEOUT_S):
            connection = await Connection.open(server.port)
            order = _order("ticker", {"events": events}, ["custom"])
            status = await connection.stream(f"/threads/{uuid.uuid4()}/runs/stream", order, take)
            connection.close()
        if status != 200:
            result["broken"] = f"status {status}"
    except (OSError, TimeoutError, BrokenAnswerError, ValueError) as failure:  # its events count as lost
        result["broken"] = f"{type(failure).__name__}: {failure}"
    return result
