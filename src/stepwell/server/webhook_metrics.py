"""Counts tries to deliver webhooks, as a box around the box they come from."""

from __future__ import annotations

from collections.abc import Callable

from stepwell.runs.webhooks import Webhook, WebhookOutbox, WebhookState


class CountedOutbox:
    """A `WebhookOutbox` that tells what became of each try: delivered, refused, given_up, or failed (tried again later)."""

    def __init__(self, outbox: WebhookOutbox, tried: Callable[[str], None]) -> None:
        self._outbox = outbox
        self._tried = tried

    async def claim(self, now: float, hold_s: float, most: int) -> list[Webhook]:
        return await self._outbox.claim(now, hold_s, most)

    async def settle(self, run_id: str, state: WebhookState, due_at: float | None = None) -> None:
        await self._outbox.settle(run_id, state, due_at)
        self._tried("failed" if state == "due" else state)
