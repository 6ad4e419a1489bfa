"""`Idempotency-Key`: a caller's own name for a request that starts something, so that a retry does not start it twice.

The same key with the same request returns the first result again: the run, with its stream or values, or the thread. The same key with
a different request is rejected. Keys belong to the user who sends them, and expire after two days.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Request

from stepwell.database.types import RequestKey
from stepwell.errors import InvalidRequestError
from stepwell.server.login.principal import Principal

MAX_CHARS = 255


@dataclass(frozen=True)
class SentKey:
    """The key of a request, if it has one."""

    key: str | None
    fingerprint: str

    def of(self, principal: Principal) -> RequestKey | None:
        return RequestKey(str(principal.owner), self.key, self.fingerprint) if self.key else None


async def _read_key(
    request: Request,
    idempotency_key: Annotated[
        str | None,
        Header(
            description="A key you choose for this request, such as a UUID: a retry with the same key returns the first result"
        ),
    ] = None,
) -> SentKey:
    key = (idempotency_key or "").strip()
    if not key:
        return SentKey(None, "")
    if len(key) > MAX_CHARS or not (key.isascii() and key.isprintable()):
        raise InvalidRequestError(
            f"An Idempotency-Key has at most {MAX_CHARS} printable ASCII characters. Send a UUID, a new one for each request."
        )
    place = f"{request.method} {request.url.path}?{request.url.query}\n".encode()
    return SentKey(key, hashlib.sha256(place + await request.body()).hexdigest())


OnceKey = Annotated[SentKey, Depends(_read_key)]
"""The key of a route that starts something."""
