"""Claim: threads are found by their values without reading the values of all. 50,000 threads of one owner, on SQLite and on Postgres.

Wall time of `search_threads` with a filter on `values`, the least of a few rounds: one thread matches, and a third of them does. The
threads are made through the repository's own function, many in a transaction; Postgres has counted its rows, as autovacuum does. The
floor reads and compares all values, as a search does for values without marks; only on SQLite, because it takes a minute on Postgres.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.support.driven_runs import OWNER, a_thread
from tests.support.postgres import PostgresCluster

from benchmarks.bench import Bench, Row
from stepwell.database.persistence import Persistence
from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.database.records.threads import insert_thread
from stepwell.database.records.types import Page, ThreadFilter
from stepwell.database.sqlite.persistence import EmbeddedPersistence

THREADS = 50_000
ROUNDS = 5
_AT_ONCE = 500
_STAGES = ("draft", "review", "done")
LIMIT_MS = 100.0


def rows(bench: Bench) -> list[Row]:
    count = THREADS // 10 if bench.quick else THREADS
    with tempfile.TemporaryDirectory() as folder, PostgresCluster(Path(folder)) as cluster:
        places = {
            "SQLite": EmbeddedPersistence(Path(folder) / "stepwell.db"),
            "Postgres": PostgresPersistence(cluster.create("threads")),
        }
        found = {
            place: asyncio.run(_measure(opening, count, with_floor=place == "SQLite")) for place, opening in places.items()
        }
    bench.raw["thread_search"] = {"threads": count, "ms": found}
    return [
        Row(
            f"thread search by a value, {count:,} threads, {place}, {what}",
            f"≤ {LIMIT_MS:.0f} ms",
            figures[what],
            figures.get("floor"),
            None,
            LIMIT_MS,
            form="{:,.0f} ms".format,
            note="floor: all values are compared" if "floor" in figures and what == "one matches" else "",
        )
        for place, figures in found.items()
        for what in ("one matches", "a third matches")
    ]


async def _measure(opening: Any, count: int, *, with_floor: bool) -> dict[str, float]:
    async with opening as persistence:
        for first in range(0, count, _AT_ONCE):
            threads = [a_thread(values=_values(number)) for number in range(first, min(count, first + _AT_ONCE))]
            await persistence.database.write(
                lambda connection, some=threads: [insert_thread(connection, each) for each in some]
            )
        await persistence.database.write(lambda connection: connection.execute("ANALYZE"))
        figures = {
            "one matches": await _search(persistence, {"step": count // 2}, 1),
            "a third matches": await _search(persistence, {"stage": "done"}, Page.limit),
        }
        if not with_floor:
            return figures
        await persistence.database.write(lambda connection: connection.execute("UPDATE thread_values SET marks = NULL"))
        return {**figures, "floor": await _search(persistence, {"step": count // 2}, 1, rounds=1)}


async def _search(persistence: Persistence, values: dict[str, Any], expected: int, rounds: int = ROUNDS) -> float:
    spent = []
    for _ in range(rounds):
        began = time.perf_counter()
        found = await persistence.records.search_threads(OWNER, ThreadFilter(values=values), Page())
        spent.append(1000 * (time.perf_counter() - began))
        if len(found) != expected:
            raise AssertionError(f"{len(found)} threads were found, not {expected}")
    return min(spent)


def _values(number: int) -> dict[str, Any]:
    question = {"type": "human", "content": f"What do the pumps of station {number} cost?", "id": f"m{number}"}
    return {"messages": [question], "step": number, "stage": _STAGES[number % 3], "score": number / 7}
