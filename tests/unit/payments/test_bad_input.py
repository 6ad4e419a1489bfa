"""Whatever is handed in, and whatever the mint does with it: each has a code of its own and a sentence that says what to do, nothing is
lost, and nothing is free."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Awaitable, Callable

import httpx
import pytest
from tests.unit.payments.conftest import SEED, SetClock

from stepwell.errors import PaymentError
from stepwell.payments.cashu.keysets import KeysetInfo
from stepwell.payments.cashu.tokens import Token, decode_token, encode_token
from stepwell.payments.ledger.memory import MemoryLedger
from stepwell.payments.wallet.mint import HttpMint
from stepwell.payments.wallet.wallet import Wallet
from stepwell.testing import MemoryMint


class Desk:
    """Where a payment is tried: a wallet with a mint in memory."""

    def __init__(self) -> None:
        self.mint = MemoryMint(fee_ppk=100)
        self.ledger = MemoryLedger()
        self.wallet = Wallet(self.ledger, [self.mint], SEED, pause_s=0)

    async def open_session(self) -> str:
        return (await self.wallet.fund("alice", self.mint.issue_token(100))).session_id

    async def fund(self, text: str, owner: str = "alice") -> None:
        await self.wallet.fund(owner, decode_token(text))

    async def fund_over_http(self, answer: Callable[[httpx.Request], httpx.Response], timeout_s: float = 60.0) -> None:
        async with HttpMint(self.mint.url, timeout_s=timeout_s, retry_pause_s=0, transport=httpx.MockTransport(answer)) as mint:
            await Wallet(self.ledger, [mint], SEED, pause_s=0).fund("alice", self.mint.issue_token(100))


async def garbage(desk: Desk) -> None:
    await desk.fund("please let me in")


async def truncated(desk: Desk) -> None:
    await desk.fund(desk.mint.issue(100)[:-20])


async def oversized(desk: Desk) -> None:
    await desk.fund("cashuA" + "A" * 300_000)


async def of_several_mints(desk: Desk) -> None:
    piece = {"amount": 8, "id": "00" * 8, "secret": "s", "C": decode_token(desk.mint.issue(8)).proofs[0].signature}
    entries = [{"mint": f"https://{n}.test", "proofs": [piece | {"secret": n}]} for n in "ab"]
    await desk.fund("cashuA" + base64.urlsafe_b64encode(json.dumps({"token": entries}).encode()).decode())


async def of_a_foreign_mint(desk: Desk) -> None:
    await desk.fund(MemoryMint("https://elsewhere.test").issue(100))


async def of_another_unit(desk: Desk) -> None:
    await desk.fund(encode_token(Token(desk.mint.url, "usd", decode_token(desk.mint.issue(100)).proofs)))


async def already_spent(desk: Desk) -> None:
    token = desk.mint.issue(100)
    desk.mint.spend(token)
    await desk.fund(token)


async def spent_between_validation_and_start(desk: Desk) -> None:
    token = desk.mint.issue(100)
    session_id = (await desk.wallet.fund("alice", decode_token(token))).session_id
    desk.mint.spend(token)
    await desk.wallet.reserve("alice", session_id, "k", 1)


async def used_by_two(desk: Desk) -> None:
    token = desk.mint.issue(100)
    await asyncio.gather(desk.fund(token), desk.fund(token, "bob"))


async def worth_less_than_its_fee(desk: Desk) -> None:
    await desk.fund(desk.mint.issue(1))


async def of_a_mint_that_is_down(desk: Desk) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    await desk.fund_over_http(refuse)


async def of_a_mint_that_is_slow(desk: Desk) -> None:
    def wait(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("slow", request=request)

    await desk.fund_over_http(wait)


async def of_a_mint_that_answers_with_a_page(desk: Desk) -> None:
    await desk.fund_over_http(lambda request: httpx.Response(200, html="<h1>Welcome</h1>"))


async def of_a_mint_that_lies_about_its_fee(desk: Desk) -> None:
    class LyingMint(MemoryMint):
        async def keysets(self, *, fresh: bool = False):
            return {name: KeysetInfo(name, info.unit, info.active, 0) for name, info in (await super().keysets()).items()}

    desk.mint = LyingMint(fee_ppk=100)
    desk.wallet = Wallet(desk.ledger, [desk.mint], SEED, pause_s=0)
    await desk.wallet.reserve("alice", await desk.open_session(), "k", 1)


async def of_a_keyset_that_is_gone(desk: Desk) -> None:
    token = decode_token(desk.mint.issue(8))
    (proof,) = token.proofs
    await desk.fund(encode_token(Token(desk.mint.url, "sat", (type(proof)(8, "00" * 8, proof.secret, proof.signature),))))


BAD: dict[str, Callable[[Desk], Awaitable[None]]] = {
    "token_malformed": garbage,
    "token_damaged": truncated,
    "token_too_large": oversized,
    "token_several_mints": of_several_mints,
    "mint_unknown": of_a_foreign_mint,
    "unit_unknown": of_another_unit,
    "token_spent": already_spent,
    "token_spent_since": spent_between_validation_and_start,
    "token_in_use": used_by_two,
    "token_below_fee": worth_less_than_its_fee,
    "mint_unavailable": of_a_mint_that_is_down,
    "mint_slow": of_a_mint_that_is_slow,
    "mint_answer": of_a_mint_that_answers_with_a_page,
    "mint_fee": of_a_mint_that_lies_about_its_fee,
    "keyset_unknown": of_a_keyset_that_is_gone,
}


async def refusal(make: Callable[[Desk], Awaitable[None]]) -> tuple[PaymentError, Desk]:
    desk = Desk()
    with pytest.raises(PaymentError) as refused:
        await make(desk)
    return refused.value, desk


@pytest.mark.parametrize(("code", "make"), BAD.items(), ids=[make.__name__ for make in BAD.values()])
async def test_bad_input_is_refused_with_its_code_and_nothing_is_credited(code: str, make: Callable[[Desk], Awaitable[None]]):
    error, desk = await refusal(make)
    assert error.code == code
    totals = await desk.ledger.totals()
    assert (totals.credits, totals.charges, totals.session_proofs, desk.mint.swaps) == (0, 0, 0, 0)
    desk.ledger.close()


async def test_each_bad_input_has_a_sentence_of_its_own_without_the_token():
    sentences = set()
    for make in BAD.values():
        error, desk = await refusal(make)
        desk.ledger.close()
        assert not re.search(r"cashu[AB]\w", str(error))
        assert str(error).endswith(".")
        sentences.add(str(error))
    assert len(sentences) == len(BAD)


async def test_a_keyset_that_was_rotated_away_meanwhile_is_still_money():
    desk = Desk()
    session_id = await desk.open_session()
    desk.mint.rotate(100)
    await desk.wallet.reserve("alice", session_id, "k", 1)
    assert (await desk.wallet.session("alice", session_id)).balance == 99
    desk.ledger.close()


async def test_a_clock_that_is_set_back_neither_ends_nor_frees_anything(clock: SetClock):
    mint, ledger = MemoryMint(fee_ppk=100), MemoryLedger(clock)
    wallet = Wallet(ledger, [mint], SEED, clock=clock, pause_s=0)
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    held = await wallet.reserve("alice", session_id, "k", 10)
    clock.move(days=-400)
    swept = await wallet.sweep()
    assert (swept.refunded, swept.released) == (0, 0)
    await wallet.settle(held, 10)
    assert (await wallet.session("alice", session_id)).spent == 10
    ledger.close()
