"""A server that charges is killed again and again while payers start, cancel, roll back, copy, branch and delete; then every sat is
looked for."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.conftest import Effort
from tests.integration.durability.processes import ForkServer, Server
from tests.integration.payments.mints import MintProcess, buy_many

from stepwell.database.sqlite.database import Database
from stepwell.payments.cashu.tokens import decode_token
from stepwell.payments.ledger.database import DatabaseLedger
from stepwell.payments.wallet.mint import HttpMint
from stepwell.payments.wallet.wallet import Wallet

GRAPHS = Path(__file__).parent / "sold" / "langgraph.json"
SATS, PRICE = 64, 5
PATIENCE_S, LONG_PAUSE_S = 120, 4
SEED = bytes(range(32))


@pytest.fixture
def server(tmp_path: Path, mint_process: MintProcess) -> Iterator[Server]:
    forks = ForkServer(tmp_path / "forks.log")
    opened = Server(
        forks,
        tmp_path / "data",
        graphs=GRAPHS,
        SOLD_ANSWERS=str(tmp_path / "answers"),
        STEPWELL_MINTS=mint_process.url,
        STEPWELL_SATS_PER_CALL=str(PRICE),
        STEPWELL_WALLET_SEED=SEED.hex(),
        STEPWELL_PAID_GRAPHS="sold",
    )
    yield opened
    opened.close()
    forks.close()


@dataclass
class Payer:
    """Does what payers do, over a server that comes and goes."""

    http: httpx.AsyncClient
    tokens: list[str]
    chance: random.Random
    done: asyncio.Event
    taken_back: set[str] = field(default_factory=set)
    """Threads that something was rolled back on, or that are gone."""
    stopped: set[str] = field(default_factory=set)
    """Threads that an answer may have been broken off on: it is paid for, and what was said of it may be no whole answer."""
    threads: set[str] = field(default_factory=set)
    sessions: set[str] = field(default_factory=set)

    async def ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """Until it is answered: the server may be down."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                with suppress(httpx.TransportError):
                    response = await self.http.request(method, path, json=body)
                    if response.status_code != 503:
                        return response
                await asyncio.sleep(0.05)

    async def fund(self) -> str | None:
        if not self.tokens:
            return None
        response = await self.ask("POST", "/api/wallet/fund", {"token": self.tokens.pop()})
        assert response.status_code == 200, response.text
        self.sessions.add(response.json()["funding_id"])
        return str(response.json()["funding_id"])

    async def run(self, thread_id: str, **more: Any) -> dict[str, Any]:
        """A run to its end. The request may be sent twice: then there are two runs, and both are paid for."""
        given = {} if "checkpoint_id" in more or "command" in more else {"input": {"messages": [("user", "work")]}}
        started = await self.ask("POST", f"/threads/{thread_id}/runs", {"assistant_id": "sold", **given, **more})
        if started.status_code != 200:
            return {"refused": started.json()}
        run_id = started.json()["run_id"]
        while True:
            run = (await self.ask("GET", f"/threads/{thread_id}/runs/{run_id}")).json()
            if run.get("status") not in ("pending", "running"):
                return dict(run)
            await asyncio.sleep(0.03)

    async def live(self) -> None:
        while not self.done.is_set() and (funding_id := await self.fund()):
            thread_id = str((await self.ask("POST", "/threads", {})).json()["thread_id"])
            self.threads.add(thread_id)
            await self.run(thread_id, config={"configurable": {"funding_id": funding_id}})
            for _ in range(2):
                await self.chance.choice([self.go_on, self.cancel, self.copy, self.branch, self.delete])(thread_id)

    async def go_on(self, thread_id: str) -> None:
        await self.pay_if_asked(thread_id)
        await self.run(thread_id)

    async def pay_if_asked(self, thread_id: str) -> None:
        open_ones = (await self.ask("GET", f"/threads/{thread_id}/interrupts")).json()
        if isinstance(open_ones, list) and open_ones and (funding_id := await self.fund()):
            answer = {open_ones[0]["interrupt_id"]: {"funding_id": funding_id}}
            await self.run(thread_id, command={"resume": answer})

    async def cancel(self, thread_id: str) -> None:
        action = self.chance.choice(["rollback", "interrupt"])
        body = {"assistant_id": "sold", "input": {"messages": [("user", "work")]}}
        started = await self.ask("POST", f"/threads/{thread_id}/runs", body)
        if started.status_code != 200:
            return
        await asyncio.sleep(self.chance.uniform(0, 0.2))
        if action == "rollback":
            self.taken_back.add(thread_id)
        self.stopped.add(thread_id)
        await self.ask("POST", f"/threads/{thread_id}/runs/{started.json()['run_id']}/cancel?wait=true&action={action}")

    async def copy(self, thread_id: str) -> None:
        copied = await self.ask("POST", f"/threads/{thread_id}/copy")
        if copied.status_code == 200:
            new_id = str(copied.json()["thread_id"])
            self.threads.add(new_id)
            self.taken_back |= {new_id} if thread_id in self.taken_back else set()
            await asyncio.gather(self.run(new_id), self.run(thread_id))

    async def branch(self, thread_id: str) -> None:
        states = (await self.ask("GET", f"/threads/{thread_id}/history?limit=20")).json()
        earlier = [state for state in states if isinstance(state, dict) and state["next"] and state["values"].get("messages")]
        if earlier:
            chosen = self.chance.choice(earlier)
            await self.run(thread_id, checkpoint_id=chosen["checkpoint"]["checkpoint_id"])

    async def delete(self, thread_id: str) -> None:
        self.taken_back.add(thread_id)
        await self.ask("DELETE", f"/threads/{thread_id}")


