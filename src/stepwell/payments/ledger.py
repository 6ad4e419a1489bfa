"""Where money is remembered: what came in, what was charged, what went back, and what is under way at a mint.

Rules of every implementation (`tests/contract/suites/ledger.py` checks them):

- What a method did has happened, durably, when it returns: a credit, a charge and a refund survive the power going out.
- Each method is one transaction. Nothing is ever deleted, and entries are never changed.
- For every session, after every call: credits = charges + balance + refunds + fees, and the balance is never below what is reserved.
- An effect key has one open reservation at most. The same call again gives the same answer.
- Marking an operation done is a compare-and-swap: of any number of workers that try, one does it.
- Whoever is not the owner of a session is told that there is none. `owner=None` is the operator, who sees all.

Threads come and go without touching it: what a deleted thread owes, or is owed, stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from stepwell.payments.cashu.money import Proof
from stepwell.payments.cashu.outputs import Output
from stepwell.payments.states import EntryKind, FundingState, OperationState, ReservationState, SessionState

OperationKind = Literal["redeem", "settle"]
HandedOutKind = Literal["refund", "payout"]


@dataclass(frozen=True)
class Session:
    """A payer's account. Sums are in sats; `credits` is before the mint's fees."""

    session_id: str
    owner: str
    state: SessionState
    mint: str
    created_at: datetime
    touched_at: datetime
    credits: int = 0
    spent: int = 0
    refunded: int = 0
    fees: int = 0
    reserved: int = 0
    lost_answers: int = 0
    """Calls whose answer was lost in a crash. They were not charged."""
    ceiling: int | None = None
    refund_key: str | None = None
    ending: bool = False
    """Its last thread is gone: the sweeper settles it."""
    reason: str | None = None

    @property
    def balance(self) -> int:
        """What the payer still has, reserved or not."""
        return self.credits - self.spent - self.refunded - self.fees

    @property
    def available(self) -> int:
        """What the next call may cost at most."""
        return self.balance - self.reserved


@dataclass(frozen=True)
class NewFunding:
    """A token that was looked at and found good. `token` is bearer money."""

    fingerprint: str
    session_id: str
    owner: str
    mint: str
    amount: int
    fee: int
    points: tuple[str, ...]
    token: str = field(repr=False)
    approved: bool = True
    top_up: bool = False
    """The session is there already; otherwise it is made."""
    ceiling: int | None = None
    refund_key: str | None = None


@dataclass(frozen=True)
class Funding:
    """A token that belongs to a session."""

    fingerprint: str
    session_id: str
    owner: str
    state: FundingState
    amount: int
    fee: int
    token: str = field(repr=False)
    reason: str | None = None


@dataclass(frozen=True)
class Reservation:
    """Money set aside for one call. `key` names the effect, `attempt` the try."""

    key: str
    attempt: int
    session_id: str
    state: ReservationState
    held: int
    charged: int = 0
    session: Session | None = field(default=None, compare=False, repr=False)
    """The session as a charge left it."""


@dataclass(frozen=True)
class Operation:
    """A swap, written down before the mint is asked. `inputs` and `outputs` are bearer money."""

    operation_id: str
    kind: OperationKind
    session_id: str
    owner: str
    mint: str
    amount: int
    """What goes in."""
    fee: int
    inputs: tuple[Proof, ...] = field(repr=False)
    outputs: tuple[Output, ...] = field(repr=False)
    fingerprint: str | None = None
    """The token that is being redeemed."""
    state: OperationState = "pending"
    reason: str | None = None
    created_at: datetime | None = None


@dataclass(frozen=True)
class HandedOut:
    """Money that was made ready for somebody: a refund, or the operator's earnings. `token` is bearer money."""

    token_id: str
    kind: HandedOutKind
    session_id: str | None
    owner: str
    mint: str
    amount: int
    claimed: bool
    token: str = field(repr=False)
    created_at: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Entry:
    """A line of the ledger. A `void` takes a charge back."""

    seq: int
    session_id: str
    owner: str
    kind: EntryKind
    amount: int
    key: str
    at: datetime


@dataclass(frozen=True)
class Totals:
    """Everything, over all sessions, for an audit."""

    credits: int
    charges: int
    refunds: int
    fees: int
    balances: int
    session_proofs: int
    """What is held for payers and not yet parted from what they spent."""
    earned_proofs: int
    paid_out: int


@dataclass(frozen=True)
class Debt:
    """What payers could ask for at one mint."""

    mint: str
    sessions: int = 0
    """How many have a balance."""
    balances_sats: int = 0
    tokens: int = 0
    """Handed in and not redeemed yet, or being redeemed: the payer can have them back, or gets credit for them."""
    tokens_sats: int = 0
    refunds: int = 0
    """Ready, and not fetched and spent."""
    refunds_sats: int = 0

    @property
    def total_sats(self) -> int:
        return self.balances_sats + self.tokens_sats + self.refunds_sats


@dataclass(frozen=True)
class Holding:
    """Money of one mint that is here and that no swap is under way for. The proofs are bearer money."""

    mint: str
    for_payers: tuple[Proof, ...] = field(default=(), repr=False)
    earned: tuple[Proof, ...] = field(default=(), repr=False)


