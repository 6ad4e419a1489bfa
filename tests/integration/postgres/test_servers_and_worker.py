"""The smallest installation of several machines, with real processes: two servers that only take runs in, and one worker."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.integration.served.process import GRAPHS, environment, serve
from tests.integration.served.warm import start_warm

PATIENCE_S = 60


def post(url: str, body: object) -> dict:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return json.load(answer)


@contextmanager
def working(folder: Path, url: str, *options: str) -> Iterator[Path]:
    """A worker that is stopped in the end; gives where it writes what it says."""
    with starting(folder, url, *options) as (process, said):
        yield said
        process.send_signal(15)
        assert process.wait(PATIENCE_S) == 0, said.read_text()


@contextmanager
def starting(folder: Path, url: str, *options: str) -> Iterator[tuple[Any, Path]]:
    said = folder / "worker.out"
    said.touch()
    command = ["worker", "--concurrency", "5", *options]
    data = environment(STEPWELL_DATA_DIR=str(folder / "data"), DATABASE_URL=url)
    process = start_warm(command, folder, data, out=said, err=said)
    try:
        yield process, said
    finally:
        process.kill()


def test_a_run_started_on_one_server_is_streamed_from_another_and_driven_by_a_worker(postgres_url: str, tmp_path: Path):
    """Mission R14: one database, many processes."""
    folders = [tmp_path / name for name in ("one", "other", "worker")]
    for folder in folders:
        folder.mkdir()
    only = ("--database-url", postgres_url, "--concurrency", "0")
    with serve(folders[0], *only) as one, serve(folders[1], *only) as other:
        thread = post(f"{one.url}/threads", {})["thread_id"]
        run = post(
            f"{one.url}/threads/{thread}/runs",
            {"assistant_id": "echo", "input": {"messages": "hello"}, "stream_mode": "values"},
        )
        assert run["status"] == "pending"
        there = f"{other.url}/threads/{thread}/runs/{run['run_id']}"
        with (
            urllib.request.urlopen(f"{there}/stream", timeout=PATIENCE_S) as stream,
            working(folders[2], postgres_url, "--graphs", str(GRAPHS)),
        ):
            events = [line.decode().strip() for line in stream if line.startswith(b"event:")]
        assert events[0] == "event: metadata"
        assert "event: values" in events
        with urllib.request.urlopen(there, timeout=PATIENCE_S) as answer:
            assert json.load(answer)["status"] == "success"
        assert "  data      Postgres on this machine/shared" in one.output


def test_a_worker_that_is_stopped_by_its_first_run_hands_it_back(postgres_url: str, tmp_path: Path):
    """It listens to signals before it takes a run: the default action would end it with the run's lease still held."""
    (tmp_path / "langgraph.json").write_text('{"graphs": {"stopping": "./stopping.py:graph"}, "dependencies": ["."]}')
    (tmp_path / "stopping.py").write_text(STOPPING)
    for folder in ("server", "worker"):
        (tmp_path / folder).mkdir()
    only = ("--database-url", postgres_url, "--concurrency", "0")
    with serve(tmp_path / "server", *only, graphs=tmp_path / "langgraph.json") as server:
        order = {"assistant_id": "stopping", "input": {"words": ""}}
        post(f"{server.url}/runs", order)
        with starting(tmp_path / "worker", postgres_url, "--graphs", str(tmp_path / "langgraph.json")) as (process, said):
            assert process.wait(PATIENCE_S) == 0, said.read_text()


STOPPING = """
import os, signal
from typing_extensions import TypedDict
from langgraph.graph import START, StateGraph

class State(TypedDict):
    words: str

def stop(state):
    os.kill(os.getpid(), signal.SIGTERM)
    return {"words": "stopped"}

graph = StateGraph(State).add_node("stop", stop).add_edge(START, "stop").compile()
"""


def test_a_worker_counts_the_lines_that_its_log_has_lost(postgres_url: str, tmp_path: Path):
    with working(tmp_path, postgres_url, "--graphs", str(GRAPHS), "--metrics-port", "0") as said:
        deadline = time.monotonic() + PATIENCE_S
        while not (address := re.search(r"Metrics at (http\S+)\s", said.read_text())):  # the whole line
            assert time.monotonic() < deadline, said.read_text()
            time.sleep(0.05)
        with urllib.request.urlopen(address[1], timeout=PATIENCE_S) as answer:
            assert "stepwell_log_lines_lost 0.0" in answer.read().decode()


def test_a_worker_drives_what_servers_show_to_visitors(postgres_url: str, tmp_path: Path):
    """The graphs that need no model are served where nobody is asked who they are; a worker does not know where that is."""
    folders = [tmp_path / name for name in ("server", "worker")]
    for folder in folders:
        folder.mkdir()
    only = ("--database-url", postgres_url, "--concurrency", "0")
    with serve(folders[0], *only, graphs=None) as server, working(folders[1], postgres_url):
        order = {"assistant_id": "demo_agent", "input": {"messages": "hello"}, "if_not_exists": "create"}
        state = post(f"{server.url}/threads/8a8e7a52-5cf4-4c0f-9a55-0f4d1a0c9f10/runs/wait", order)
    assert state["__interrupt__"], "the demonstration asks the visitor something"


def test_a_node_that_calls_exit_or_raises_ctrl_c_ends_its_run_and_neither_worker_nor_server(postgres_url: str, tmp_path: Path):
    """Otherwise one run ends one worker after the other, and each hands it back as if it had been told to stop."""
    for name in ("server", "worker"):
        (tmp_path / name).mkdir()
    with serve(tmp_path / "server", "--database-url", postgres_url, "--concurrency", "0") as server:
        thread = post(f"{server.url}/threads", {})["thread_id"]
        with working(tmp_path / "worker", postgres_url, "--graphs", str(GRAPHS)):
            order = {"assistant_id": "leaves", "input": {"messages": "hello"}}
            failed = post(f"{server.url}/threads/{thread}/runs/wait", order)
            assert failed == {"__error__": {"error": "SystemExit", "message": "unknown argument"}}
            failed = post(f"{server.url}/threads/{thread}/runs/wait", order | {"input": {"messages": "interrupt"}})
            assert failed["__error__"]["error"] == "KeyboardInterrupt"
            state = post(f"{server.url}/threads/{thread}/runs/wait", order | {"assistant_id": "echo"})
            assert state["messages"][-1]["content"] == "a short answer", "the same worker goes on"
    (tmp_path / "alone").mkdir()
    with serve(tmp_path / "alone") as alone:
        for message, error in ("hello", "SystemExit"), ("interrupt", "KeyboardInterrupt"):
            failed = post(f"{alone.url}/runs/wait", order | {"input": {"messages": message}})
            assert failed["__error__"]["error"] == error
        assert alone.stop() == 0, alone.output
