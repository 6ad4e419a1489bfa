"""Claims: which device is about to carry out what an interrupt asks. A claim is stored in the interrupt's row.

```
(free) ──claim──> claimed, until it expires ──claim with its id──> extended
   ^                  │      │
   └──── release ─────┘      └── answer with its id ──> answered, and the claim is deleted
```
An expired claim binds nobody. Its holder may renew it if no other device has claimed since.
"""

from __future__ import annotations

from stepwell.answers.client_tools import CLIENT_TOOL_EXECUTION
from stepwell.database.records.base import RecordsPart
from stepwell.database.records.interrupts import claim_in, claimed_error, is_executed_by_a_device
from stepwell.database.records.threads import owned_thread
from stepwell.database.records.types import DeviceClaim, HeldClaim
from stepwell.database.rows import from_time, to_time
from stepwell.errors import InterruptClaimedError, InterruptGoneError, InvalidRequestError, NotFoundError
from stepwell.sql import Connection, Row

_CLAIM = "UPDATE interrupts SET claim_id = ?, claim_device = ?, claim_expires_at = ? WHERE thread_id = ? AND interrupt_id = ?"


class ClaimRecords(RecordsPart):
    """The part of the repository that is about claims."""

    async def claim(
        self,
        owner: str | None,
        thread_id: str,
        interrupt_id: str,
        *,
        device_id: str,
        ttl_s: float,
        claim_id: str | None = None,
    ) -> HeldClaim:
        """Let a device carry out what a `client_tool_execution` asks; with the `claim_id` it holds, extend its claim.

        `InterruptClaimedError` while another claim is valid, or if the named one no longer exists; `InterruptGoneError` once the
        interrupt is no longer waiting; `InvalidRequestError` for an interrupt that a person answers.
        """
        fresh, now = self._new_id(), to_time(self._clock.now())

        def work(connection: Connection) -> HeldClaim:
            row = _require_open(connection, owner, thread_id, interrupt_id)
            _require_free(row, claim_id, now)
            held = HeldClaim(claim_id or fresh, DeviceClaim(device_id, from_time(now + ttl_s)))
            connection.execute(_CLAIM, (held.claim_id, device_id, now + ttl_s, thread_id, interrupt_id))
            return held

        return await self._database.write(work)

    async def release_claim(self, owner: str | None, thread_id: str, interrupt_id: str, claim_id: str) -> None:
        """Give a claim back. A claim that no longer exists is no error, unless another device's claim is valid
        (`InterruptClaimedError`)."""
        now = to_time(self._clock.now())

        def work(connection: Connection) -> None:
            row = _find(connection, owner, thread_id, interrupt_id)
            if row["claim_id"] == claim_id:
                connection.execute(_CLAIM, (None, None, None, thread_id, interrupt_id))
            elif claim := claim_in(row, now):
                raise claimed_error(interrupt_id, claim)

        await self._database.write(work)


def _find(connection: Connection, owner: str | None, thread_id: str, interrupt_id: str) -> Row:
    owned_thread(connection, owner, thread_id)
    row: Row | None = connection.execute(
        "SELECT * FROM interrupts WHERE thread_id = ? AND interrupt_id = ?", (thread_id, interrupt_id)
    ).fetchone()
    if row is None:
        raise NotFoundError("interrupt", interrupt_id, "Read the thread's interrupts to see what is open.")
    return row


def _require_open(connection: Connection, owner: str | None, thread_id: str, interrupt_id: str) -> Row:
    row = _find(connection, owner, thread_id, interrupt_id)
    if not is_executed_by_a_device(row):
        raise InvalidRequestError(
            f"The interrupt '{interrupt_id}' is answered by a person, not carried out by a device. Only '{CLIENT_TOOL_EXECUTION}' "
            "is claimed: answer this one without a claim."
        )
    if row["state"] != "pending":
        raise InterruptGoneError(
            f"The interrupt '{interrupt_id}' is no longer waiting: it was answered, or the thread went on. Do not carry it out.",
            (interrupt_id,),
        )
    return row


def _require_free(row: Row, claim_id: str | None, now: float) -> None:
    if claim_id is not None and row["claim_id"] == claim_id:
        return
    if claim := claim_in(row, now):
        raise claimed_error(row["interrupt_id"], claim)
    if claim_id is not None:
        raise InterruptClaimedError(
            f"Your claim on the interrupt '{row['interrupt_id']}' is gone: it was given back, or another device has claimed since. "
            "Check whether it was carried out, then claim without a 'claim_id'.",
            (row["interrupt_id"],),
        )
