"""How soon an installation goes on after the death of a worker and the return of its database, how soon a cancellation arrives, and
what becomes of a run that kills every worker. Real processes; the times are figures of `make prove`, and only bounded here.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from statistics import median
from typing import Any, NamedTuple, cast

import httpx
import psycopg
import pytest
import pytest_asyncio
from langgraph_sdk.client import LangGraphClient
from tests.conftest import Effort
from tests.integration.durability.oracle import Oracle
from tests.integration.postgres.chaos.installation import DATABASE, Installation, Node
from tests.integration.postgres.chaos.people import connected
from tests.support.postgres import PostgresCluster

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATIENCE_S = 180.0
WORKER_DIED_S, DATABASE_CAME_BACK_S, CANCELLED_S = 10.0, 5.0, 0.2
"""What is promised of a machine that has nothing else to do, as in `make prove`; beside other tests it only has to happen."""
TEN = 10
MOST_DEATHS = 15
"""Until a run that causes them is given up, among a few others: five count, two make a suspect, and a few find it."""
AWAY_S = 4.5
"""Longer than writers wait without telling anybody: attempts break off, and others follow."""


class Scene(NamedTuple):
    installation: Installation
    sdks: list[LangGraphClient]
    """One for each server."""
    oracle: Oracle


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    folder = tmp_path_factory.mktemp("recovery")
    with PostgresCluster(folder, synchronous_commit="on") as cluster, Oracle(folder / "oracle") as oracle:
        variables = {"ORACLE_URL": oracle.url, "SOLD_ANSWERS": str(folder / "answers")}
        installation = Installation(cluster, folder / "nodes", workers=2, **variables)
        async with installation, connected([server.url for server in installation.servers]) as sdks:
            yield Scene(installation, sdks, oracle)


async def begin(sdk: LangGraphClient, graph: str = "waiting", config: Any = None) -> tuple[str, str]:
    """A run that waits; gives thread and run."""
    thread_id = str(uuid.uuid4())
    given: Any = {"marks": [thread_id]}
    run = await sdk.runs.create(thread_id, graph, input=given, config=config, stream_mode="custom", if_not_exists="create")
    return thread_id, run["run_id"]


async def heard(sdk: LangGraphClient, thread_id: str, run_id: str) -> AsyncIterator[Any]:
    """What a run says, to its end, whatever becomes of the connections."""
    last = "0"
    while True:
        try:
            async with aclosing(cast("Any", sdk.runs.join_stream(thread_id, run_id, last_event_id=last))) as parts:
                async for part in parts:
                    last = part.id
                    yield part
                    if part.event == "end":
                        return
        except Exception:  # a server without its database: it comes back
            await asyncio.sleep(0.02)


async def until_waiting(parts: AsyncIterator[Any]) -> int:
    """Until the run waits; gives the process that drives it."""
    async for part in parts:
        if part.event == "custom" and "waiting" in part.data:
            return int(part.data["waiting"])
    raise AssertionError("the run has ended")


def driver(installation: Installation, pid: int) -> Node:
    (found,) = (worker for worker in installation.workers if worker.pid == pid)
    return found


async def die(installation: Installation, sdks: list[LangGraphClient]) -> float:
    """Seconds from the death of a worker until another one drives its run."""
    thread_id, run_id = await begin(sdks[0])
    async with aclosing(cast("Any", heard(sdks[1], thread_id, run_id))) as parts:
        worker = driver(installation, await until_waiting(parts))
        await worker.kill()
        died = time.monotonic()
        await until_waiting(parts)
        took = time.monotonic() - died
    await worker.start()
    await worker.until_begun()
    await sdks[0].runs.cancel(thread_id, run_id, wait=True)
    return took


async def lose_database(installation: Installation, sdks: list[LangGraphClient]) -> float:
    """Seconds from the return of the database until the last of the runs that were under way has stored something again."""
    begun = [await begin(sdks[0], "speaking") for _ in range(3)]
    for run in begun:
        async with aclosing(cast("Any", heard(sdks[1], *run))) as parts:
            await anext(parts)
    await asyncio.to_thread(installation.cluster.stop)
    await asyncio.sleep(AWAY_S)
    await asyncio.to_thread(installation.cluster.start)
    for thread_id, run_id in begun:
        assert (await ended(sdks[1], thread_id, run_id))["status"] == "success"
    with psycopg.connect(installation.cluster.url(DATABASE)) as connection:
        moved = connection.execute(_MOVED, ([run_id for _, run_id in begun],)).fetchall()
    return max((took for (took,) in moved), default=0.0)


_MOVED = """
WITH returned AS (SELECT CAST(EXTRACT(EPOCH FROM pg_postmaster_start_time()) AS DOUBLE PRECISION) AS at)
SELECT MIN(created_at) - MIN(returned.at) FROM events, returned WHERE run_id = ANY(%s) AND created_at > returned.at GROUP BY run_id
"""


async def cancel(installation: Installation, sdks: list[LangGraphClient]) -> float:
    """Seconds from asking one server to stop a run, which a worker elsewhere drives, until a reader at the other hears of its end."""
    thread_id, run_id = await begin(sdks[0])
    async with aclosing(cast("Any", heard(sdks[1], thread_id, run_id))) as parts:
        await until_waiting(parts)
        asked = time.monotonic()
        cancelling = asyncio.create_task(sdks[0].runs.cancel(thread_id, run_id, wait=False))
        events = [part.event async for part in parts]
        took = time.monotonic() - asked
        await cancelling
    assert events[-1] == "end"
    assert (await ended(sdks[0], thread_id, run_id))["status"] == "interrupted"
    return took


async def ended(sdk: LangGraphClient, thread_id: str, run_id: str, patience_s: float = PATIENCE_S) -> dict[str, Any]:
    async with asyncio.timeout(patience_s):
        while True:
            run = await sdk.runs.get(thread_id, run_id)
            if run["status"] not in ("pending", "running"):
                return cast("dict[str, Any]", run)
            await asyncio.sleep(0.05)


@pytest.mark.prove
@pytest.mark.timeout(900)
async def test_it_goes_on_soon_and_stops_at_once(
    scene: Scene, effort: Effort, record_property: Callable[[str, object], None]
) -> None:
    installation, sdks, _ = scene
    async with asyncio.timeout(800):
        for name, measure, rounds, bound in (
            ("cancelled", cancel, effort.cases(3, 20), CANCELLED_S),
            ("worker_died", die, effort.cases(1, 5), WORKER_DIED_S),
            ("database_came_back", lose_database, effort.cases(1, 5), DATABASE_CAME_BACK_S),
        ):
            took = [await measure(installation, sdks) for _ in range(rounds)]
            record_property(f"{name}_median_s", round(median(took), 3))
            record_property(f"{name}_worst_s", round(max(took), 3))
            assert not effort.long or median(took) < bound, (name, took)
        assert installation.lost == []


async def test_servers_say_so_while_the_database_is_away_and_go_on_when_it_is_back(scene: Scene) -> None:
    installation, sdks, _ = scene
    thread_id = (await sdks[0].threads.create())["thread_id"]
    await asyncio.to_thread(installation.cluster.stop)
    async with asyncio.timeout(PATIENCE_S), httpx.AsyncClient(timeout=60) as http:
        for server in installation.servers:
            asked = await asyncio.gather(
                http.get(f"{server.url}/threads/{thread_id}"),
                http.post(f"{server.url}/threads", json={}),
                http.post(f"{server.url}/threads/{thread_id}/runs", json={"assistant_id": "speaking"}),
                http.get(f"{server.url}/ready"),
            )
            for response in asked:
                assert response.status_code == 503, response.text
                assert int(response.headers["retry-after"]) > 0
                assert "database" in response.json()["detail"], response.text
            assert (await http.get(f"{server.url}/ok")).status_code == 200, "it lives: nobody should restart it for that"
        await asyncio.to_thread(installation.cluster.start)
        run = await begin(sdks[0], "speaking")
        assert (await ended(sdks[1], *run))["status"] == "success"
        for server in installation.servers:
            assert (await http.get(f"{server.url}/ready")).status_code == 200
    assert [node.name for node in installation.nodes if not node.runs] == []


@pytest.mark.prove
@pytest.mark.timeout(900)
async def test_a_run_that_kills_its_worker_each_time_is_given_up_and_harms_no_other(
    scene: Scene, effort: Effort, record_property: Callable[[str, object], None]
) -> None:
    """Faults: poison run, dead letter after 5 deaths that count, and a sentence; what the same workers drive beside it goes on."""
    installation, sdks, oracle = scene
    async with asyncio.timeout(800), passing_time(installation, needed=not effort.long):
        poison = await begin(sdks[0], "poisonous")
        others = [await begin(sdks[1], "speaking") for _ in range(4)]
        began = time.monotonic()
        run = await ended(sdks[1], *poison, patience_s=700)
        record_property("given_up_after_s", round(time.monotonic() - began, 1))
        assert run["status"] == "error"
        thread = await sdks[0].threads.get(poison[0])
        assert thread["status"] == "error"
        parts = [part async for part in heard(sdks[0], *poison)]
        assert [part.event for part in parts[-2:]] == ["error", "end"]
        assert "died 5 times soon after it began the same step" in parts[-2].data["message"]
        attempts = [part.data["attempt"] for part in parts if part.event == "metadata"]
        assert attempts == sorted(set(attempts)), "one may die before it has said that it begins"
        assert attempts[-1] <= MOST_DEATHS
        state = await sdks[0].threads.get_state(poison[0])
        assert state["values"]["done"] == [f"{poison[0]} before"], "what it had finished stays"
        for other in others:
            assert (await ended(sdks[0], *other))["status"] == "success"
        assert max(oracle.effective("keyed").values()) == 1
        # One that dies before it has said that it works, or a moment ago, is not counted there.
        assert 1 <= sum(len(worker.lost) for worker in installation.workers) <= MOST_DEATHS


@pytest.mark.prove
@pytest.mark.timeout(600)
async def test_runs_whose_workers_were_killed_twice_are_driven_at_once(
    scene: Scene, effort: Effort, record_property: Callable[[str, object], None]
) -> None:
    installation, sdks, _ = scene
    hold_s = effort.seconds(6, 12)
    async with asyncio.timeout(500), passing_time(installation, needed=not effort.long):
        config: Any = {"configurable": {"hold_s": hold_s}}
        begun = [await begin(sdks[0], "holding", config=config) for _ in range(TEN)]
        run_ids = [run_id for _, run_id in begun]
        for times in (1, 2):
            await until_true(installation, _HELD, TEN, run_ids, times)
            await asyncio.gather(*(worker.kill() for worker in installation.workers))
            started = time.monotonic()
            await asyncio.gather(*(worker.start() for worker in installation.workers))
        for run in begun:
            assert (await ended(sdks[0], *run))["status"] == "success"
        record_property("all_ended_after_s", round(time.monotonic() - started, 1))
        record_property("step_s", hold_s)
        with psycopg.connect(installation.cluster.url(DATABASE)) as connection:
            intervals = connection.execute(_INTERVALS, (run_ids,)).fetchall()
        assert len(intervals) == TEN
        assert max(began for began, _ in intervals) < min(over for _, over in intervals), "one waited for another"


@pytest.mark.prove
@pytest.mark.timeout(600)
async def test_a_run_whose_workers_were_only_frozen_is_not_suspected(
    scene: Scene, effort: Effort, record_property: Callable[[str, object], None]
) -> None:
    """Longer than a lease lasts, until another worker has the run. Each of them is heard of again."""
    installation, sdks, _ = scene
    freezes = effort.cases(2, 7)
    async with asyncio.timeout(500):
        thread_id, run_id = await begin(sdks[0])
        async with aclosing(cast("Any", heard(sdks[1], thread_id, run_id))) as parts:
            for _ in range(freezes):
                worker = driver(installation, await until_waiting(parts))
                worker.freeze()
                await until_true(installation, _CRASHED, run_id)
                worker.thaw()
                await until_true(installation, _FORGIVEN, run_id)
            await until_waiting(parts)
        record_property("freezes", freezes)
        run = await sdks[0].runs.get(thread_id, run_id)
        assert run["status"] == "running"
        await sdks[0].runs.cancel(thread_id, run_id, wait=True)


_HELD = """
SELECT COUNT(*) >= %s FROM (
  SELECT run_id FROM events WHERE event = 'custom' AND run_id = ANY(%s) GROUP BY run_id HAVING COUNT(*) >= %s) AS held
