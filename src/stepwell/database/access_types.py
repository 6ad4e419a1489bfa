"""API keys and sessions as records: a seam. What a key looks like and how it is checked is up to the server.

Rule to keep: only hashes are handed over and kept, so that whoever reads the database cannot sign in with what is in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from stepwell.backends.objects.grants import NO_ROOTS, Grants

SIGN_IN_LASTS = timedelta(minutes=10)
"""From leaving for the identity provider to coming back."""


@dataclass(frozen=True)
class ApiKey:
    """A key somebody may use. `key_id` is the part of it that is not secret."""

    key_id: str
    owner: str
    name: str
    hash: str
    is_operator: bool
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    grants: Grants = NO_ROOTS
    """The workspaces that it opens."""

    def usable(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True)
class SignInSession:
    """Somebody signed in with a browser. It ends with the key it was opened with."""

    hash: str
    owner: str
    is_operator: bool
    expires_at: datetime
    key_id: str | None = None
    grants: Grants = NO_ROOTS


@dataclass(frozen=True)
class SignIn:
    """Somebody on the way to an identity provider: what must come back with them. Good for one use."""

    hash: str
    state: str
    nonce: str
    verifier: str
    expires_at: datetime
    go_to: str = "/"


class AccessRecords(Protocol):
    """Keys, sessions and sign-ins in a database. Nothing of it is cached: what is revoked is gone for the next request."""

    async def add_key(self, key: ApiKey) -> None: ...
    async def find_key(self, key_id: str) -> ApiKey | None: ...
    async def list_keys(self) -> list[ApiKey]: ...
    async def revoke_key(self, key_id: str) -> bool:
        """Whether there was such a key that was not revoked yet. Its sessions end too."""
        ...

    async def count_usable_keys(self) -> int: ...

    async def open_session(self, session: SignInSession) -> None: ...
    async def find_session(self, hash: str) -> SignInSession | None:
        """A session that is open now: not expired, and its key still usable."""
        ...

    async def close_session(self, hash: str) -> None: ...

    async def begin_sign_in(self, sign_in: SignIn) -> None: ...
    async def take_sign_in(self, hash: str) -> SignIn | None:
        """Give it once, and not when it has expired."""
        ...
