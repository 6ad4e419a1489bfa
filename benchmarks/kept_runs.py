"""Claim: what is kept costs nothing. A run takes the same CPU however many were kept before it, and nobody waits for a large deletion.

`stepwell serve` alone: the floor keeps nothing, and the peer keeps it in memory. Runs that were kept are copies of a real one, put
into the file beside the working server; the large thread is made by real runs.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
import uuid
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench, ContestantError, Row
from benchmarks.servers.http import Connection
from benchmarks.servers.load import run_load
from benchmarks.servers.process import Server, serving

KEPT = (100, 5_000, 50_000)
LARGE_MB = 500
_WORD_BYTES = 1_000_000
_AT_ONCE = 500
_TIMEOUT_S = 600
_COPIED = ("threads", "thread_values", "runs", "events", "checkpoints", "writes")


def rows(bench: Bench) -> list[Row]:
    cpu: dict[int, float] = {}
    waits: dict[str, float] = {}
    with serving(bench, claim="kept_runs", who=("ours",)) as servers:
        if server := servers.get("ours"):
            try:
                cpu = {count: _cpu_with(server, count, bench) for count in KEPT}
                waits = asyncio.run(_waits(server, LARGE_MB // 10 if bench.quick else LARGE_MB))
            except (ContestantError, OSError, TimeoutError, sqlite3.Error) as failure:
                bench.problems["ours: kept_runs"] = str(failure) or type(failure).__name__
    bench.raw["kept_runs"] = {"cpu_ms_per_run": cpu, "waits": waits}
    return [_cpu_row(cpu), _wait_row(waits)]


def _cpu_row(cpu: dict[int, float]) -> Row:
    first, last = cpu.get(KEPT[0]), cpu.get(KEPT[-1])
    figures = ", ".join(f"{count:,}: {spent:.1f} ms" for count, spent in cpu.items())
    claim = f"CPU of a run over HTTP with {KEPT[-1]:,} runs kept, against {KEPT[0]}"
    grown = None if not first or last is None else last / first
    return Row(claim, "≤ 1.2x", grown, None, None, 1.2, note=f"by runs kept, {figures}")


def _wait_row(waits: dict[str, float]) -> Row:
    note = (
        f"{waits['size_mb']:.0f} MB gone in {waits['took_s']:.1f} s, {waits['requests']:.0f} requests meanwhile, half of them within "
        f"{waits['p50_ms']:.1f} ms; the longest wait without a deletion {waits['idle_ms']:.0f} ms"
        if waits
        else ""
    )
    claim = f"a thread of {LARGE_MB} MB is deleted, longest wait of another client"
    return Row(claim, "≤ 100 ms", waits.get("longest_ms"), None, None, 100.0, form="{:.0f} ms".format, note=note)


def _cpu_with(server: Server, kept: int, bench: Bench) -> float:
    """Milliseconds of the server's CPU for a run of one client, the least of a few rounds."""
    run_load(server, clients=1, seconds=0.5, kind="wait")
    _keep(server.database, kept)
    rounds = [run_load(server, clients=1, seconds=2.0 if bench.quick else 4.0, kind="wait") for _ in range(3)]
    found = [each["cpu_ms_per_run"] for each in rounds if each["cpu_ms_per_run"] is not None]
    if not found:
        raise ContestantError("this system does not say how much CPU a process uses")
    return min(found)


def _keep(database: Path, count: int) -> None:
    """Copy a finished thread until the file holds so many runs."""
    with closing(sqlite3.connect(database, timeout=60, isolation_level=None)) as connection:
        there = connection.execute("SELECT COUNT(*) FROM runs").fetchone()[0]
        finished = "SELECT thread_id FROM runs WHERE status = 'success' ORDER BY number LIMIT 1"
        thread_id = connection.execute(finished).fetchone()[0]
        while there < count:
            copies = [uuid.uuid4().hex for _ in range(min(_AT_ONCE, count - there))]
            connection.execute("BEGIN IMMEDIATE")
            for table in _COPIED:
                _copy_rows(connection, table, thread_id, copies)
            connection.execute("COMMIT")
            there += len(copies)


def _copy_rows(connection: sqlite3.Connection, table: str, thread_id: str, copies: list[str]) -> None:
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[1] != "number"]
    chosen = [f'{table}."{name}"' + (" || copy.value" if name in ("thread_id", "run_id") else "") for name in columns]
    listed = ", ".join(f'"{name}"' for name in columns)
    connection.execute(
        f"INSERT INTO {table} ({listed}) SELECT {', '.join(chosen)} FROM json_each(?) AS copy CROSS JOIN {table} WHERE thread_id = ?",
        (json.dumps(copies), thread_id),
    )


async def _waits(server: Server, size_mb: int) -> dict[str, float]:
    """How long another client waits for a write, at most, while a large thread is deleted; and while nothing is."""
    thread_id, grown = await _make_large(server, size_mb)
    client = await Connection.open(server.port)
    idle = [await _write_something(client) for _ in range(200)]
    began = time.perf_counter()
    deleting = asyncio.create_task(_delete(server, thread_id))
    meanwhile = []
    while not deleting.done():
        meanwhile.append(await _write_something(client))
    await deleting
    client.close()
    ordered = sorted(meanwhile)
    return {
        "size_mb": grown,
        "took_s": time.perf_counter() - began,
        "requests": len(meanwhile),
        "longest_ms": ordered[-1],
        "p50_ms": ordered[len(ordered) // 2],
        "idle_ms": max(idle),
    }


async def _make_large(server: Server, size_mb: int) -> tuple[str, float]:
    """One thread, with run after run, until the file has grown by so much."""
    thread_id, before = str(uuid.uuid4()), server.database.stat().st_size
    client = await Connection.open(server.port)
    order: dict[str, Any] = {"assistant_id": "two_nodes", "if_not_exists": "create", "input": {"word": "w" * _WORD_BYTES}}
    async with asyncio.timeout(_TIMEOUT_S):
        while (grown := (server.database.stat().st_size - before) / 1e6) < size_mb:
            status, body = await client.post(f"/threads/{thread_id}/runs/wait", order)
            if status != 200:
                raise ContestantError(f"a run was answered with {status} and {body[:100]!r}")
    client.close()
    return thread_id, grown


async def _write_something(client: Connection) -> float:
    """Milliseconds until a new thread is acknowledged, which is one commit."""
    began = time.perf_counter()
    async with asyncio.timeout(_TIMEOUT_S):
        status, body = await client.post("/threads", {})
    if status != 200:
        raise ContestantError(f"a new thread was answered with {status} and {body[:100]!r}")
    return 1000 * (time.perf_counter() - began)


async def _delete(server: Server, thread_id: str) -> None:
    def delete() -> int:
        with closing(HTTPConnection("127.0.0.1", server.port, timeout=_TIMEOUT_S)) as client:
            client.request("DELETE", f"/threads/{thread_id}")
            return client.getresponse().status

    if (status := await asyncio.to_thread(delete)) >= 300:
        raise ContestantError(f"the deletion was answered with {status}")
