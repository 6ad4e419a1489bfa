"""A disk that is full: new work is refused, reading goes on, and it all recovers without a restart."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph
from tests.integration.server.conftest import Server, serve
from tests.integration.server.graphs import GRAPHS, Talk

from stepwell.database.sqlite import write_ahead_log

SIZE = 8 * 1024 * 1024


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few megabytes."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    folder = tmp_path / "disk"
    folder.mkdir()
    mounting = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder], capture_output=True, check=False)
    if mounting.returncode:
        pytest.skip("this machine lets nobody mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder: Path) -> Path:
    """Take all the room there is."""
    ballast = folder / "ballast"
    with ballast.open("ab", buffering=0) as file:
        size = 65536
        while size:
            try:
                file.write(b"x" * size)
            except OSError:
                size //= 2
    return ballast


async def new_thread(server: Server) -> str:
    return str((await server.http.post("/threads", json={})).json()["thread_id"])


async def until_full(server: Server, folder: Path) -> None:
    """The write-ahead log has some room of its own; use it up, until the server says of itself that it is not ready."""
    async with asyncio.timeout(120):
        while (await server.http.get("/ok", params={"check_db": 1})).status_code == 200:
            await server.http.post("/threads", json={"metadata": {"filler": "x" * 50_000}})
            fill(folder)


async def until_running(server: Server, run: dict[str, Any]) -> None:
    """A run that nobody has taken yet is not one under way."""
    async with asyncio.timeout(60):
        while (await server.http.get(f"/threads/{run['thread_id']}/runs/{run['run_id']}")).json()["status"] != "running":  # noqa: ASYNC110 - as clients do
            await asyncio.sleep(0.02)


def held_until(let_go: asyncio.Event) -> Any:
    """A graph whose only step ends when the test says so."""

    async def hold(state: Talk) -> Talk:
        await let_go.wait()
        return {"log": ["held"]}

    return StateGraph(Talk).add_node("hold", hold).add_edge(START, "hold").add_edge("hold", END).compile()


async def test_a_full_disk_stops_new_work_only_and_an_admitted_run_waits(
    small_disk: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_ahead_log, "QUIET_S", 3600)  # emptied in a quiet moment, the log would have room again
    let_go = asyncio.Event()
    async with serve(small_disk, graphs={**GRAPHS, "held": held_until(let_go)}) as server:
        thread_id = await new_thread(server)
        body = {"assistant_id": "held", "input": {"count": 1}}
        run = (await server.http.post(f"/threads/{thread_id}/runs", json=body)).json()
        ballast = fill(small_disk)
        await until_full(server, small_disk)
        refused = await server.http.post(f"/threads/{thread_id}/runs", json=body)
        assert refused.status_code == 503
        assert refused.headers["retry-after"].isdigit()
        assert "full" in refused.json()["detail"]
        assert (await server.http.get("/ok")).status_code == 200
        assert (await server.http.get(f"/threads/{thread_id}")).json()["thread_id"] == thread_id
        assert (await server.http.get("/metrics")).status_code == 200
        let_go.set()
        async with asyncio.timeout(60):
            while "the run waits" not in caplog.text:  # its end cannot be written down
                waiting = (await server.http.get(f"/threads/{thread_id}/runs/{run['run_id']}")).json()
                assert waiting["status"] in ("pending", "running")
                if waiting["status"] == "pending":
                    break  # nobody had claimed it when the disk was full
                await asyncio.sleep(0.02)

        ballast.unlink()
        async with asyncio.timeout(60):
            while (await server.http.get("/ok", params={"check_db": 1})).status_code != 200:  # noqa: ASYNC110 - as probes do
                await asyncio.sleep(0.1)
            joined = await server.http.get(f"/threads/{thread_id}/runs/{run['run_id']}/join")
        assert joined.json()["log"] == ["held"]
        again = await server.http.post(f"/threads/{thread_id}/runs/wait", json={"assistant_id": "echo", "input": {}})
        assert again.status_code == 200
        assert again.json()["log"] == ["held", "heard", "answered"]


async def test_below_the_mark_no_run_is_begun_and_those_under_way_go_on(small_disk: Path) -> None:
    """The mark is a twentieth of a small disk; there is still room, which runs under way and deleting need."""
    let_go = asyncio.Event()
    async with serve(small_disk, graphs={**GRAPHS, "held": held_until(let_go)}) as server:
        held = await new_thread(server)
        body = {"assistant_id": "held", "input": {"count": 1}}
        run = (await server.http.post(f"/threads/{held}/runs", json=body)).json()
        await until_running(server, run)
        ballast = fill(small_disk)
        with ballast.open("rb+") as file:
            file.truncate(ballast.stat().st_size - SIZE // 40)
        refused = await server.http.post(f"/threads/{held}/runs", json={"assistant_id": "echo", "input": {}})
        assert refused.status_code == 503
        assert refused.headers["retry-after"].isdigit()
        assert "nearly full" in refused.json()["detail"]
        assert str(small_disk) not in refused.text
        let_go.set()
        joined = await server.http.get(f"/threads/{held}/runs/{run['run_id']}/join")
        assert joined.json()["log"] == ["held"]
        ballast.unlink()
        again = await server.http.post(f"/threads/{held}/runs/wait", json={"assistant_id": "echo", "input": {}})
        assert again.status_code == 200
