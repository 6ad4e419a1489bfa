"""What is fetched from an identity provider: its discovery document and its public keys (OpenID Connect Discovery, RFC 7517).

Both are cached. We fetch the keys again when a token names an unknown one (the provider may have changed them), but at most every few
seconds, so that forged tokens cannot be used to flood the provider. If the provider does not answer, the last keys stay valid for a day.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Mapping
from typing import Any

import httpx
import jwt
import orjson

from stepwell.clock import Clock
from stepwell.errors import SignInUnavailableError
from stepwell.server.settings import JwtSettings
from stepwell.variables import is_loopback

_log = logging.getLogger(__name__)

_TIMEOUT_S = 5.0
_LARGEST_RESPONSE = 512 * 1024
_FRESH_S = 600
_USABLE_S = 24 * 3600
_LEAST_BETWEEN_S = 10


async def _fetch_json(method: str, url: str, tls: ssl.SSLContext, data: Mapping[str, str] | None) -> tuple[int, Any]:
    if not (url.startswith("https://") or (url.startswith("http://") and is_loopback(httpx.URL(url).host))):
        raise SignInUnavailableError("The identity provider names an address that is not https.")
    try:
        async with (
            asyncio.timeout(2 * _TIMEOUT_S),
            httpx.AsyncClient(verify=tls, timeout=_TIMEOUT_S, follow_redirects=False) as client,
            client.stream(method, url, data=data, headers={"Accept": "application/json"}) as response,
        ):
            body = b""
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _LARGEST_RESPONSE:
                    raise SignInUnavailableError("The identity provider's response is too long.")
            parsed = orjson.loads(body)
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, orjson.JSONDecodeError) as error:
        # Only the kind of error: its text may contain the address with a code in it.
        raise SignInUnavailableError(f"The identity provider gave no usable response ({type(error).__name__}).") from None
    if not isinstance(parsed, dict):
        raise SignInUnavailableError("The identity provider's response is not a JSON object.")
    return response.status_code, parsed


class IdentityProvider:
    """The issuer of the tokens that we accept."""

    def __init__(self, settings: JwtSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = asyncio.Lock()
        self._document: dict[str, Any] | None = None
        self._keys: list[tuple[str | None, jwt.PyJWK]] = []
        self._fetched_at = float("-inf")
        self._asked_at = float("-inf")
        self._tls: ssl.SSLContext | None = None

    async def fetch_json(self, method: str, url: str, data: Mapping[str, str] | None = None) -> tuple[int, Any]:
        """Send a request to the provider. Raises `SignInUnavailableError` if it does not return a JSON object in time."""
        if self._tls is None:
            # Once, and in a thread: loading all root certificates would block the event loop.
            self._tls = await asyncio.to_thread(httpx.create_ssl_context)
        return await _fetch_json(method, url, self._tls, data)

    async def document(self) -> dict[str, Any]:
        """The discovery document. Its issuer must be the configured one; otherwise we might accept another issuer's responses."""
        if self._document is None:
            url = f"{self._settings.issuer.rstrip('/')}/.well-known/openid-configuration"
            status, document = await self.fetch_json("GET", url)
            if status != 200 or document.get("issuer") != self._settings.issuer:
                raise SignInUnavailableError("The identity provider's discovery document is missing or names another issuer.")
            self._document = document
        return self._document

    async def key(self, kid: str | None, algorithm: str) -> jwt.PyJWK | None:
        """The public key of that name for that algorithm, or `None`."""
        found = self._find(kid, algorithm)
        # One request refreshes the keys, which may be slow; the others meanwhile use the cached ones.
        fresh_s = _USABLE_S if self._lock.locked() else _FRESH_S
        if found is None or self._age_s() > fresh_s:
            async with self._lock:
                await self._refresh(needed=self._find(kid, algorithm) is None)
            found = self._find(kid, algorithm)
        return found

    def _find(self, kid: str | None, algorithm: str) -> jwt.PyJWK | None:
        fitting = [key for name, key in self._keys if key.algorithm_name == algorithm and kid in (name, None)]
        # A token without a key id is accepted only if exactly one key fits.
        return fitting[0] if len(fitting) == 1 or (fitting and kid is not None) else None

    def _age_s(self) -> float:
        return self._now() - self._fetched_at

    async def _refresh(self, *, needed: bool) -> None:
        if self._now() - self._asked_at < _LEAST_BETWEEN_S:
            if not self._keys:
                raise SignInUnavailableError("The identity provider gave no usable response a moment ago.", _LEAST_BETWEEN_S)
            return
        if not needed and self._age_s() <= _FRESH_S:
            return
        self._asked_at = self._now()
        try:
            self._keys = await self._fetch_keys()
            self._fetched_at = self._now()
        except SignInUnavailableError as error:
            if not self._keys or self._age_s() > _USABLE_S:
                self._keys = []
                raise
            _log.warning("the identity provider's keys could not be refreshed, those fetched last stay valid: %s", error)

    async def _fetch_keys(self) -> list[tuple[str | None, jwt.PyJWK]]:
        url = self._settings.jwks_url or (await self.document()).get("jwks_uri")
        if not isinstance(url, str):
            raise SignInUnavailableError("The identity provider's discovery document names no jwks_uri.")
        status, document = await self.fetch_json("GET", url)
        listed = document.get("keys")
        if status != 200 or not isinstance(listed, list):
            raise SignInUnavailableError("The identity provider's keys could not be read.")
        keys = [key for entry in listed for key in _public_keys(entry, self._settings.algorithms)]
        if not keys:
            raise SignInUnavailableError("The identity provider has no key for an algorithm that is accepted here.")
        return keys

    def _now(self) -> float:
        return self._clock.now().timestamp()


def _public_keys(entry: Any, algorithms: tuple[str, ...]) -> list[tuple[str | None, jwt.PyJWK]]:
    """The key of an entry, once for each algorithm that it may be used with. Keys for encryption, shared secrets and unknown kinds are
    left out."""
    if not isinstance(entry, dict) or entry.get("kty") not in ("RSA", "EC", "OKP") or entry.get("use", "sig") != "sig":
        return []
    kinds = {"RSA": ("RS", "PS"), "EC": ("ES",), "OKP": ("Ed",)}[entry["kty"]]
    named = entry.get("alg")
    found = []
    for algorithm in algorithms:
        if algorithm[:2] in kinds and named in (None, algorithm):
            try:
                found.append((entry.get("kid"), jwt.PyJWK(entry, algorithm)))
            except jwt.PyJWTError as error:
                _log.warning("a key of the identity provider cannot be used with %s: %s", algorithm, type(error).__name__)
    return found
