"""Payment requests mean the same to us and to the wallet that most payers have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.integration.payments import cashu_ts
from tests.unit.payments.test_vectors import REQUESTS_A, REQUESTS_B, REQUESTS_WITH_TRANSPORTS

from stepwell.payments.cashu.requests import (
    Lock,
    PaymentRequest,
    Transport,
    decode_request,
    encode_request,
    encode_short_request,
)

PUBLISHED = [*REQUESTS_A.values(), *REQUESTS_B.values(), *REQUESTS_WITH_TRANSPORTS.values()]
OURS = PaymentRequest(
    amount=21, mints=("https://mint.example.com", "http://127.0.0.1:3338"), id="run", description="a call", single_use=True
)


def read_by_them(found: dict[str, Any]) -> PaymentRequest:
    lock = found.get("nut10")
    return PaymentRequest(
        amount=found.get("amount"),
        unit=found.get("unit"),
        mints=tuple(found.get("mints") or ()),
        id=found.get("id"),
        description=found.get("description"),
        single_use=bool(found.get("singleUse")),
        lock=Lock(lock["kind"], lock["data"], tuple(tuple(tag) for tag in lock.get("tags") or ())) if lock else None,
        transports=tuple(
            Transport(way["type"], way["target"], tuple(tuple(tag) for tag in way.get("tags") or ()))
            for way in found.get("transport") or ()
        ),
    )


def decided(request: PaymentRequest) -> PaymentRequest:
    """Whether it is for one use is left open by some; cashu-ts takes that for a no."""
    return replace(request, single_use=bool(request.single_use))


def test_both_read_what_the_other_writes():
    """Both forms, with nostr and HTTP transports, locks and units; cashu-ts 4.8."""
    requests = [*PUBLISHED, OURS]
    written = [write(request) for request in requests for write in (encode_request, encode_short_request)]
    for text, found in zip(written, cashu_ts.read_requests(written), strict=True):
        request = decided(decode_request(text))
        assert read_by_them(found) == request
        assert [decided(decode_request(again)) for again in found["again"]] == [request, request]
