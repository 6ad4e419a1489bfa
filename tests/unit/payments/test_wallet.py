"""What a payer can rely on, with a mint in memory. Names of rows of the mission stand beside the tests that prove them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

import pytest
from tests.unit.payments.conftest import SEED, SetClock

from stepwell.errors import (
    ConfigurationError,
    MintAnswerError,
    MintRejectedError,
    MintUnavailableError,
    PaymentError,
    PaymentRequiredError,
    RefundUnavailableError,
    SessionClosedError,
    TokenInUseError,
    TokenInvalidError,
    TokenSpentError,
)
from stepwell.payments.cashu.curve import sign
from stepwell.payments.cashu.keysets import KeysetInfo
from stepwell.payments.cashu.locks import unlock
from stepwell.payments.cashu.tokens import Token, decode_token, encode_token
from stepwell.payments.ledger.memory import MemoryLedger
from stepwell.payments.wallet.mint import ProofState
from stepwell.payments.wallet.wallet import Wallet
from stepwell.testing import MemoryMint

G = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"


async def pay(wallet: Wallet, session_id: str, key: str, sats: int, owner: str = "alice") -> None:
    await wallet.settle(await wallet.reserve(owner, session_id, key, sats), sats)


async def test_p1_a_token_is_validated_without_being_redeemed(wallet: Wallet, mint: MemoryMint):
    """P1."""
    token = mint.issue(100)
    value = await wallet.validate(decode_token(token))
    assert (value.amount_sats, value.fee_sats, value.net_sats) == (100, 1, 99)
    funding = await wallet.fund("alice", decode_token(token))
    assert funding.state == "authorized"
    assert mint.swaps == 0
    assert mint.spend(token) == 100, "it is still the payer's"


async def test_p1_nothing_is_taken_until_work_starts_and_then_all_of_it_before_the_first_call(wallet: Wallet, mint: MemoryMint):
    """P1."""
    token = mint.issue(100)
    funding = await wallet.fund("alice", decode_token(token))
    await wallet.reserve("alice", funding.session_id, "k", 5)
    assert mint.swaps == 1
    with pytest.raises(TokenInvalidError):
        mint.spend(token)


async def test_p2_every_answer_is_charged_once(wallet: Wallet, mint: MemoryMint):
    """P2."""
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    for number in range(5):
        reservation = await wallet.reserve("alice", session_id, f"k{number}", 3)
        for _ in range(3):
            await wallet.settle(reservation, 3)
    session = await wallet.session("alice", session_id)
    assert (session.spent, session.balance) == (15, 84)
    assert mint.swaps == 1, "no mint is asked in the steady state"


async def test_p3_a_short_balance_goes_on_when_it_is_topped_up(wallet: Wallet, mint: MemoryMint):
    """P3."""
    session_id = (await wallet.fund("alice", mint.issue_token(10))).session_id
    await pay(wallet, session_id, "a", 6)
    with pytest.raises(PaymentRequiredError) as short:
        await wallet.reserve("alice", session_id, "b", 6)
    assert (short.value.needed_sats, short.value.balance_sats, short.value.code) == (6, 3, "balance_short")
    assert (await wallet.session("alice", session_id)).state == "exhausted"
    again = await wallet.fund("alice", mint.issue_token(10), session_id=session_id)
    assert again.session_id == session_id
    await pay(wallet, session_id, "b", 6)
    assert (await wallet.session("alice", session_id)).balance == 6


async def test_p4_the_rest_comes_back_as_a_token_until_it_is_spent(wallet: Wallet, mint: MemoryMint):
    """P4."""
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    await pay(wallet, session_id, "a", 30)
    refund = await wallet.refund("alice", session_id)
    tokens = {await wallet.claim("alice", refund.token_id) for _ in range(3)}
    assert len(tokens) == 1
    assert refund.amount == 68
    assert mint.spend(tokens.pop()) == 68
    with pytest.raises(RefundUnavailableError) as fetched:
        await wallet.claim("alice", refund.token_id)
    assert fetched.value.code == "refund_claimed"
    audit = await wallet.audit()
    assert audit.adds_up
    assert audit.spent_elsewhere == 0


async def test_p4_a_refund_is_locked_to_the_payers_key(wallet: Wallet, mint: MemoryMint):
    """P4."""
    private = bytes(31) + b"\x07"
    funding = await wallet.fund("alice", mint.issue_token(100), refund_pubkey=sign(G, private))
    await pay(wallet, funding.session_id, "a", 1)
    text = await wallet.claim("alice", (await wallet.refund("alice", funding.session_id)).token_id)
    with pytest.raises(TokenInvalidError):
        mint.spend(text)
    token = decode_token(text)
    opened = Token(token.mint, token.unit, tuple(unlock(proof, private) for proof in token.proofs))
    assert mint.spend(encode_token(opened)) == 97


async def test_a_token_that_nothing_was_taken_from_comes_back_as_it_is(wallet: Wallet, mint: MemoryMint):
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    refund = await wallet.refund("alice", session_id)
    assert refund.amount == 100
    assert mint.spend(await wallet.claim("alice", refund.token_id)) == 100
    assert mint.swaps == 0


async def test_a_session_that_spent_everything_closes_without_a_swap(wallet: Wallet, mint: MemoryMint):
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    await pay(wallet, session_id, "a", 99)
    refund = await wallet.refund("alice", session_id)
    assert (refund.amount, refund.claimed, mint.swaps) == (0, True, 1)
    payout = await wallet.payout(mint.url)
    assert mint.spend(payout.token) == 99
    assert (await wallet.audit()).adds_up


async def test_a_rest_below_the_fee_stays_with_the_session(wallet: Wallet, mint: MemoryMint):
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    await pay(wallet, session_id, "a", 98)
    with pytest.raises(RefundUnavailableError) as refused:
        await wallet.refund("alice", session_id)
    assert refused.value.code == "refund_below_fee"
    await pay(wallet, session_id, "b", 1)


async def test_the_sweeper_leaves_a_rest_below_the_fee_and_asks_no_mint_about_it_again(
    wallet: Wallet, mint: MemoryMint, clock: SetClock
):
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    await pay(wallet, session_id, "a", 98)
    await wallet.confirm(session_id)
    clock.move(hours=25)
    assert (await wallet.sweep()).failed == 1
    assert mint.spend((await wallet.payout(mint.url)).token) == 98, "what was spent is earned"
    assert (await wallet.sweep()).claimed == 1
    mint.down = True
    clock.move(hours=25)
    assert (await wallet.sweep()).failed == 0
    mint.down = False
    await pay(wallet, session_id, "b", 1)
    assert (await wallet.refund("alice", session_id)).amount == 0
    assert (await wallet.audit()).adds_up


async def test_a_refund_waits_for_calls_that_are_under_way(wallet: Wallet, mint: MemoryMint):
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    reservation = await wallet.reserve("alice", session_id, "a", 10)
    with pytest.raises(RefundUnavailableError) as refused:
        await wallet.refund("alice", session_id)
    assert refused.value.code == "calls_under_way"
    await wallet.release(reservation)
    assert (await wallet.refund("alice", session_id)).amount == 98


async def test_fifty_uses_of_one_token_at_once_are_one_credit(wallet: Wallet, mint: MemoryMint):
    token = mint.issue(100)

    async def use(number: int) -> str:
        session_id = (await wallet.fund("alice", decode_token(token))).session_id
        await wallet.reserve("alice", session_id, f"k{number}", 1)
        return session_id

    sessions = set(await asyncio.gather(*(use(number) for number in range(50))))
    assert len(sessions) == 1
    session = await wallet.session("alice", sessions.pop())
    assert (session.credits, session.reserved, mint.swaps) == (100, 50, 1)
    with pytest.raises(TokenInUseError):
        await wallet.fund("bob", decode_token(token))


async def test_fifty_wallets_with_one_ledger_credit_a_token_once(ledger: MemoryLedger, mint: MemoryMint):
    """As many processes: no lock between them but the ledger."""
    token = mint.issue(100)
    wallets = [Wallet(ledger, [mint], SEED, pause_s=0) for _ in range(50)]

    async def use(number: int) -> str:
        session_id = (await wallets[number].fund("alice", decode_token(token))).session_id
        await wallets[number].reserve("alice", session_id, f"k{number}", 1)
        return session_id

    (session_id,) = set(await asyncio.gather(*(use(number) for number in range(50))))
    session = await wallets[0].session("alice", session_id)
    assert (session.credits, session.fees, session.reserved, mint.swaps) == (100, 1, 50, 1)


class RacingMint(MemoryMint):
    """The first swap is still under way while a second worker asks for the same, looks, and sees nothing of it yet."""

    def __init__(self) -> None:
        super().__init__(fee_ppk=100)
        self.begun, self.looked, self.stale, self.asked = asyncio.Event(), asyncio.Event(), 2, 0

    async def swap(self, inputs, outputs):
        self.asked += 1
        self.begun.set()
        if self.asked == 2:
            raise MintRejectedError("pending", 11002)
        if self.asked == 1:
            await self.looked.wait()
        return await super().swap(inputs, outputs)

    async def restore(self, outputs):
        self.stale -= 1
        if self.stale == 0:
            self.looked.set()
            return {}
        return {} if self.stale > 0 else await super().restore(outputs)


async def test_a_worker_that_comes_too_early_does_not_give_up_what_another_is_doing(ledger: MemoryLedger):
    mint = RacingMint()
    first, second = (Wallet(ledger, [mint], SEED, pause_s=0.01) for _ in range(2))
    session_id = (await first.fund("alice", mint.issue_token(100))).session_id
    working = asyncio.create_task(first.reserve("alice", session_id, "a", 1))
    await mint.begun.wait()
    await second.reserve("alice", session_id, "b", 1)
    await working
    session = await first.session("alice", session_id)
    assert (session.credits, session.balance, session.reserved) == (100, 99, 2)
    assert (await first.audit()).adds_up


@pytest.mark.parametrize("state", ["PENDING", "SPENT"])
async def test_a_token_that_comes_twice_at_once_is_the_same_funding_though_the_first_is_being_redeemed(
    ledger: MemoryLedger, state: ProofState
):
    """The second asks the mint after the first was taken and before its swap is done, or after that."""

    class Overtaken(MemoryMint):
        questions = 0

        async def states(self, points: Sequence[str]) -> Mapping[str, ProofState]:
            self.questions += 1
            if self.questions > 1:
                return await super().states(points)
            overtaking.append(await first.fund("alice", decode_token(token)))
            return dict.fromkeys(points, state)

    mint, overtaking = Overtaken(), []
    first, second = (Wallet(ledger, [mint], SEED, pause_s=0.01) for _ in range(2))
    token = mint.issue(100)
    assert (await second.fund("alice", decode_token(token))).session_id == overtaking[0].session_id


async def test_a_token_that_is_just_being_spent_elsewhere_is_not_taken(ledger: MemoryLedger):
    class Busy(MemoryMint):
        async def states(self, points: Sequence[str]) -> Mapping[str, ProofState]:
            return dict.fromkeys(points, "PENDING")

    mint = Busy()
    with pytest.raises(MintUnavailableError, match="being spent somewhere else"):
        await Wallet(ledger, [mint], SEED).fund("alice", mint.issue_token(100))


async def test_a_token_that_is_spent_between_validation_and_start_is_rejected(wallet: Wallet, mint: MemoryMint):
    token = mint.issue(100)
    session_id = (await wallet.fund("alice", decode_token(token))).session_id
    mint.spend(token)
    with pytest.raises(TokenSpentError):
        await wallet.reserve("alice", session_id, "k", 1)
    session = await wallet.session("alice", session_id)
    assert (session.state, session.reason, session.credits) == ("rejected", "token_spent", 0)
    await wallet.fund("alice", mint.issue_token(50), session_id=session_id)
    await pay(wallet, session_id, "k", 1)


async def test_an_answer_that_was_lost_after_the_swap_is_found_again(wallet: Wallet, mint: MemoryMint):
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    mint.faults = ["after"]
    await pay(wallet, session_id, "k", 1)
    mint.faults = ["after"]
    assert (await wallet.refund("alice", session_id)).amount == 97
    assert mint.swaps == 2
    assert (await wallet.audit()).adds_up


async def test_a_mint_that_is_down_takes_nothing_and_the_swap_goes_on_later(wallet: Wallet, mint: MemoryMint):
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    mint.faults = ["after", *["before"] * 99]
    with pytest.raises(MintUnavailableError):
        await _go_down_after_swaps(wallet, mint, session_id)
    assert (await wallet.session("alice", session_id)).state == "redeeming"
    assert await wallet.recover() == 1
    mint.down = False
    assert await wallet.recover() == 0
    assert (await wallet.session("alice", session_id)).balance == 99
    assert mint.swaps == 1


async def _go_down_after_swaps(wallet: Wallet, mint: MemoryMint, session_id: str) -> None:
    try:
        await wallet.reserve("alice", session_id, "k", 1)
    finally:
        mint.down, mint.faults = True, []


async def test_a_keyset_that_is_rotated_away_is_no_loss(wallet: Wallet, mint: MemoryMint):
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    mint.rotate(200)
    await pay(wallet, session_id, "k", 9)
    mint.rotate(100)
    assert (await wallet.refund("alice", session_id)).amount > 80
    assert (await wallet.audit()).adds_up


async def test_a_topping_up_that_fails_leaves_the_session_as_it_is(wallet: Wallet, mint: MemoryMint):
    session_id = (await wallet.fund("alice", mint.issue_token(10))).session_id
    await pay(wallet, session_id, "a", 5)
    second = mint.issue(100)
    await wallet.fund("alice", decode_token(second), session_id=session_id)
    mint.spend(second)
    with pytest.raises(TokenSpentError):
        await wallet.reserve("alice", session_id, "b", 50)
    session = await wallet.session("alice", session_id)
    assert (session.state, session.balance) == ("active", 4)
    assert (await wallet.refund("alice", session_id)).amount == 3


async def test_twenty_runs_on_one_session_never_overdraw_it(wallet: Wallet, mint: MemoryMint):
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id

    async def run(number: int) -> int:
        charged = 0
        for call in range(10):
            try:
                reservation = await wallet.reserve("alice", session_id, f"{number}/{call}", 3)
            except PaymentRequiredError:
                return charged
            await asyncio.sleep(0)
            charged += (await wallet.settle(reservation, 2)).charged
        return charged

    charged = sum(await asyncio.gather(*(run(number) for number in range(20))))
    session = await wallet.session("alice", session_id)
    assert session.spent == charged
    assert session.balance == 99 - charged >= 0


async def test_an_idle_session_is_paid_back_and_a_busy_one_is_not(wallet: Wallet, mint: MemoryMint, clock: SetClock):
    idle = (await wallet.fund("alice", mint.issue_token(100))).session_id
    await pay(wallet, idle, "a", 10)
    clock.move(hours=23)
    busy = (await wallet.fund("bob", mint.issue_token(100))).session_id
    held = await wallet.reserve("bob", busy, "b", 10)
    clock.move(hours=2)
    swept = await wallet.sweep()
    assert (swept.refunded, swept.released) == (1, 1), "a call that never came back is released after an hour"
    assert (await wallet.session("alice", idle)).state == "refund_ready"
    assert (await wallet.session("bob", busy)).state == "active"
    assert (await wallet.settle(held, 10)).charged == 10, "it came back after all"
    mint.spend(await wallet.claim("alice", (await wallet.refund("alice", idle)).token_id))
    assert (await wallet.sweep()).claimed == 1
    assert (await wallet.session("alice", idle)).state == "refunded"


class CountingMint(MemoryMint):
    """Counts how often it is asked what is spent."""

    questions = 0

    async def states(self, points):
        self.questions += 1
        return await super().states(points)


async def test_a_sweep_asks_once_about_all_refunds_that_nobody_has_fetched(ledger: MemoryLedger, clock: SetClock):
    mint = CountingMint(fee_ppk=100)
    wallet = Wallet(ledger, [mint], SEED, clock=clock, pause_s=0)
    refunds = []
    for number in range(5):
        session_id = (await wallet.fund("alice", mint.issue_token(20))).session_id
        await pay(wallet, session_id, f"k{number}", 3)
        refunds.append(await wallet.refund("alice", session_id))
    for refund in refunds[:3]:
        mint.spend(refund.token)
    mint.questions = 0
    assert (await wallet.sweep()).claimed == 3
    assert mint.questions == 1
    assert len(await ledger.unclaimed()) == 2


class WatchedMint(MemoryMint):
    """Tells of every swap that is about to be made."""

    before_swap: Callable[[], Awaitable[object]] | None = None

    async def swap(self, inputs, outputs):
        if self.before_swap:
            watch, self.before_swap = self.before_swap, None
            await watch()
        return await super().swap(inputs, outputs)


async def test_a_session_that_is_used_again_while_others_are_swept_is_left_alone(ledger: MemoryLedger, clock: SetClock):
    mint = WatchedMint(fee_ppk=100)
    wallet = Wallet(ledger, [mint], SEED, clock=clock, pause_s=0)
    sessions = []
    for number in range(2):
        sessions.append((await wallet.fund("alice", mint.issue_token(100))).session_id)
        await pay(wallet, sessions[-1], f"k{number}", 10)
        clock.move(seconds=1)
    clock.move(hours=25)
    mint.before_swap = lambda: pay(wallet, sessions[1], "again", 10)
    assert (await wallet.sweep()).refunded == 1
    assert [(await wallet.session(None, session_id)).state for session_id in sessions] == ["refund_ready", "active"]


async def test_many_earnings_are_paid_out_in_tokens_that_can_be_fetched_again(wallet: Wallet, mint: MemoryMint):
    """A wallet takes no token of a thousand pieces, and neither do we."""
    for number in range(25):
        session_id = (await wallet.fund("alice", mint.issue_token(63))).session_id
        await pay(wallet, session_id, f"k{number}", 62)
        await wallet.refund("alice", session_id)
    earned = []
    for most in (100, 25):
        payout = await wallet.payout(mint.url)
        assert len(decode_token(await wallet.claim(None, payout.token_id)).proofs) == most
        earned.append(mint.spend(payout.token))
    assert sum(earned) == 25 * 62
    with pytest.raises(RefundUnavailableError, match="earned"):
        await wallet.payout(mint.url)


async def test_a_clock_that_is_set_back_ends_nothing(wallet: Wallet, mint: MemoryMint, clock: SetClock):
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    await pay(wallet, session_id, "a", 10)
    clock.move(days=-365)
    await pay(wallet, session_id, "b", 10)
    assert (await wallet.sweep()).refunded == 0
    assert (await wallet.session("alice", session_id)).spent == 20


async def test_a_mint_that_contradicts_itself_is_an_operators_matter(wallet: Wallet, mint: MemoryMint, ledger: MemoryLedger):
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    await pay(wallet, session_id, "a", 10)
    held = await ledger.session_proofs(session_id)
    mint.spend(encode_token(Token(mint.url, "sat", tuple(held))))
    assert (await wallet.audit()).spent_elsewhere == 99
    with pytest.raises(MintAnswerError) as contradiction:
        await wallet.refund("alice", session_id)
    assert contradiction.value.code == "mint_unknown_outcome"
    assert (await wallet.session("alice", session_id)).state == "error"
    (operation,) = await ledger.operations(("unknown",))
    await ledger.reopen(operation.operation_id)
    assert await wallet.recover() == 1


class LyingMint(MemoryMint):
    """Says that it takes no fee, and takes one."""

    async def keysets(self, *, fresh: bool = False):
        return {name: type(info)(name, info.unit, info.active, 0) for name, info in (await super().keysets()).items()}


async def test_a_mint_that_lies_about_its_fee_gets_nothing(ledger: MemoryLedger):
    mint = LyingMint(fee_ppk=100)
    wallet = Wallet(ledger, [mint], SEED, pause_s=0)
    token = mint.issue(100)
    session_id = (await wallet.fund("alice", decode_token(token))).session_id
    with pytest.raises(MintRejectedError):
        await wallet.reserve("alice", session_id, "k", 1)
    assert (await wallet.session("alice", session_id)).state == "rejected"
    assert mint.spend(token) == 100, "it is still the payer's"


class FeeRaisingMint(MemoryMint):
    """Keysets of the first version say nothing of fees, so a mint can raise one; what it said before is remembered for a while."""

    def __init__(self) -> None:
        super().__init__(fee_ppk=100, version="00")
        self._remembered: dict[str, KeysetInfo] | None = None

    def raise_fee(self, fee_ppk: int) -> None:
        for name, keyset in self._keysets.items():
            self._keysets[name] = replace(keyset, info=replace(keyset.info, fee_ppk=fee_ppk))

    async def keysets(self, *, fresh: bool = False):
        if fresh or self._remembered is None:
            self._remembered = dict(await super().keysets())
        return self._remembered


async def test_a_fee_that_was_raised_since_is_paid_and_the_token_is_taken(ledger: MemoryLedger):
    mint = FeeRaisingMint()
    wallet = Wallet(ledger, [mint], SEED, pause_s=0)
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    mint.raise_fee(1000)
    await pay(wallet, session_id, "k", 1)
    session = await wallet.session("alice", session_id)
    assert (session.credits, session.fees, session.spent) == (100, 3, 1)
    mint.raise_fee(2000)
    assert (await wallet.refund("alice", session_id)).amount > 80
    assert (await wallet.audit()).adds_up


async def test_each_bad_token_has_its_code(wallet: Wallet, mint: MemoryMint):
    other = MemoryMint("https://elsewhere.test")
    spent = mint.issue(8)
    mint.spend(spent)
    token = decode_token(mint.issue(8))
    (proof, *_) = token.proofs
    forged = Token(
        mint.url, "sat", (type(proof)(proof.amount, proof.keyset_id, "another secret", proof.signature, proof.dleq),)
    )
    unknown = Token(mint.url, "sat", (type(proof)(8, "00" * 8, proof.secret, proof.signature),))
    bad = {
        "mint_unknown": other.issue(8),
        "unit_unknown": encode_token(Token(mint.url, "usd", token.proofs)),
        "token_spent": spent,
        "token_forged": encode_token(forged),
        "token_locked": mint.issue(8, lock_key=sign(G, bytes(31) + b"\x07")),
        "token_below_fee": mint.issue(1),
        "keyset_unknown": encode_token(unknown),
    }
    for code, text in bad.items():
        for ask in (
            lambda text=text: wallet.validate(decode_token(text)),
            lambda text=text: wallet.fund("alice", decode_token(text)),
        ):
            with pytest.raises(PaymentError) as refused:
                await ask()
            assert refused.value.code == code
    assert await wallet.ledger.sessions() == []


async def test_a_token_sent_before_is_found_by_its_owner_and_refused_to_others(wallet: Wallet, mint: MemoryMint):
    token = mint.issue_token(8)
    assert await wallet.find_funding("alice", token) is None
    funding = await wallet.fund("alice", token)
    assert await wallet.find_funding("alice", token) == funding
    for owner, session_id in (("bob", None), ("alice", "another")):
        with pytest.raises(TokenInUseError, match="counts where it was sent first"):
            await wallet.find_funding(owner, token, session_id)


async def test_a_session_is_the_owners(wallet: Wallet, mint: MemoryMint):
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    await pay(wallet, session_id, "a", 10)
    refund = await wallet.refund("alice", session_id)
    for ask in (
        lambda: wallet.session("bob", session_id),
        lambda: wallet.reserve("bob", session_id, "k", 1),
        lambda: wallet.refund("bob", session_id),
        lambda: wallet.claim("bob", refund.token_id),
        lambda: wallet.fund("bob", mint.issue_token(4), session_id=session_id),
    ):
        with pytest.raises(Exception, match=r"No (payment session|refund)"):
            await ask()


async def test_a_closed_session_takes_no_money(wallet: Wallet, mint: MemoryMint):
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    await pay(wallet, session_id, "a", 10)
    await wallet.refund("alice", session_id)
    token = mint.issue(50)
    with pytest.raises(SessionClosedError):
        await wallet.fund("alice", decode_token(token), session_id=session_id)
    assert mint.spend(token) == 50


async def test_no_money_is_in_a_log_an_error_or_a_repr(
    wallet: Wallet, mint: MemoryMint, ledger: MemoryLedger, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    text = mint.issue(100)
    secrets = [proof.secret for proof in decode_token(text).proofs]
    funding = await wallet.fund("alice", decode_token(text))
    await pay(wallet, funding.session_id, "a", 10)
    mint.faults = ["after"]
    refund = await wallet.refund("alice", funding.session_id)
    secrets += [proof.secret for proof in decode_token(refund.token).proofs]
    shown = caplog.text + repr(funding) + repr(refund) + repr(await ledger.operations(("done",)))
    shown += repr(await ledger.entries("alice", funding.session_id))
    assert "cashu" not in shown
    assert not any(secret in shown for secret in secrets)


def test_a_short_seed_is_refused(ledger: MemoryLedger, mint: MemoryMint):
    with pytest.raises(ConfigurationError, match="seed"):
        Wallet(ledger, [mint], b"short")
