"""Two API servers, three workers, a Postgres and a Redis in trouble, while people work with them; no promise is broken (`chaos/checks`).

The long form is three rounds of a quarter of an hour, or as long as STEPWELL_CHAOS_SECONDS says; with STEPWELL_CHAOS_SEED it is one
round of other faults. Where the seed is even, events go through a Redis, which has faults of its own.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from tests.conftest import PROVE, Effort
from tests.integration.durability.oracle import Oracle
from tests.integration.postgres.chaos import checks
from tests.integration.postgres.chaos.faults import Faults
from tests.integration.postgres.chaos.installation import DATABASE, Installation
from tests.integration.postgres.chaos.money import VARIABLES, fund_session, read_answers, sweep
from tests.integration.postgres.chaos.people import (
    Book,
    Crowd,
    Person,
    ask,
    change_mind,
    connected,
    paying,
    take_back,
    talk,
    work,
)
from tests.support.postgres import PostgresCluster
from tests.support.redis import RedisServer

from stepwell.server.login.principal import LOCAL

SEEDS = (
    [int(os.environ["STEPWELL_CHAOS_SEED"])]
    if "STEPWELL_CHAOS_SEED" in os.environ
    else [20264, 20265, 20266][: 3 if PROVE else 1]
)
LONG_S = float(os.environ.get("STEPWELL_CHAOS_SECONDS", 15 * 60))
SETTLED_S = 300.0
"""After the last fault: leases expire, attempts wait for a database that was away, and two cores catch up."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[PostgresCluster]:
    """One that can crash: what was committed is in the file, if not on the disk."""
    with PostgresCluster(tmp_path, synchronous_commit="on") as opened:
        yield opened


@pytest.mark.prove
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", SEEDS)
async def test_no_fault_breaks_a_promise(
    seed: int, cluster: PostgresCluster, tmp_path: Path, effort: Effort, record_property: Callable[[str, object], None]
) -> None:
    """Mission: kills, freezes past the lease, restarts and crashes of Postgres, cuts, and a clock an hour off; nothing acknowledged is
    lost, every run ends, the ledger is exact, streams have no gap, each effect happens once."""
    book, answers, chance, url = Book(), tmp_path / "answers", random.Random(seed), cluster.url(DATABASE)
    async with AsyncExitStack() as opened:
        oracle = opened.enter_context(Oracle())
        variables = {"ORACLE_URL": oracle.url, "SOLD_ANSWERS": str(answers), **VARIABLES}
        redis = opened.enter_context(RedisServer()) if seed % 2 == 0 else None
        installation = Installation(cluster, tmp_path / "nodes", workers=3, wrong_clock=True, redis=redis, **variables)
        await opened.enter_async_context(installation)
        sdks = await opened.enter_async_context(connected([server.url for server in installation.servers]))
        stories = (talk, ask, work, change_mind, take_back, paying(await fund_session(url, LOCAL.owner)))
        people, at_once = effort.cases(12, 200), effort.cases(12, 24)
        crowd = await opened.enter_async_context(Crowd(sdks, book, stories, people=people, at_once=at_once, seed=seed))
        faults = await opened.enter_async_context(Faults(installation, seed))
        await _trouble(faults, book, chance, effort)
        began = time.monotonic()
        person = Person(sdks, book, chance)
        await _settle(crowd, person, book, url, SETTLED_S * (3 if effort.long else 1))
        settled_s = time.monotonic() - began
        await sweep(url)
        snapshot = await asyncio.to_thread(checks.take_snapshot, url)
        await _read_states(person, snapshot, book)
        await installation.stop()
        wrong = [*checks.everything(snapshot, book, oracle, read_answers(answers)), *installation.lost]
    _record(record_property, faults, book, snapshot, settled_s, oracle)
    assert not wrong, "\n".join(wrong)
    assert set(faults.counts) == set(faults.kinds), "not everything was tried"
    assert book.followed
    assert book.changes
    assert book.taken_back - snapshot.events.keys(), "nothing was taken back in time"


