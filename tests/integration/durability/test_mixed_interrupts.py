"""T6: thirty and more interrupts of all kinds, from an agent and two subagents: answered in any order, from two tabs at once, and with
kill -9 between them. Each effect happens once."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from tests.conftest import Effort
from tests.integration.durability.mixed import (
    GO,
    INTERRUPTS,
    Project,
    build_mixed,
    faults_in,
    is_for_the_device,
    persons_answer,
)
from tests.integration.durability.oracle import Oracle
from tests.integration.durability.processes import Server
from tests.integration.server.conftest import serve

from stepwell import FilesystemBackend, StoreBackend


@pytest.mark.prove
def test_in_any_order(effort: Effort) -> None:
    """T6: from the main agent and two subagents, some alone and some together, in random orders."""
    for seed in range(effort.cases(3, 40)):
        assert play(random.Random(seed)) == [], seed


def play(chance: random.Random) -> list[str]:
    """Answer until all is done, some of what waits at a time; gives what went wrong."""
    recorded, files = Counter(), StoreBackend(InMemoryStore())
    project, answered = Project(files), Counter()
    agent, config = build_mixed(recording(recorded), InMemorySaver()), {"configurable": {"thread_id": "1"}}
    final = agent.invoke(GO, config)
    while waiting := final.get("__interrupt__"):
        chosen = chance.sample(waiting, chance.randint(1, len(waiting)))
        answered.update(each.id for each in chosen)
        answers = {
            each.id: project.carry_out(each.id, each.value) if is_for_the_device(each.value) else persons_answer(each.value)
            for each in chosen
        }
        final = agent.invoke(Command(resume=answers), config)
    assert (len(answered), set(answered.values())) == (INTERRUPTS, {1})
    assert final["messages"][-1].text == "all done"
    texts = [message.text for message in final["messages"] if message.type == "tool"]
    return faults_in(texts, files, recorded, project)


def recording(recorded: Counter[str]) -> Any:
    def record(name: str) -> str:
        """Record a name."""
        recorded[name] += 1
        return f"recorded {name}"

    return record


class Tab:
    """A browser tab with the project: it claims before it carries out, and gives every answer it can."""

    def __init__(self, name: str, url: str, thread_id: str, project: Project, chance: random.Random) -> None:
        self.name = name
        self.told: Counter[int] = Counter()
        self._url, self._thread, self._project, self._chance = url, thread_id, project, chance

    async def work(self) -> None:
        async with httpx.AsyncClient(base_url=self._url, timeout=60) as http:
            while not await self._is_done(http):
                listed = (await http.get(f"/threads/{self._thread}/interrupts")).json()["interrupts"]
                for waiting in self._chance.sample(listed, len(listed)):
                    await self._answer(http, waiting)
                await asyncio.sleep(0.01)

    async def _is_done(self, http: httpx.AsyncClient) -> bool:
        thread = (await http.get(f"/threads/{self._thread}")).json()
        assert thread["status"] != "error", thread
        return bool(thread["status"] == "idle")

    async def _answer(self, http: httpx.AsyncClient, waiting: dict[str, Any]) -> None:
        interrupt_id, payload = waiting["interrupt_id"], waiting["payload"]
        if not is_for_the_device(payload):
            await self._send(http, interrupt_id, persons_answer(payload))
            return
        claim = {"device_id": self.name, "ttl_s": 60}
        held = await http.post(f"/threads/{self._thread}/interrupts/{interrupt_id}/claim", json=claim)
        self.told[held.status_code] += 1
        if held.status_code == 200:
            answer = self._project.carry_out(interrupt_id, payload)
            told = await self._send(http, interrupt_id, {**answer, "claim_id": held.json()["claim_id"]})
            assert told == 200

    async def _send(self, http: httpx.AsyncClient, interrupt_id: str, answer: Any) -> int:
        body = {"assistant_id": "mixed", "command": {"resume": {interrupt_id: answer}}}
        told = (await http.post(f"/threads/{self._thread}/runs", json=body)).status_code
        assert told in (200, 409), told
        return told


async def test_from_two_tabs_at_once(tmp_path: Path) -> None:
    """T5, T6: over HTTP; of two tabs that hold the project, one carries an interrupt out."""
    recorded, files = Counter(), StoreBackend(InMemoryStore())
    project, chance = Project(files), random.Random(7)
    async with serve(tmp_path, graphs={"mixed": build_mixed(recording(recorded))}) as server:
        thread_id = (await server.http.post("/threads", json={})).json()["thread_id"]
        begun = await server.http.post(f"/threads/{thread_id}/runs/wait", json={"assistant_id": "mixed", "input": GO})
        assert begun.status_code == 200
        tabs = [Tab(name, server.url, thread_id, project, chance) for name in ("left", "right")]
        async with asyncio.timeout(120):
            await asyncio.gather(*(tab.work() for tab in tabs))
        values = (await server.http.get(f"/threads/{thread_id}/state")).json()["values"]
    texts = [message["content"] for message in values["messages"] if message["type"] == "tool"]
    assert faults_in(texts, files, recorded, project) == []
    assert sum(tab.told[200] for tab in tabs) == len(project.executed)
    assert all(set(tab.told) <= {200, 409, 410} for tab in tabs)


class Person:
    """Somebody at a page: keeps trying while the server is away, and knows what the page has sent."""

    def __init__(self, url: str, project: Project) -> None:
        self._http = httpx.Client(base_url=url, timeout=60)
        self._project = project
        self.thread_id = ""

    def begin(self) -> None:
        self.thread_id = self._ask("POST", "/threads", {})["thread_id"]
        self._ask("POST", f"/threads/{self.thread_id}/runs", {"assistant_id": "mixed", "input": GO})

    def prepare(self, waiting: dict[str, Any]) -> dict[str, Any]:
        """The answer to an interrupt; what is the device's is claimed and carried out first."""
        interrupt_id, payload = waiting["interrupt_id"], waiting["payload"]
        if not is_for_the_device(payload):
            return {interrupt_id: persons_answer(payload)}
        place = f"/threads/{self.thread_id}/interrupts/{interrupt_id}/claim"
        held = self._ask("POST", place, {"device_id": "page", "ttl_s": 600})
        return {interrupt_id: {**self._project.carry_out(interrupt_id, payload), "claim_id": held["claim_id"]}}

    def send(self, answers: dict[str, Any]) -> None:
        self._ask("POST", f"/threads/{self.thread_id}/runs", {"assistant_id": "mixed", "command": {"resume": answers}})

    def what_waits(self) -> Iterator[list[dict[str, Any]]]:
        """What is open, again and again, until the thread is done."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            thread = self._ask("GET", f"/threads/{self.thread_id}")
            assert thread["status"] != "error", thread
            if thread["status"] == "idle":
                return
            if thread["status"] == "interrupted":
                yield self._ask("GET", f"/threads/{self.thread_id}/interrupts")["interrupts"]
            else:
                time.sleep(0.01)
        raise AssertionError("the thread does not come to an end")

    def results(self) -> list[str]:
        values = self._ask("GET", f"/threads/{self.thread_id}/state")["values"]
        return [message["content"] for message in values["messages"] if message["type"] == "tool"]

    def close(self) -> None:
        self._http.close()

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        told = self._http.request(method, path, json=body)
        assert told.status_code == 200, told.text
        return told.json()


@pytest.mark.prove
def test_with_a_kill_between_any_two(server: Server, oracle: Oracle, tmp_path: Path, effort: Effort) -> None:
    """T6: kill -9 between any two interrupts loses nothing; a claim survives it."""
    chance = random.Random(11)
    (tmp_path / "project").mkdir()
    files = FilesystemBackend(tmp_path / "project")
    project = Project(files)
    person = Person(server.url, project)
    person.begin()
    kills = set(chance.sample(range(INTERRUPTS), effort.cases(4, INTERRUPTS)))
    answered = 0
    for waiting in person.what_waits():
        chosen = chance.choice(waiting)
        answers = person.prepare(chosen)
        before = chance.random() < 0.5  # the device has carried it out; or: the answer was acknowledged
        if answered in kills and before:
            crash(server)
        person.send(answers)
        if answered in kills and not before:
            crash(server)
        answered += 1
    assert answered == INTERRUPTS
    assert faults_in(person.results(), files, oracle.effective("keyed"), project) == []
    person.close()


def crash(server: Server) -> None:
    server.kill()
    server.start()
