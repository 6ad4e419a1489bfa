"""API keys: `sw_<key id>_<secret>`. Created, recognised and checked here; stored as a hash (`database/keys_and_sessions`).

The secret has 256 random bits, so a plain SHA-256 of it is as good as a slow hash: there is no dictionary to try.
A comparison takes the same time whatever is wrong, and an unknown key id costs a comparison as well.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from stepwell.backends.objects.grants import NO_ROOTS, Grants
from stepwell.clock import Clock
from stepwell.database.keys_and_sessions import AccessRecords, ApiKey
from stepwell.database.types import SYSTEM
from stepwell.errors import InvalidRequestError, NotSignedInError
from stepwell.server.login.throttle import INVALID_CREDENTIAL, BadCredentialError

RandomBytes = Callable[[int], bytes]

KEY_FORM = re.compile(r"sw_([0-9a-f]{12})_[A-Za-z0-9_-]{43}")
_LONGEST_USER = 200
_NO_HASH = "0" * 64


class NewKey(NamedTuple):
    """`text` is shown once and never stored."""

    text: str
    record: ApiKey


def make_key(
    user: str,
    *,
    operator: bool,
    expires_in: timedelta | None,
    now: datetime,
    random_bytes: RandomBytes,
    name: str = "",
    grants: Grants = NO_ROOTS,
) -> NewKey:
    """A key for a user. The user need not exist yet: whoever has a key is a user."""
    if not 0 < len(user) <= _LONGEST_USER or not user.isprintable() or user != user.strip() or user == SYSTEM:
        raise InvalidRequestError(
            f"'{user[:40]}' cannot be a user's name: 1 to {_LONGEST_USER} printable characters, no space at either end, not '{SYSTEM}'."
        )
    key_id = random_bytes(6).hex()
    text = f"sw_{key_id}_{random_token(random_bytes)}"
    expires_at = None if expires_in is None else now + expires_in
    return NewKey(text, ApiKey(key_id, user, name or user, hash_of(text), operator, now, expires_at, grants=grants))


def random_token(random_bytes: RandomBytes) -> str:
    """256 random bits as text that is safe in a URL, a header or a cookie."""
    return urlsafe_text(random_bytes(32))


def urlsafe_text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def hash_of(secret: str) -> str:
    """What we store of a key or a session cookie."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


class KeyVerifier:
    """Finds the key for a text. Queries the records every time, so that a revoked key is rejected from the next request on."""

    def __init__(self, records: AccessRecords, clock: Clock) -> None:
        self._records = records
        self._clock = clock

    async def verify(self, text: str) -> ApiKey:
        form = KEY_FORM.fullmatch(text)
        key = await self._records.find_key(form[1]) if form else None
        right = hmac.compare_digest(hash_of(text), key.hash if key else _NO_HASH)
        if key is None or not right:
            raise BadCredentialError("This API key is not known here. Check it, or ask the operator for a new one.")
        if not key.usable(self._clock.now()):
            state = "revoked" if key.revoked_at else "out of date"
            raise NotSignedInError(
                f"The API key '{key.key_id}' is {state}. Ask the operator for a new one.", INVALID_CREDENTIAL
            )
        return key
