"""Whatever payers do in whatever order, and whatever the mint does with it: every sat is where the lines say, after every step."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from tests.conftest import Effort
from tests.unit.payments.conftest import SetClock

from stepwell.errors import NotFoundError, PaymentError, TokenInvalidError
from stepwell.payments.cashu.tokens import decode_token
from stepwell.payments.ledger.ledger import Reservation
from stepwell.payments.ledger.memory import MemoryLedger
from stepwell.payments.wallet.wallet import Wallet
from stepwell.testing import MemoryMint

OWNERS = ("alice", "bob")
STEPS = 100
REFUSALS = {"balance_short", "ceiling", "token_in_use", "session_closed"}
MOST_ROUNDS = 20
FAULTS = st.lists(st.sampled_from([None, "before", "after", "pending"]), max_size=4) | st.sampled_from(
    [["before"] * 3, ["after", "before", "before"], ["pending"] * 4]
)
AMOUNTS = st.sampled_from([1, 2, 3, 16, 20, 32, 48, 64, 128])  # of few pieces: signatures are what takes the time
ANY = st.integers(min_value=0, max_value=10**6)
MOSTLY = st.sampled_from([True, True, True, False])


class History(RuleBasedStateMachine):
    """Payers, the operator and a mint with faults. The mint keeps its own books, and is the judge at the end."""

    counted: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.mint, self.clock = MemoryMint(fee_ppk=100), SetClock()
        self.ledger = MemoryLedger(self.clock)
        self.wallets = [Wallet(self.ledger, [self.mint], bytes(32), clock=self.clock, pause_s=0) for _ in range(2)]
        self.tokens: list[str] = []
        self.sessions: list[tuple[str, str]] = []
        self.held: list[Reservation] = []
        self.calls = 0

    def teardown(self) -> None:
        self.check_everything_comes_back()
        self.ledger.close()
        self.loop.close()

    def do(self, what: Callable[[Wallet], Awaitable[Any]], choose: int = 0) -> Any:
        """One step of a payer's or the operator's; being refused is an answer too."""
        History.counted["steps"] += 1
        try:
            return self.loop.run_until_complete(what(self.wallets[choose % 2]))
        except (PaymentError, NotFoundError) as error:
            History.counted[getattr(error, "code", "not_found")] += 1
            return None

    @rule(amount=AMOUNTS, owner=st.sampled_from(OWNERS), faults=FAULTS, ceiling=st.none() | st.integers(0, 40), approved=MOSTLY)
    def buys_and_funds(self, amount: int, owner: str, faults: list, ceiling: int | None, approved: bool) -> None:
        self.mint.faults = faults
        token = self.mint.issue(amount)
        self.tokens.append(token)
        if funding := self.do(lambda wallet: wallet.fund(owner, decode_token(token), ceiling_sats=ceiling, approved=approved)):
            self.sessions.append((owner, funding.session_id))

    @rule(where=ANY)
    def approves(self, where: int) -> None:
        if self.sessions:
            owner, session_id = self.sessions[where % len(self.sessions)]
            self.do(lambda wallet: wallet.approve(owner, session_id), where)

    @rule(which=ANY, owner=st.sampled_from(OWNERS), where=ANY)
    def sends_a_token_again(self, which: int, owner: str, where: int) -> None:
        if self.tokens:
            session = self.sessions[where % len(self.sessions)][1] if self.sessions and where % 3 else None
            self.do(
                lambda wallet: wallet.fund(owner, decode_token(self.tokens[which % len(self.tokens)]), session_id=session),
                where,
            )

    @rule(amount=AMOUNTS, where=ANY, approved=MOSTLY)
    def tops_up(self, amount: int, where: int, approved: bool) -> None:
        if self.sessions:
            owner, session_id = self.sessions[where % len(self.sessions)]
            token = self.mint.issue(amount)
            self.tokens.append(token)
            self.do(lambda wallet: wallet.fund(owner, decode_token(token), session_id=session_id, approved=approved), where)

    @rule(which=ANY)
    def cheats(self, which: int) -> None:
        if self.tokens:
            self._spend(self.tokens[which % len(self.tokens)])

    @rule(where=ANY, sats=st.integers(min_value=0, max_value=20), again=st.booleans(), faults=FAULTS)
    def reserves(self, where: int, sats: int, again: bool, faults: list) -> None:
        if not self.sessions:
            return
        self.mint.faults = faults
        owner, session_id = self.sessions[where % len(self.sessions)]
        self.calls += 0 if again and self.calls else 1
        if held := self.do(lambda wallet: wallet.reserve(owner, session_id, f"call {self.calls}", sats), where):
            self.held.append(held)

    @rule(which=ANY, cost=st.integers(min_value=0, max_value=30))
    def settles(self, which: int, cost: int) -> None:
        if self.held:
            held = self.held[which % len(self.held)]
            self.do(lambda wallet: wallet.settle(held, cost), which)

    @rule(which=ANY)
    def releases(self, which: int) -> None:
        if self.held:
            self.do(lambda wallet: wallet.release(self.held[which % len(self.held)]), which)

    @rule(which=ANY, refused=st.booleans())
    def takes_back(self, which: int, refused: bool) -> None:
        if self.held:
            held = self.held[which % len(self.held)]
            waive = lambda wallet: wallet.ledger.waive(held.key)  # noqa: E731 - one of two, chosen below
            take_back = lambda wallet: wallet.ledger.take_back(held.key, held.attempt)  # noqa: E731
            self.do(waive if refused else take_back, which)

    @rule(where=ANY)
    def confirms(self, where: int) -> None:
        if self.sessions:
            self.do(lambda wallet: wallet.confirm(self.sessions[where % len(self.sessions)][1]))

    @rule(where=ANY, faults=FAULTS)
    def asks_for_a_refund(self, where: int, faults: list) -> None:
        if self.sessions:
            self.mint.faults = faults
            owner, session_id = self.sessions[where % len(self.sessions)]
            self.do(lambda wallet: wallet.refund(owner, session_id), where)

    @rule(fetch=st.booleans())
    def fetches_what_is_ready(self, fetch: bool) -> None:
        for ready in self.loop.run_until_complete(self.ledger.unclaimed()):
            token = self.do(lambda wallet, ready=ready: wallet.claim(None, ready.token_id))
            if fetch and token:
                assert self._spend(token) in (ready.amount, 0)

    @precondition(lambda self: self.loop.run_until_complete(self.ledger.earnings(self.mint.url)))
    @rule()
    def pays_out(self) -> None:
        self.do(lambda wallet: wallet.payout(self.mint.url))

    @rule(down=st.booleans(), faults=FAULTS)
    def recovers(self, down: bool, faults: list) -> None:
        self.mint.faults = faults
        self.mint.down = down
        self.do(lambda wallet: wallet.recover())
        self.mint.down = False

    @rule(hours=st.sampled_from([-48, 0, 2, 25]), faults=FAULTS)
    def sweeps(self, hours: int, faults: list) -> None:
        self.mint.faults = faults
        self.clock.move(hours=hours)
        self.do(lambda wallet: wallet.sweep())

    @rule(fee=st.sampled_from([0, 100, 1000]))
    def rotates(self, fee: int) -> None:
        if len(self.mint._keysets) < 4:
            self.mint.rotate(fee)

    @invariant()
    def every_sat_is_accounted_for(self) -> None:
        totals = self.loop.run_until_complete(self.ledger.totals())
        assert totals.credits == totals.charges + totals.balances + totals.refunds + totals.fees
        assert totals.session_proofs + totals.earned_proofs + totals.paid_out == totals.charges + totals.balances
        for session in self.loop.run_until_complete(self.ledger.sessions()):
            assert 0 <= session.reserved <= session.balance
            if session.ceiling is not None:
                assert session.spent + session.reserved <= session.ceiling

    def _spend(self, token: str) -> int:
        try:
            return self.mint.spend(token)
        except TokenInvalidError:
            return 0

    def check_everything_comes_back(self) -> None:
        """At the end the mint is well again: whatever was begun is finished, and all that was ever issued is found."""
        self.mint.faults, self.mint.down = [], False
        assert self.loop.run_until_complete(self.wallets[0].recover()) == 0
        for held in self.held:
            self.do(lambda wallet, held=held: wallet.release(held))
        for owner, session_id in self.sessions:
            self.do(lambda wallet, owner=owner, session_id=session_id: wallet.refund(owner, session_id))
        audit = self.loop.run_until_complete(self.wallets[0].audit())
        assert audit.adds_up
        assert audit.spent_elsewhere == 0
        self._compare_with_the_mint()

    def _compare_with_the_mint(self) -> None:
        """Payers spend all that is theirs: refunds, payouts, and tokens that were never taken. What the mint still owes is what is held
        here, to the sat: nothing was lost on the way, and nothing came from nowhere."""
        run = self.loop.run_until_complete
        for ready in run(self.ledger.unclaimed()):
            self._spend(ready.token)
        for token in self.tokens:
            self._spend(token)
        found = run(self.ledger.totals())
        assert self.mint.outstanding == found.session_proofs + found.earned_proofs


@pytest.mark.prove
@pytest.mark.timeout(1800)
def test_credits_are_charges_balance_refunds_and_fees_after_every_step(
    effort: Effort, record_property: Callable[[str, object], None]
):
    """Mission: 20,000 steps in `make prove`, 2,000 in the test run, exact to one sat after every one of them."""
    History.counted = Counter()
    rounds = 0
    # What is drawn also depends on which modules are loaded, for Hypothesis draws constants from them: some rounds meet no ceiling.
    while History.counted["steps"] < effort.cases(2_000, 20_000) or (
        not History.counted.keys() >= REFUSALS and rounds < MOST_ROUNDS
    ):
        rounds += 1
        seed(rounds)(History)
        run_state_machine_as_test(
            History,
            settings=settings(
                max_examples=25,
                stateful_step_count=STEPS,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
    for what, count in sorted(History.counted.items()):
        record_property(what, count)
    assert REFUSALS - History.counted.keys() == set(), "every way to be refused was tried"
