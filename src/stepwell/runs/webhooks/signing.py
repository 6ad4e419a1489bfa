"""The header `Stepwell-Signature`: `t=<unix time>,v1=<HMAC-SHA256 of "time.body">`, with a secret that both sides know.

The time is signed too, so that a recorded message cannot be replayed later.
"""

from __future__ import annotations

import hashlib
import hmac

SIGNATURE_HEADER = "Stepwell-Signature"


def sign(body: bytes, secret: str, now: float) -> str:
    """The header's value for a message sent now."""
    moment = str(int(now))
    return f"t={moment},v1={_digest(moment, body, secret)}"


def verify_signature(header: str, body: bytes, secret: str, now: float, *, oldest_s: float = 300) -> bool:
    """For receivers written in Python: whether the header `Stepwell-Signature` matches this body and is recent."""
    fields = dict(part.partition("=")[::2] for part in header.split(","))
    moment, digest = fields.get("t", ""), fields.get("v1", "")
    if not moment.isdigit() or abs(now - int(moment)) > oldest_s:
        return False
    return hmac.compare_digest(_digest(moment, body, secret).encode(), digest.encode())


def _digest(moment: str, body: bytes, secret: str) -> str:
    return hmac.new(secret.encode(), moment.encode() + b"." + body, hashlib.sha256).hexdigest()
