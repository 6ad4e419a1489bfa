"""The ledger stores what came in, what was charged, what was paid back, and which swaps are under way at a mint.

Rules of every implementation (`tests/contract/suites/ledger.py` checks them):

- When a method returns, its effect is durable: credits, charges and refunds survive a power cut.
- Each method is one transaction. Nothing is ever deleted, and entries are never changed.
- For every session, after every call: credits = charges + balance + refunds + fees, and the balance is never below what is reserved.
- An effect key has at most one open reservation. Repeating a call returns the same result.
- Marking an operation done is a compare-and-swap: if several workers try, exactly one succeeds.
- For anyone but its owner, a session does not exist. `owner=None` is the operator, who sees all.

Deleting a thread changes no money: what it owes, or is owed, stays.
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
    """Calls whose answer was lost in a crash. The payer did not pay for them."""
    ceiling: int | None = None
    refund_key: str | None = None
    ending: bool = False
    """Whether its last thread was deleted, so that the sweeper settles the session."""
    reason: str | None = None

    @property
    def balance(self) -> int:
        """What the payer still has, reserved or not."""
        return self.credits - self.spent - self.refunded - self.fees

    @property
    def available(self) -> int:
        """The most that the next call may cost."""
        return self.balance - self.reserved


@dataclass(frozen=True)
class NewFunding:
    """A token that passed every check. `token` is bearer money."""

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
    """Whether the session exists already; otherwise it is created."""
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
    """Money set aside for one call. `key` names the effect, `attempt` counts its tries."""

    key: str
    attempt: int
    session_id: str
    state: ReservationState
    held: int
    charged: int = 0
    session: Session | None = field(default=None, compare=False, repr=False)
    """The session right after the charge."""


@dataclass(frozen=True)
class Operation:
    """A swap, stored before we send it to the mint. `inputs` and `outputs` are bearer money."""

    operation_id: str
    kind: OperationKind
    session_id: str
    owner: str
    mint: str
    amount: int
    """The sum of the inputs."""
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
    """A token we made for someone to fetch: a payer's refund, or the operator's earnings. `token` is bearer money."""

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
    """A line of the ledger. A `void` reverses a charge."""

    seq: int
    session_id: str
    owner: str
    kind: EntryKind
    amount: int
    key: str
    at: datetime


@dataclass(frozen=True)
class Totals:
    """Sums over all sessions, for an audit."""

    credits: int
    charges: int
    refunds: int
    fees: int
    balances: int
    session_proofs: int
    """Money held for payers, not yet separated from what they have spent."""
    earned_proofs: int
    paid_out: int


@dataclass(frozen=True)
class Debt:
    """What we owe payers at one mint."""

    mint: str
    sessions: int = 0
    """How many sessions have a balance."""
    balances_sats: int = 0
    tokens: int = 0
    """Tokens not redeemed yet, or being redeemed: the payer can get them back, or gets credit for them."""
    tokens_sats: int = 0
    refunds: int = 0
    """Refunds that are ready and that the payer has not spent yet."""
    refunds_sats: int = 0

    @property
    def total_sats(self) -> int:
        return self.balances_sats + self.tokens_sats + self.refunds_sats


@dataclass(frozen=True)
class Holding:
    """Money of one mint that we hold and that is not part of a running swap. The proofs are bearer money."""

    mint: str
    for_payers: tuple[Proof, ...] = field(default=(), repr=False)
    earned: tuple[Proof, ...] = field(default=(), repr=False)


class Ledger(Protocol):
    """Stores everything about money."""

    async def add_funding(self, new: NewFunding) -> Funding:
        """Store a token. If the same owner sends it again, returns what is stored; another owner gets `TokenInUseError`. A token that was
        returned untouched counts as new."""
        ...

    async def approve(self, session_id: str) -> Session:
        """Record that the payer agrees, so that waiting tokens may be redeemed."""
        ...

    async def session(self, owner: str | None, session_id: str) -> Session:
        """One session. `NotFoundError` if it does not exist or has another owner."""
        ...

    async def sessions(
        self,
        owner: str | None = None,
        states: Sequence[SessionState] = (),
        idle_since: datetime | None = None,
        *,
        newest: int | None = None,
    ) -> list[Session]:
        """Sessions, oldest first. `states` limits them to these states, `idle_since` to those that are ending or untouched since then. With
        `newest`, at most that many, the most recently used first."""
        ...

    async def fundings(self, session_id: str, states: Sequence[FundingState] = ()) -> list[Funding]:
        """A session's tokens, oldest first."""
        ...

    async def funding(self, fingerprint: str) -> Funding | None: ...

    async def reserve(
        self, owner: str | None, session_id: str, key: str, amount: int, *, confirms: Sequence[str] = ()
    ) -> Reservation:
        """Set money aside. `PaymentRequiredError` if there is too little (`unredeemed`: a token waits to be redeemed; `ceiling`;
        `balance_short`). If the key was charged before and nobody confirmed the answer, that answer was lost, and the charge is reversed
        first. `confirms` are keys to confirm in the same transaction."""
        ...

    async def settle(self, key: str, attempt: int, cost: int) -> Reservation:
        """Charge for an answer, once. The result carries the session."""
        ...

    async def release(self, key: str, attempt: int) -> Reservation:
        """Free the money again, because the call failed."""
        ...

    async def confirm(self, session_id: str, keys: Sequence[str] | None = None) -> int:
        """Make these charges stand, even those of another session, because their answers are checkpointed. Without `keys`, this confirms
        all charges of the session. Returns how many were confirmed."""
        ...

    async def undecided(self, session_id: str | None = None) -> list[Reservation]:
        """Reservations held for calls, and charges that nobody has confirmed yet; of one session or of all, the oldest first."""
        ...

    async def take_back(self, key: str, attempt: int) -> Reservation:
        """The answer to this charge was lost: reverse the charge and count the loss. A confirmed charge stands."""
        ...

    async def waive(self, key: str) -> Session:
        """Reverse a charge because one of our rules refused everything it paid for. A confirmed charge stands. Returns the session
        afterwards."""
        ...

    async def held_since(self, moment: datetime) -> list[Reservation]:
        """Reservations still open that were made before `moment`."""
        ...

    async def next_counter(self, keyset_id: str, count: int) -> int:
        """Reserves `count` counters that nobody else will get, and returns the first (NUT-13)."""
        ...

    async def begin(self, operation: Operation) -> Operation | None:
        """Store a swap and move its session and token into the matching state. Returns the stored swap, or instead the
        session's swap that is already under way; `None` if the session or token has changed meanwhile."""
        ...

    async def complete(self, operation_id: str, proofs: Sequence[Proof], handed_out: HandedOut | None = None) -> bool:
        """The mint did the swap: store the new money. False if another worker was first."""
        ...

    async def fail(self, operation_id: str, reason: str, *, final: bool) -> bool:
        """The mint did not do the swap. With `final`, the token is no good; otherwise the swap may be retried."""
        ...

    async def mark_unknown(self, operation_id: str, reason: str) -> bool:
        """We cannot tell what the mint did, so an operator has to decide."""
        ...

    async def reopen(self, operation_id: str) -> Operation:
        """Retry an operation with an unknown outcome, after an operator has looked at it."""
        ...

    async def operations(self, states: Sequence[OperationState] = ("pending",)) -> list[Operation]: ...

    async def operation(self, operation_id: str) -> Operation:
        """One swap in any state; `NotFoundError` if it does not exist."""
        ...

    async def session_proofs(self, session_id: str) -> list[Proof]:
        """The money held for a session."""
        ...

    async def close_empty(self, session_id: str, new: HandedOut) -> HandedOut | None:
        """End a session with nothing left: what it holds is earned, and `new` is a refund of zero. `None` if something is left."""
        ...

    async def keep_rest(self, session_id: str) -> int:
        """The rest of this session is worth less than the mint's fee. It stays where it is, and the session's reason says so. What was
        spent is earned, as far as whole proofs allow; returns how much."""
        ...

    async def hand_back(self, session_id: str, new: HandedOut) -> HandedOut:
        """Return a session's tokens as they are, because nothing was taken from them."""
        ...

    async def handed_out(self, owner: str | None, token_id: str) -> HandedOut: ...

    async def refund_of(self, session_id: str) -> HandedOut | None: ...

    async def unclaimed(self, owner: str | None = None) -> list[HandedOut]: ...

    async def mark_claimed(self, token_id: str) -> None:
        """Note that the mint reports this token as spent."""
        ...

    async def earnings(self, mint: str) -> list[Proof]:
        """What was earned and not paid out, the largest proofs first."""
        ...

    async def pay_out(self, new: HandedOut, proofs: Sequence[Proof]) -> HandedOut:
        """Pay out earned proofs as a token."""
        ...

    async def attach(self, session_id: str, thread_id: str) -> None:
        """The thread draws on the session, and from now on prefers it to others."""
        ...

    async def thread_sessions(self, owner: str | None, thread_id: str) -> list[Session]:
        """The owner's sessions that a thread draws on, the newest first."""
        ...

    async def detach(self, thread_id: str) -> None:
        """The thread was deleted; a session without threads ends."""
        ...

    async def entries(self, owner: str | None, session_id: str, after: int = 0, limit: int = 1000) -> list[Entry]: ...

    async def totals(self) -> Totals: ...

    async def owed(self) -> list[Debt]:
        """What we owe payers, by mint, at one moment."""
        ...

    async def holdings(self) -> list[Holding]:
        """What we hold, by mint, at one moment. The mint must report all of it as unspent."""
        ...
