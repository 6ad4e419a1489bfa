"""What several runs spend from one budget, in the database, so that runs of all processes count for each other."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from stepwell.database.database import SqlDatabase
from stepwell.database.types import Run
from stepwell.sql import Connection
from stepwell.tools.shared_spending import AGENT, MEASURES, WHOLE_THREAD, Decision, Hold, Spent, larger, plus, total

T = TypeVar("T")
_ADD = """
INSERT INTO shared_spending (thread_id, turn, run_id, tokens, usd, calls) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (thread_id, turn, run_id) DO UPDATE SET tokens = shared_spending.tokens + excluded.tokens,
  usd = shared_spending.usd + excluded.usd, calls = shared_spending.calls + excluded.calls
"""


class SqlSharedSpending:
    """A `SharedSpending` for one run. Made on the engine's event loop; its sync half waits for that loop."""

    def __init__(self, database: SqlDatabase, run: Run) -> None:
        self._database = database
        self._loop = asyncio.get_running_loop()
        request = run.request
        budget = (request.background or {}).get("budget")
        self.is_aside = request.counts_for is not None
        self.turn: str | None = None
        self._thread_id, self._run_id = run.thread_id, AGENT
        if request.counts_for:
            self._thread_id, self.turn, self._run_id = request.counts_for, WHOLE_THREAD, run.run_id
        elif budget:
            self._thread_id, self.turn = budget
            self._run_id = run.run_id

    @property
    def scope(self) -> list[str] | None:
        """The budget that tasks of this run spend from, if the run itself is a task."""
        return [self._thread_id, self.turn] if self.turn and not self.is_aside else None

    async def ahold(self, call: Hold) -> Decision:
        def work(connection: Connection) -> Decision:
            # This locks the account: calls that begin at once follow one another.
            add(connection, self._thread_id, call.turn, AGENT, {})
            rows = read(connection, self._thread_id, call.turn)
            if refusal := call.decide(total(rows, call)):
                return Decision(refusal)
            before = rows.get(self._run_id, {})
            now = plus(larger(before, call.own or {}), call.expected)
            add(
                connection,
                self._thread_id,
                call.turn,
                self._run_id,
                {name: now[name] - before.get(name, 0) for name in MEASURES},
            )
            return Decision(is_held=True)

        if call.alone and not await self._database.read(lambda connection: read(connection, self._thread_id, call.turn)):
            return Decision()
        return await self._database.write(work)

    async def asettle(self, turn: str, more: Spent) -> None:
        await self._database.write(lambda connection: add(connection, self._thread_id, turn, self._run_id, more))

    def hold(self, call: Hold) -> Decision:
        return self._wait(self.ahold(call))

    def settle(self, turn: str, more: Spent) -> None:
        self._wait(self.asettle(turn, more))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def note_agent(connection: Connection, thread_id: str, turn: str, spent: Spent) -> None:
    """An agent shares its budget from now on, and has spent this much of it."""
    before = read(connection, thread_id, turn).get(AGENT, {})
    now = larger(before, spent)
    add(connection, thread_id, turn, AGENT, {name: now[name] - before.get(name, 0) for name in MEASURES})


def add(connection: Connection, thread_id: str, turn: str, run_id: str, more: Spent) -> None:
    connection.execute(
        _ADD, (thread_id, turn, run_id, int(more.get("tokens", 0)), more.get("usd", 0.0), int(more.get("calls", 0)))
    )


def read(connection: Connection, thread_id: str, turn: str) -> dict[str, Spent]:
    rows = connection.execute(
        "SELECT run_id, tokens, usd, calls FROM shared_spending WHERE thread_id = ? AND turn = ?", (thread_id, turn)
    )
    return {row["run_id"]: {name: row[name] for name in MEASURES} for row in rows}


def forget(connection: Connection, thread_id: str) -> None:
    """The thread is deleted."""
    connection.execute("DELETE FROM shared_spending WHERE thread_id = ?", (thread_id,))