class Ledger(Protocol):
    """Remembers money."""

    async def add_funding(self, new: NewFunding) -> Funding:
        """Keep a token. The same one again, by the same owner, gives what is stored; otherwise `TokenInUseError`. One that went back
        untouched is as good as new."""
        ...

    async def approve(self, session_id: str) -> Session:
        """The payer agrees: what waits may be redeemed."""
        ...

    async def session(self, owner: str | None, session_id: str) -> Session:
        """One session; `NotFoundError` if there is none, or not the owner's."""
        ...

    async def sessions(
        self,
        owner: str | None = None,
        states: Sequence[SessionState] = (),
        idle_since: datetime | None = None,
        *,
        newest: int | None = None,
    ) -> list[Session]:
        """Sessions, oldest first: in these states, and untouched since a moment or ending, where that is asked. With `newest`, only so
        many: those that were touched last, the last one first."""
        ...

    async def fundings(self, session_id: str, states: Sequence[FundingState] = ()) -> list[Funding]:
        """A session's tokens, oldest first."""
        ...

    async def funding(self, fingerprint: str) -> Funding | None: ...

    async def reserve(
        self, owner: str | None, session_id: str, key: str, amount: int, *, confirms: Sequence[str] = ()
    ) -> Reservation:
        """Set money aside. `PaymentRequiredError` if there is too little (`unredeemed`: a token waits to be redeemed; `ceiling`;
        `balance_short`). A key that was charged for an answer nobody confirmed is charged back first: that answer was lost. `confirms`
        are keys to confirm in the same transaction."""
        ...

    async def settle(self, key: str, attempt: int, cost: int) -> Reservation:
        """Charge for an answer, once. Gives the session with it."""
        ...

    async def release(self, key: str, attempt: int) -> Reservation:
        """The call failed: the money is free again."""
        ...

    async def confirm(self, session_id: str, keys: Sequence[str] | None = None) -> int:
        """The answers of these charges are checkpointed: they stand, also those of another session. All of the session's without `keys`.
        Gives how many."""
        ...

    async def undecided(self, session_id: str | None = None) -> list[Reservation]:
        """Money that is held for calls, and charges of which nobody knows yet whether their answers were kept; of one session or of all,
        the oldest first."""
        ...

    async def take_back(self, key: str, attempt: int) -> Reservation:
        """The answer of this charge was lost: it costs nothing, and is counted. A charge that was confirmed stands."""
        ...

    async def waive(self, key: str) -> Session:
        """What this charge paid for came to nothing, by a rule of ours: it costs nothing. A charge that was confirmed stands. Gives the
        session as it stands then."""
        ...

    async def held_since(self, moment: datetime) -> list[Reservation]:
        """Reservations that have been open since before a moment."""
        ...

    async def next_counter(self, keyset_id: str, count: int) -> int:
        """The first of `count` counters that nobody else will get (NUT-13)."""
        ...

    async def begin(self, operation: Operation) -> Operation | None:
        """Write a swap down, and put its session and token in the state for it. The one that is under way already, if there is; none if
        the session or token has gone on meanwhile."""
        ...

    async def complete(self, operation_id: str, proofs: Sequence[Proof], handed_out: HandedOut | None = None) -> bool:
        """The mint did it: keep what it gave. False if another worker was first."""
        ...

    async def fail(self, operation_id: str, reason: str, *, final: bool) -> bool:
        """The mint did not do it. `final`: the token is no good; otherwise it may be tried again."""
        ...

    async def mark_unknown(self, operation_id: str, reason: str) -> bool:
        """Nobody can tell what the mint did: an operator has to."""
        ...

    async def reopen(self, operation_id: str) -> Operation:
        """An operator has looked: an operation of unknown outcome is tried again."""
        ...

    async def operations(self, states: Sequence[OperationState] = ("pending",)) -> list[Operation]: ...

    async def operation(self, operation_id: str) -> Operation:
        """One swap, whatever became of it; `NotFoundError` if there is none."""
        ...

    async def session_proofs(self, session_id: str) -> list[Proof]:
        """What is held for a session."""
        ...

    async def close_empty(self, session_id: str, new: HandedOut) -> HandedOut | None:
        """A session without anything left: what it holds is earned, and `new` is a refund of nothing. None if there is something left."""
        ...

    async def keep_rest(self, session_id: str) -> int:
        """A session whose rest is not worth the mint's fee stays as it is, with that as its reason. What was spent is earned, as far as
        whole pieces go; gives how much."""
        ...

    async def hand_back(self, session_id: str, new: HandedOut) -> HandedOut:
        """A session that nothing was taken from: its tokens go back as they are."""
        ...

    async def handed_out(self, owner: str | None, token_id: str) -> HandedOut: ...

    async def refund_of(self, session_id: str) -> HandedOut | None: ...

    async def unclaimed(self, owner: str | None = None) -> list[HandedOut]: ...

    async def mark_claimed(self, token_id: str) -> None:
        """The mint says that it is spent."""
        ...

    async def earnings(self, mint: str) -> list[Proof]:
        """What was earned and has not been paid out, the largest pieces first."""
        ...

    async def pay_out(self, new: HandedOut, proofs: Sequence[Proof]) -> HandedOut:
        """Take earned proofs out as a token."""
        ...

    async def attach(self, session_id: str, thread_id: str) -> None:
        """A thread draws on the session, from now on before others."""
        ...

    async def thread_sessions(self, owner: str | None, thread_id: str) -> list[Session]:
        """The owner's sessions that a thread draws on, the newest first."""
        ...

    async def detach(self, thread_id: str) -> None:
        """The thread is gone; a session without threads ends."""
        ...

    async def entries(self, owner: str | None, session_id: str, after: int = 0, limit: int = 1000) -> list[Entry]: ...

    async def totals(self) -> Totals: ...

    async def owed(self) -> list[Debt]:
        """What payers could ask for, by mint, at one moment."""
        ...

    async def holdings(self) -> list[Holding]:
        """What is here, by mint, at one moment. The mint must call it unspent."""
        ...
