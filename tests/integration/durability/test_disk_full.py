"""A disk that is full: new work is refused, reading goes on, what was promised waits and ends when there is room. One that
the database has filled itself can be emptied with our own commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.integration.durability import checks
from tests.integration.durability.clients import Book, Client
from tests.integration.durability.oracle import Oracle
from tests.integration.durability.processes import ForkServer, Server
from tests.integration.full_disk import fill
from tests.integration.served.warm import run_warm
from tests.support.waiting import wait_until

SIZE_MB = 24


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few megabytes in memory."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root on Linux can mount a small file system")
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"mounting is not allowed here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def server(forks: ForkServer, small_disk: Path, oracle: Oracle) -> Iterator[Server]:
    made = Server(forks, small_disk, ORACLE_URL=oracle.url)
    made.start()
    yield made
    made.close()


def post(http: httpx.Client, thread_id: str, mark: str) -> httpx.Response:
    order = {"assistant_id": "big", "input": {"marks": [mark]}, "if_not_exists": "create", "stream_mode": ["updates"]}
    return http.post(f"/threads/{thread_id}/runs", json=order)


def test_a_full_disk_delays_and_loses_nothing(server: Server, small_disk: Path, oracle: Oracle) -> None:
    book = Book()
    client = Client(server.url, book)
    before = client.say("chat", str(uuid.uuid4()))
    client.settle(before.thread_id)
    # It has its effect when the disk is full, however slowly that is filled.
    held = client.say("holding", str(uuid.uuid4()), config={"configurable": {"hold_s": 15}})
    filler = fill(small_disk)
    accepted: list[tuple[str, str]] = []
    with httpx.Client(base_url=server.url, timeout=60) as http:
        while True:
            thread_id, mark = str(uuid.uuid4()), uuid.uuid4().hex
            response = post(http, thread_id, mark)
            if response.status_code != 200:
                break
            accepted.append((thread_id, mark))
        assert response.status_code == 503, response.text
        assert "retry-after" in response.headers
        assert "full" in response.json()["detail"]
        assert str(small_disk) not in response.text
        for _ in range(20):
            read = http.get(f"/threads/{before.thread_id}/state")
            assert read.status_code == 200, read.text
            assert read.json()["values"]["marks"] == [before.mark]
        wait_until(lambda: cannot_be_stored(server, held.run_id), "the held run waits for room on the disk")
        assert http.get("/ok").status_code == 200
        refused = post(http, str(uuid.uuid4()), "later")
        assert refused.status_code == 503
        filler.unlink()
        after = client.say("chat", str(uuid.uuid4()))
    for thread_id in [before.thread_id, held.thread_id, after.thread_id, *(thread_id for thread_id, _ in accepted)]:
        client.settle(thread_id)
    for thread_id, mark in accepted:
        values = client.get(f"/threads/{thread_id}/state")["values"]
        assert (values["marks"], values["done"]) == ([mark], [f"{mark} before", mark])
    values = client.get(f"/threads/{held.thread_id}/state")["values"]
    assert values["done"] == [f"{held.mark} before", "held"]
    assert [*checks.messages_stand_once(client, book), *checks.effects_happen_once(oracle, book)] == []
    assert max(oracle.effective("held").values()) == 1
    client.close()
    assert server.stop() == 0
    assert list(checks.database_is_right(server.database, book)) == []


def cannot_be_stored(server: Server, run_id: str | None) -> bool:
    """Whether a run has come to something that it cannot write down."""
    lines = [json.loads(line) for line in server.log.splitlines() if line.startswith("{")]
    return any(line.get("run_id") == run_id and "the run waits" in line["message"] for line in lines)


def fill_by_itself(http: httpx.Client) -> list[str]:
    """Threads, until nothing more can be kept. Gives those that were acknowledged."""
    kept: list[str] = []
    size = 100_000
    while size:
        thread_id = str(uuid.uuid4())
        made = http.post("/threads", json={"thread_id": thread_id, "metadata": {"filler": "x" * size}})
        if made.status_code == 200:
            kept.append(thread_id)
        else:
            assert made.status_code == 503, made.text
            size //= 4
    return kept


def free_bytes(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def test_a_disk_that_the_database_has_filled_is_emptied_by_deleting(server: Server, small_disk: Path) -> None:
    with httpx.Client(base_url=server.url, timeout=60) as http:
        kept = fill_by_itself(http)
        assert free_bytes(small_disk) < 100_000
        assert len(kept) > 20
        assert post(http, str(uuid.uuid4()), "refused").status_code == 503
        for thread_id in kept[: len(kept) // 2]:
            gone = http.delete(f"/threads/{thread_id}")
            assert gone.status_code < 300, gone.text
            assert http.get(f"/threads/{thread_id}").status_code == 404
        mark = uuid.uuid4().hex
        order = {"assistant_id": "big", "input": {"marks": [mark]}, "if_not_exists": "create"}
        ended = http.post(f"/threads/{uuid.uuid4()}/runs/wait", json=order)
        assert ended.json()["done"] == [f"{mark} before", mark]
        for thread_id in kept[len(kept) // 2 :]:
            assert http.get(f"/threads/{thread_id}").status_code == 200
    assert server.stop() == 0


def test_what_was_let_in_leaves_room_to_delete_it(server: Server, small_disk: Path) -> None:
    """The log must fit into the file with the help of the reserve: otherwise nothing could be deleted, now or later."""
    with httpx.Client(base_url=server.url, timeout=60) as http:
        kept: list[str] = []
        while (made := http.post("/threads", json={"metadata": {"filler": "x" * 900_000}})).status_code == 200:
            kept.append(made.json()["thread_id"])
        assert made.status_code == 503, made.text
        for thread_id in kept:
            gone = http.delete(f"/threads/{thread_id}")
            assert gone.status_code < 300, gone.text
    assert server.stop() == 0


def test_a_server_killed_on_a_full_disk_starts_for_reading_and_can_be_pruned(server: Server, small_disk: Path) -> None:
    with httpx.Client(base_url=server.url, timeout=60) as http:
        order = {"assistant_id": "holding", "input": {"marks": ["held"]}, "if_not_exists": "create"}
        http.post(f"/threads/{uuid.uuid4()}/runs", json=order).raise_for_status()  # there is something to recover
        kept = fill_by_itself(http)
        server.kill()
        server.start()
        assert http.get("/ok").status_code == 200
        for thread_id in kept:
            assert http.get(f"/threads/{thread_id}").status_code == 200
        gone = http.delete(f"/threads/{kept[0]}")
        assert gone.status_code < 300, gone.text
    server.kill()
    refilled = fill(small_disk)
    pruned = run_warm(["db", "prune", "--older-than", "0d", "--compact"], small_disk, {**os.environ, **server.environment})
    assert pruned.returncode == 0, pruned.stderr
    refilled.unlink()
    assert free_bytes(small_disk) > SIZE_MB * 1_000_000 / 2
    server.start()
    with httpx.Client(base_url=server.url, timeout=60) as http:
        assert {http.get(f"/threads/{thread_id}").status_code for thread_id in kept} == {404}
        mark = uuid.uuid4().hex
        order = {"assistant_id": "big", "input": {"marks": [mark]}, "if_not_exists": "create"}
        assert http.post(f"/threads/{uuid.uuid4()}/runs/wait", json=order).json()["done"] == [f"{mark} before", mark]
    assert server.stop() == 0
    assert not (small_disk / "stepwell.db.reserve").exists()
