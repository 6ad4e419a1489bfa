"""Claim: paying for a model call costs next to nothing. An agent of many steps with and without payment, on a ledger on disk that is
flushed at every charge; how much longer it is from one call to the next. The mint is asked once, before the clock starts."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler

from benchmarks.bench import Bench, Row
from stepwell import CashuPaymentMiddleware, create_deep_agent
from stepwell.payments.meter import WalletMeter
from stepwell.payments.pricing import FlatPrice
from stepwell.payments.wallet import Wallet
from stepwell.runs.embedded.file.database import Database
from stepwell.runs.embedded.ledger import EmbeddedLedger
from stepwell.testing import MemoryMint, ScriptedModel, call, say

CALLS = 100


def rows(bench: Bench) -> list[Row]:
    rounds = 3 if bench.quick else 9
    differences = asyncio.run(_measure(rounds))
    bench.raw["payments"] = {"overhead_ms_per_call": differences}
    note = f"{CALLS} calls a run, {rounds} pairs of runs; a charge waits for the disk"
    return [
        Row(
            "payment, per model call, p50",
            "≤ 2 ms",
            statistics.median(differences),
            None,
            None,
            2.0,
            form="{:.2f} ms".format,
            note=note,
        )
    ]


async def _measure(rounds: int) -> list[float]:
    """Milliseconds that a paid call takes longer than a free one, for each pair of runs."""
    with tempfile.TemporaryDirectory() as folder:
        database, mint = Database(Path(folder) / "stepwell.db"), MemoryMint()
        wallet = Wallet(EmbeddedLedger(database), [mint], bytes(32))
        session_id = (await wallet.fund("payer", mint.issue(2**20))).session_id
        await wallet.release(await wallet.reserve("payer", session_id, "first", 1))
        payment = CashuPaymentMiddleware(WalletMeter(wallet, FlatPrice(1)), owner="payer")
        found = []
        for number in range(rounds + 1):
            config = {"configurable": {"thread_id": f"t{number}", "funding_id": session_id}, "recursion_limit": 10 * CALLS}
            free = await _time([], config)
            paid = await _time([payment], config)
            found.append((paid - free) * 1000)
        database.close()
    return found[1:]


class Starts(BaseCallbackHandler):
    """When each model call began."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def on_chat_model_start(self, *given: Any, **named: Any) -> None:
        self.times.append(time.perf_counter())


async def _time(middleware: list[Any], config: dict[str, Any]) -> float:
    """Seconds from one model call to the next, the median of a run."""
    replies = [*(call("write_todos", todos=[]) for _ in range(CALLS - 1)), say("done")]
    agent = create_deep_agent(ScriptedModel(replies), middleware=middleware)
    starts = Starts()
    await agent.ainvoke({"messages": [("user", "go")]}, {**config, "callbacks": [starts]})
    return statistics.median(after - before for before, after in pairwise(starts.times))
