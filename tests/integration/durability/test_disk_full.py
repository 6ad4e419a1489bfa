"""A disk that is full: new work is refused, reading goes on, what was promised waits and ends when there is room (faults.md)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.integration.durability import checks
from tests.integration.durability.clients import Book, Client
from tests.integration.durability.oracle import Oracle
from tests.integration.durability.processes import ForkServer, Server

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


def fill(folder: Path) -> Path:
    """Take all the room there is."""
    path = folder / "somebody-elses-file"
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return path


def post(http: httpx.Client, thread_id: str, mark: str) -> httpx.Response:
    order = {"assistant_id": "big", "input": {"marks": [mark]}, "if_not_exists": "create", "stream_mode": ["updates"]}
    return http.post(f"/threads/{thread_id}/runs", json=order)


def test_a_full_disk_delays_and_loses_nothing(server: Server, small_disk: Path, oracle: Oracle) -> None:
    book = Book()
    client = Client(server.url, book)
    before = client.say("chat", str(uuid.uuid4()))
    client.settle(before.thread_id)
    held = client.say("holding", str(uuid.uuid4()))
    filler = fill(small_disk)
    accepted: list[tuple[str, str]] = []
    with httpx.Client(base_url=server.url, timeout=30) as http:
        until = time.monotonic() + 30
        while True:
            assert time.monotonic() < until, "the disk does not get full"
            thread_id, mark = str(uuid.uuid4()), uuid.uuid4().hex
            response = post(http, thread_id, mark)
            if response.status_code != 200:
                break
            accepted.append((thread_id, mark))
            time.sleep(0.02)
        assert response.status_code == 503, response.text
        assert "retry-after" in response.headers
        assert "full" in response.json()["detail"]
        assert str(small_disk) not in response.text
        for _ in range(20):
            read = http.get(f"/threads/{before.thread_id}/state")
            assert read.status_code == 200, read.text
            assert read.json()["values"]["marks"] == [before.mark]
        time.sleep(2.5)  # long enough for the held run's step to end, and for some tries to store it
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