@pytest.mark.prove
@pytest.mark.timeout(3600)
async def test_kills_cancels_copies_and_branches_cost_what_was_answered(
    server: Server,
    mint_process: MintProcess,
    tmp_path: Path,
    effort: Effort,
    record_property: Callable[[str, object], None],
) -> None:
    """P2, P4: through cancel with rollback, thread deletion, thread copy and older checkpoints, with kill -9 in between."""
    kills, chance = effort.cases(6, 200), random.Random(20_262)
    async with HttpMint(mint_process.url, timeout_s=60) as mint:
        tokens = await buy_many(mint, mint_process, SATS, effort.cases(40, 1_500))
        server.start()
        done = asyncio.Event()
        async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
            shared: dict[str, Any] = {"http": http, "tokens": tokens, "done": done}
            payers = [Payer(chance=random.Random(number), **shared) for number in range(4)]
            living = [asyncio.create_task(payer.live()) for payer in payers]
            for number in range(kills):
                # Now and then there is time for what takes long: a request that is always cut off would never be answered.
                await asyncio.sleep(chance.uniform(0.05, 1.2) if number % 4 else LONG_PAUSE_S)
                await asyncio.to_thread(server.kill)
                await asyncio.to_thread(server.start)
            done.set()
            await asyncio.gather(*living)
            assert all(payer.threads for payer in payers), "nobody got anywhere"
            await _refund_all(payers)
            kept = await _stored_answers(payers)
        await asyncio.to_thread(server.stop)
        figures = await _check(server.database, mint, payers, kept, _given_answers(tmp_path / "answers"))
    for name, value in {"kills": kills, **figures}.items():
        record_property(name, value)


async def _refund_all(payers: list[Payer]) -> None:
    for payer in payers:
        for funding_id in payer.sessions:
            for _ in range(100):
                refunded = await payer.ask("POST", "/api/wallet/refund", {"funding_id": funding_id})
                if refunded.status_code == 200 or refunded.json().get("code") in ("refund_too_small", "nothing_left"):
                    break
                await asyncio.sleep(0.1)
            else:
                raise AssertionError(f"never refunded: {refunded.text}")


async def _stored_answers(payers: list[Payer]) -> dict[str, set[str]]:
    """What stands in each thread that is there, over all of its history."""
    stored: dict[str, set[str]] = {}
    for payer in payers:
        for thread_id in payer.threads - payer.taken_back:
            states = (await payer.ask("GET", f"/threads/{thread_id}/history?limit=1000")).json()
            messages = [message for state in states for message in state["values"].get("messages", ())]
            calls = [call for message in messages for call in message.get("tool_calls") or ()]
            names = {todo["content"] for call in calls for todo in call["args"]["todos"]}
            stored[thread_id] = names | {message["content"] for message in messages if message["type"] == "ai"}
    return stored


def _given_answers(path: Path) -> list[tuple[str, str]]:
    lines = [line.split() for line in path.read_text().splitlines()]
    return [(thread_id, name) for thread_id, name in lines]


async def _check(
    database: Path, mint: HttpMint, payers: list[Payer], kept: dict[str, set[str]], given: list[tuple[str, str]]
) -> dict[str, int]:
    charged, voided = _charges(database)
    owed = Counter(thread_id for thread_id, name in given if name in kept.get(thread_id, ()))
    answered = Counter(thread_id for thread_id, _ in given)
    stopped = {thread_id for payer in payers for thread_id in payer.stopped}
    for thread_id in kept:
        most = answered[thread_id] if thread_id in stopped else owed[thread_id]
        paid = charged[thread_id] - voided[thread_id]
        assert owed[thread_id] <= paid <= most, f"{thread_id}: charged or not, and not as answered"
    for payer in payers:
        for thread_id in payer.taken_back & payer.threads:
            assert charged[thread_id] - voided[thread_id] <= answered[thread_id]
    opened = Database(database)
    wallet = Wallet(DatabaseLedger(opened), [mint], SEED)
    audit = await wallet.audit()
    assert audit.adds_up
    assert audit.spent_elsewhere == 0
    for session in await wallet.ledger.sessions():
        assert session.credits == session.spent + session.balance + session.refunded + session.fees
        assert min(session.balance, session.reserved) >= 0
    refunds = await wallet.ledger.unclaimed()
    for refund in refunds:
        assert (await wallet.validate(decode_token(refund.token))).amount_sats == refund.amount, "every refund can be had"
    opened.close()
    return {
        "threads": len(kept),
        "charges": sum(charged.values()),
        "taken_back": sum(voided.values()),
        "answers": len(given),
        "refunds": len(refunds),
    }


def _charges(database: Path) -> tuple[Counter[str], Counter[str]]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT kind, key FROM payment_entries WHERE kind IN ('charge', 'void')").fetchall()
    sums: dict[str, Counter[str]] = {"charge": Counter(), "void": Counter()}
    for kind, key in rows:
        sums[kind][key.partition(":")[0]] += 1
    return sums["charge"], sums["void"]
