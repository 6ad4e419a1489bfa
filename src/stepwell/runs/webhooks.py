"""Tells the caller's own server that a run has ended. At least once, and never anywhere it must not go (`webhook_rules`).

```
due ──claim──> tried ──> delivered        2xx
                 ├────> due again later   anything else, up to MAX_TRIES
                 ├────> given_up          after the last try
                 └────> refused           the rules forbid the address
```

The message is written in the transaction that ends the run, so it cannot be lost. A try is counted *before* it is made: a
process that dies in the middle tries again after `HOLD_S`. The receiver tells repetitions by `Idempotency-Key`.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Protocol, Self
from urllib.parse import SplitResult

import httpx

from stepwell.clock import Clock
from stepwell.errors import InvalidRequestError
from stepwell.runs.supervision import Duty, Supervisor, stop
from stepwell.runs.webhook_rules import WebhookRules, check_webhook_url, resolve

_log = logging.getLogger(__name__)

DELAYS_S = (5, 30, 120, 600, 1800, 7200, 21600)
MAX_TRIES = len(DELAYS_S) + 1
HOLD_S = 60.0
_TRY_S = 20.0
_AT_ONCE = 16

WebhookState = Literal["due", "delivered", "refused", "given_up"]


@dataclass(frozen=True)
class Webhook:
    """A message that is to be delivered. `attempts` counts the one that is under way."""

    run_id: str
    url: str
    body: bytes
    attempts: int


class WebhookOutbox(Protocol):
    """Messages in a database."""

    async def claim(self, now: float, hold_s: float, most: int) -> list[Webhook]:
        """Those that are due. They are not due again before `hold_s` has passed."""
        ...

    async def settle(self, run_id: str, state: WebhookState, due_at: float | None = None) -> None:
        """What became of one. Unless it is due again, its body is forgotten."""
        ...


class WebhookSender:
    """`async with WebhookSender(...)`: delivers until left. What is not delivered then is delivered after the next start."""

    def __init__(
        self,
        outbox: WebhookOutbox,
        clock: Clock,
        rules: WebhookRules,
        *,
        poll_s: float = 1.0,
        supervisor: Supervisor | None = None,
    ) -> None:
        self._outbox = outbox
        self._clock = clock
        self._rules = rules
        self._poll_s = poll_s
        self._supervisor = supervisor or Supervisor()
        self._woken = asyncio.Event()
        self._under_way = 0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        # Made here and not per call: reading the machine's certificates takes a while.
        self._tls = await asyncio.to_thread(httpx.create_ssl_context)
        self._task = self._supervisor.start("webhooks", self._work)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            await stop([self._task])

    def wake(self) -> None:
        """There is something new; it need not wait for the next look."""
        self._woken.set()

    async def _work(self, duty: Duty) -> None:
        async with asyncio.TaskGroup() as tries:
            while True:
                self._woken.clear()
                room = _AT_ONCE - self._under_way
                try:
                    claimed = await self._outbox.claim(self._now(), HOLD_S, room) if room else []
                except Exception as error:  # left to the supervisor, it would break off the tries that are under way
                    await asyncio.sleep(duty.failed(error))
                    continue
                duty.succeeded()
                for webhook in claimed:
                    self._under_way += 1
                    tries.create_task(self._see_through(webhook))
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
            await self._try(webhook)
        except Exception:
            # One message that cannot be handled must not stop the others. It is claimed again, and counted, after HOLD_S.
            _log.exception("try %d of the webhook of run %s broke off", webhook.attempts, webhook.run_id)
        finally:
            self._under_way -= 1
            self.wake()

    async def _try(self, webhook: Webhook) -> None:
        if webhook.attempts > MAX_TRIES:
            await self._outbox.settle(webhook.run_id, "given_up")
            return
        try:
            parts = check_webhook_url(webhook.url, self._rules)
            addresses = await resolve(parts, self._rules)
            async with asyncio.timeout(_TRY_S):
                status = await self._post(webhook, parts, addresses[(webhook.attempts - 1) % len(addresses)])
        except InvalidRequestError as error:
            _log.warning("the webhook of run %s is refused: %s", webhook.run_id, error)
            await self._outbox.settle(webhook.run_id, "refused")
            return
        except (OSError, TimeoutError, httpx.HTTPError, httpx.InvalidURL) as error:
            outcome = type(error).__name__
        else:
            if 200 <= status < 300:
                await self._outbox.settle(webhook.run_id, "delivered")
                return
            outcome = f"status {status}"
        await self._try_later(webhook, outcome)

    async def _try_later(self, webhook: Webhook, outcome: str) -> None:
        _log.info("try %d of the webhook of run %s: %s", webhook.attempts, webhook.run_id, outcome)
        if webhook.attempts >= MAX_TRIES:
            _log.warning("the webhook of run %s is given up after %d tries: %s", webhook.run_id, webhook.attempts, outcome)
            await self._outbox.settle(webhook.run_id, "given_up")
            return
        await self._outbox.settle(webhook.run_id, "due", self._now() + DELAYS_S[webhook.attempts - 1])

    async def _post(self, webhook: Webhook, parts: SplitResult, address: str) -> int:
        """Connect to exactly this address, under the name that was asked for. The answer's body is not read."""
        host = parts.hostname or ""
        target = httpx.URL(parts.geturl()).copy_with(host=address)
        headers = {
            "Host": parts.netloc,
            "Content-Type": "application/json",
            "User-Agent": "stepwell",
            "Idempotency-Key": webhook.run_id,
            **self._signature(webhook.body),
        }
        async with (
            # No redirects: they would lead past the rules. No proxies of the environment: they would resolve the name again.
            httpx.AsyncClient(verify=self._tls, timeout=10.0, follow_redirects=False, trust_env=False) as client,
            client.stream("POST", target, content=webhook.body, headers=headers, extensions={"sni_hostname": host}) as response,
        ):
            return response.status_code

    def _signature(self, body: bytes) -> dict[str, str]:
        if self._rules.secret is None:
            return {}
        moment = str(int(self._now()))
        digest = hmac.new(self._rules.secret.reveal().encode(), moment.encode() + b"." + body, hashlib.sha256).hexdigest()
        return {"Stepwell-Signature": f"t={moment},v1={digest}"}

    def _now(self) -> float:
        return self._clock.now().timestamp()


def verify_signature(header: str, body: bytes, secret: str, now: float, *, oldest_s: float = 300) -> bool:
    """For receivers written in Python: the header `Stepwell-Signature` belongs to this body, and is not old."""
    fields = dict(part.partition("=")[::2] for part in header.split(","))
    moment, digest = fields.get("t", ""), fields.get("v1", "")
    if not moment.isdigit() or abs(now - int(moment)) > oldest_s:
        return False
    expected = hmac.new(secret.encode(), moment.encode() + b"." + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), digest.encode())


__all__: Sequence[str] = [
    "DELAYS_S", "HOLD_S", "MAX_TRIES", "Webhook", "WebhookOutbox", "WebhookRules", "WebhookSender", "WebhookState", "check_webhook_url",
    "verify_signature",
]  # fmt: skip
