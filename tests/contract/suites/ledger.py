"""What every ledger must do, as tests. Subclass `LedgerConformance` and give it an `open_ledger` fixture.

```python
class TestMyLedger(LedgerConformance):
    @pytest.fixture
    def open_ledger(self, tmp_path):
        return lambda: MyLedger(tmp_path)     # each call opens the same, at first empty, place anew
```

A ledger that lives in memory only gives the same object each time. The ledger is tried as the wallet uses it, with a mint in memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from stepwell.errors import (
    NotFoundError,
    PaymentRequiredError,
    RefundUnavailableError,
    SessionClosedError,
    TokenInUseError,
    TokenInvalidError,
)
from stepwell.payments.cashu.money import total
from stepwell.payments.cashu.outputs import make_proofs
from stepwell.payments.cashu.tokens import decode_token
from stepwell.payments.ledger.ledger import Debt, Funding, HandedOut, Ledger, NewFunding, Operation, Session
from stepwell.payments.wallet.wallet import Wallet
from stepwell.testing.mint import MemoryMint

OpenLedger = Callable[[], Ledger]
OWNER = "alice"
SEED = b"a seed of thirty-two bytes.....!"


class LedgerCase:
    """A ledger, a mint and a wallet between them."""

    @pytest.fixture
    def open_ledger(self) -> OpenLedger:
        raise NotImplementedError("Give the suite a function that opens the ledger to test.")

    @pytest.fixture
    def ledger(self, open_ledger: OpenLedger) -> Ledger:
        return open_ledger()

    @pytest.fixture
    def mint(self) -> MemoryMint:
        return MemoryMint(fee_ppk=100)

    @pytest.fixture
    def wallet(self, ledger: Ledger, mint: MemoryMint) -> Wallet:
        return Wallet(ledger, [mint], SEED, pause_s=0)

    @pytest.fixture
    async def funded(self, wallet: Wallet, mint: MemoryMint) -> Session:
        """100 sats, of which the mint keeps one: 99 can be spent."""
        funding = await wallet.fund(OWNER, mint.issue_token(100))
        await wallet.release(await wallet.reserve(OWNER, funding.session_id, "first", 1))
        return await wallet.session(OWNER, funding.session_id)


def token_of(mint: MemoryMint, amount: int, session_id: str, **more: object) -> NewFunding:
    text = mint.issue(amount)
    token = decode_token(text)
    points = tuple(proof.point for proof in token.proofs)
    made = NewFunding(token.fingerprint, session_id, OWNER, mint.url, amount, 1, points, text)
    return replace(made, **more)  # type: ignore[arg-type]  # a test says what it changes


async def require_balanced(ledger: Ledger, session_id: str) -> Session:
    """The sums of a session are those of its lines, and nobody is overdrawn."""
    session = await ledger.session(None, session_id)
    lines = dict.fromkeys(("credit", "charge", "void", "refund", "fee"), 0)
    for entry in await ledger.entries(None, session_id):
        lines[entry.kind] += entry.amount
    assert session.credits == lines["credit"]
    assert session.spent == lines["charge"] - lines["void"]
    assert (session.refunded, session.fees) == (lines["refund"], lines["fee"])
    assert session.credits == session.spent + session.balance + session.refunded + session.fees
    assert 0 <= session.reserved <= session.balance
    return session


class TokenRules(LedgerCase):
    async def test_a_token_makes_a_session(self, ledger: Ledger, mint: MemoryMint) -> None:
        funding = await ledger.add_funding(token_of(mint, 64, "s", ceiling=50, refund_key="02ab"))
        session = await ledger.session(OWNER, "s")
        assert (funding.state, funding.amount, session.state, session.balance) == ("authorized", 64, "authorized", 0)
        assert (session.ceiling, session.refund_key, session.mint) == (50, "02ab", mint.url)

    async def test_the_same_token_again_is_the_same(self, ledger: Ledger, mint: MemoryMint) -> None:
        new = token_of(mint, 64, "s")
        first = await ledger.add_funding(new)
        assert await ledger.add_funding(replace(new, session_id="t")) == first
        assert [session.session_id for session in await ledger.sessions(OWNER)] == ["s"]

    async def test_a_token_belongs_to_who_handed_it_in_first(self, ledger: Ledger, mint: MemoryMint) -> None:
        new = token_of(mint, 64, "s")
        await ledger.add_funding(new)
        with pytest.raises(TokenInUseError):
            await ledger.add_funding(replace(new, owner="bob", session_id="t"))
        with pytest.raises(TokenInUseError):
            await ledger.add_funding(replace(new, fingerprint="another", session_id="t"))
        with pytest.raises(NotFoundError):
            await ledger.session(None, "t")

    async def test_of_many_at_once_one_is_kept(self, open_ledger: OpenLedger, mint: MemoryMint) -> None:
        new, ledgers = token_of(mint, 64, "s"), [open_ledger(), open_ledger()]
        kept = await asyncio.gather(
            *(ledgers[n % 2].add_funding(replace(new, session_id=f"s{n}")) for n in range(20)), return_exceptions=True
        )
        assert len({funding.session_id for funding in kept if isinstance(funding, Funding)}) == 1
        assert len(await ledgers[0].sessions()) == 1

    async def test_a_session_is_topped_up_with_money_of_its_mint(self, ledger: Ledger, mint: MemoryMint) -> None:
        await ledger.add_funding(token_of(mint, 64, "s"))
        await ledger.add_funding(token_of(mint, 32, "s", top_up=True))
        assert [funding.amount for funding in await ledger.fundings("s", ("authorized",))] == [64, 32]
        with pytest.raises(TokenInvalidError):
            await ledger.add_funding(token_of(MemoryMint("https://other.test"), 32, "s", top_up=True))
        with pytest.raises(NotFoundError):
            await ledger.add_funding(token_of(mint, 32, "nothing", top_up=True))
        with pytest.raises(NotFoundError):
            await ledger.add_funding(token_of(mint, 32, "s", top_up=True, owner="bob"))

    async def test_what_nobody_approved_is_not_redeemed(self, ledger: Ledger, mint: MemoryMint) -> None:
        await ledger.add_funding(token_of(mint, 64, "s", approved=False))
        assert (await ledger.session(OWNER, "s")).state == "pending"
        with pytest.raises(PaymentRequiredError) as short:
            await ledger.reserve(OWNER, "s", "k", 1)
        assert short.value.code == "balance_short"
        assert (await ledger.approve("s")).state == "authorized"
        with pytest.raises(PaymentRequiredError) as short:
            await ledger.reserve(OWNER, "s", "k", 1)
        assert short.value.code == "unredeemed"

    async def test_nobody_else_sees_a_session(self, ledger: Ledger, funded: Session) -> None:
        for question in (
            lambda: ledger.session("bob", funded.session_id),
            lambda: ledger.entries("bob", funded.session_id),
            lambda: ledger.reserve("bob", funded.session_id, "k", 1),
            lambda: ledger.session(OWNER, "nothing"),
        ):
            with pytest.raises(NotFoundError):
                await question()
        assert await ledger.sessions("bob") == []
        assert (await ledger.session(None, funded.session_id)).owner == OWNER


class CallRules(LedgerCase):
    async def test_a_call_is_reserved_and_charged(self, ledger: Ledger, funded: Session) -> None:
        held = await ledger.reserve(OWNER, funded.session_id, "k", 10)
        assert (await require_balanced(ledger, funded.session_id)).available == 89
        settled = await ledger.settle("k", held.attempt, 7)
        assert (settled.state, settled.charged) == ("settled", 7)
        session = await require_balanced(ledger, funded.session_id)
        assert (session.spent, session.balance, session.reserved) == (7, 92, 0)

    async def test_the_same_charge_again_charges_nothing(self, ledger: Ledger, funded: Session) -> None:
        held = await ledger.reserve(OWNER, funded.session_id, "k", 10)
        first = await ledger.settle("k", held.attempt, 10)
        assert await ledger.settle("k", held.attempt, 10) == first
        await ledger.release("k", held.attempt)
        assert (await require_balanced(ledger, funded.session_id)).spent == 10

    async def test_a_failed_call_costs_nothing(self, ledger: Ledger, funded: Session) -> None:
        held = await ledger.reserve(OWNER, funded.session_id, "k", 10)
        for _ in range(2):
            assert (await ledger.release("k", held.attempt)).state == "released"
        session = await require_balanced(ledger, funded.session_id)
        assert (session.spent, session.available) == (0, 99)
        assert (await ledger.reserve(OWNER, funded.session_id, "k", 10)).attempt == held.attempt + 1

    async def test_a_call_that_is_reserved_again_is_reserved_once(self, ledger: Ledger, funded: Session) -> None:
        for amount in (10, 20, 5):
            await ledger.reserve(OWNER, funded.session_id, "k", amount)
        assert (await require_balanced(ledger, funded.session_id)).reserved == 5

    async def test_an_answer_that_was_lost_is_not_charged_and_is_counted(self, ledger: Ledger, funded: Session) -> None:
        first = await ledger.reserve(OWNER, funded.session_id, "k", 10)
        await ledger.settle("k", first.attempt, 10)
        second = await ledger.reserve(OWNER, funded.session_id, "k", 10)
        assert second.attempt == first.attempt + 1
        await ledger.settle("k", second.attempt, 8)
        await ledger.settle("k", first.attempt, 10)
        session = await require_balanced(ledger, funded.session_id)
        assert (session.spent, session.lost_answers) == (8, 1)

    async def test_an_answer_that_was_kept_is_charged_again_when_it_is_asked_for_again(
        self, ledger: Ledger, funded: Session
    ) -> None:
        for _ in range(2):
            held = await ledger.reserve(OWNER, funded.session_id, "k", 10)
            await ledger.settle("k", held.attempt, 10)
            assert await ledger.confirm(funded.session_id, ["k"]) == 1
        session = await require_balanced(ledger, funded.session_id)
        assert (session.spent, session.lost_answers) == (20, 0)
        assert await ledger.confirm(funded.session_id) == 0

    async def test_nobody_is_overdrawn(self, open_ledger: OpenLedger, funded: Session) -> None:
        ledgers = [open_ledger(), open_ledger()]
        answers = await asyncio.gather(
            *(ledgers[n % 2].reserve(OWNER, funded.session_id, f"k{n}", 10) for n in range(20)), return_exceptions=True
        )
        assert sum(isinstance(answer, PaymentRequiredError) for answer in answers) == 11
        assert (await require_balanced(ledgers[0], funded.session_id)).available == 9

    async def test_a_balance_between_nothing_and_the_price_is_short(self, ledger: Ledger, funded: Session) -> None:
        with pytest.raises(PaymentRequiredError) as short:
            await ledger.reserve(OWNER, funded.session_id, "k", 100)
        assert (short.value.code, short.value.needed_sats, short.value.balance_sats) == ("balance_short", 100, 99)
        assert (await ledger.session(OWNER, funded.session_id)).state == "exhausted"
        await ledger.reserve(OWNER, funded.session_id, "k", 99)
        assert (await ledger.session(OWNER, funded.session_id)).state == "active"

    async def test_an_answer_that_cost_more_takes_what_is_free_and_no_more(self, ledger: Ledger, funded: Session) -> None:
        other = await ledger.reserve(OWNER, funded.session_id, "other", 50)
        held = await ledger.reserve(OWNER, funded.session_id, "k", 10)
        assert (await ledger.settle("k", held.attempt, 1000)).charged == 49
        assert (await ledger.settle("other", other.attempt, 50)).charged == 50
        assert (await require_balanced(ledger, funded.session_id)).balance == 0

    async def test_a_ceiling_holds(self, ledger: Ledger, wallet: Wallet, mint: MemoryMint) -> None:
        funding = await wallet.fund(OWNER, mint.issue_token(100), ceiling_sats=15)
        await wallet.settle(await wallet.reserve(OWNER, funding.session_id, "a", 10), 10)
        with pytest.raises(PaymentRequiredError) as short:
            await wallet.reserve(OWNER, funding.session_id, "b", 6)
        assert short.value.code == "ceiling"
        await wallet.reserve(OWNER, funding.session_id, "b", 5)

    async def test_a_ceiling_holds_for_an_answer_that_cost_more(self, ledger: Ledger, wallet: Wallet, mint: MemoryMint) -> None:
        session_id = (await wallet.fund(OWNER, mint.issue_token(100), ceiling_sats=25)).session_id
        first, second = [await wallet.reserve(OWNER, session_id, key, 10) for key in "ab"]
        assert (await ledger.settle("a", first.attempt, 1000)).charged == 15, "the other call's money is not touched"
        assert (await ledger.settle("b", second.attempt, 10)).charged == 10
        assert (await require_balanced(ledger, session_id)).spent == 25

    async def test_of_two_tries_of_one_call_the_later_one_is_charged(self, ledger: Ledger, funded: Session) -> None:
        """The earlier one belongs to a worker that was taken for dead: its answer goes nowhere, whenever it comes."""
        first, second = [await ledger.reserve(OWNER, funded.session_id, "k", 10) for _ in range(2)]
        assert (await ledger.settle("k", first.attempt, 10)).charged == 0
        assert (await ledger.settle("k", second.attempt, 10)).charged == 10
        assert (await ledger.settle("k", first.attempt, 10)).charged == 0
        assert (await require_balanced(ledger, funded.session_id)).spent == 10

    async def test_open_reservations_are_listed(self, ledger: Ledger, funded: Session) -> None:
        await ledger.reserve(OWNER, funded.session_id, "k", 10)
        later = datetime.now(UTC) + timedelta(hours=1)
        assert [held.key for held in await ledger.held_since(later)] == ["k"]
        assert await ledger.held_since(later - timedelta(hours=2)) == []


class SwapRules(LedgerCase):
    async def operation(self, ledger: Ledger, mint: MemoryMint) -> Operation:
        """A redemption that is written down."""
        wallet = Wallet(ledger, [mint], SEED, pause_s=0)
        funding = await wallet.fund(OWNER, mint.issue_token(100))
        mint.faults = ["before"] * 99
        with pytest.raises(Exception, match="no answer"):
            await wallet.reserve(OWNER, funding.session_id, "k", 1)
        mint.faults = []
        (operation,) = await ledger.operations()
        return operation

    async def test_outputs_are_stored_before_the_mint_is_asked(self, ledger: Ledger, mint: MemoryMint) -> None:
        operation = await self.operation(ledger, mint)
        assert (operation.kind, operation.amount, operation.fee) == ("redeem", 100, 1)
        assert sum(output.amount for output in operation.outputs) == 99
        assert mint.swaps == 0
        assert (await ledger.session(OWNER, operation.session_id)).state == "redeeming"

    async def test_of_many_workers_one_completes(self, open_ledger: OpenLedger, mint: MemoryMint) -> None:
        ledgers = [open_ledger(), open_ledger()]
        operation = await self.operation(ledgers[0], mint)
        signatures = await mint.swap(operation.inputs, [output.message for output in operation.outputs])
        keysets = {output.keyset_id: await mint.keyset(output.keyset_id) for output in operation.outputs}
        proofs = make_proofs(operation.outputs, signatures, keysets)
        won = await asyncio.gather(*(ledgers[n % 2].complete(operation.operation_id, proofs) for n in range(10)))
        assert won.count(True) == 1
        session = await require_balanced(ledgers[0], operation.session_id)
        assert (session.state, session.credits, session.fees, session.balance) == ("active", 100, 1, 99)
        assert not await ledgers[0].fail(operation.operation_id, "late", final=True)

    async def test_a_swap_that_was_refused_takes_nothing(self, ledger: Ledger, mint: MemoryMint) -> None:
        operation = await self.operation(ledger, mint)
        assert await ledger.fail(operation.operation_id, "token_spent", final=True)
        session = await require_balanced(ledger, operation.session_id)
        assert (session.state, session.reason, session.credits) == ("rejected", "token_spent", 0)

    async def test_a_swap_that_was_given_up_and_done_after_all_is_credited_once(self, ledger: Ledger, mint: MemoryMint) -> None:
        operation = await self.operation(ledger, mint)
        assert await ledger.fail(operation.operation_id, "token_spent", final=True)
        signatures = await mint.swap(operation.inputs, [output.message for output in operation.outputs])
        keysets = {output.keyset_id: await mint.keyset(output.keyset_id) for output in operation.outputs}
        proofs = make_proofs(operation.outputs, signatures, keysets)
        assert [await ledger.complete(operation.operation_id, proofs) for _ in range(2)] == [True, False]
        session = await require_balanced(ledger, operation.session_id)
        assert (session.state, session.balance) == ("active", 99)

    async def test_a_swap_that_may_be_tried_again_leaves_the_token(self, ledger: Ledger, mint: MemoryMint) -> None:
        operation = await self.operation(ledger, mint)
        assert await ledger.fail(operation.operation_id, "keyset", final=False)
        assert (await ledger.session(OWNER, operation.session_id)).state == "authorized"
        assert len(await ledger.fundings(operation.session_id, ("authorized",))) == 1

    async def test_an_unknown_outcome_waits_for_an_operator(self, ledger: Ledger, mint: MemoryMint) -> None:
        operation = await self.operation(ledger, mint)
        assert await ledger.mark_unknown(operation.operation_id, "contradiction")
        assert (await ledger.session(OWNER, operation.session_id)).state == "error"
        assert [known.state for known in await ledger.operations(("unknown",))] == ["unknown"]
        assert (await ledger.reopen(operation.operation_id)).state == "pending"
        assert (await ledger.session(OWNER, operation.session_id)).state == "redeeming"
        assert (await ledger.operation(operation.operation_id)).state == "pending"
        for look in (ledger.reopen, ledger.operation):
            with pytest.raises(NotFoundError):
                await look("nothing")

    async def test_a_session_has_one_swap_at_a_time(self, ledger: Ledger, mint: MemoryMint) -> None:
        operation = await self.operation(ledger, mint)
        other = replace(operation, operation_id="other")
        begun = await ledger.begin(other)
        assert begun is not None
        assert begun.operation_id == operation.operation_id

    async def test_counters_are_given_once(self, open_ledger: OpenLedger) -> None:
        ledgers = [open_ledger(), open_ledger()]
        firsts = await asyncio.gather(*(ledgers[n % 2].next_counter("00ab", 3) for n in range(10)))
        assert sorted(firsts) == list(range(0, 30, 3))
        assert await ledgers[0].next_counter("00cd", 1) == 0


class RefundRules(LedgerCase):
    async def test_a_refund_is_stored_before_it_is_shown_and_again_the_same(
        self, ledger: Ledger, wallet: Wallet, mint: MemoryMint, funded: Session
    ) -> None:
        await wallet.settle(await wallet.reserve(OWNER, funded.session_id, "k", 10), 10)
        refund = await wallet.refund(OWNER, funded.session_id)
        assert await wallet.refund(OWNER, funded.session_id) == refund == await ledger.refund_of(funded.session_id)
        session = await require_balanced(ledger, funded.session_id)
        assert (session.state, session.refunded, session.spent, session.balance) == ("refund_ready", 88, 10, 0)
        assert mint.spend(await wallet.claim(OWNER, refund.token_id)) == 88
        with pytest.raises(RefundUnavailableError):
            await wallet.claim(OWNER, refund.token_id)
        assert (await ledger.session(OWNER, funded.session_id)).state == "refunded"
        with pytest.raises(NotFoundError):
            await ledger.handed_out("bob", refund.token_id)

    async def test_a_closed_session_takes_and_gives_nothing(
        self, ledger: Ledger, wallet: Wallet, mint: MemoryMint, funded: Session
    ) -> None:
        await wallet.refund(OWNER, funded.session_id)
        with pytest.raises(SessionClosedError):
            await ledger.reserve(OWNER, funded.session_id, "k", 1)
        with pytest.raises(SessionClosedError):
            await ledger.add_funding(token_of(mint, 32, funded.session_id, top_up=True))

    async def test_a_session_that_spent_everything_ends_although_a_token_waits_for_approval(
        self, ledger: Ledger, wallet: Wallet, mint: MemoryMint, funded: Session
    ) -> None:
        await wallet.settle(await wallet.reserve(OWNER, funded.session_id, "k", 99), 99)
        token = mint.issue(50)
        await wallet.fund(OWNER, decode_token(token), session_id=funded.session_id, approved=False)
        assert (await wallet.refund(OWNER, funded.session_id)).amount == 0
        assert [waiting.state for waiting in await ledger.fundings(funded.session_id)] == ["redeemed", "returned"]
        assert mint.spend(token) == 50, "nobody has touched it"

    async def test_what_was_spent_is_earned_though_the_rest_is_not_worth_its_fee(
        self, ledger: Ledger, wallet: Wallet, mint: MemoryMint, funded: Session
    ) -> None:
        """99 sats in pieces of 64, 32, 2 and 1, of which 98 were spent: three pieces are earned, one stays the payer's."""
        held = await wallet.reserve(OWNER, funded.session_id, "k", 98)
        await wallet.settle(held, 98)
        assert await ledger.keep_rest(funded.session_id) == 0, "the answer may still turn out to be lost"
        await wallet.confirm(funded.session_id)
        assert await ledger.keep_rest(funded.session_id) == 98
        assert await ledger.keep_rest(funded.session_id) == 0
        assert [proof.amount for proof in await ledger.session_proofs(funded.session_id)] == [1]
        assert (await require_balanced(ledger, funded.session_id)).reason == "refund_below_fee"
        assert mint.spend((await wallet.payout(mint.url)).token) == 98
        await wallet.fund(OWNER, mint.issue_token(32), session_id=funded.session_id)
        await wallet.settle(await wallet.reserve(OWNER, funded.session_id, "l", 10), 10)
        assert (await wallet.refund(OWNER, funded.session_id)).amount == 1 + 31 - 10 - 1
        assert (await require_balanced(ledger, funded.session_id)).balance == 0
        assert (await wallet.audit()).adds_up

    async def test_money_that_went_back_untouched_can_be_handed_in_again(
        self, ledger: Ledger, wallet: Wallet, mint: MemoryMint
    ) -> None:
        """By whoever has it now, as it was or as the one token that two became."""
        first = (await wallet.fund(OWNER, mint.issue_token(32))).session_id
        await wallet.fund(OWNER, mint.issue_token(64), session_id=first)
        back = await wallet.claim(OWNER, (await wallet.refund(OWNER, first)).token_id)
        second = (await wallet.fund("bob", decode_token(back))).session_id
        again = await wallet.claim("bob", (await wallet.refund("bob", second)).token_id)
        third = (await wallet.fund(OWNER, decode_token(again))).session_id
        assert len({first, second, third}) == 3
        with pytest.raises(TokenInUseError):
            await wallet.fund("bob", decode_token(again))
        await wallet.settle(await wallet.reserve(OWNER, third, "k", 10), 10)
        assert (await require_balanced(ledger, third)).balance == 96 - 1 - 10
        assert (await wallet.sweep()).claimed == 2, "what was handed back is spent now"
        assert (await wallet.audit()).adds_up

    async def test_earnings_are_paid_out_once(self, ledger: Ledger, wallet: Wallet, mint: MemoryMint, funded: Session) -> None:
        await wallet.settle(await wallet.reserve(OWNER, funded.session_id, "k", 40), 40)
        await wallet.refund(OWNER, funded.session_id)
        proofs = await ledger.earnings(mint.url)
        first, second = (HandedOut(name, "payout", None, "", mint.url, 40, False, "token") for name in "pq")
        await ledger.pay_out(first, proofs)
        with pytest.raises(RefundUnavailableError):
            await ledger.pay_out(second, proofs)
        totals = await ledger.totals()
        assert (totals.earned_proofs, totals.paid_out, totals.charges) == (0, 40, 40)

    async def test_a_session_ends_with_its_last_thread(self, ledger: Ledger, funded: Session) -> None:
        long_ago = datetime.now(UTC) - timedelta(days=1)
        for thread in ("one", "two"):
            await ledger.attach(funded.session_id, thread)
        await ledger.detach("one")
        assert await ledger.sessions(None, ("active",), long_ago) == []
        await ledger.detach("two")
        assert [session.session_id for session in await ledger.sessions(None, ("active",), long_ago)] == [funded.session_id]
        assert (await require_balanced(ledger, funded.session_id)).balance == 99

    async def test_what_is_here_and_what_is_owed_are_told_by_mint(
        self, ledger: Ledger, wallet: Wallet, mint: MemoryMint, funded: Session
    ) -> None:
        await wallet.fund(OWNER, mint.issue_token(32))
        (debt,) = await ledger.owed()
        assert debt == Debt(mint.url, sessions=1, balances_sats=99, tokens=1, tokens_sats=32)
        (holding,) = await ledger.holdings()
        assert (holding.mint, total(holding.for_payers), holding.earned) == (mint.url, 99, ())
        await wallet.settle(await wallet.reserve(OWNER, funded.session_id, "k", 40), 40)
        await wallet.refund(OWNER, funded.session_id)
        (debt,) = await ledger.owed()
        assert (debt.balances_sats, debt.tokens_sats, debt.refunds, debt.total_sats) == (0, 32, 1, 32 + debt.refunds_sats)
        (holding,) = await ledger.holdings()
        assert (holding.for_payers, total(holding.earned)) == ((), 40)

    async def test_the_sessions_that_were_touched_last_are_found(
        self, ledger: Ledger, wallet: Wallet, mint: MemoryMint, funded: Session
    ) -> None:
        other = (await wallet.fund(OWNER, mint.issue_token(32))).session_id
        await wallet.settle(await wallet.reserve(OWNER, funded.session_id, "k", 1), 1)
        assert [session.session_id for session in await ledger.sessions(newest=1)] == [funded.session_id]
        assert [session.session_id for session in await ledger.sessions(newest=9)] == [funded.session_id, other]
        assert [session.session_id for session in await ledger.sessions(None, ("authorized",), newest=9)] == [other]

    async def test_a_lost_answer_is_taken_back_once_and_a_kept_one_never(
        self, ledger: Ledger, wallet: Wallet, funded: Session
    ) -> None:
        lost = await wallet.settle(await wallet.reserve(OWNER, funded.session_id, "lost", 10), 10)
        kept = await wallet.settle(await wallet.reserve(OWNER, funded.session_id, "kept", 10), 10)
        assert [charge.key for charge in await ledger.undecided(funded.session_id)] == ["lost", "kept"]
        await ledger.confirm(funded.session_id, ["kept"])
        for charge in (lost, kept, lost):
            await ledger.take_back(charge.key, charge.attempt)
        assert await ledger.undecided() == []
        session = await require_balanced(ledger, funded.session_id)
        assert (session.spent, session.lost_answers) == (10, 1)

    async def test_a_waived_charge_costs_nothing_and_a_confirmed_one_stands(
        self, ledger: Ledger, wallet: Wallet, funded: Session
    ) -> None:
        for key in ("refused", "kept"):
            await wallet.settle(await wallet.reserve(OWNER, funded.session_id, key, 10), 10)
        await ledger.confirm(funded.session_id, ["kept"])
        for key in ("refused", "kept", "refused"):
            session = await ledger.waive(key)
        assert (session.spent, session.reserved, session.lost_answers) == (10, 0, 0)
        assert await ledger.undecided() == []
        assert await ledger.confirm(funded.session_id, ["refused"]) == 0
        await require_balanced(ledger, funded.session_id)

    async def test_a_thread_knows_the_sessions_it_draws_on(self, ledger: Ledger, mint: MemoryMint, funded: Session) -> None:
        other = (await ledger.add_funding(token_of(mint, 8, "other"))).session_id
        for session_id in (funded.session_id, other, funded.session_id):
            await ledger.attach(session_id, "one")
        assert [session.session_id for session in await ledger.thread_sessions(OWNER, "one")] == [funded.session_id, other]
        assert await ledger.thread_sessions("somebody else", "one") == []
        assert await ledger.thread_sessions(OWNER, "two") == []

    async def test_what_was_stored_is_there_when_opened_again(
        self, open_ledger: OpenLedger, wallet: Wallet, funded: Session
    ) -> None:
        await wallet.settle(await wallet.reserve(OWNER, funded.session_id, "k", 10), 10)
        again = open_ledger()
        assert (await require_balanced(again, funded.session_id)).spent == 10
        assert sum(proof.amount for proof in await again.session_proofs(funded.session_id)) == 99


class LedgerConformance(TokenRules, CallRules, SwapRules, RefundRules):
    """The rules of `stepwell.payments.ledger.ledger`, each as a test."""
