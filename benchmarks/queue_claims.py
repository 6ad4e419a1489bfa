"""Claim: runs are handed out from their own rows as quickly as from a job queue. One Postgres (which writes to the disk as it does in
production), two workers, one run on each of many threads: how many are handed out in a second.

The peer is Procrastinate: its own tables and its own function `procrastinate_fetch_job_v2`, with the thread as the job's lock, called
through the same driver. It hands out one job at a time; we hand out one, or as many as a worker has room for. Ours also raises the
thread's fence, takes the worker's turn among tenants into account and reads the run; the peer would need a second transaction for that.
"""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
from tests.support.driven_runs import a_run, new_id
from tests.support.postgres import PostgresCluster

from benchmarks.bench import Bench, Row
from benchmarks.environments import EnvironmentFailure, procrastinate_python
from stepwell.database.postgres.database import PostgresDatabase
from stepwell.database.queue import admission, leases
from stepwell.database.queue.types import Admission

RUNS = 2_000
WORKERS = 2
AT_ONCE = 50
_SCHEMA = "import pathlib, procrastinate; print(pathlib.Path(procrastinate.__file__).parent / 'sql' / 'schema.sql')"
_DISK = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}


def rows(bench: Bench) -> list[Row]:
    count = RUNS // 4 if bench.quick else RUNS
    with tempfile.TemporaryDirectory() as folder, PostgresCluster(Path(folder), **_DISK) as cluster:
        ours = {limit: claim_ours(cluster.create(f"ours-{limit}"), count, limit) for limit in (1, AT_ONCE)}
        peer = None
        try:
            schema = subprocess.run([procrastinate_python(), "-c", _SCHEMA], capture_output=True, text=True, check=True).stdout
            peer = fetch_peers(cluster.create("peer"), count, Path(schema.strip()).read_text())
        except (EnvironmentFailure, subprocess.CalledProcessError) as error:
            bench.problems["procrastinate claims"] = str(error)
    bench.raw["queue_claims"] = {"runs": count, "workers": WORKERS, "ours_per_s": ours, "peer_per_s": peer}
    form = "{:.0f}/s".format
    return [
        Row("runs handed out one by one, two workers on Postgres", "for information", ours[1], None, peer, None, form),
        Row(f"the same, up to {AT_ONCE} at once", "for information", ours[AT_ONCE], None, peer, None, form),
    ]


def claim_ours(url: str, count: int, limit: int) -> float:
    """Runs per second."""
    databases, loops = [PostgresDatabase(url) for _ in range(WORKERS)], [asyncio.Runner() for _ in range(WORKERS)]
    try:
        admissions = [Admission(a_run(new_id()), create_thread=True) for _ in range(count)]
        databases[0].write_now(lambda connection: [admission.admit(connection, each, 0.0) for each in admissions] and None)

        def take(number: int) -> int:
            return loops[number].run(_claim(databases[number], f"worker {number}", limit))

        return _race(take, count)
    finally:
        for database, loop in zip(databases, loops, strict=True):
            database.close()
            loop.close()


async def _claim(database: PostgresDatabase, worker: str, limit: int) -> int:
    while True:
        taken = await database.write_soon(lambda c: leases.claim(c, worker, limit, time.time()), exclusive=True)
        if taken is not None:
            return len(taken.claims)
        await asyncio.sleep(0.001)  # the other worker is claiming now


def fetch_peers(url: str, count: int, schema: str) -> float:
    """Jobs per second."""
    workers = []
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(schema.encode())
        connection.execute(
            "INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, args)"
            " SELECT 'runs', 'drive', 0, 'thread ' || number, '{}' FROM generate_series(1, %s) AS number",
            (count,),
        )
        for _ in range(WORKERS):
            workers.append(connection.execute("INSERT INTO procrastinate_workers DEFAULT VALUES RETURNING id").fetchone()[0])
    connections = [psycopg.connect(url, autocommit=True) for _ in range(WORKERS)]
    try:

        def take(number: int) -> int:
            job = (
                connections[number]
                .execute("SELECT id FROM procrastinate_fetch_job_v2(NULL, %s)", (workers[number],))
                .fetchone()
            )
            return int(job is not None and job[0] is not None)

        return _race(take, count)
    finally:
        for connection in connections:
            connection.close()


def _race(take: Callable[[int], int], count: int) -> float:
    """All workers take until nothing is left, each in a thread of its own."""
    taken = [0] * WORKERS

    def work(number: int) -> None:
        while (some := take(number)) > 0:
            taken[number] += some

    threads = [threading.Thread(target=work, args=(number,)) for number in range(WORKERS)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    if sum(taken) != count:
        raise AssertionError(f"{sum(taken)} of {count} were handed out")
    return count / seconds
