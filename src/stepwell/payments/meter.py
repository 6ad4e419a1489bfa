"""The meter between a model call and money: reserve before the call, settle or release after it.

It is everything that the middleware knows about payments. It is a protocol, so that money other than ecash can be charged the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from stepwell.payments.ledger.ledger import Ledger, Reservation, Session
from stepwell.payments.pricing import CallSize, Price
from stepwell.payments.states import REFUNDED
from stepwell.payments.wallet.wallet import Wallet


@dataclass(frozen=True)
class Standing:
    """A session, and whether its refund was spent."""

    session: Session
    claimed: bool = False


class Meter(Protocol):
    """Charges for model calls. A session is whatever the payer has set up; only `owner` may draw on it, or anyone if `owner` is None."""

    @property
    def accepted_mints(self) -> Sequence[str]: ...

    @property
    def counts_tokens(self) -> bool:
        """Whether the price depends on tokens."""
        ...

    async def reserve(
        self, owner: str | None, session_id: str, key: str, call: CallSize, *, confirms: Sequence[str] = ()
    ) -> Reservation:
        """Set aside the most that the call may cost; a `PaymentError` if that is not available. `confirms` are keys to confirm in
        the same step."""
        ...

    async def settle(self, reservation: Reservation, call: CallSize) -> Session:
        """Charge for the answer. Returns the session afterwards."""
        ...

    async def release(self, reservation: Reservation) -> None:
        """The call failed: it costs nothing."""
        ...

    async def confirm(self, session_id: str, key: str) -> None:
        """The answer charged under this key is stored in the thread."""
        ...

    async def waive(self, key: str) -> Session:
        """One of our rules refused everything that was charged under this key: it costs nothing. A confirmed charge stands."""
        ...

    async def attach(self, session_id: str, thread_id: str) -> None:
        """The thread draws on the session, which lasts at least as long as the thread."""
        ...

    async def look(self, owner: str | None, session_id: str) -> Standing:
        """The owner's session as it is now, to be copied into a thread's state. `NotFoundError` if it has another owner."""
        ...

    def price_of(self, call: CallSize) -> int: ...


def _nobody_stops(place: str) -> tuple[int, int] | None:
    return None


@dataclass(frozen=True)
class RunPayments:
    """Who pays for a run, and what it has been charged. The driver of a graph puts it into the config under `states.PAYMENTS`."""

    meter: Meter
    owner: str | None
    """The run may draw only on this owner's sessions. With None, it may draw on any session."""
    session_id: str | None = None
    """The session that was chosen to pay when the run was admitted."""
    charged: list[str] = field(default_factory=list)
    """Keys of charges, in order. They stand once the run has reached its end."""
    stopped: list[str] = field(default_factory=list)
    """The charges whose answer the payer stopped. They stand in any case, because the payer has read what was said until then."""
    said_until_stopped: Callable[[str], tuple[int, int] | None] = _nobody_stops
    """The tokens that a call has read and written, looked up by the namespace of its step. None unless the caller has stopped the run and
    the call had begun to answer."""


class WalletMeter:
    """A `Meter` over a wallet, at the operator's price."""

    def __init__(self, wallet: Wallet, price: Price) -> None:
        self._wallet = wallet
        self._price = price

    def through(self, ledger: Ledger) -> WalletMeter:
        """The same meter for one run, which writes through its own view of the ledger."""
        return WalletMeter(self._wallet.through(ledger), self._price)

    @property
    def accepted_mints(self) -> Sequence[str]:
        return self._wallet.accepted_mints

    @property
    def counts_tokens(self) -> bool:
        return self._price.counts_tokens

    async def reserve(
        self, owner: str | None, session_id: str, key: str, call: CallSize, *, confirms: Sequence[str] = ()
    ) -> Reservation:
        return await self._wallet.reserve(owner, session_id, key, self._price.cost(call), confirms=confirms)

    async def settle(self, reservation: Reservation, call: CallSize) -> Session:
        settled = await self._wallet.settle(reservation, self._price.cost(call))
        return settled.session or await self._wallet.session(None, reservation.session_id)

    async def release(self, reservation: Reservation) -> None:
        await self._wallet.release(reservation)

    async def confirm(self, session_id: str, key: str) -> None:
        await self._wallet.confirm(session_id, [key])

    async def waive(self, key: str) -> Session:
        return await self._wallet.ledger.waive(key)

    async def attach(self, session_id: str, thread_id: str) -> None:
        await self._wallet.ledger.attach(session_id, thread_id)

    async def look(self, owner: str | None, session_id: str) -> Standing:
        session = await self._wallet.session(owner, session_id)
        refund = await self._wallet.ledger.refund_of(session_id) if session.state in REFUNDED else None
        return Standing(session, claimed=refund is not None and refund.claimed)

    def price_of(self, call: CallSize) -> int:
        return self._price.cost(call)
