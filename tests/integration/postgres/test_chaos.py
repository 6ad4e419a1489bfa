"""Two API servers, three workers, a Postgres and a Redis in trouble, while people work with them; no promise is broken (`chaos/checks`).

The long form is three rounds of a quarter of an hour, or as long as STEPWELL_CHAOS_SECONDS says; with STEPWELL_CHAOS_SEED it is one
round of other faults. Where the seed is even, events go through a Redis, which has faults of its own.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median

import pytest
from tests.conftest import PROVE, Effort
from tests.integration.durability.oracle import Oracle
from tests.integration.postgres.chaos.book import Book
from tests.integration.postgres.chaos.checker import Verdict, check
from tests.integration.postgres.chaos.faults import Faults
from tests.integration.postgres.chaos.installation import DATABASE, Installation
from tests.integration.postgres.chaos.money import VARIABLES, fund_session, sweep
from tests.integration.postgres.chaos.people import (
    PATIENCE_S,
    Crowd,
    Person,
    Sdk,
    ask,
    change_mind,
    connected,
    enduring,
    paying,
    take_back,
    talk,
    work,
)
from tests.integration.postgres.chaos.snapshot import under_way
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
    """Mission: kills, freezes past the lease, restarts and crashes of Postgres, cuts, also in the middle of a commit, and a clock an hour
    off; nothing acknowledged is lost, every run ends, the ledger is exact, streams have no gap, each effect happens once."""
    book, answers, chance, url = Book(tmp_path / "book"), tmp_path / "answers", random.Random(seed), cluster.url(DATABASE)
    async with AsyncExitStack() as opened:
        oracle = opened.enter_context(Oracle(tmp_path / "oracle"))
        variables = {"ORACLE_URL": oracle.url, "SOLD_ANSWERS": str(answers), **VARIABLES}
        redis = opened.enter_context(RedisServer()) if seed % 2 == 0 else None
        installation = Installation(cluster, tmp_path / "nodes", workers=3, wrong_clock=True, redis=redis, **variables)
        await opened.enter_async_context(installation)
        sdks = await opened.enter_async_context(connected([server.url for server in installation.servers]))
        stories = (talk, ask, work, change_mind, take_back, paying(await fund_session(url, LOCAL.owner)))
        people, at_once = effort.cases(12, 200), effort.cases(12, 24)
        crowd = await opened.enter_async_context(Crowd(sdks, book, stories, people=people, at_once=at_once, seed=seed))
        enduring_crowd = await opened.enter_async_context(_enduring_crowd(sdks, book, seed, effort))
        faults = await opened.enter_async_context(Faults(installation, seed))
        await _trouble(faults, book, chance, effort)
        began = time.monotonic()
        person = Person(sdks, book, chance)
        await _settle([crowd, enduring_crowd], person, book, url, SETTLED_S * (3 if effort.long else 1))
        settled_s = time.monotonic() - began
        await sweep(url)
        for thread_id in {said.thread_id for said in book.said}:
            await person.read_state(thread_id)
        await installation.stop()
    verdict = await asyncio.to_thread(check, tmp_path / "book", tmp_path / "oracle", answers, url)
    _record(record_property, faults, book, verdict, settled_s)
    wrong = [*verdict.wrong, *installation.lost]
    assert not wrong, "\n".join(wrong)
    assert all(verdict.compared.values()), f"the checker has not seen everything: {verdict.compared}"
    assert set(faults.counts) == set(faults.kinds), "not everything was tried"
    assert all(faults.idle[kind] < count for kind, count in faults.counts.items()), f"in vain: {faults.idle}"
    assert book.changes
    assert verdict.figures["taken_back_and_gone"], "nothing was taken back in time"
    assert verdict.figures["slow_driven_again"] or not effort.long, "no kill has met a long step"


def _enduring_crowd(sdks: Sequence[Sdk], book: Book, seed: int, effort: Effort) -> Crowd:
    """A few, apart from the others, who would wait for a place: a run of theirs may take until after the last fault."""
    people = effort.cases(2, 6)
    story, patience_s = enduring(effort.seconds(3, 8)), effort.seconds(PATIENCE_S, LONG_S + 3 * SETTLED_S)
    return Crowd(sdks, book, [story], people=people, at_once=people, seed=seed + 1_000, patience_s=patience_s)


async def _settle(crowds: Sequence[Crowd], person: Person, book: Book, url: str, within_s: float) -> None:
    """Let everybody come to an end with what they have begun, in peace."""
    try:
        async with asyncio.timeout(within_s):
            await asyncio.gather(*(crowd.finish() for crowd in crowds))
            assert book.failures == [], "\n".join(book.failures)
            for thread_id in {said.thread_id for said in book.said}:
                await person.settle(thread_id)
    except TimeoutError:
        raise AssertionError(f"not everything has ended: {under_way(url)}") from None


async def _trouble(faults: Faults, book: Book, chance: random.Random, effort: Effort) -> None:
    """Faults of every kind in a random order, round after round, for so long or until there were so many. What takes longest comes
    first in the short form, so that the rest happens meanwhile."""
    until, most = time.monotonic() + effort.seconds(1_800, LONG_S), effort.cases(len(faults.round), 2_000)
    waiting: list[str] = []
    await _until_at_work(faults)
    while time.monotonic() < until and faults.counts.total() < most:
        assert book.failures == [], "\n".join(book.failures)
        if len(waiting) <= 1 and faults.counts.total() + len(waiting) < most:
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


def _record(record: Callable[[str, object], None], faults: Faults, book: Book, verdict: Verdict, settled_s: float) -> None:
    figures = {
        "faults": faults.counts.total(),
        **dict(sorted(faults.counts.items())),
        "in_vain": dict(faults.idle),
        "worker_killed_every_s": round(median(faults.gaps("kill_worker") or [0]), 1),
        "messages_acknowledged": sum(said.run_id is not None for said in book.said),
        "messages_unconfirmed": sum(said.run_id is None for said in book.said),
        "messages_refused": sum(said.refused for said in book.said),
        "answers": len(book.answers),
        "cancelled": len(book.cancelled),
        "taken_back": len(book.taken_back),
        "stream_connections": book.connections,
        "refusals": dict(book.responses),
        **verdict.figures,
        "compared": verdict.compared,
        "settled_s": round(settled_s, 1),
    }
    for name, value in figures.items():
        record(name, value)
