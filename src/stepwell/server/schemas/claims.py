"""Claims as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from stepwell.database.records.types import HeldClaim
from stepwell.server.schemas.fields import WireModel

MAX_TTL_S = 600
ClaimName = Annotated[str, Field(min_length=1, max_length=64)]


class InterruptClaimCreate(WireModel):
    device_id: str = Field(
        min_length=1, max_length=200, description="A name you choose for the device or tab; other devices see it"
    )
    ttl_s: float = Field(60, gt=0, le=MAX_TTL_S, description="How many seconds the claim lasts unless it is renewed")
    claim_id: ClaimName | None = Field(None, description="To renew a claim that you hold: its id")


class InterruptClaimRelease(WireModel):
    claim_id: ClaimName


class InterruptClaimResponse(WireModel):
    claim_id: str = Field(description="Send it with the answer, and to renew or release the claim")
    expires_at: datetime


def claim_wire(held: HeldClaim) -> dict[str, object]:
    return {"claim_id": held.claim_id, "expires_at": held.claim.expires_at}
