"""Payment requests: what a server asks for, as a text that wallets read (NUT-18), for the `X-Cashu` header of a 402 (NUT-24).

Ours are paid in band, which means that the token comes in the same header of the next HTTP request, so they name no transport.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass

from stepwell.errors import needs_extra

with needs_extra("Payments", "payments"):
    import cbor2


@dataclass(frozen=True)
class PaymentRequest:
    """What the server asks for. Every field is optional."""

    amount: int | None = None
    unit: str | None = "sat"
    mints: tuple[str, ...] = ()
    id: str | None = None
    description: str | None = None
    single_use: bool | None = None


def encode_request(request: PaymentRequest) -> str:
    """The request as `creqA`, which every wallet reads: CBOR in base64url."""
    fields = {
        "i": request.id,
        "a": request.amount,
        "u": request.unit,
        "m": list(request.mints) or None,
        "d": request.description,
        "s": request.single_use,
    }
    content = cbor2.dumps({name: value for name, value in fields.items() if value is not None})
    return "creqA" + base64.urlsafe_b64encode(content).decode().rstrip("=")
