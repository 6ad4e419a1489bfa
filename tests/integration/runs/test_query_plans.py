"""Whatever runs per run, per step and per event finds its rows by an index: its cost does not depend on how much is kept."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.integration.runs.conftest import OWNER, OpenRuns, Runs, new_id
from tests.support.driven_runs import a_run, driving

from stepwell.database.queue.types import Admission
from stepwell.database.sqlite.database import Database
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.payments.ledger.database import DatabaseLedger
from stepwell.payments.wallet.wallet import Wallet
from stepwell.sql import SqliteConnection
from stepwell.testing import MemoryMint

# Partial indexes of what is open now, which is as much as there is work. Going through one of them is no search for a needle.
OPEN_ONLY = (
    *("runs_open", "runs_under_way", "runs_later", "runs_suspect", "threads_waiting", "webhooks_due"),
    *("payment_reservations_open", "payment_tokens_unclaimed", "threads_waiting_by_tenant"),
)
NO_TABLE = re.compile(r"SCAN (json_each|json_tree|CONSTANT ROW|\(subquery|\d+ CONSTANT ROWS|counted\b|wanted\b)")


class Tally:
    """What all connections made while it is in place have executed."""

    def __init__(self) -> None:
        self.statements: set[str] = set()
        self.steps = 0
        """Of SQLite's own machine, in tens."""

    def count(self) -> int:
        self.steps += 1
        return 0


@pytest.fixture
def tally(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tally]:
    """SQLite's own tracing gives statements with their values filled in, and values can change the plan: so they are noted here."""
    found = Tally()
    connect = sqlite3.connect

    class Noting(SqliteConnection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            found.statements.add(sql)
            return super().execute(sql, *values)

        def executemany(self, sql: str, values: Any) -> sqlite3.Cursor:
            found.statements.add(sql)
            return super().executemany(sql, values)

    def noting(*arguments: Any, **options: Any) -> sqlite3.Connection:
        made = connect(*arguments, **options | {"factory": Noting})
        made.set_progress_handler(found.count, 10)
        return made

    monkeypatch.setattr(sqlite3, "connect", noting)
    yield found
    monkeypatch.setattr(sqlite3, "connect", connect)


def scans(connection: sqlite3.Connection, statements: set[str]) -> list[str]:
    """Statements that go through a whole table, each with the line of its plan that says so."""
    found = []
    for sql in sorted(statements):
        if not re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b", sql):
            continue
        names = set(re.findall(r":(\w+)", sql))
        own = set(re.findall(r"\bWITH RECURSIVE (\w+)", sql))
        values: Any = dict.fromkeys(names) if names else (None,) * sql.count("?")
        for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values):
            line = row[3]
            by_open = any(re.search(rf"USING (COVERING )?INDEX {index}\b", line) for index in OPEN_ONLY)
            if line.startswith("SCAN") and not NO_TABLE.match(line) and not by_open and line.split()[1] not in own:
                found.append(f"{line}: {' '.join(sql.split())}")
    return found


