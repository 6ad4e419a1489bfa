"""Every process of an installation is restarted, one after the other, while people go on working: two servers, two workers and Redis."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.client import HTTPException
from pathlib import Path

import psycopg
from tests.integration.postgres.rolling.graphs import STEPS
from tests.integration.served.process import Server, environment, serve
from tests.integration.served.warm import Started, start_warm
from tests.support.redis import RedisServer

GRAPHS = Path(__file__).parent / "rolling" / "langgraph.json"
PATIENCE_S = 60.0
CLIENTS = 3
AWAY = (urllib.error.URLError, HTTPException, ConnectionError, TimeoutError)


def get(url: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


class Worker:
    """`stepwell worker`, with its door."""

    def __init__(self, folder: Path, **variables: str) -> None:
        folder.mkdir()
        self._folder, self._said = folder, folder / "worker.out"
        self._environment = environment(STEPWELL_DATA_DIR=str(folder / "data"), **variables)
        self._process: Started | None = None
        self.door = ""
        self.start()

    @property
    def output(self) -> str:
        return self._said.read_text()

    def start(self) -> None:
        self._said.touch()
        begin = self._said.stat().st_size
        command = ["worker", "--concurrency", "3", "--graphs", str(GRAPHS), "--drain-seconds", "1", "--metrics-port", "0"]
        self._process = start_warm(command, self._folder, self._environment, out=self._said, err=self._said)
        wait_until(lambda: "/metrics\n" in self.output[begin:], self._said)
        line = next(line for line in self.output[begin:].splitlines() if line.startswith("Metrics at "))
        self.door = line.removeprefix("Metrics at ").removesuffix("/metrics")

    def wait_until_ready(self) -> None:
        def is_ready() -> bool:
            assert self._process is not None
            assert self._process.poll() is None, self.output
            try:
                return get(f"{self.door}/ready")[0] == 200
            except AWAY:
                return False

        wait_until(is_ready, self._said)

    def stop(self) -> list[tuple[int, int]]:
        """Gives what `/ok` and `/ready` said meanwhile."""
        assert self._process is not None
        self._process.send_signal(15)
        seen = []
        while self._process.poll() is None:
            try:
                seen.append((get(f"{self.door}/ok")[0], get(f"{self.door}/ready")[0]))
            except AWAY:
                break
            time.sleep(0.02)
        assert self._process.wait(PATIENCE_S) == 0, self.output
        return seen

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()


def wait_until(fact: Callable[[], bool], said: Path | None = None) -> None:
    give_up_at = time.monotonic() + PATIENCE_S
    while not fact():
        assert time.monotonic() < give_up_at, said.read_text() if said else fact
        time.sleep(0.05)


class Client:
    """Starts runs and follows them, at whichever server answers."""

    def __init__(self, servers: list[Server]) -> None:
        self._servers = servers
        self.runs = 0
        self.rejoined = 0

    def work(self, over: threading.Event) -> None:
        while not over.is_set():
            thread = str(uuid.uuid4())
            run = self._start(thread)
            assert self._follow(thread, run) == STEPS
            self.runs += 1

    def _at_any(self, ask: Callable[[str], dict]) -> dict:
        give_up_at = time.monotonic() + PATIENCE_S
        while True:
            for server in self._servers:
                try:
                    return ask(server.url)
                except AWAY:
                    time.sleep(0.05)
            assert time.monotonic() < give_up_at

    def _start(self, thread: str) -> str:
        body = {"assistant_id": "counts", "input": {"numbers": []}, "stream_mode": "values", "if_not_exists": "create"}

        def start(url: str) -> dict:
            told = json.loads(get(f"{url}/threads/{thread}/runs")[1])  # an answer that was lost must not begin a second run
            if isinstance(told, list) and told:
                return told[0]
            headers = {"content-type": "application/json"}
            request = urllib.request.Request(f"{url}/threads/{thread}/runs", json.dumps(body).encode(), headers)
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return json.load(answer)

        return self._at_any(start)["run_id"]

    def _follow(self, thread: str, run: str) -> int:
        """To the end, over as many connections as it takes. Gives how many numbers were counted."""
        seen: list[int] = []
        numbers: list[int] = []
        for server in self._in_turn():
            headers = {"last-event-id": str(seen[-1])} if seen else {}
            request = urllib.request.Request(f"{server.url}/threads/{thread}/runs/{run}/stream", headers=headers)
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE_S) as stream:
                    for event_id, event, data in frames(stream):
                        assert event_id == (seen[-1] if seen else 0) + 1, (event_id, seen[-3:])
                        seen.append(event_id)
                        if event == "values":
                            numbers = data["numbers"]
                            assert numbers == list(range(len(numbers)))
                        if event == "end":
                            assert data["status"] == "success"
                            return len(numbers)
            except AWAY:
                time.sleep(0.02)
            self.rejoined += 1
        raise AssertionError

    def _in_turn(self) -> Iterator[Server]:
        give_up_at = time.monotonic() + PATIENCE_S
        while time.monotonic() < give_up_at:
            yield from self._servers


def frames(stream) -> Iterator[tuple[int, str, dict]]:
    frame: dict[str, str] = {}
    for raw in stream:
        line = raw.decode().rstrip("\n")
        if not line and "data" in frame:
            yield int(frame["id"]), frame["event"], json.loads(frame["data"])
            frame = {}
        elif ": " in line and not line.startswith(":"):
            name, value = line.split(": ", 1)
            frame[name] = value


def test_every_process_is_restarted_under_load_and_nobody_loses_anything(postgres_url: str, tmp_path: Path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    over = threading.Event()
    with ExitStack() as stack:
        redis = stack.enter_context(RedisServer())
        shared = {"DATABASE_URL": postgres_url, "STEPWELL_REDIS_URL": redis.url}
        servers = [
            stack.enter_context(
                serve(tmp_path / name, "--concurrency", "0", graphs=GRAPHS, STEPWELL_NOTICE_SECONDS="1", **shared)
            )
            for name in ("one", "other")
        ]
        workers = [Worker(tmp_path / name, **shared) for name in ("first", "second")]
        for worker in workers:
            stack.callback(worker.close)
        clients = [Client(servers) for _ in range(CLIENTS)]
        pool = stack.enter_context(ThreadPoolExecutor())
        stack.callback(over.set)
        working = [pool.submit(client.work, over) for client in clients]
        wait_until(lambda: any(client.runs for client in clients) or any(task.done() for task in working))
        assert figures(workers[0])["stepwell_workers"] == 2
        assert figures(workers[0])["stepwell_lease_age_seconds"] >= 0
        assert figures(workers[0])["stepwell_redis_up"] == 1
        wait_until(lambda: figures(workers[0])["stepwell_redis_entries_passed_on"] > 0)

        for worker in workers:
            begun = count_begun(worker)
            wait_until(lambda worker=worker, begun=begun: count_begun(worker) > begun)  # it takes longer than a worker waits
            seen = worker.stop()
            assert (200, 503) in seen, "a worker that drains is well, and not ready"
            worker.start()
            worker.wait_until_ready()
        redis.kill()
        redis.start()
        wait_until(lambda: all(figures(worker)["stepwell_redis_up"] == 1 for worker in workers))
        for server in servers:
            server.signal(15)
            wait_until(lambda server=server: get(f"{server.url}/ready")[0] == 503)
            assert get(f"{server.url}/ok")[0] == 200, "a server that drains is well, and not ready"
            server.wait()
            server.start()
        over.set()
        for task in working:
            task.result(PATIENCE_S)

        assert sum(client.runs for client in clients) >= CLIENTS
        assert sum(client.rejoined for client in clients) > 0, "streams were cut, and joined again elsewhere"
        for worker in workers:
            assert worker.stop() is not None
            assert "that is gone" not in worker.output, "a lease was waited for"
    with psycopg.connect(postgres_url) as connection:
        crashes, failed, again = connection.execute(
            "SELECT MAX(crashes), COUNT(*) FILTER (WHERE status <> 'success'), MAX(attempt) FROM runs"
        ).fetchone()
        left = connection.execute("SELECT COUNT(*) FROM threads WHERE lease_run IS NOT NULL").fetchone()[0]
        known = connection.execute("SELECT COUNT(*) FROM processes").fetchone()[0]
    assert (crashes, failed, left, known) == (0, 0, 0, 0)
    assert again > 1, "no run was handed back, so nothing was shown"


def figures(worker: Worker) -> dict[str, float]:
    text = get(f"{worker.door}/metrics")[1].decode()
    pairs = [line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("stepwell_")]
    return {name: float(value) for name, value in pairs}


def count_begun(worker: Worker) -> float:
    names = ("stepwell_runs_started_total", "stepwell_runs_driven_again_total")
    return sum(value for name, value in figures(worker).items() if name.startswith(names))
