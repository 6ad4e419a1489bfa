"""Whether an application charges for its model calls, according to the operator's settings.

```
STEPWELL_MINTS and a price    the middleware, for graphs that cost something
neither                       nothing: every agent is free
```
"""

from __future__ import annotations

from langchain.agents.middleware.types import AgentMiddleware

from stepwell.payments.configuration import load_charging
from stepwell.settings import Settings


def charge_for(graph_id: str, *, settings: Settings | None = None) -> list[AgentMiddleware]:
    """The payment middleware for this graph, to be first in its stack; an empty list if the graph is free."""
    charging = load_charging((settings or Settings.load()).payments)
    if charging is None or graph_id not in charging.graphs((graph_id,)):
        return []
    from stepwell.payments.middleware import (
        CashuPaymentMiddleware,
    )  # needs the extra `payments`, so only operators who charge import it

    return [CashuPaymentMiddleware()]