def trigger_statements(connection: sqlite3.Connection) -> set[str]:
    """What triggers execute; the plan of a statement does not show it."""
    bodies = [row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'")]
    return {
        re.sub(r"\b(NEW|OLD)\.\w+", "?", statement).strip()
        for body in bodies
        for statement in body.split("BEGIN", 1)[1].rsplit("END", 1)[0].split(";")
        if statement.strip() and "RAISE(" not in statement  # refuses, and searches nothing
    }


async def do_everything(runs: Runs) -> None:
    """Runs of all kinds: plain, on an old thread, with a question, failing, cancelled, rolled back, with subgraphs and tools."""
    for graph in ("two", "failing", "deep", "chat"):
        given: Any = {"messages": [{"role": "user", "content": "hello"}]} if graph in ("deep", "chat") else {}
        first = await runs.start(graph, new_id(), input=given)
        await runs.events(first)
        await runs.result(await runs.start(graph, first.thread_id, input=given))
    asking = await runs.start("asking", new_id(), input={})
    await runs.result(asking)
    question = (await runs.thread(asking.thread_id)).interrupts[0]
    await runs.result(await runs.start("asking", asking.thread_id, command={"resume": {question.interrupt_id: "yes"}}))
    waiting = await runs.start("waiting", new_id(), input={})
    queued = await runs.start("waiting", waiting.thread_id, input={})
    await runs.engine.cancel(OWNER, waiting.thread_id, [queued.run_id], wait=True)
    await runs.engine.cancel(OWNER, waiting.thread_id, [waiting.run_id], action="rollback", wait=True)
    async with runs.persistence.queue.hold(OWNER, asking.thread_id, "a test"):
        pass


async def test_nothing_that_runs_per_run_goes_through_a_table(open_runs: OpenRuns, tally: Tally) -> None:
    async with open_runs() as runs:
        await runs.result(await runs.start("two", new_id(), input={}))  # start-up is over when this is
        tally.statements.clear()
        await do_everything(runs)
        done = set(tally.statements)
        path = runs.persistence.database.path
    assert len(done) > 40, "the statements are no longer seen here"
    with closing(sqlite3.connect(path)) as connection:
        found = scans(connection, done | trigger_statements(connection))
        assert not has_statistics(connection), "plans would depend on how full the file was when they were taken"
    assert not found, "\n".join(found)


async def test_whose_turn_it_is_is_found_by_an_index(tmp_path: Path, tally: Tally) -> None:
    """Among a thousand runs that wait, with room for one; sorting them each time would show as a temporary tree."""
    async with EmbeddedPersistence(tmp_path / "runs.db") as persistence:
        waiting = [Admission(a_run(new_id()), create_thread=True, tenant=f"/t{n % 3}", max_of_tenant=9999) for n in range(1000)]
        await persistence.queue.admit_many(waiting)
        tally.statements.clear()
        async with driving(persistence, concurrency=1) as runs:
            for _ in range(4):
                await runs.end(await runs.next())
        turns = {sql for sql in tally.statements if "AS turn" in sql}
        path = persistence.database.path
    assert len(turns) == 3
    names = {"turn": "", "tenant": "", "taken": "[]", "limit": 1}
    with closing(sqlite3.connect(path)) as connection:
        assert not scans(connection, turns)
        for sql in turns:
            plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", names)]
            assert any("threads_waiting_by_tenant" in line for line in plan), plan
            assert not any("TEMP B-TREE" in line for line in plan), plan


async def test_nothing_that_runs_per_paid_call_or_session_goes_through_a_table(tmp_path: Path, tally: Tally) -> None:
    """The ledger is never emptied."""
    database, mint = Database(tmp_path / "stepwell.db"), MemoryMint(fee_ppk=100)
    tally.statements.clear()
    wallet = Wallet(DatabaseLedger(database), [mint], bytes(32), pause_s=0)
    session_id = (await wallet.fund(OWNER, mint.issue_token(100))).session_id
    await wallet.ledger.attach(session_id, "a thread")
    for key in ("a", "a", "b"):
        await wallet.settle(await wallet.reserve(OWNER, session_id, key, 10, confirms=["before"]), 10)
    await wallet.confirm(session_id)
    await wallet.release(await wallet.reserve(OWNER, session_id, "c", 10))
    await wallet.fund(OWNER, mint.issue_token(100), session_id=session_id)
    await wallet.claim(OWNER, (await wallet.refund(OWNER, session_id)).token_id)
    await wallet.payout(mint.url)
    await wallet.recover()
    await wallet.sweep()
    await wallet.ledger.sessions(OWNER)
    await wallet.ledger.detach("a thread")
    done = set(tally.statements)
    database.close()
    assert len(done) > 40, "the statements are no longer seen here"
    with closing(sqlite3.connect(tmp_path / "stepwell.db")) as connection:
        assert not (found := scans(connection, done)), "\n".join(found)


def test_a_query_without_an_index_would_be_found(tmp_path: Path) -> None:
    Database(tmp_path / "stepwell.db").close()
    with closing(sqlite3.connect(tmp_path / "stepwell.db")) as connection:
        # The condition of a partial index must be said in its own words: this is how all runs ever kept were once read per claim.
        assert scans(connection, {"SELECT 1 FROM runs WHERE status = 'pending' AND due_at <= ?"}) != []
        assert scans(connection, {"SELECT 1 FROM usage AS u WHERE u.model = :model"}) != []
        assert scans(connection, {"SELECT 1 FROM runs WHERE run_id = ?"}) == []


def has_statistics(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'").fetchone() is not None


def keep_many(connection: sqlite3.Connection, count: int) -> None:
    """As if a finished thread had been there so many times: its rows in every table, under other ids."""
    finished = "SELECT thread_id FROM runs WHERE status = 'success' ORDER BY number LIMIT 1"
    (thread_id,) = connection.execute(finished).fetchone()
    connection.execute("BEGIN")
    for table in ("threads", "thread_values", "runs", "events", "checkpoints", "writes"):
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[1] != "number"]
        taken = {"thread_id": "thread_id || '-' || n.copy", "run_id": "run_id || '-' || n.copy"}
        listed, chosen = ", ".join(f'"{name}"' for name in columns), ", ".join(taken.get(name, f'"{name}"') for name in columns)
        connection.execute(
            f"WITH RECURSIVE n (copy) AS (SELECT 1 UNION ALL SELECT copy + 1 FROM n WHERE copy < ?)"
            f" INSERT INTO {table} ({listed}) SELECT {chosen} FROM {table}, n WHERE thread_id = ?",
            (count, thread_id),
        )
    connection.execute("COMMIT")


async def steps_of_a_run(runs: Runs, tally: Tally) -> int:
    """What a trivial run costs SQLite: a count that no other load on the machine changes."""
    costs = []
    for _ in range(5):
        before = tally.steps
        await runs.result(await runs.start("two", new_id(), input={}))
        costs.append(tally.steps - before)
    return min(costs)


async def test_a_run_costs_the_same_however_many_are_kept(open_runs: OpenRuns, tally: Tally) -> None:
    async with open_runs() as runs:
        few = await steps_of_a_run(runs, tally)
        path = runs.persistence.database.path
    with closing(sqlite3.connect(path)) as connection:
        keep_many(connection, 5000)
    async with open_runs() as runs:
        many = await steps_of_a_run(runs, tally)
    assert many <= 1.2 * few, f"{few} steps with few runs kept, {many} with 5,000"


async def test_a_claim_costs_the_same_however_many_wait_behind_a_busy_thread(open_runs: OpenRuns, tally: Tally) -> None:
    async with open_runs() as runs:
        few = await steps_of_a_run(runs, tally)
        busy = await runs.start("waiting", new_id(), input={})
        while not runs.engine.driving:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)
        queue = runs.persistence.queue
        await queue.admit_many([Admission(a_run(busy.thread_id, OWNER)) for _ in range(2000)])
        many = await steps_of_a_run(runs, tally)
    assert many <= 1.2 * few, f"{few} steps with nothing waiting, {many} with 2,000 runs behind a busy thread"
