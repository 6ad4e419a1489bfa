"""Signing in at an identity provider: authorization code with PKCE (OpenID Connect Core, RFC 7636). No HTTP of our own here.

```
begin ──> browser goes to the provider ──> comes back with code and state ──> finish: code -> id token -> principal
```
Three secrets take different paths: `state` ties the callback to the browser that started the sign-in (by its cookie), `nonce` ties the
token to this sign-in, `verifier` ties the code to us. Each is valid once, for ten minutes.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlencode

from stepwell.clock import Clock
from stepwell.database.keys_and_sessions import SIGN_IN_LASTS, AccessRecords, SignIn
from stepwell.errors import NotSignedInError, SignInUnavailableError
from stepwell.server.login.api_keys import RandomBytes, hash_of, random_token, urlsafe_text
from stepwell.server.login.identity_provider import IdentityProvider
from stepwell.server.login.principal import Principal
from stepwell.server.login.tokens import TokenVerifier
from stepwell.server.settings import OidcSettings


class BegunSignIn(NamedTuple):
    """`cookie` is for the browser that started the sign-in; `url` is where to redirect it."""

    cookie: str
    url: str


@dataclass(frozen=True)
class OidcClient:
    """This server as a client of the identity provider."""

    settings: OidcSettings
    provider: IdentityProvider
    tokens: TokenVerifier
    records: AccessRecords
    clock: Clock
    random_bytes: RandomBytes

    async def begin(self, redirect_uri: str, go_to: str) -> BegunSignIn:
        endpoint = await self._endpoint("authorization_endpoint")
        cookie, state, nonce, verifier = (random_token(self.random_bytes) for _ in range(4))
        expires_at = self.clock.now() + SIGN_IN_LASTS
        await self.records.begin_sign_in(SignIn(hash_of(cookie), state, nonce, verifier, expires_at, go_to))
        query = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": redirect_uri,
            "scope": self.settings.scopes,
            "state": state,
            "nonce": nonce,
            "code_challenge": urlsafe_text(hashlib.sha256(verifier.encode()).digest()),
            "code_challenge_method": "S256",
        }
        return BegunSignIn(cookie, f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}")

    async def finish(self, cookie: str, state: str, code: str, redirect_uri: str) -> tuple[Principal, str]:
        """The principal, and the path they wanted to visit."""
        begun = await self.records.take_sign_in(hash_of(cookie)) if cookie else None
        if begun is None:
            raise NotSignedInError(
                "This sign-in was not begun here, took too long, or was used already. Begin again at /login."
            )
        if not code or not hmac.compare_digest(state.encode(), begun.state.encode()):
            raise NotSignedInError(
                "What came back does not belong to the sign-in that this browser began. Begin again at /login."
            )
        id_token = await self._exchange(code, begun.verifier, redirect_uri)
        claims = await self.tokens.claims(id_token, self.settings.client_id)
        nonce = claims.get("nonce")
        if not isinstance(nonce, str) or not hmac.compare_digest(nonce.encode(), begun.nonce.encode()):
            raise NotSignedInError("The identity provider's token belongs to another sign-in. Begin again at /login.")
        if claims.get("azp", self.settings.client_id) != self.settings.client_id:
            raise NotSignedInError("The identity provider's token was made for another client.")
        return self.tokens.principal_from(claims, "session"), begun.go_to

    async def _exchange(self, code: str, verifier: str, redirect_uri: str) -> str:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "client_id": self.settings.client_id,
            "code_verifier": verifier,
        }
        if self.settings.client_secret:
            form["client_secret"] = self.settings.client_secret.reveal()
        status, body = await self.provider.fetch_json("POST", await self._endpoint("token_endpoint"), form)
        if 400 <= status < 500:
            raise NotSignedInError(
                "The identity provider did not accept the sign-in; it may have taken too long. Begin again at /login."
            )
        id_token = body.get("id_token")
        if status != 200 or not isinstance(id_token, str):
            raise SignInUnavailableError("The identity provider gave no id token.")
        return id_token

    async def _endpoint(self, name: str) -> str:
        url = (await self.provider.document()).get(name)
        if not isinstance(url, str) or not url.startswith(("https://", "http://")):
            raise SignInUnavailableError(f"The identity provider's discovery document names no {name}.")
        return url
