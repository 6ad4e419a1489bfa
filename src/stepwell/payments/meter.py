"""What stands between a model call and money: reserve before it, settle or release after it. The middleware knows nothing else of payments.

A protocol, so that other money than ecash can be charged the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from stepwell.payments.ledger import Ledger, Reservation, Session
from stepwell.payments.pricing import CallSize, Price
from stepwell.payments.states import REFUNDED
from stepwell.payments.wallet import Wallet


@dataclass(frozen=True)
class Standing:
    """A session, and whether its refund was fetched and spent."""

    session: Session
    claimed: bool = False


class Meter(Protocol):
    """Charges for model calls. A session is whatever the payer has set up; `owner` is who may draw on it, None for anybody."""

    @property
    def accepted_mints(self) -> Sequence[str]: ...

    @property
    def counts_tokens(self) -> bool:
        """Whether the price depends on tokens."""
        ...

    async def reserve(
        self, owner: str | None, session_id: str, key: str, call: CallSize, *, confirms: Sequence[str] = ()
    ) -> Reservation:
        """Set aside what the call may cost at most; a `PaymentError` if that cannot be had. `confirms`: as `confirm`, at the same time."""
        ...

    async def settle(self, reservation: Reservation, call: CallSize) -> Session:
        """Charge for the answer. Gives the session as it stands then."""
        ...

    async def release(self, reservation: Reservation) -> None:
        """The call failed: it costs nothing."""
        ...

    async def confirm(self, session_id: str, key: str) -> None:
        """The answer that was charged under this key is in the thread."""
        ...

    async def waive(self, key: str) -> Session:
        """What was charged under this key came to nothing, by a rule of ours: it costs nothing. A charge that was confirmed stands."""
        ...

    async def attach(self, session_id: str, thread_id: str) -> None:
        """A thread draws on the session, which lasts at least as long as the thread."""
        ...

    async def look(self, owner: str | None, session_id: str) -> Standing:
        """The owner's session as it stands now, for its mirror in a thread's state; `NotFoundError` if it is another's."""
        ...

    def price_of(self, call: CallSize) -> int: ...


def _nobody_stops(place: str) -> tuple[int, int] | None:
    return None


@dataclass(frozen=True)
class RunPayments:
    """Who pays for a run, and what has been charged in it. Whoever drives a graph puts it into its config, under
    `states.PAYMENTS`."""

    meter: Meter
    owner: str | None
    """Only this owner's sessions can be drawn on; None trusts whoever names one."""
    session_id: str | None = None
    """The session that was found to pay when the run was admitted."""
    charged: list[str] = field(default_factory=list)
    """Keys of charges, in their order. Their answers stand when the run has come to its end."""
    stopped: list[str] = field(default_factory=list)
    """Those of them whose payer broke the answer off. They stand in any case: what was said by then has been read."""
    said_until_stopped: Callable[[str], tuple[int, int] | None] = _nobody_stops
    """The tokens that a call has read and said, by the namespace of its step, if the caller has stopped the run and it had begun to
    answer."""


class WalletMeter:
    """A `Meter` over a wallet, at a price that the operator sets."""

    def __init__(self, wallet: Wallet, price: Price) -> None:
        self._wallet = wallet
        self._price = price

    def through(self, ledger: Ledger) -> WalletMeter:
        """The same for one run, which writes through a view of the ledger that is its own."""
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
