"""Paying with the request itself (NUT-24): a token in `X-Cashu` pays for the run that the request starts, and the change comes back with
the response.

```
request, X-Cashu: token ─> a session of its own ─> run ─┬─ ends ──> refund ─> X-Cashu: change (wait), event `payment` (stream)
                                                        └─ pauses ─> no change yet: X-Stepwell-Funding-Id names the session to resume with
```
If the run is free, the change is the original token. A client that lost the connection sends the same token to `/api/wallet/fund` and
gets the token's session, for which `refund` and `claim` then return the change.

Rule to keep: no stored event and no log line contains a token.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from stepwell.database.types import Run
from stepwell.errors import PaymentError
from stepwell.payments.gate import Cashier, parse_token, with_session
from stepwell.runs.starting import RunOrder
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services

FUNDING_HEADER = "X-Stepwell-Funding-Id"
CHANGE_HEADER = "X-Cashu"
_log = logging.getLogger("stepwell.server")


@dataclass(frozen=True)
class Change:
    """What a request that paid with a token gets back."""

    token: str
    """The token as it came."""
    cashier: Cashier | None = None
    session_id: str | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        return {FUNDING_HEADER: self.session_id} if self.session_id else {}

    async def late_headers(self, services: Services, run: Run) -> Mapping[str, str]:
        token = await self.give(services, run)
        return {CHANGE_HEADER: token} if token else {}

    async def last_event(self, services: Services, run: Run) -> bytes:
        data = {"funding_id": self.session_id, "change": await self.give(services, run)}
        return b"event: payment\ndata: %b\n\n" % orjson.dumps(data)

    async def give(self, services: Services, run: Run) -> str | None:
        """The change as a token, once the run has ended. None while the run is paused, if there is no change, or if the mint is down.
        If the mint is down, the change stays in the session."""
        if self.cashier is None or self.session_id is None:
            return self.token
        thread = None if run.request.delete_thread_after else await services.threads.get(None, run.thread_id, with_values=False)
        if thread is not None and thread.status in ("busy", "interrupted"):
            return None
        try:
            refund = await self.cashier.refund(run.owner, self.session_id)
            return await self.cashier.wallet.claim(run.owner, refund.token_id) if refund.amount else None
        except PaymentError as error:
            _log.warning("the change of payment session %s stays in it: %s", self.session_id, error.code)
            return None


class CashuHeader:
    """Takes the token of a request, and puts it into a session of its own."""

    name = CHANGE_HEADER
    description = "A Cashu token that pays for the run"

    def __init__(self, cashier: Cashier | None) -> None:
        self._cashier = cashier

    async def take(self, services: Services, principal: Principal, value: str, order: RunOrder) -> tuple[RunOrder, Change]:
        assistant = await services.assistants.resolve(principal.owner, order.assistant_id)
        if self._cashier is None or assistant.graph_id not in self._cashier.paid_graphs:
            return order, Change(value)
        session = await self._cashier.take(principal.owner, parse_token(value))
        return with_session(order, session.session_id), Change(value, self._cashier, session.session_id)
