"""Where a run meets money: whether its assistant costs something, who pays, and the meter that its graph charges by.

```
order ─> Cashier.admit ─┬─ the graph is free ──────────────────────────────> as it is
                        ├─ a token in it ──> wallet.fund ──> its session ──> admitted; the token is stored nowhere in the run
                        ├─ a session of the owner's, named or the thread's > admitted
                        └─ nothing ────────────────────────────────────────> PaymentRequiredError: nothing was started
```
A graph finds the meter in its config, under a name that no caller can set, and with it the owner of the run: only the owner's sessions can
be drawn on. What runs short later pauses the run (`CashuPaymentMiddleware`).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stepwell.errors import PaymentRequiredError, SessionClosedError, TokenInvalidError
from stepwell.payments.states import TAKES_MONEY

if TYPE_CHECKING:  # what needs the extra `payments` is handed in
    from stepwell.payments.configuration import Charging
    from stepwell.payments.ledger import Session
    from stepwell.payments.meter import Meter, RunPayments
    from stepwell.payments.wallet import Wallet
    from stepwell.runs.records import Run
    from stepwell.runs.starting import RunOrder

logger = logging.getLogger(__name__)

FUNDING_ID = "funding_id"
TOKEN = "payment_token"
"""Where older clients put a token: in the input, in the configuration, or in an answer."""
