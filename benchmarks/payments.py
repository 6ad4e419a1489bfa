"""Claim: paying for a model call costs next to nothing. An agent of many steps with and without payment, on a ledger on disk that is
flushed at every charge; how much longer it is from one call to the next. The mint is asked once, before the clock starts.

A charge is on the disk before its answer is handed on, so one flush of this disk is in the figure. The floor is that flush alone: the
smallest commit of SQLite that waits for the disk, in the same folder and in the same rounds.
"""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import tempfile
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler

from benchmarks.bench import Bench, Row
from stepwell import CashuPaymentMiddleware, create_deep_agent
from stepwell.database.sqlite.database import Database
from stepwell.payments.ledger.database import DatabaseLedger
from stepwell.payments.meter import WalletMeter
from stepwell.payments.pricing import FlatPrice
from stepwell.payments.wallet.wallet import Wallet
from stepwell.testing import MemoryMint, ScriptedModel, call, say

CALLS = 100


@dataclass(frozen=True)
class Pair:
    """A free run and a paid one, and the disk between them. Milliseconds per call."""

    longer: float
    free_cpu: float
    paid_cpu: float
    flush: float


def rows(bench: Bench) -> list[Row]:
    pairs = asyncio.run(_measure(rounds=3 if bench.quick else 9))
    bench.raw["payments"] = {"pairs_ms_per_call": [asdict(pair) for pair in pairs]}
    longer, flush = (statistics.median(getattr(pair, name) for pair in pairs) for name in ("longer", "flush"))
    free, paid = (min(getattr(pair, name) for pair in pairs) for name in ("free_cpu", "paid_cpu"))
    note = f"{CALLS} calls a run, {len(pairs)} pairs of runs; floor: one flush of this disk, which a charge waits for"
    return [
        Row("payment, per model call, p50", "≤ 2 ms", longer, flush, None, 2.0, form="{:.2f} ms".format, note=note),
        Row("CPU per paid model call", "–", paid / free, 1.0, None, None, note=f"floor {free:.2f} ms per free call"),
    ]


async def _measure(rounds: int) -> list[Pair]:
    with tempfile.TemporaryDirectory() as folder:
        database, mint = Database(Path(folder) / "stepwell.db"), MemoryMint()
        wallet = Wallet(DatabaseLedger(database), [mint], bytes(32))
        session_id = (await wallet.fund("payer", mint.issue(2**20))).session_id
        await wallet.release(await wallet.reserve("payer", session_id, "first", 1))
        payment = CashuPaymentMiddleware(WalletMeter(wallet, FlatPrice(1)), owner="payer")
        found = []
        for number in range(rounds + 1):
            config = {"configurable": {"thread_id": f"t{number}", "funding_id": session_id}, "recursion_limit": 10 * CALLS}
            free, free_cpu = await _time([], config)
            flush = _time_flush(Path(folder) / f"floor{number}.db")
            paid, paid_cpu = await _time([payment], config)
            found.append(Pair(paid - free, free_cpu, paid_cpu, flush))
        database.close()
    return found[1:]


class Starts(BaseCallbackHandler):
    """When each model call began."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_chat_model_start(self, *given: Any, **named: Any) -> None:
        self.times.append(time.perf_counter())


async def _time(middleware: list[Any], config: dict[str, Any]) -> tuple[float, float]:
    """Milliseconds from one model call to the next, the median of a run; and the processor's time per call."""
    plans = ([{"content": f"step {n}", "status": "pending"}] for n in range(CALLS - 1))
    replies = [*(call("write_todos", todos=plan) for plan in plans), say("done")]
    agent = create_deep_agent(ScriptedModel(replies), middleware=middleware)
    starts, cpu = Starts(), time.process_time()
    await agent.ainvoke({"messages": [("user", "go")]}, {**config, "callbacks": [starts]})
    cpu = time.process_time() - cpu
    return 1000 * statistics.median(after - before for before, after in pairwise(starts.times)), 1000 * cpu / CALLS


def _time_flush(path: Path) -> float:
    """Milliseconds of a commit of one row that waits for the disk, the median."""
    times = []
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE charges (sats INTEGER)")
        for _ in range(CALLS):
            began = time.perf_counter()
            connection.execute("INSERT INTO charges VALUES (1)")
            times.append(time.perf_counter() - began)
    return 1000 * statistics.median(times)
