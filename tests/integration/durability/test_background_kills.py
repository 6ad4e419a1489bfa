"""Servers are killed while agents start background tasks and people steer them: no task and no message is lost, nothing happens twice,
every parent is woken once."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.conftest import Effort
from tests.integration.durability.processes import ForkServer, Server

from stepwell.tools.background import wake_run_id

SEED = 30_005
LATEST_KILL_S = 0.7
PATIENCE_S = 300.0


class Person:
    """Writes to one thread at a time, each message until it is acknowledged, and remembers what it wrote."""

    def __init__(self, urls: Sequence[str], seed: int) -> None:
        self._urls = urls
        self._chance = random.Random(seed)
        self.said: dict[str, list[str]] = {}
        self.steered = 0
        self.failure: BaseException | None = None
        self._stop = threading.Event()
        self._working = threading.Thread(target=self._work, daemon=True)
        self._working.start()

    def finish(self) -> None:
        self._stop.set()
        self._working.join(PATIENCE_S)
        assert not self._working.is_alive()
        if self.failure:
            raise self.failure

    def _work(self) -> None:
        try:
            while not self._stop.is_set():
                thread_id = str(uuid.uuid4())
                for verb in ("go", "more", "go"):
                    if not self._stop.is_set():
                        mark = uuid.uuid4().hex[:8]
                        run_id = self._send(thread_id, f"{verb} {mark}")
                        self.said.setdefault(thread_id, []).append(f"{verb} {mark}")
                        time.sleep(self._chance.uniform(0, 0.15))
                        self._steer(thread_id, run_id)
                        time.sleep(self._chance.uniform(0, 0.15))
                settle(self._urls, [thread_id], self._chance)  # so that not more and more is under way
        except BaseException as error:
            self.failure = error

    def _steer(self, thread_id: str, run_id: str) -> None:
        """Say something to a run, unless it has ended."""
        mark = uuid.uuid4().hex[:8]
        body = {"message": {"id": mark, "content": f"by the way {mark}"}}
        path = f"/threads/{thread_id}/runs/{run_id}/messages"
        answer = patiently(self._urls, "POST", path, self._chance, refusals=(409,), json=body)
        if answer.get("code") == "NO_ACTIVE_RUN":
            return
        assert answer["message_id"] == mark, answer
        self.said[thread_id].append(f"by the way {mark}")
        self.steered += 1

    def _send(self, thread_id: str, text: str) -> str:
        body = {
            "assistant_id": "background",
            "if_not_exists": "create",
            "input": {"messages": [{"role": "user", "content": text}]},
        }
        key = {"Idempotency-Key": uuid.uuid4().hex}
        run = patiently(self._urls, "POST", f"/threads/{thread_id}/runs", self._chance, json=body, headers=key)
        return str(run["run_id"])


def patiently(
    urls: Sequence[str], method: str, path: str, chance: random.Random, *, refusals: Sequence[int] = (), **more: Any
) -> Any:
    """Ask again until a server answers."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            answer = httpx.request(method, chance.choice(urls) + path, timeout=60, **more)
            if answer.status_code != 503:
                if answer.status_code not in refusals:
                    answer.raise_for_status()
                return answer.json()
        except httpx.TransportError:
            pass
        assert time.monotonic() < until, f"nobody answers {method} {path}"
        time.sleep(0.03)


def settle(urls: Sequence[str], thread_ids: Sequence[str], chance: random.Random) -> None:
    """Wait until nothing is under way on these threads and their tasks'."""
    until = time.monotonic() + PATIENCE_S
    left = list(thread_ids)
    while left:
        assert time.monotonic() < until, f"still busy: {left}"
        left = [thread_id for thread_id in left if _is_busy(urls, thread_id, chance)]
        time.sleep(0.05)


def _is_busy(urls: Sequence[str], thread_id: str, chance: random.Random) -> bool:
    tasks = patiently(urls, "GET", f"/threads/{thread_id}/background-tasks", chance)["tasks"]
    if any(task["status"] in ("pending", "running") for task in tasks):
        return True
    # Looked at after the tasks: the end of a task makes its parent busy in the same moment.
    return bool(patiently(urls, "GET", f"/threads/{thread_id}", chance)["status"] == "busy")


