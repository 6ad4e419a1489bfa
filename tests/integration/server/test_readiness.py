"""Readiness tells the truth: a server that answers but drives no runs is not ready, and is again once it does."""

from __future__ import annotations

import asyncio
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path

from tests.integration.runs.graphs import two
from tests.integration.server.conftest import Server, serve

REFUSING = (
    "CREATE TRIGGER refusing BEFORE UPDATE OF status ON runs WHEN NEW.status = 'running'"
    " BEGIN SELECT RAISE(ABORT, 'not now'); END"
)


async def until_ready(server: Server, status: int) -> str:
    async with asyncio.timeout(120):
        while (answer := await server.http.get("/ok", params={"check_db": 1})).status_code != status:  # noqa: ASYNC110 - as probes do
            await asyncio.sleep(0.02)
    return answer.text


async def test_a_server_whose_claims_fail_is_not_ready_and_goes_on_by_itself(server: Server) -> None:
    database = server.services.persistence.database  # type: ignore[attr-defined]  # the embedded one
    await database.write(lambda connection: connection.execute(REFUSING))
    thread_id = (await server.http.post("/threads", json={})).json()["thread_id"]
    run = (await server.http.post(f"/threads/{thread_id}/runs", json={"assistant_id": "echo", "input": {}})).json()
    told = await until_ready(server, 503)
    assert "driving runs" in told
    assert "not now" not in told, "the reason is for the log: it may quote what users sent"
    assert (await server.http.get("/ok")).status_code == 200
    assert 'stepwell_duty_failing{duty="driving runs"} 1.0' in (await server.http.get("/metrics")).text
    await database.write(lambda connection: connection.execute("DROP TRIGGER refusing"))
    joined = await server.http.get(f"/threads/{thread_id}/runs/{run['run_id']}/join")
    assert joined.json()["log"] == ["heard", "answered"]
    await until_ready(server, 200)
    assert 'stepwell_duty_failing{duty="driving runs"} 0.0' in (await server.http.get("/metrics")).text


async def test_a_server_that_is_being_stopped_is_well_and_not_ready(server: Server) -> None:
    assert (await server.http.get("/ready")).json() == {"ok": True}
    server.services.engine.stop_claiming()
    refused = await server.http.get("/ready")
    assert (refused.status_code, "being stopped" in refused.json()["detail"]) == (503, True)
    assert (await server.http.get("/ok")).status_code == 200


async def test_what_must_stand_before_the_first_run_is_taken_does(tmp_path: Path) -> None:
    """Such as a worker's ear for signals. The run waits since an earlier process, which drove none."""

    def read_states() -> None:
        with closing(sqlite3.connect(tmp_path / "server.db")) as database:
            seen.extend(status for (status,) in database.execute("SELECT status FROM runs"))

    seen: list[str] = []
    body = {"assistant_id": "two", "input": {"words": []}, "if_not_exists": "create"}
    path = f"/threads/{uuid.uuid4()}/runs"
    async with serve(tmp_path, graphs={"two": two}, concurrency=0) as server:
        run_id = (await server.http.post(path, json=body)).json()["run_id"]
    async with serve(tmp_path, graphs={"two": two}, before_driving=read_states) as server:
        assert seen == ["pending"]
        assert (await server.http.get(f"{path}/{run_id}/join")).json()["words"] == ["hello", "world"]
