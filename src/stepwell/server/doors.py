"""Puts signing in together and hangs it into an application: the one call `create_app` makes for all of it.

```python
app = FastAPI(middleware=[..., *limit_layers(settings)])
install_doors(app, settings, records, clock)
```
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from fastapi import FastAPI

from stepwell.clock import Clock
from stepwell.runs.access import AccessRecords
from stepwell.server.auth import Authenticator
from stepwell.server.keys import KeyVerifier, RandomBytes
from stepwell.server.limits import OpenStreams
from stepwell.server.login import LoginDesk, login_router
from stepwell.server.settings import JwtSettings, OidcSettings, ServerSettings
from stepwell.server.tries import FailedTries

if TYPE_CHECKING:
    from stepwell.server.oidc import OidcClient
    from stepwell.server.tokens import TokenVerifier


def install_doors(
    app: FastAPI,
    settings: ServerSettings,
    records: AccessRecords,
    clock: Clock,
    *,
    random_bytes: RandomBytes = secrets.token_bytes,
) -> None:
    """Sets `app.state.authenticator` and `open_streams`, which policies use, and `sign_in_ways`; adds the routes of signing in."""
    tokens, oidc = (
        _open_identity_provider(settings.jwt, settings.oidc, records, clock, random_bytes) if settings.jwt else (None, None)
    )
    authenticator = Authenticator(settings, KeyVerifier(records, clock), tokens, records, FailedTries(clock))
    app.state.authenticator = authenticator
    app.state.open_streams = OpenStreams(settings.max_streams_per_owner)
    app.state.sign_in_ways = ["key", "provider"] if oidc else ["key"]
    app.include_router(login_router(LoginDesk(settings, authenticator, records, oidc, clock, random_bytes)))


def _open_identity_provider(
    jwt: JwtSettings, oidc: OidcSettings | None, records: AccessRecords, clock: Clock, random_bytes: RandomBytes
) -> tuple[TokenVerifier, OidcClient | None]:
    # Imported only where tokens are accepted: the cryptography behind them is a twentieth of a server's start.
    from stepwell.server.identity_provider import IdentityProvider
    from stepwell.server.oidc import OidcClient
    from stepwell.server.tokens import TokenVerifier

    provider = IdentityProvider(jwt, clock)
    tokens = TokenVerifier(jwt, provider, clock)
    return tokens, OidcClient(oidc, provider, tokens, records, clock, random_bytes) if oidc else None
