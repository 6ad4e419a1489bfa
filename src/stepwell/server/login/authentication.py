"""Finds the principal of a request. The only module that reads credentials.

```
a server without sign-in         the local user, whatever the request contains (clients often send empty or foreign keys)
Authorization: Bearer sw_...     an API key
Authorization: Bearer <token>    a token of the identity provider, if there is one
x-api-key: sw_...                an API key
cookie                           a session of the page; changes only from the server's own origin
```

The first credential present decides; if it is invalid, the request is rejected and the next one is not tried.
"""

from __future__ import annotations

import logging
from ipaddress import IPv6Address, IPv6Network
from typing import TYPE_CHECKING

from starlette.requests import HTTPConnection

from stepwell.database.keys_and_sessions import AccessRecords
from stepwell.errors import AccessError, LimitReachedError, NotSignedInError, SignInUnavailableError, StorageUnavailableError
from stepwell.server.addresses import read_address
from stepwell.server.limits.origins import SAFE_METHODS, from_own_page
from stepwell.server.login.api_keys import KeyVerifier, hash_of
from stepwell.server.login.principal import LOCAL, Principal
from stepwell.server.login.throttle import BadCredentialError, CredentialThrottle
from stepwell.server.settings import ServerSettings

if TYPE_CHECKING:
    from stepwell.server.login.tokens import TokenVerifier

SESSION_COOKIE = "stepwell_session"

KNOWN = "stepwell_principal"
"""Where the principal of a request is stored in its state."""

_log = logging.getLogger(__name__)


class Authenticator:
    """Stored at `app.state.authenticator`, where `policy` finds it. `app.install_sign_in` creates it."""

    def __init__(
        self,
        settings: ServerSettings,
        keys: KeyVerifier,
        tokens: TokenVerifier | None,
        records: AccessRecords,
        throttle: CredentialThrottle,
    ) -> None:
        self._settings = settings
        self._asks_who = settings.asks_who  # computed once, because it parses addresses
        self._keys = keys
        self._tokens = tokens
        self._records = records
        self._throttle = throttle

    @property
    def needs_body(self) -> bool:
        """Whether the body of a request has to be received before its principal is known."""
        return False

    async def identify(self, request: HTTPConnection) -> Principal:
        """The result of `principal_of`, which the first caller (the layer that receives bodies) stores in the request's state."""
        known: Principal | None = getattr(request.state, KNOWN, None)
        if known is None:
            known = await self.principal_of(request)
            setattr(request.state, KNOWN, known)
        return known

    async def principal_of(self, request: HTTPConnection) -> Principal:
        """Raises `NotSignedInError`, or `LimitReachedError` after too many wrong credentials from one address."""
        if not self._asks_who:
            return LOCAL
        credential = credential_of(request)
        if credential:
            return await self.check(credential, client_address_of(request))
        cookie = request.cookies.get(SESSION_COOKIE)
        if cookie:
            return await self._session(request, cookie)
        raise NotSignedInError("Say who you are: an API key in 'x-api-key' or 'Authorization: Bearer', or sign in at /login.")

    async def may_still_read(self, request: HTTPConnection) -> bool:
        """Whether a request whose response is still being read would still be accepted: its key not revoked, its session not over, its
        token not expired. If that cannot be checked now (the provider does not answer), the reader may continue."""
        try:
            await self.principal_of(request)
        except NotSignedInError:
            return False
        except (LimitReachedError, SignInUnavailableError, StorageUnavailableError) as error:
            _log.debug("cannot check whether a stream's reader still has access: %s", error)
        return True

    async def check(self, credential: str, address: str) -> Principal:
        """The principal of a key or token. A valid one is always accepted, however many wrong ones came from its address."""
        try:
            if credential.startswith("sw_"):
                return await self.check_key(credential)
            if self._tokens:
                return await self._tokens.principal(credential)
            raise BadCredentialError("What was sent is not a credential of this server.")
        except BadCredentialError:
            self._throttle.check(address)
            await self._throttle.count(address)
            raise

    async def check_key(self, credential: str) -> Principal:
        """The principal of an API key."""
        key = await self._keys.verify(credential)
        return Principal(key.owner, key.owner, key.is_operator, "api_key", key.key_id, key.grants)

    async def _session(self, request: HTTPConnection, cookie: str) -> Principal:
        session = await self._records.find_session(hash_of(cookie))
        if session is None:
            raise NotSignedInError("You are not signed in any more. Sign in at /login.")
        # A websocket has no method and can carry changes.
        if request.scope.get("method") not in SAFE_METHODS and not from_own_page(request.headers, self._settings.public_url):
            # Browsers send cookies with every request; only our own page may use one to change things.
            raise AccessError("This change came from another site's page. Use the server's own page, or an API key.")
        return Principal(session.owner, session.owner, session.is_operator, "session", session.key_id or "", session.grants)


def client_address_of(request: HTTPConnection) -> str:
    """The client's address, if it is known; `limits.proxies` has corrected it. For IPv6, a /64 network counts as one client, because
    whoever has one address of the network has all of them."""
    address = read_address(request.client.host) if request.client else None
    if isinstance(address, IPv6Address):
        return str(IPv6Network((address, 64), strict=False))
    return str(address or "unknown")


def credential_of(request: HTTPConnection) -> str | None:
    scheme, _, rest = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and rest.strip():
        return rest.strip()
    return request.headers.get("x-api-key", "").strip() or None
