"""Notifies the caller's own server that a run has ended: at least once, and never at an address that `rules` forbids.

```
due ──claim──> attempted ──> delivered        2xx
                   ├───────> due again later  anything else, up to MAX_DELIVERY_ATTEMPTS
                   ├───────> given_up         after the last attempt
                   └───────> refused          the rules forbid the address
```

The message is written in the transaction that ends the run, so it cannot be lost. An attempt is counted *before* it is made: after a
crash in the middle, the message becomes due again after `HOLD_S`. The receiver recognises repeats by `Idempotency-Key`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import SplitResult

import orjson

from stepwell.clock import Clock
from stepwell.database.webhooks import Webhook, WebhookOutbox, WebhookState
from stepwell.errors import InvalidRequestError
from stepwell.runs.webhooks.rules import WebhookRules, check_webhook_url, resolve
from stepwell.runs.webhooks.signing import SIGNATURE_HEADER, sign
from stepwell.supervision import Duty, Supervisor, stop

if TYPE_CHECKING:
    from stepwell.runs.webhooks.posting import Poster

_log = logging.getLogger(__name__)

DELAYS_S = (5, 30, 120, 600, 1800, 7200, 21600)
MAX_DELIVERY_ATTEMPTS = len(DELAYS_S) + 1
HOLD_S = 60.0
_ATTEMPT_TIMEOUT_S = 20.0
_AT_ONCE = 16


class WebhookSender:
    """`async with WebhookSender(...)`: delivers until the block is left. The rest is delivered after the next start."""

    def __init__(
        self,
        outbox: WebhookOutbox,
        clock: Clock,
        rules: WebhookRules,
        *,
        poll_s: float = 1.0,
        supervisor: Supervisor | None = None,
        tried: Callable[[str], None] = lambda outcome: None,
    ) -> None:
        """`tried` is called with the outcome of each attempt: delivered, refused, given_up, or failed (it is due again)."""
        self._outbox = outbox
        self._clock = clock
        self._rules = rules
        self._poll_s = poll_s
        self._supervisor = supervisor or Supervisor()
        self._tried = tried
        self._woken = asyncio.Event()
        self._under_way = 0
        self._task: asyncio.Task[None] | None = None
        self._poster: Poster | None = None
        self._making_poster = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._task = self._supervisor.start("webhooks", self._work)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            await stop([self._task])

    def wake(self) -> None:
        """There is a new message; look for it now."""
        self._woken.set()

    async def _work(self, duty: Duty) -> None:
        async with asyncio.TaskGroup() as deliveries:
            while True:
                self._woken.clear()
                room = _AT_ONCE - self._under_way
                try:
                    claimed = await self._outbox.claim(self._now(), HOLD_S, room) if room else []
                except Exception as error:  # caught here: the supervisor would cancel current deliveries
                    await asyncio.sleep(duty.failed(error))
                    continue
                duty.succeeded()
                for webhook in claimed:
                    self._under_way += 1
                    deliveries.create_task(self._see_through(webhook))
                await self._rest()

    async def _rest(self) -> None:
        try:
            # Not `wait_for`: in Python 3.11 it can swallow the cancellation that ends this loop.
            async with asyncio.timeout(self._poll_s):
                await self._woken.wait()
        except TimeoutError:
            return

    async def _see_through(self, webhook: Webhook) -> None:
        try:
            await self._deliver(webhook)
        except Exception:
            # A message that cannot be handled must not stop the others. After HOLD_S it is claimed again, which counts as an attempt.
            _log.exception("attempt %d to deliver the webhook of run %s failed", webhook.attempts, webhook.run_id)
        finally:
            self._under_way -= 1
            self.wake()

    async def _deliver(self, webhook: Webhook) -> None:
        if webhook.attempts > MAX_DELIVERY_ATTEMPTS:
            await self._settle(webhook.run_id, "given_up")
            return
        try:
            parts = check_webhook_url(webhook.url, self._rules)
            addresses = await resolve(parts, self._rules)
            async with asyncio.timeout(_ATTEMPT_TIMEOUT_S):
                outcome = await self._post(webhook, parts, addresses[(webhook.attempts - 1) % len(addresses)])
        except InvalidRequestError as error:
            _log.warning("the webhook of run %s was refused: %s", webhook.run_id, error)
            await self._settle(webhook.run_id, "refused")
            return
        except (OSError, TimeoutError) as error:
            outcome = type(error).__name__
        if isinstance(outcome, int) and 200 <= outcome < 300:
            await self._settle(webhook.run_id, "delivered")
            return
        await self._deliver_later(webhook, f"status {outcome}" if isinstance(outcome, int) else outcome)

    async def _deliver_later(self, webhook: Webhook, outcome: str) -> None:
        _log.info("attempt %d to deliver the webhook of run %s: %s", webhook.attempts, webhook.run_id, outcome)
        if webhook.attempts >= MAX_DELIVERY_ATTEMPTS:
            _log.warning("gave up the webhook of run %s after %d attempts: %s", webhook.run_id, webhook.attempts, outcome)
            await self._settle(webhook.run_id, "given_up")
            return
        await self._settle(webhook.run_id, "due", self._now() + DELAYS_S[webhook.attempts - 1])

    async def _settle(self, run_id: str, state: WebhookState, due_at: float | None = None) -> None:
        await self._outbox.settle(run_id, state, due_at)
        self._tried("failed" if state == "due" else state)

    async def _post(self, webhook: Webhook, parts: SplitResult, address: str) -> int | str:
        body = _chosen_fields(webhook.body, self._rules.project.fields)
        headers = {
            **self._rules.project.headers,
            "Host": parts.netloc,
            "Content-Type": "application/json",
            "User-Agent": "stepwell",
            "Idempotency-Key": webhook.run_id,
            **({SIGNATURE_HEADER: sign(body, secret.reveal(), self._now())} if (secret := self._rules.secret) else {}),
        }
        async with self._making_poster:
            if self._poster is None:
                self._poster = await asyncio.to_thread(_make_poster)
        return await self._poster.post(parts, address, body, headers)

    def _now(self) -> float:
        return self._clock.now().timestamp()


def _make_poster() -> Poster:
    # Made for the first message: most servers send none, and the HTTP client and the machine's certificates take time and memory.
    from stepwell.runs.webhooks.posting import Poster

    return Poster()


def _chosen_fields(body: bytes, fields: frozenset[str] | None) -> bytes:
    """The message with the fields that the project allows."""
    if fields is None:
        return body
    return orjson.dumps({name: value for name, value in orjson.loads(body).items() if name in fields})
