"""Other ways for a process to be in trouble: a second one, a pause, a polite end, a lost lease, a run that kills it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest
from langgraph_sdk import get_client
from tests.integration.durability.clients import Book, Client, Said
from tests.integration.durability.oracle import Oracle
from tests.integration.durability.processes import GRAPHS, Server
from tests.support.waiting import wait_until

HELD_S = 8.0


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    opened = Client(server.url, Book())
    yield opened
    opened.close()


def begin_holding(client: Client, hold_s: float = 1.5, nth_event: int = 3, **order: object) -> tuple[Said, str]:
    """A run that is now in the middle of a step of a second and a half, or longer where it must not be over too soon. The step says so
    in the `nth_event`."""
    config = {"configurable": {"hold_s": hold_s}}
    said = client.say("holding", str(uuid.uuid4()), **{"stream_mode": ["custom", "updates"], "config": config, **order})
    assert said.run_id is not None
    until = time.monotonic() + 60
    while time.monotonic() < until:
        seen = client.events(said.thread_id, said.run_id, None, most=nth_event)
        if any("holding" in event.data for event in seen):
            return said, said.run_id
    raise AssertionError("the run does not get to its second step")


def test_a_second_server_on_the_same_data_is_refused_with_a_sentence(server: Server) -> None:
    second = subprocess.run(
        [sys.executable, "-m", "stepwell", "serve", "--port", "0", "--graphs", str(GRAPHS)],
        env={**os.environ, "STEPWELL_DATA_DIR": str(server.folder), "ORACLE_URL": "http://127.0.0.1:9/"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert second.returncode not in (0, None)
    assert f"Another process uses the database '{server.folder / 'stepwell.db'}'" in second.stderr
    assert "STEPWELL_DATA_DIR" in second.stderr
    assert "Traceback" not in second.stderr
    assert "Serving" not in second.stdout


def test_a_server_that_is_frozen_for_a_while_loses_nothing(server: Server, client: Client, oracle: Oracle) -> None:
    """SIGSTOP for five seconds in the middle of a step, as a laptop that sleeps or a machine that is moved."""
    said, run_id = begin_holding(client)
    server.send(signal.SIGSTOP)
    time.sleep(5)  # this is what happens to it, not a wait
    server.send(signal.SIGCONT)
    run = client.wait(said.thread_id, run_id)
    assert run["status"] == "success"
    assert oracle.asked("held") == {f"{said.mark} held": 1}
    events = client.follow(said.thread_id, run_id)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert sum(event.event == "metadata" for event in events) == 1, "nobody else took it over"


@pytest.mark.parametrize("slow_reader", [False, True])
async def test_a_reader_lives_through_a_server_that_is_told_to_stop(
    server: Server, client: Client, *, slow_reader: bool
) -> None:
    """SIGTERM: the run ends in time or goes on in the next process, and the SDK's reader comes back by itself and misses nothing,
    also one who notices the end of the connection only when the run has ended."""
    async with get_client(url=server.url, api_key=None) as sdk:
        thread = await sdk.threads.create()
        heard, restarting = [], None
        async for part in sdk.runs.stream(thread["thread_id"], "ticking", input={"marks": ["m"]}, stream_mode="custom"):
            heard.append(part)
            if len(heard) == 50:
                restarting = asyncio.create_task(asyncio.to_thread(_restart, server))
                if slow_reader:
                    await restarting
                    await asyncio.to_thread(client.settle, thread["thread_id"])
    assert restarting is not None
    assert await restarting == 0
    assert [int(part.id) for part in heard] == list(range(1, len(heard) + 1))
    assert (heard[-1].event, heard[-1].data["status"]) == ("end", "success")
    ticks = [part.data["tick"] for part in heard if part.event == "custom"]
    assert ticks[-195:] == list(range(195)), "told to its end, once more from its step if it had to change the process"


async def test_a_run_that_does_not_end_in_time_goes_on_in_the_next_process(stopped_server: Server, oracle: Oracle) -> None:
    stopped_server.environment["STEPWELL_DRAIN_SECONDS"] = "0"
    await asyncio.to_thread(stopped_server.start)
    client = Client(stopped_server.url, Book())
    said, run_id = await asyncio.to_thread(begin_holding, client, HELD_S)
    assert await asyncio.to_thread(_restart, stopped_server) == 0
    events = await asyncio.to_thread(client.follow, said.thread_id, run_id)
    assert [json.loads(event.data)["attempt"] for event in events if event.event == "metadata"] == [1, 2]
    assert oracle.effective("held") == {f"{said.mark} held": 1}
    values = client.get(f"/threads/{said.thread_id}/state")["values"]
    assert (values["marks"], values["done"]) == ([said.mark], [f"{said.mark} before", "held"])
    client.close()


@pytest.mark.parametrize(("durability", "repeats"), [("sync", {1}), ("async", {1, 2}), ("exit", {2})])
def test_a_kill_costs_as_many_finished_steps_as_the_durability_says(
    server: Server, client: Client, oracle: Oracle, durability: str, repeats: set[int]
) -> None:
    said, run_id = begin_holding(client, nth_event=4, durability=durability, stream_mode=["custom", "values"])
    server.kill()
    server.start()
    events = client.follow(said.thread_id, run_id)
    again = [number for number, event in enumerate(events) if event.event == "metadata"][1]
    kept = json.loads(events[again + 1].data).get("done", [])
    steps = oracle.asked("keyed")[f"{said.mark} before"]
    assert steps in repeats
    assert kept == ([f"{said.mark} before"] if steps == 1 else []), "the second attempt begins with what is kept"
    values = client.get(f"/threads/{said.thread_id}/state")["values"]
    assert (values["marks"], values["done"]) == ([said.mark], [f"{said.mark} before", "held"])


def _restart(server: Server) -> int:
    code = server.stop()
    server.start()
    return code


def test_an_attempt_whose_lease_was_taken_writes_nothing_more(server: Server, client: Client, oracle: Oracle) -> None:
    """Another holder raises the fence in the middle of a step: what the first does afterwards is refused."""
    said, run_id = begin_holding(client, HELD_S)
    with closing(sqlite3.connect(server.database, timeout=60)) as connection, connection:
        connection.execute("UPDATE threads SET fence = fence + 1 WHERE thread_id = ?", (said.thread_id,))
        before = _traces(connection, said.thread_id)
    wait_until(lambda: "stepwell_runs_driving 0.0" in httpx.get(f"{server.url}/metrics").text, "the attempt is at its end")
    with closing(sqlite3.connect(server.database, timeout=60)) as connection:
        assert _traces(connection, said.thread_id) == before
    assert oracle.asked("held") == {}, "its effect is refused too"
    server.kill()
    server.start()
    assert client.wait(said.thread_id, run_id)["status"] == "success"
    values = client.get(f"/threads/{said.thread_id}/state")["values"]
    assert (values["marks"], values["done"]) == ([said.mark], [f"{said.mark} before", "held"])
    assert oracle.asked("held") == {f"{said.mark} held": 1}


def _traces(connection: sqlite3.Connection, thread_id: str) -> list[int]:
    tables = ("checkpoints", "writes", "events", "effects")
    return [
        connection.execute(f"SELECT COUNT(*) FROM {table} WHERE thread_id = ?", (thread_id,)).fetchone()[0] for table in tables
    ]


def test_steps_that_never_end_hold_up_neither_other_runs_nor_the_end_of_the_process(stopped_server: Server) -> None:
    """More of them than Python has threads for by default, and one that does not hear that it is to stop."""
    stopped_server.environment["STEPWELL_DRAIN_SECONDS"] = "0"
    stopped_server.start()
    client = Client(stopped_server.url, Book())
    held = [client.say(graph, str(uuid.uuid4())) for graph in ["deaf", *["stuck"] * 40]]
    left = client.say("leaving", str(uuid.uuid4()))
    assert left.run_id is not None
    assert client.wait(left.thread_id, left.run_id)["status"] == "error", "a step that calls exit() has failed"
    asked = client.say("asking", str(uuid.uuid4()))  # it has a step that is a plain function
    assert asked.run_id is not None
    assert client.wait(asked.thread_id, asked.run_id)["status"] == "success"
    assert stopped_server.stop() == 0
    stopped_server.start()
    for said in held:
        assert client.get(f"/threads/{said.thread_id}")["status"] == "busy", "it is driven again"
    client.close()