"""
_INTERVALS = """
SELECT (SELECT MAX(created_at) FROM events AS e WHERE e.run_id = runs.run_id AND event = 'custom'), finished_at FROM runs
WHERE run_id = ANY(%s)
"""
_CRASHED = "SELECT crashes >= 1 FROM runs WHERE run_id = %s"
_FORGIVEN = "SELECT crashes = 0 FROM runs WHERE run_id = %s"


async def until_true(installation: Installation, sql: str, *values: Any) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await asyncio.to_thread(_ask, installation, sql, values):  # noqa: ASYNC110 - nobody announces it
            await asyncio.sleep(0.05)


def _ask(installation: Installation, sql: str, values: Sequence[Any]) -> Any:
    with psycopg.connect(installation.cluster.url(DATABASE)) as connection:
        row = connection.execute(sql, values).fetchone()
    return row and row[0]


@asynccontextmanager
async def passing_time(installation: Installation, *, needed: bool) -> AsyncIterator[None]:
    """A worker that has died is not heard of for eight seconds, and suspects wait; that time is taken as gone by."""
    passing = asyncio.create_task(_pass_time(installation)) if needed else None
    try:
        yield
    finally:
        if passing:
            passing.cancel()


async def _pass_time(installation: Installation) -> None:
    while True:
        alive = [str(worker.pid) for worker in installation.workers if worker.runs]
        await asyncio.to_thread(
            _pass_time_once, installation, alive
        )  # not here: workers reach the database through this event loop
        await asyncio.sleep(0.3)


def _pass_time_once(installation: Installation, alive: list[str]) -> None:
    with psycopg.connect(installation.cluster.url(DATABASE), autocommit=True) as connection:
        connection.execute(
            "UPDATE workers SET alive_until = 0 WHERE worker NOT LIKE 'holder-%%' AND NOT (split_part(worker, '-', 1) = ANY(%s))",
            (alive,),
        )
        connection.execute("UPDATE runs SET wait_s = 1 WHERE status = 'pending' AND wait_s > 1")