def faults_of(urls: Sequence[str], thread_id: str, said: Sequence[str], chance: random.Random) -> list[str]:
    """What is wrong with a thread and its tasks."""
    tasks = patiently(urls, "GET", f"/threads/{thread_id}/background-tasks", chance)["tasks"]
    messages = patiently(urls, "GET", f"/threads/{thread_id}/state", chance)["values"]["messages"]
    faults = []
    humans = Counter(message["content"] for message in messages if message["type"] == "human")
    faults += [f"{text!r} stands {humans[text]} times" for text in said if humans[text] != 1]
    started = 2 * sum(text.startswith("go") for text in said)
    if len(tasks) != started:
        faults.append(f"{len(tasks)} tasks and not {started}")
    if wrong := [task["status"] for task in tasks if task["status"] != "success"]:
        faults.append(f"tasks ended with {wrong}")
    results = Counter(message["tool_call_id"] for message in messages if message["type"] == "tool")
    asked = Counter(call["id"] for message in messages for call in message.get("tool_calls") or ())
    if asked != results or any(count != 1 for count in asked.values()):
        faults.append(f"calls {asked} have results {results}")
    wanted: set[str] = set()
    for task in tasks:
        runs = patiently(urls, "GET", f"/threads/{task['thread_id']}/runs?limit=100", chance)
        wanted |= {wake_run_id(run["run_id"]) for run in runs if run["status"] == "success"}
    woken = Counter(message["id"] for message in messages if "background_task" in (message.get("additional_kwargs") or {}))
    faults += [
        f"woken {woken[wake]} times by {wake}" for wake in wanted | woken.keys() if woken[wake] != 1 or wake not in wanted
    ]
    heard = sum(message["content"].count("heard of") for message in messages if message["type"] == "ai")
    if heard != len(wanted):
        faults.append(f"answered {heard} of {len(wanted)} wakes")
    return [f"{thread_id}: {fault}" for fault in faults]


def check_all(
    urls: Sequence[str], people: Sequence[Person], chance: random.Random, record: Callable[[str, object], None]
) -> None:
    said = {thread_id: texts for person in people for thread_id, texts in person.said.items()}
    settle(urls, list(said), chance)
    faults = [fault for thread_id, texts in said.items() for fault in faults_of(urls, thread_id, texts, chance)]
    record("threads", len(said))
    record("messages", sum(map(len, said.values())))
    record("messages_to_runs", sum(person.steered for person in people))
    record("tasks", 2 * sum(text.startswith("go") for texts in said.values() for text in texts))
    assert faults == []
    assert said, "nothing was tried"


@pytest.mark.prove
@pytest.mark.timeout(3600)
def test_no_kill_loses_a_task_or_wakes_a_parent_twice(
    stopped_server: Server, effort: Effort, record_property: Callable[[str, object], None]
) -> None:
    server, chance = stopped_server, random.Random(SEED)
    kills = effort.cases(8, 300)
    people = [Person([server.url], SEED + number) for number in range(effort.cases(2, 3))]
    for _ in range(kills):
        server.start()
        time.sleep(chance.uniform(0, LATEST_KILL_S))
        server.kill()
    server.start()
    for person in people:
        person.finish()
    record_property("kills", kills)
    check_all([server.url], people, chance, record_property)
    assert server.stop() == 0


@pytest.mark.prove
@pytest.mark.timeout(7200)
def test_no_kill_of_one_of_two_servers_loses_a_task_on_postgres(
    forks: ForkServer, tmp_path: Path, postgres_url: str, effort: Effort, record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random(SEED)
    servers = [Server(forks, tmp_path / name, STEPWELL_DATABASE_URL=postgres_url) for name in ("one", "other")]
    urls = [server.url for server in servers]
    kills = effort.cases(3, 150)
    try:
        for server in servers:
            server.start()
        people = [Person(urls, SEED + number) for number in range(2)]
        for _ in range(kills):
            server = chance.choice(servers)
            time.sleep(chance.uniform(0, LATEST_KILL_S))
            server.kill()
            server.start()
        for person in people:
            person.finish()
        record_property("kills", kills)
        check_all(urls, people, chance, record_property)
    finally:
        for server in servers:
            server.close()
