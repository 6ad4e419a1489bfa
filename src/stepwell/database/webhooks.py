"""Webhooks that are due, in the database: written when a run ends, claimed and settled by `runs/webhooks`."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Literal

from stepwell.database.database import SqlDatabase
from stepwell.database.types import Run
from stepwell.sql import Connection, Row

_log = logging.getLogger(__name__)

WebhookState = Literal["due", "delivered", "refused", "given_up"]


@dataclass(frozen=True)
class Webhook:
    """A message to deliver. `attempts` includes the current one."""

    run_id: str
    url: str
    body: bytes
    attempts: int


def insert_webhook(connection: Connection, run: Run, body: bytes) -> None:
    """Store the message that a run has ended, in the transaction that ends it. Does nothing for a run without a webhook."""
    if run.request.webhook is None:
        return
    connection.execute(
        # It gets the earliest possible due time, so that a clock that is set back can't delay it.
        "INSERT INTO webhooks (run_id, owner, url, body, due_at, state) VALUES (?, ?, ?, ?, 0, 'due') ON CONFLICT DO NOTHING",
        (run.run_id, run.owner, run.request.webhook, body),
    )


class WebhookOutbox:
    """Messages that are due, in the database."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def claim(self, now: float, hold_s: float, most: int) -> list[Webhook]:
        """Claim up to `most` messages that are due. They become due again after `hold_s`."""
        # Looks before it writes, so that an idle server writes nothing.
        if not await self._database.read(
            lambda c: c.execute("SELECT 1 FROM webhooks WHERE state = 'due' AND due_at <= ? LIMIT 1", (now,)).fetchone()
        ):
            return []
        rows = await self._database.write(
            lambda c: c.execute(
                "UPDATE webhooks SET attempts = attempts + 1, due_at = ? WHERE run_id IN"
                " (SELECT run_id FROM webhooks WHERE state = 'due' AND due_at <= ? ORDER BY due_at LIMIT ?)"
                " RETURNING run_id, url, body, attempts",
                (now + hold_s, now, most),
            ).fetchall()
        )
        return [webhook for row in rows if (webhook := await self._read(row))]

    async def _read(self, row: Row) -> Webhook | None:
        """Convert the row. A message that can't be read is given up, and the others continue."""
        if isinstance(row["url"], str) and isinstance(row["body"], bytes) and isinstance(row["attempts"], int):
            return Webhook(row["run_id"], row["url"], row["body"], row["attempts"])
        _log.error("gave up on a webhook that cannot be read", extra={"run_id": row["run_id"]})
        await self.settle(row["run_id"], "given_up")
        return None

    async def settle(self, run_id: str, state: WebhookState, due_at: float | None = None) -> None:
        """Record the outcome. Unless the message is due again, its body is deleted."""
        await self._database.write(
            lambda c: c.execute(
                "UPDATE webhooks SET state = ?, due_at = COALESCE(?, due_at),"
                " body = CASE WHEN CAST(? AS TEXT) = 'due' THEN body ELSE ? END WHERE run_id = ?",
                (state, due_at, state, b"", run_id),
            )
        )
