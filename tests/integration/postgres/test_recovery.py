"""How soon an installation goes on after the death of a worker and the return of its database, how soon a cancellation arrives, and
what becomes of a run that kills every worker. Real processes; the times are figures of `make prove`, and only bounded here.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
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

from stepwell.testing.postgres import PostgresCluster

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATIENCE_S = 180.0
WORKER_DIED_S, DATABASE_CAME_BACK_S, CANCELLED_S = 10.0, 5.0, 0.2
"""What is promised of a machine that has nothing else to do, as in `make prove`; beside other tests it only has to happen."""
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
    with PostgresCluster(folder, synchronous_commit="on") as cluster, Oracle() as oracle:
        variables = {"ORACLE_URL": oracle.url, "SOLD_ANSWERS": str(folder / "answers")}
        installation = Installation(cluster, folder / "nodes", workers=2, **variables)
        async with installation, connected([server.url for server in installation.servers]) as sdks:
            yield Scene(installation, sdks, oracle)


async def begin(sdk: LangGraphClient, graph: str = "waiting") -> tuple[str, str]:
    """A run that waits; gives thread and run."""
    thread_id = str(uuid.uuid4())
    given: Any = {"marks": [thread_id]}
    run = await sdk.runs.create(thread_id, graph, input=given, stream_mode="custom", if_not_exists="create")
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


async def ended(sdk: LangGraphClient, thread_id: str, run_id: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_S):
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
@pytest.mark.timeout(600)
async def test_a_run_that_kills_its_worker_each_time_is_given_up_and_harms_no_other(
    scene: Scene, effort: Effort, record_property: Callable[[str, object], None]
) -> None:
    """Faults: poison run, dead letter after 5 attempts, and a sentence; what the same workers drive beside it goes on."""
    installation, sdks, oracle = scene
    async with asyncio.timeout(500):
        poison = await begin(sdks[0], "poisonous")
        others = [await begin(sdks[1], "speaking") for _ in range(4)]
        if not effort.long:
            passing = asyncio.create_task(_pass_time(installation))
        began = time.monotonic()
        run = await ended(sdks[1], *poison)
        record_property("given_up_after_s", round(time.monotonic() - began, 1))
        if not effort.long:
            passing.cancel()
        assert run["status"] == "error"
        thread = await sdks[0].threads.get(poison[0])
        assert thread["status"] == "error"
        parts = [part async for part in heard(sdks[0], *poison)]
        assert [part.event for part in parts[-2:]] == ["error", "end"]
        assert "stopped 5 times while this run was at the same step" in parts[-2].data["message"]
        attempts = [part.data["attempt"] for part in parts if part.event == "metadata"]
        assert attempts == sorted(set(attempts)), "one may die before it has said that it begins"
        assert attempts[-1] <= 5
        state = await sdks[0].threads.get_state(poison[0])
        assert state["values"]["done"] == [f"{poison[0]} before"], "what it had finished stays"
        for other in others:
            assert (await ended(sdks[0], *other))["status"] == "success"
        assert max(oracle.effective("keyed").values()) == 1
        # One that dies before it has said that it works, or a moment ago, is not counted there.
        assert 1 <= sum(len(worker.lost) for worker in installation.workers) <= 5


async def _pass_time(installation: Installation) -> None:
    """A worker that has died is not heard of: eight seconds each time, which are taken as gone by here."""
    while True:
        alive = [str(worker.pid) for worker in installation.workers if worker.runs]
        with psycopg.connect(installation.cluster.url(DATABASE), autocommit=True) as connection:
            connection.execute(
                "DELETE FROM workers WHERE worker NOT LIKE 'holder-%%' AND NOT (split_part(worker, '-', 1) = ANY(%s))", (alive,)
            )
        await asyncio.sleep(0.3)
