"""Whether an application charges for its model calls: what the operator has set, as a piece of its stack.

```
STEPWELL_MINTS and a price    the middleware, for graphs that are to be paid for
STEPWELL_FREE=yes             nothing: everything is free, and the server says so
neither                       nothing, or for a graph that must be paid for an error that says what to set
```
"""

from __future__ import annotations

from langchain.agents.middleware.types import AgentMiddleware

from stepwell.errors import ConfigurationError
from stepwell.payments.configuration import PaymentSettings
from stepwell.settings import Settings


def charge_for(graph_id: str, *, required: bool = False, settings: Settings | None = None) -> list[AgentMiddleware]:
    """The payment middleware for a graph of this name, first in its stack; or nothing, where it is free.

    Raises:
        ConfigurationError: It is `required`, and the operator has said neither what it costs nor that it is free.
    """
    payments = PaymentSettings.load((settings or Settings.load()).payments)
    if payments.charging and graph_id in payments.charging.graphs((graph_id,)):
        from stepwell.middleware.payment import CashuPaymentMiddleware  # with the extra, which only those need who charge

        return [CashuPaymentMiddleware()]
    if required and not payments.free and not payments.charging:
        raise ConfigurationError(
            f"The agent '{graph_id}' is paid for. Set STEPWELL_MINTS, STEPWELL_WALLET_SEED and a price (STEPWELL_SATS_PER_CALL), or "
            "STEPWELL_FREE=yes to let everybody use it for nothing."
        )
    return []
