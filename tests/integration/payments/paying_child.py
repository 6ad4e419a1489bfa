"""A process that sells answers until it is killed, and goes on where it was when it is started again. Used by `test_killed.py`.

It has imported everything once and forks a seller for each line that it reads, so that a start takes a fraction of a second. A seller works
through all tokens of a file: fund, three paid calls, refund. An answer counts as checkpointed when its key is in the file of answers,
synced to the disk; keys in there are not asked for again. It says when it comes to the point where it is to be killed:

```
redeem, refund: the mint is about to be asked for the swap     reserve, settle: before each
charged: the answer is charged, and not checkpointed; here it waits for its end
```
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from stepwell.database.sqlite.database import Database
from stepwell.payments.cashu.money import BlindedMessage, BlindSignature, Proof
from stepwell.payments.cashu.tokens import decode_token
from stepwell.payments.ledger.database import DatabaseLedger
from stepwell.payments.wallet.mint import HttpMint
from stepwell.payments.wallet.wallet import Wallet

OWNER = "alice"
CALLS = 3
PRICE = 7


class Answers:
    """What was checkpointed: one key a line."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a+", encoding="utf-8")
        self._file.seek(0)
        # The last line may be half of one: then it was not checkpointed.
        self.known = {line.strip() for line in self._file.read().split("\n")[:-1]}
        self._file.write("\n")

    def checkpoint(self, key: str) -> None:
        self._file.write(f"{key}\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.known.add(key)


Point = Literal["redeem", "reserve", "settle", "charged", "refund"]


class End:
    """Where the seller is to be killed. It says so once: a kill may come late."""

    def __init__(self, point: Point | None) -> None:
        self._point = point

    async def come_to(self, point: Point) -> None:
        if point == self._point:
            self._point = None
            print(f"at {point}", flush=True)
            if point == "charged":
                await asyncio.sleep(3600)


class WatchedMint(HttpMint):
    """The real one, which says for what it is about to be asked."""

    def __init__(self, url: str, end: End) -> None:
        super().__init__(url, timeout_s=60)
        self._end = end
        self.point: Point | None = None
        """What the swaps from now on are for; none is told of while it recovers what others began."""

    async def swap(self, inputs: Sequence[Proof], outputs: Sequence[BlindedMessage]) -> list[BlindSignature]:
        if self.point:
            await self._end.come_to(self.point)
        return await super().swap(inputs, outputs)


async def sell(folder: Path, url: str, seed: bytes, end: End) -> None:
    database, answers = Database(folder / "stepwell.db"), Answers(folder / "answers")
    async with WatchedMint(url, end) as mint:
        wallet = Wallet(DatabaseLedger(database), [mint], seed)
        await wallet.recover()
        for number, token in enumerate(json.loads((folder / "tokens").read_text())):
            if f"refunded {number}" not in answers.known:
                mint.point = "redeem"
                await sell_one(wallet, answers, number, token, end)
                mint.point = "refund"
                await give_back(wallet, answers, number, token)
    database.close()


async def sell_one(wallet: Wallet, answers: Answers, number: int, token: str, end: End) -> None:
    session_id = (await wallet.fund(OWNER, decode_token(token))).session_id
    for call in range(CALLS):
        key = f"{number}/{call}"
        if key in answers.known:
            await wallet.confirm(session_id, [key])
            continue
        await end.come_to("reserve")
        reservation = await wallet.reserve(OWNER, session_id, key, PRICE)
        await asyncio.sleep(0.005)  # the model
        await end.come_to("settle")
        await wallet.settle(reservation, PRICE)
        await end.come_to("charged")
        answers.checkpoint(key)
        await wallet.confirm(session_id, [key])


async def give_back(wallet: Wallet, answers: Answers, number: int, token: str) -> None:
    session_id = (await wallet.fund(OWNER, decode_token(token))).session_id
    refund = await wallet.refund(OWNER, session_id)
    await wallet.claim(OWNER, refund.token_id)
    answers.checkpoint(f"refunded {number}")


def main() -> None:
    print("warm", flush=True)
    for line in sys.stdin:
        order: dict[str, Any] = json.loads(line)
        if number := order.get("reap"):
            _, status = os.waitpid(number, 0)
            print(f"gone {status}", flush=True)
        elif pid := os.fork():
            print(f"pid {pid}", flush=True)
        else:
            asyncio.run(sell(Path(order["folder"]), order["url"], bytes.fromhex(order["seed"]), End(order["until"])))
            print("done", flush=True)
            os._exit(0)


if __name__ == "__main__":
    main()
