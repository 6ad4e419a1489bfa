"""The wallet that most payers have reads our payment requests as we mean them."""

from __future__ import annotations

from typing import Any

from tests.integration.payments import cashu_ts
from tests.unit.payments.test_vectors import REQUEST

from stepwell.payments.cashu.requests import PaymentRequest, encode_request

OURS = PaymentRequest(
    amount=21, mints=("https://mint.example.com", "http://127.0.0.1:3338"), id="run", description="a call", single_use=True
)
AMOUNT_AND_UNIT = PaymentRequest(amount=1000, unit="msat")


def read_by_them(found: dict[str, Any]) -> PaymentRequest:
    return PaymentRequest(
        amount=found.get("amount"),
        unit=found.get("unit"),
        mints=tuple(found.get("mints") or ()),
        id=found.get("id"),
        description=found.get("description"),
        single_use=found.get("singleUse") or None,  # cashu-ts reads a missing field as false
    )


def test_they_read_what_we_write():
    """cashu-ts 4.8."""
    requests = [OURS, AMOUNT_AND_UNIT, REQUEST]
    found = cashu_ts.read_requests([encode_request(request) for request in requests])
    assert [read_by_them(each) for each in found] == requests
