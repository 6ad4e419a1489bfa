"""Payments on an open server: the cashier, if anything costs money here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from stepwell.database.types import SYSTEM
from stepwell.errors import ConfigurationError
from stepwell.payments.configuration import Charging, load_charging
from stepwell.payments.gate import Cashier, PaymentGate, open_cashier
from stepwell.payments.in_band import CashuHeader
from stepwell.payments.states import CHARGED
from stepwell.server.parts import OpenProduct, Parts, ProductService
from stepwell.settings import Settings
from stepwell.supervision import Supervisor


class Payments(ProductService):
    """What the wallet's routes use."""

    def __init__(self, cashier: Cashier | None) -> None:
        self.cashier = cashier
        """None if everything is free here."""
        self.gate = PaymentGate(cashier)
        self.run_header = CashuHeader(cashier)
        self.page_hosts = cashier.wallet.accepted_mints if cashier else ()


def open_payments(settings: Settings) -> OpenProduct:
    """Opens payments according to the operator's settings."""
    return charging_with(load_charging(settings.payments))


def charging_with(charging: Charging | None) -> OpenProduct:
    """Opens payments with these prices; None means that everything is free."""

    @asynccontextmanager
    async def opened(parts: Parts, supervisor: Supervisor) -> AsyncIterator[Payments]:
        async with AsyncExitStack() as stack:
            cashier = None
            if charging:
                paid = await _find_paid_graphs(charging, parts)
                cashier = await stack.enter_async_context(
                    open_cashier(charging, paid, parts.persistence, parts.clock, supervisor)
                )
            yield Payments(cashier)

    return opened


async def _find_paid_graphs(charging: Charging, parts: Parts) -> frozenset[str]:
    """The graphs that cost money. Refuses a graph that is listed as paid but does not charge."""
    paid = charging.graphs(parts.payable)
    if not paid:
        raise ConfigurationError(
            "A price is set, but no graph costs money. Name the paid graphs: STEPWELL_PAID_GRAPHS="
            + ",".join(parts.registry.names)
        )
    if unknown := sorted(set(paid) - set(parts.registry.names)):
        raise ConfigurationError(
            f"STEPWELL_PAID_GRAPHS names '{unknown[0]}', which is not served. Served are: {', '.join(sorted(parts.registry.names))}."
        )
    for name in paid if not parts.own_graphs else sorted(set(paid) - set(parts.payable)):
        async with parts.registry.graph(name, saver=None, store=parts.persistence.store(SYSTEM), purpose="schema") as graph:
            if CHARGED not in graph.channels:
                raise ConfigurationError(
                    f"The graph '{name}' is listed in STEPWELL_PAID_GRAPHS, but does not charge. Put CashuPaymentMiddleware() "
                    "first in its stack."
                )
    return frozenset(paid)
