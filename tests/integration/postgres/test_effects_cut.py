"""The connection to the database is lost at each statement in the life of a `once` effect, in the main agent and in a subagent: it is
charged once, and the model is told what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from langchain_core.callbacks import BaseCallbackHandler
from tests.conftest import Effort
from tests.integration.postgres.statement_proxy import Lost, StatementProxy
from tests.support.driven_runs import OWNER, new_id
from tests.support.postgres import PostgresCluster

from stepwell.agent import create_deep_agent
from stepwell.clock import SystemClock
from stepwell.database.postgres import patience
from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.database.types import Run, RunOutcome
from stepwell.errors import StorageUnavailableError
from stepwell.runs.assistants import Assistants
from stepwell.runs.engine import Engine, EngineOptions, RunWatcher
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.graphs.sources import GraphSource
from stepwell.runs.starting import RunOrder
from stepwell.testing import Asked, ScriptedModel, call, say
from stepwell.tools.effects import with_effect

PATIENCE_S = 240.0
UNKNOWN = "outcome of this call is unknown"
OUTAGE = 20
"""Connections that are refused: those of the writer, the readers and whoever listens, each ten times a second at most."""


def insistent(asked: Asked) -> Any:
    """A model that does as it is told, and tries again what failed, as models do."""
    last = asked.messages[-1]
    order = next(message.text for message in asked.messages if message.type == "human")
    if last.type == "tool" and ("Error" not in last.text or UNKNOWN in last.text):
        return say(f"It says: {last.text}")
    if order.startswith("delegate "):
        return call("task", description=order.removeprefix("delegate "), subagent_type="general-purpose")
    return call("pay", to=order.removeprefix("pay "))


def make_agent(till: Path) -> Any:
    @with_effect("once")
    async def pay(to: str) -> str:
        """Pay somebody."""
        with till.open("a") as lines:
            lines.write(f"{to}\n")
        return f"paid {to}"

    return create_deep_agent(ScriptedModel.answering(insistent), [pay])


@dataclass
class World:
    engine: Engine
    persistence: PostgresPersistence
    till: Path

    async def start(self, text: str) -> Run:
        order = RunOrder("payer", input={"messages": [{"role": "user", "content": text}]})
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    return (await self.engine.start(OWNER, order)).run
                except StorageUnavailableError:  # nothing was stored: its connections are not back yet
                    await asyncio.sleep(0.05)

    async def end(self, run: Run) -> tuple[Run, list[dict[str, Any]]]:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    result = orjson.loads(await self.engine.result(OWNER, run.thread_id, run.run_id))
                    ended = await self.persistence.records.get_run(OWNER, run.thread_id, run.run_id)
                except StorageUnavailableError:  # whoever waits for a run asks again when the database is back
                    await asyncio.sleep(0.05)
                else:
                    return ended, result.get("messages", [result])

    def paid(self, to: str) -> int:
        return self.till.read_text().split().count(to)


@asynccontextmanager
async def opened(url: str, folder: Path, *watchers: RunWatcher) -> AsyncIterator[World]:
    till = folder / "till"
    till.touch()
    async with PostgresPersistence(url) as persistence:
        registry = GraphRegistry({"payer": GraphSource.of(make_agent(till))})
        assistants = Assistants(persistence.records, registry, SystemClock(), new_id)
        await assistants.install_defaults()
        engine = Engine(
            persistence,
            registry,
            assistants,
            clock=SystemClock(),
            new_id=new_id,
            options=EngineOptions(drain_s=0.0),
            watchers=watchers,
        )
        async with engine:
            yield World(engine, persistence, till)


class GivenUp:
    """Hears of attempts that were given up, because the database stayed away."""

    def __init__(self) -> None:
        self.times = 0

    def began(self, run: Run) -> Sequence[BaseCallbackHandler]:
        return ()

    def ended(self, run: Run, outcome: RunOutcome | None) -> None:
        if outcome is None:
            self.times += 1


def told(messages: list[dict[str, Any]]) -> str:
    return str(messages[-1].get("content"))


@pytest.mark.prove
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("order", ["pay", "delegate pay"], ids=["main agent", "subagent"])
@pytest.mark.parametrize("what", ["statement", "answer"])
async def test_a_connection_lost_for_a_moment_costs_nothing(
    postgres_cluster: PostgresCluster,
    postgres_url: str,
    tmp_path: Path,
    effort: Effort,
    order: str,
    what: Lost,
    record_property,
):
    """At the n-th statement, for n = 1, 2, 3 ... until the run ends before there is one: paid once, and told so."""
    async with StatementProxy(postgres_cluster.socket) as proxy, opened(proxy.url("shared"), tmp_path) as world:
        number, step = 1, effort.cases(11, 1)
        while True:
            name = f"{order[0]}{number}"
            run = await world.start(f"{order} {name}")
            proxy.lose(number, what)
            ended, messages = await world.end(run)
            if not proxy.is_over:
                break
            where = f"statement {number}, {proxy.lost!r}: {messages}"
            assert ended.status == "success", where
            assert world.paid(name) == 1, where
            assert f"paid {name}" in told(messages), where
            number += step
        proxy.forget()
        record_property("statements", number - 1)


@pytest.mark.prove
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("order", ["pay", "delegate pay"], ids=["main agent", "subagent"])
@pytest.mark.parametrize("what", ["statement", "answer"])
async def test_a_database_that_goes_away_for_longer_never_has_it_paid_twice(
    postgres_cluster: PostgresCluster,
    postgres_url: str,
    tmp_path: Path,
    effort: Effort,
    order: str,
    what: Lost,
    record_property,
    monkeypatch: pytest.MonkeyPatch,
):
    """Longer than work waits for it, so the run is given up and driven again. What nobody knows is told as unknown, and not done again."""
    monkeypatch.setattr(patience, "AWAY_S", 0.3)
    gone = GivenUp()
    async with StatementProxy(postgres_cluster.socket) as proxy, opened(proxy.url("shared"), tmp_path, gone) as world:
        number, step, unknown = effort.cases(11, 1), effort.cases(29, 1), 0
        while True:
            name = f"{order[0]}{number}"
            run = await world.start(f"{order} {name}")
            proxy.lose(number, what, OUTAGE)
            ended, messages = await world.end(run)
            if not proxy.is_over:
                break
            proxy.let_in()
            where = f"statement {number}, {proxy.lost!r}: {messages}"
            assert ended.status == "success", where
            assert f"paid {name}" in told(messages) or UNKNOWN in told(messages), where
            assert world.paid(name) == 1 or (world.paid(name) == 0 and UNKNOWN in told(messages)), where
            unknown += UNKNOWN in told(messages)
            number += step
        proxy.forget()
        assert gone.times, "the walk met nothing that gave a run up"
        record_property("statements", number - 1)
        record_property("given up", gone.times)
        record_property("unknown", unknown)


@pytest.mark.prove
@pytest.mark.timeout(3600)
async def test_no_subagent_fails_because_the_database_was_restarted(
    postgres_cluster: PostgresCluster, postgres_url: str, tmp_path: Path, effort: Effort, record_property
):
    """Many runs whose subagents pay, and a database that is stopped and started all the while."""
    async with opened(postgres_url, tmp_path) as world:
        runs = {f"r{number}": await world.start(f"delegate pay r{number}") for number in range(effort.cases(12, 240))}
        ends = [asyncio.create_task(world.end(run)) for run in runs.values()]
        restarts, waiting = 0, set(ends)
        while waiting and restarts < effort.cases(3, 60):
            await asyncio.to_thread(postgres_cluster.stop)
            postgres_cluster.start()  # not in a thread: the server ends with the thread that started it
            restarts += 1
            _, waiting = await asyncio.wait(waiting, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
        for name, (ended, messages) in zip(runs, await asyncio.gather(*ends), strict=True):
            assert ended.status == "success", (name, messages)
            assert f"paid {name}" in told(messages), (name, messages)
            assert world.paid(name) == 1, (name, messages)
        record_property("restarts", restarts)
