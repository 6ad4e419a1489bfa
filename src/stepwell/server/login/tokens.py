"""Tokens of an identity provider (JWT, RFC 7519 with the advice of RFC 8725): whose token it is, or why it is not valid.

The algorithm must be on our list *and* match the key; the list contains only signatures with a key pair, so neither `none` nor a public
key used as a shared secret works. Issuer, audience and times are always checked.
A user is `issuer|subject`: two providers may both have a user `1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jwt

from stepwell.backends.objects.grants import Grants, make_grants
from stepwell.clock import Clock
from stepwell.errors import InvalidRequestError, NotSignedInError
from stepwell.server.login.identity_provider import IdentityProvider
from stepwell.server.login.principal import Principal, Via
from stepwell.server.login.throttle import INVALID_CREDENTIAL, BadCredentialError
from stepwell.server.settings import JwtSettings

_LONGEST_TOKEN = 16 * 1024
_LONGEST_USER = 255
# We check times ourselves, with the injected clock.
_OPTIONS: Any = {"require": ["exp", "iss", "aud"], "verify_exp": False, "verify_nbf": False, "verify_iat": False}


class TokenVerifier:
    """Verifies a token and returns its claims, or raises `NotSignedInError`."""

    def __init__(self, settings: JwtSettings, provider: IdentityProvider, clock: Clock) -> None:
        self._settings = settings
        self._provider = provider
        self._clock = clock

    async def principal(self, token: str) -> Principal:
        """The principal of a token sent with a request."""
        return self.principal_from(await self.claims(token, self._settings.audience), "jwt")

    async def claims(self, token: str, audience: str) -> Mapping[str, Any]:
        header = _header(token)
        algorithm, kid = header.get("alg"), header.get("kid")
        if algorithm not in self._settings.algorithms or not (kid is None or isinstance(kid, str)):
            raise BadCredentialError("The token is signed in a way that is not accepted here.")
        key = await self._provider.key(kid, algorithm)
        if key is None:
            raise BadCredentialError("The token is signed with a key that its issuer does not list.")
        try:
            claims: Mapping[str, Any] = jwt.decode(
                token, key, algorithms=[algorithm], audience=audience, issuer=self._settings.issuer, options=_OPTIONS
            )
        except jwt.PyJWTError as error:
            # PyJWT's messages name the wrong claim, never its value; we report only the kind of error.
            raise BadCredentialError(f"The token is not valid here ({type(error).__name__}).") from None
        self._check_times(claims)
        return claims

    def principal_from(self, claims: Mapping[str, Any], via: Via) -> Principal:
        settings = self._settings
        subject = claims.get(settings.user_claim)
        if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_USER or not subject.isprintable():
            raise NotSignedInError(
                f"The token does not say who it is for: no usable claim '{settings.user_claim}'.", INVALID_CREDENTIAL
            )
        if settings.user_claim == "email" and claims.get("email_verified") is not True:
            raise NotSignedInError("The identity provider has not verified this user's e-mail address.", INVALID_CREDENTIAL)
        user = f"{settings.issuer}|{subject}"
        return Principal(user, user, self._is_operator(claims), via, str(claims.get("jti", ""))[:64], self._grants(claims))

    def _grants(self, claims: Mapping[str, Any]) -> Grants:
        """The workspaces that a token grants. A token that lists them in an unknown format is rejected."""
        names = (self._settings.roots_claim, self._settings.read_roots_claim)
        given = [claims.get(name) if name else None for name in names]
        roots, read_roots = ([each] if isinstance(each, str) else each or [] for each in given)
        try:
            if not isinstance(roots, list) or not isinstance(read_roots, list):
                raise InvalidRequestError("They are not a list of texts.")
            return make_grants(roots, read_roots)
        except InvalidRequestError as error:
            raise NotSignedInError(f"The token's workspace roots cannot be used. {error}", INVALID_CREDENTIAL) from error

    def _is_operator(self, claims: Mapping[str, Any]) -> bool:
        if self._settings.operator_claim is None:
            return False
        value = claims.get(self._settings.operator_claim)
        values = value if isinstance(value, list) else [value]
        return self._settings.operator_value in ["true" if each is True else each for each in values]

    def _check_times(self, claims: Mapping[str, Any]) -> None:
        now, leeway_s = self._clock.now().timestamp(), self._settings.leeway_s
        for name, missing in (("exp", None), ("nbf", 0)):
            value = claims.get(name, missing)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise BadCredentialError(f"The token's '{name}' is not a time.")
        if not claims["exp"] > now - leeway_s:
            raise NotSignedInError("The token is out of date. Sign in again.", INVALID_CREDENTIAL)
        if claims.get("nbf", 0) > now + leeway_s:
            raise NotSignedInError("The token is not valid yet.", INVALID_CREDENTIAL)


def _header(token: str) -> Mapping[str, Any]:
    if len(token) > _LONGEST_TOKEN:
        raise BadCredentialError("The token is too long.")
    try:
        return jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        raise BadCredentialError("What was sent is neither an API key nor a token.") from None
