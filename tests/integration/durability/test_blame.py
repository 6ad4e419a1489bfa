"""Who is to blame when a server dies: the run that kills it, and nobody who only happened to be there.

The long form of the random kills is eight installations side by side, 38 kills each. STEPWELL_KILLS says how many instead, and
STEPWELL_KILLS_SEED has them come at other times.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from tests.conftest import Effort
from tests.integration.durability.clients import PATIENCE_S, Book, Client, Said
from tests.integration.durability.oracle import Oracle
from tests.integration.durability.processes import ForkServer, Server

SEED = int(os.environ.get("STEPWELL_KILLS_SEED", 20_267))
STEP_S, SHORTEST_S, LONGEST_S = 15.0, 2.0, 30.0
"""Of a step, and between two kills; a tenth of it in the short form."""
THREADS = (1, 3, 1, 2, 1, 5, 1, 10)
"""How many runs are under way at once, in each installation: those that are alone are suspected first."""
TEN = 10
MOST_DEATHS = 25


class Innocents:
    """An installation on which runs hold, one after the other on each of its threads."""

    def __init__(self, forks: ForkServer, folder: Path, oracle: Oracle, threads: int, hold_s: float) -> None:
        self.server = Server(forks, folder, ORACLE_URL=oracle.url)
        self.client = Client(self.server.url, Book())
        self.threads = [str(uuid.uuid4()) for _ in range(threads)]
        self._hold_s = hold_s

    def send(self) -> None:
        """A message to each thread that has nothing to do."""
        busy = {thread_id for (thread_id,) in self.ask("SELECT thread_id FROM runs WHERE status IN ('pending', 'running')")}
        config = {"configurable": {"hold_s": self._hold_s}}
        for thread_id in self.threads:
            if thread_id not in busy:
                self.client.say("holding", thread_id, stream_mode=["custom"], config=config)

    def ask(self, sql: str) -> list[tuple]:
        with closing(sqlite3.connect(self.server.database, timeout=60)) as connection:
            return connection.execute(sql).fetchall()

    def change(self, sql: str) -> None:
        """While the server does not run."""
        with closing(sqlite3.connect(self.server.database, timeout=60)) as connection, connection:
            connection.execute(sql)

    def until(self, sql: str, wanted: int) -> None:
        """Until the query counts as many."""
        give_up_at = time.monotonic() + PATIENCE_S
        while (found := self.ask(sql)[0][0]) < wanted:
            assert time.monotonic() < give_up_at, f"{found} of {wanted}: {sql}\n{self.standing()}\n{self.server.log[-2000:]}"
            time.sleep(0.05)

    def standing(self) -> list[tuple]:
        return self.ask("SELECT status, attempt, crashes, wait_s, crash_log, error FROM runs WHERE status <> 'success'")

    def close(self) -> None:
        self.client.close()
        self.server.close()


@pytest.fixture(scope="module")
def own_forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    """A server is started here without waiting until it serves: what it says must reach no other test."""
    opened = ForkServer(tmp_path_factory.mktemp("forks") / "fork-server.log")
    yield opened
    opened.close()


@pytest.mark.prove
@pytest.mark.timeout(3600)
def test_random_kills_abandon_no_run(
    own_forks: ForkServer, tmp_path: Path, oracle: Oracle, effort: Effort, record_property: Callable[[str, object], None]
) -> None:
    """Mission: 300 kills of everything, 2 to 30 s apart, in steps of 15 s; no run is given up, and every run ends."""
    scale, chance = effort.seconds(0.1, 1.0), random.Random(SEED)
    kills = int(os.environ.get("STEPWELL_KILLS", effort.cases(8, 38)))
    all_of_them = [
        Innocents(own_forks, tmp_path / f"data-{number}", oracle, threads, STEP_S * scale)
        for number, threads in enumerate(THREADS[: effort.cases(2, len(THREADS))])
    ]
    try:
        for one in all_of_them:
            one.server.start()
            one.send()
        _kill_at_random(all_of_them, kills, chance, scale)
        stopped = time.monotonic()
        for one in all_of_them:
            one.until("SELECT COUNT(*) = 0 FROM runs WHERE status IN ('pending', 'running')", 1)
        record_property("last_run_ended_after_s", round(time.monotonic() - stopped, 1))
        ended = [status for one in all_of_them for (status,) in one.ask("SELECT status FROM runs")]
        attempts = [attempt for one in all_of_them for (attempt,) in one.ask("SELECT MAX(attempt) FROM runs")]
        record_property("kills", kills * len(all_of_them))
        record_property("runs", len(ended))
        record_property("runs_given_up", len(ended) - ended.count("success"))
        record_property("most_attempts_of_a_run", max(attempts))
        assert set(ended) == {"success"}, [one.standing() for one in all_of_them]
        assert max(attempts) > 1, "nothing was tried"
    finally:
        for one in all_of_them:
            one.close()


def _kill_at_random(all_of_them: list[Innocents], kills: int, chance: random.Random, scale: float) -> None:
    """Each of them so many times, at its own times; each is started again at once."""

    def next_gap() -> float:
        return time.monotonic() + chance.uniform(SHORTEST_S, LONGEST_S) * scale

    due = [(next_gap(), number, kills) for number in range(len(all_of_them))]
    while due:
        moment, number, left = min(due)
        due.remove((moment, number, left))
        time.sleep(max(moment - time.monotonic(), 0))
        one = all_of_them[number]
        one.send()
        one.server.kill()
        one.server.start()  # all of them speak through one pipe, so one starts at a time
        if left > 1:
            due.append((next_gap(), number, left - 1))


HOLDING = "SELECT COUNT(*) FROM (SELECT run_id FROM events WHERE event = 'custom' GROUP BY run_id HAVING COUNT(*) >= {times})"
# Of the last attempt at each run that held: when its step began, and when it ended.
INTERVALS = """
SELECT (SELECT MAX(created_at) FROM events AS e WHERE e.run_id = runs.run_id AND event = 'custom'), finished_at
FROM runs WHERE assistant_id = (SELECT assistant_id FROM runs ORDER BY number LIMIT 1)
"""


@pytest.mark.prove
@pytest.mark.timeout(900)
def test_runs_that_were_killed_twice_are_driven_at_once(
    own_forks: ForkServer, tmp_path: Path, oracle: Oracle, effort: Effort, record_property: Callable[[str, object], None]
) -> None:
    hold_s = effort.seconds(6, 12)
    ten = Innocents(own_forks, tmp_path / "data", oracle, TEN, hold_s)
    try:
        ten.server.start()
        ten.send()
        for times in (1, 2):
            ten.until(HOLDING.format(times=times), TEN)
            ten.server.kill()
            started = time.monotonic()
            ten.server.start()
            serving = time.monotonic()
        ten.until("SELECT COUNT(*) FROM runs WHERE status = 'success'", TEN)
        record_property("all_ended_after_s", round(time.monotonic() - started, 1))
        record_property("of_these_starting_s", round(serving - started, 1))
        record_property("step_s", hold_s)
        intervals = ten.ask(INTERVALS)
        assert len(intervals) == TEN
        assert max(began for began, _ in intervals) < min(ended for _, ended in intervals), "one waited for another"
    finally:
        ten.close()


@pytest.mark.prove
@pytest.mark.timeout(900)
def test_a_run_that_kills_its_server_is_found_among_ten_that_do_not(
    own_forks: ForkServer, tmp_path: Path, oracle: Oracle, effort: Effort, record_property: Callable[[str, object], None]
) -> None:
    """Its server is started again each time. The others hold for so long that they are under way whenever it dies. In the short form a
    suspect waits for a second at most."""
    others = Innocents(own_forks, tmp_path / "data", oracle, TEN, 5.0)
    try:
        others.server.start()
        others.send()
        others.until(HOLDING.format(times=1), TEN)
        poison = others.client.say("poisonous", str(uuid.uuid4()))
        given_up = f"SELECT 1 FROM runs WHERE thread_id = '{poison.thread_id}' AND status = 'error'"
        deaths = 0
        while _dies_before(others, given_up):
            deaths += 1
            assert deaths < MOST_DEATHS, others.standing()
            if not effort.long:
                others.change("UPDATE runs SET wait_s = 1.0 WHERE wait_s > 1.0")
            others.server.start(ready=False)
        record_property("deaths_until_given_up", deaths)
        others.server.start()
        _is_given_up(others.client, poison)
        others.until("SELECT COUNT(*) FROM runs WHERE status = 'success'", TEN)
    finally:
        others.close()


def _is_given_up(client: Client, poison: Said) -> None:
    thread = client.settle(poison.thread_id)
    assert thread is not None
    assert thread["status"] == "error"
    events = client.follow(poison.thread_id, client.get(f"/threads/{poison.thread_id}/runs")[0]["run_id"])
    assert [event.event for event in events[-2:]] == ["error", "end"]
    message = json.loads(events[-2].data)["message"]
    assert "died 5 times soon after it began the same step" in message
    assert len(re.findall(r"\d+-[0-9a-f-]{36} at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", message)) == 5, message
    values = client.get(f"/threads/{poison.thread_id}/state")["values"]
    assert (values["marks"], values["done"]) == ([poison.mark], [f"{poison.mark} before"]), "what it had finished stays"


def _dies_before(one: Innocents, fact: str) -> bool:
    """Whether the server dies by itself; `False` when the query has found something, and then it does not run any more."""
    with ThreadPoolExecutor(1) as waiter:
        death = waiter.submit(one.server.wait)
        while not death.done():
            if one.ask(fact):
                one.server.send(signal.SIGKILL)
                break
            time.sleep(0.05)
        return death.result() == 9
