"""Claim: events that one process appends reach readers in another process quickly, also at a high rate, both with Postgres's
notifications and with Redis Streams.

Two processes share a Postgres that syncs to disk as in production: one appends events to the logs of many threads, and the other follows
all of them. We measure the time from an append to its delivery in the other process, at a rate that causes no queueing, and how many
events per second are delivered when the writer appends as fast as it can.

`python -m benchmarks.event_fanout` is the process that follows.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from tests.support.driven_runs import DrivenRuns, driving, new_id
from tests.support.postgres import PostgresCluster
from tests.support.redis import RedisServer

from benchmarks.bench import ROOT, Bench, Row
from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.database.queue.types import ClaimedRun
from stepwell.database.types import NewEvent

THREADS = 50
CALM_S = 10.0
CALM_PER_S = 200
RUSH = 20_000
_DISK = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}
_PAD = "x" * 150
_PATIENCE_S = 300


def rows(bench: Bench) -> list[Row]:
    share, rounds = (4, 3) if bench.quick else (1, 5)
    found: dict[str, list[dict[str, float]]] = {"notify": [], "redis": []}
    with (
        tempfile.TemporaryDirectory() as folder,
        PostgresCluster(Path(folder), **_DISK) as cluster,
        RedisServer() as redis,
    ):
        for number in range(rounds):  # in turn, so that a slow minute hits both alike
            for name, address in (("notify", None), ("redis", redis.url)):
                database = cluster.create(f"{name}-{number}")
                found[name].append(asyncio.run(measure(database, address, CALM_S / share, RUSH // share)))
    bench.raw["event_fanout"] = {"threads": THREADS, "calm_per_s": CALM_PER_S, **found}
    figures = {name: {figure: median(one[figure] for one in each) for figure in each[0]} for name, each in found.items()}
    forms = {"p50_ms": "{:.1f} ms".format, "p99_ms": "{:.1f} ms".format, "per_s": "{:.0f}/s".format}
    words = {
        "p50_ms": f"an event reaches another process, median, {CALM_PER_S} events a second",
        "p99_ms": "the same, 99 of 100",
        "per_s": f"events delivered in another process, {THREADS} threads, as fast as can be",
    }
    means = {"notify": "Postgres NOTIFY", "redis": "Redis Streams"}
    return [
        Row(f"{words[figure]}: {means[name]}", "for information", figures[name][figure], None, None, None, forms[figure])
        for figure in words
        for name in means
    ]


async def measure(url: str, redis_url: str | None, calm_s: float, rush: int) -> dict[str, float]:
    async with PostgresPersistence(url, redis_url=redis_url) as writing, driving(writing) as runs:
        claims = [await runs.begin(new_id()) for _ in range(THREADS)]
        reader = await _start_reader(url, redis_url, claims)
        await _append_calmly(writing, claims, calm_s)
        began = time.monotonic()
        await _append_quickly(writing, claims, rush)
        await _end(runs, claims)
        seen = json.loads(await asyncio.to_thread(_answer_of, reader))
    calm = [arrived - sent for kind, sent, arrived in seen if kind == "calm"]
    rushed = [arrived for kind, _, arrived in seen if kind == "rush"]
    if len(rushed) != rush // THREADS * THREADS:
        raise AssertionError(f"{len(rushed)} of {rush} events arrived")
    cuts = quantiles(calm, n=100)
    return {"p50_ms": cuts[49] * 1000, "p99_ms": cuts[98] * 1000, "per_s": len(rushed) / (max(rushed) - began)}


async def _append_calmly(writing: PostgresPersistence, claims: Sequence[ClaimedRun], seconds: float) -> None:
    count = int(seconds * CALM_PER_S)
    began = time.monotonic()
    appending = []
    for number in range(count):
        await asyncio.sleep(max(0.0, began + number / CALM_PER_S - time.monotonic()))
        appending.append(asyncio.ensure_future(writing.events.append(claims[number % THREADS].lease, [_event("calm")])))
    await asyncio.gather(*appending)


async def _append_quickly(writing: PostgresPersistence, claims: Sequence[ClaimedRun], count: int) -> None:
    async def append(claim: ClaimedRun) -> None:
        for _ in range(count // THREADS):
            await writing.events.append(claim.lease, [_event("rush")])

    await asyncio.gather(*(append(claim) for claim in claims))


async def _end(runs: DrivenRuns, claims: Sequence[ClaimedRun]) -> None:
    for claim in claims:
        await runs.end(claim)


def _event(kind: str) -> NewEvent:
    # The monotonic clock is one for all processes of a machine.
    return NewEvent("messages", json.dumps([kind, time.monotonic(), _PAD]).encode())


async def _start_reader(url: str, redis_url: str | None, claims: Sequence[ClaimedRun]) -> subprocess.Popen[str]:
    order = {"url": url, "redis_url": redis_url, "runs": [[claim.run.thread_id, claim.run.run_id] for claim in claims]}
    command = [sys.executable, "-m", "benchmarks.event_fanout", json.dumps(order)]
    reader = await asyncio.to_thread(subprocess.Popen, command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert reader.stdout is not None, "a pipe was asked for"
    if (await asyncio.to_thread(reader.stdout.readline)).strip() != "following":
        raise AssertionError("the process that follows did not start")
    return reader


def _answer_of(reader: subprocess.Popen[str]) -> str:
    return reader.communicate(timeout=_PATIENCE_S)[0]


async def follow(order: dict[str, Any]) -> list[tuple[str, float, float]]:
    """Every event with when it was sent and when it arrived."""
    seen: list[tuple[str, float, float]] = []
    async with PostgresPersistence(order["url"], redis_url=order["redis_url"]) as persistence:

        async def follow_one(thread_id: str, run_id: str) -> None:
            async for events in persistence.events.follow_run(thread_id, run_id):
                arrived = time.monotonic()
                seen.extend((*json.loads(event.data)[:2], arrived) for event in events if event.event == "messages")

        following = [asyncio.create_task(follow_one(*run)) for run in order["runs"]]
        await asyncio.sleep(1.0)  # until all have looked at the table, and the process hears of others
        print("following", flush=True)
        await asyncio.gather(*following)
    return seen


if __name__ == "__main__":
    print(json.dumps(asyncio.run(follow(json.loads(sys.argv[1])))))
