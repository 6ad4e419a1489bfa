"""What goes wrong in a chaos run: kinds of faults, chosen by a seeded dice, and how each is done and undone.

Most of them take a while, and the next one does not wait for them. One worker and one server at least have peace at any time, the
restarts of the database aside.
"""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine
from itertools import pairwise
from time import monotonic
from types import TracebackType
from typing import Self

from tests.integration.postgres.chaos.installation import Installation, Node
from tests.support.redis import RedisServer

from stepwell.database.postgres.patience import AWAY_S

LEASE_S = 8.0
COMMIT_S = 15.0
"""For so long a fault waits for a commit that it could cut."""

Trouble = Coroutine[None, None, None]
Fault = Callable[["Faults"], Trouble | None]
"""Gives what is to happen; None where all that it could hit are in trouble already."""


class Faults:
    """`async with Faults(...) as faults`: `happen(...)` until there have been enough, then `end()`."""

    def __init__(self, installation: Installation, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self.idle: Counter[str] = Counter()
        """How many of a kind have waited for their moment in vain."""
        self.begun: defaultdict[str, list[float]] = defaultdict(list)
        """When each of a kind began."""
        self.installation = installation
        self.kinds = KINDS | (OF_REDIS if installation.redis else {})
        self.round = [kind for kind in self.kinds for _ in range(OFTEN.get(kind, 1))]
        self.chance = random.Random(seed)
        self._under_way: set[asyncio.Task[None]] = set()
        self._failed: list[BaseException] = []
        self._busy: set[str] = set()

    def happen(self, kind: str) -> bool:
        """Begin a fault; it may go on beside the next ones. Whether it could."""
        trouble = self.kinds[kind](self)
        if trouble is None:
            return False
        self.counts[kind] += 1
        self.begun[kind].append(monotonic())
        task = asyncio.create_task(trouble, name=kind)
        self._under_way.add(task)
        task.add_done_callback(self._over)
        return True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Whatever is left of them is broken off."""
        for task in tuple(self._under_way):
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def end(self) -> None:
        """Wait until all of them are over."""
        while self._under_way:
            await asyncio.wait(self._under_way)
        for error in self._failed:
            raise error

    def gaps(self, kind: str) -> list[float]:
        """Seconds between one of a kind and the next."""
        return [after - before for before, after in pairwise(self.begun[kind])]

    def pick(self, nodes: list[Node]) -> Node | None:
        """One that nothing happens to now, as long as there is another one; of workers rather one that drives something."""
        at_peace = [node for node in nodes if node.name not in self._busy]
        if len(at_peace) <= 1:
            return None
        at_work = [node for node in self.installation.drivers() if node in at_peace]
        node = self.chance.choice(at_work or at_peace)
        self._busy.add(node.name)
        return node

    def release(self, node: Node) -> None:
        self._busy.discard(node.name)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed.append(error)


def _to_one(nodes: Callable[[Installation], list[Node]], do: Callable[[Faults, Node], Trouble]) -> Fault:
    async def trouble(faults: Faults, node: Node) -> None:
        try:
            await do(faults, node)
        finally:
            faults.release(node)

    def fault(faults: Faults) -> Trouble | None:
        node = faults.pick(nodes(faults.installation))
        return None if node is None else trouble(faults, node)

    return fault


async def _kill(faults: Faults, node: Node) -> None:
    await node.kill()
    await asyncio.sleep(faults.chance.uniform(0, 1))
    await node.start()


async def _freeze(faults: Faults, node: Node) -> None:
    node.freeze()
    await asyncio.sleep(LEASE_S + faults.chance.uniform(1, 3))
    node.thaw()


async def _freeze_shortly(faults: Faults, node: Node) -> None:
    node.freeze()
    await asyncio.sleep(faults.chance.uniform(0.5, 5))
    node.thaw()


async def _cut(faults: Faults, node: Node) -> None:
    node.proxy.cut()


def _cut_commit(kind: str) -> Callable[[Faults, Node], Trouble]:
    async def cut(faults: Faults, node: Node) -> None:
        """The next commit is carried out, and the connection is gone before the answer. Half of the time all connections are refused
        afterwards, for longer than anybody waits, so that the database cannot be asked what became of the commit."""
        lost = asyncio.create_task(node.proxy.lose_commit().wait())
        try:
            await asyncio.wait({lost}, timeout=COMMIT_S)
        finally:
            node.proxy.keep_commits()
            lost.cancel()
        if not lost.done():
            faults.idle[kind] += 1
        elif faults.chance.random() < 0.5:
            node.proxy.refuse()
            await asyncio.sleep(faults.chance.uniform(AWAY_S + 0.5, AWAY_S + 2))
            node.proxy.let_in()

    return cut


async def _block(faults: Faults, node: Node) -> None:
    """Nothing passes for a while, and then everything; or the connections are gone."""
    node.proxy.block()
    await asyncio.sleep(faults.chance.uniform(0.5, 6))
    if faults.chance.random() < 0.5:
        node.proxy.cut()
    node.proxy.unblock()


async def _slow(faults: Faults, node: Node) -> None:
    node.proxy.delay_s = faults.chance.uniform(0.005, 0.05)
    await asyncio.sleep(faults.chance.uniform(1, 3))
    node.proxy.delay_s = 0.0


def _restart(how: signal.Signals) -> Fault:
    def fault(faults: Faults) -> Trouble | None:
        if faults.installation.away.locked():
            return None
        return faults.installation.restart_database(how, faults.chance.uniform(0, 2))

    return fault


def _to_redis(do: Callable[[RedisServer], object]) -> Fault:
    def fault(faults: Faults) -> Trouble | None:
        if faults.installation.redis is None or faults.installation.redis_away.locked():
            return None
        return faults.installation.disturb_redis(do, faults.chance.uniform(0, 3))

    return fault


def _servers(installation: Installation) -> list[Node]:
    return installation.servers


def _workers(installation: Installation) -> list[Node]:
    return installation.workers


KINDS: dict[str, Fault] = {
    "kill_worker": _to_one(_workers, _kill),
    "kill_server": _to_one(_servers, _kill),
    "freeze_worker": _to_one(_workers, _freeze),
    "freeze_server": _to_one(_servers, _freeze_shortly),
    "cut_worker": _to_one(_workers, _cut),
    "cut_server": _to_one(_servers, _cut),
    "cut_commit_worker": _to_one(_workers, _cut_commit("cut_commit_worker")),
    "cut_commit_server": _to_one(_servers, _cut_commit("cut_commit_server")),
    "block_worker": _to_one(_workers, _block),
    "block_server": _to_one(_servers, _block),
    "slow_worker": _to_one(_workers, _slow),
    "restart_postgres": _restart(signal.SIGINT),
    "crash_postgres": _restart(signal.SIGQUIT),
}
OF_REDIS: dict[str, Fault] = {
    "crash_redis": _to_redis(RedisServer.kill),
    "empty_redis": _to_redis(lambda redis: redis.ask("FLUSHALL")),
}
"""Where events go through one."""
OFTEN = {
    "kill_worker": 3,
    "kill_server": 3,
    "cut_worker": 6,
    "cut_server": 6,
    "slow_worker": 3,
    "cut_commit_worker": 2,
    "cut_commit_server": 2,
}
"""How many of a kind in a round, if not one: a database that is away most of the time would hide the rest."""
