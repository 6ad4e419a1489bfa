"""Paying with the request itself (NUT-24): a token in `X-Cashu` pays for the run that the request starts, and the change comes back with
the response.

```
request, X-Cashu: token ─> a session of its own ─> run ─┬─ ends ──> refund ─> X-Cashu: change (wait), event `payment` (stream)
                                                        └─ pauses ─> no change yet: X-Stepwell-Funding-Id names the session to resume with
```
If the run is free, the change is the original token. A client that lost the connection sends the same token to `/api/wallet/fund` and
gets its session: `refund` and `claim` then return the change. Rule to keep: no stored event and no log line contains a token.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Annotated

import orjson
from fastapi import Depends, Header

from stepwell.database.types import Run
from stepwell.errors import PaymentError
from stepwell.payments.gate import Cashier, with_session
from stepwell.runs.starting import RunOrder
from stepwell.server.assembly import Services
from stepwell.server.login.principal import Principal

FUNDING_HEADER = "X-Stepwell-Funding-Id"
CHANGE_HEADER = "X-Cashu"
_log = logging.getLogger("stepwell.server")


async def _token_of(
    x_cashu: Annotated[str | None, Header(description="A Cashu token that pays for the run")] = None,
) -> str | None:
    return (x_cashu or "").strip() or None


InBand = Annotated[str | None, Depends(_token_of)]
"""The token that came with the request."""


@dataclass(frozen=True)
class Change:
    """What a request that paid with a token gets back."""

    token: str
    """As it came."""
    cashier: Cashier | None = None
    session_id: str | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        return {FUNDING_HEADER: self.session_id} if self.session_id else {}

    async def give(self, services: Services, run: Run) -> str | None:
        """The change as a token, once the run has ended. None while it is paused, if there is no change, or if the mint is down: then it
        stays in the session."""
        if self.cashier is None or self.session_id is None:
            return self.token
        thread = (
            None if run.request.delete_thread_after else await services.threads.get(run.owner, run.thread_id, with_values=False)
        )
        if thread is not None and thread.status in ("busy", "interrupted"):
            return None
        try:
            refund = await self.cashier.refund(run.owner, self.session_id)
            return await self.cashier.wallet.claim(run.owner, refund.token_id) if refund.amount else None
        except PaymentError as error:
            _log.warning("the change of payment session %s stays in it: %s", self.session_id, error.code)
            return None


async def pay_in_band(
    services: Services, principal: Principal, token: str | None, order: RunOrder
) -> tuple[RunOrder, Change | None]:
    """The order with the payment session that holds the request's token."""
    if token is None:
        return order, None
    cashier = services.cashier
    assistant = await services.assistants.resolve(principal.owner, order.assistant_id)
    if cashier is None or assistant.graph_id not in cashier.paid_graphs:
        return order, Change(token)
    session = await cashier.take(principal.owner, token)
    return with_session(order, session.session_id), Change(token, cashier, session.session_id)


async def then_change(
    pieces: AsyncGenerator[bytes, None], services: Services, run: Run, change: Change
) -> AsyncGenerator[bytes, None]:
    """The stream, followed by the change. The change has no event id: it is sent once, to the client that paid."""
    async for piece in pieces:
        yield piece
    token = await change.give(services, run)
    data = {"funding_id": change.session_id, "change": token}
    yield b"event: payment\ndata: %b\n\n" % orjson.dumps(data)