async def _settle(crowd: Crowd, person: Person, book: Book, url: str, within_s: float) -> None:
    """Let everybody come to an end with what they have begun, in peace."""
    try:
        async with asyncio.timeout(within_s):
            await crowd.finish()
            assert book.failures == [], "\n".join(book.failures)
            for thread_id in {said.thread_id for said in book.said}:
                await person.settle(thread_id)
    except TimeoutError:
        raise AssertionError(f"not everything has ended: {checks.under_way(url)}") from None


async def _trouble(faults: Faults, book: Book, chance: random.Random, effort: Effort) -> None:
    """Faults of every kind in a random order, round after round, for so long or until there were so many. What takes longest comes
    first in the short form, so that the rest happens meanwhile."""
    until, most = time.monotonic() + effort.seconds(1_800, LONG_S), effort.cases(len(faults.round), 2_000)
    waiting: list[str] = []
    await _until_at_work(faults)
    while time.monotonic() < until and faults.counts.total() < most:
        assert book.failures == [], "\n".join(book.failures)
        if len(waiting) <= 1:
            waiting += sorted(
                chance.sample(faults.round, len(faults.round)), key=lambda kind: kind != "freeze_worker" and not effort.long
            )
        if begun := next((kind for kind in waiting if faults.happen(kind)), None):
            waiting.remove(begun)
        await asyncio.sleep(chance.uniform(0.1, effort.seconds(0.9, 0.8)))
    await faults.end()


async def _until_at_work(faults: Faults) -> None:
    """A worker that has nothing to do cannot be disturbed."""
    async with asyncio.timeout(SETTLED_S):
        while len(faults.installation.drivers()) < 2:  # noqa: ASYNC110 - nobody announces it
            await asyncio.sleep(0.1)


async def _read_states(person: Person, snapshot: checks.Snapshot, book: Book) -> None:
    for thread_id in {said.thread_id for said in book.said}:
        state: Any = await person.again(lambda sdk, thread=thread_id: sdk.threads.get_state(thread), missing=True)
        snapshot.states[thread_id] = dict(state["values"] or {}) if state else {}


def _record(
    record: Callable[[str, object], None],
    faults: Faults,
    book: Book,
    snapshot: checks.Snapshot,
    settled_s: float,
    oracle: Oracle,
) -> None:
    recovered = checks.recoveries(snapshot)
    figures = {
        "faults": faults.counts.total(),
        **dict(sorted(faults.counts.items())),
        "runs": len(snapshot.tables["runs"]),
        "driven_again": sum(row["attempt"] > 1 for row in snapshot.tables["runs"]),
        "most_attempts": max(row["attempt"] for row in snapshot.tables["runs"]),
        "messages_acknowledged": sum(said.run_id is not None for said in book.said),
        "messages_unconfirmed": sum(said.run_id is None for said in book.said),
        "messages_refused": sum(said.refused for said in book.said),
        "answers": len(book.answers),
        "cancelled": len(book.cancelled),
        "taken_back": len(book.taken_back),
        "taken_back_and_gone": len(book.taken_back - snapshot.events.keys()),
        "streams_followed": len(book.followed),
        "stream_connections": book.connections,
        "events": sum(map(len, snapshot.events.values())),
        "refusals": dict(book.responses),
        "keyed_effects": len(oracle.effective("keyed")),
        "once_effects": len(oracle.asked("once")),
        "charges": sum(row["kind"] == "charge" for row in snapshot.tables["entries"]),
        "charges_taken_back": sum(row["kind"] == "void" for row in snapshot.tables["entries"]),
        "recovery_median_s": round(median(recovered), 2) if recovered else None,
        "recovery_worst_s": round(recovered[-1], 2) if recovered else None,
        "settled_s": round(settled_s, 1),
    }
    for name, value in figures.items():
        record(name, value)
