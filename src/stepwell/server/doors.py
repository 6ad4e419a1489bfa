"""Puts signing in together and hangs it into an application: the one call `create_app` makes for all of it.

```python
app = FastAPI(middleware=[..., *limit_layers(settings)])
install_doors(app, settings, records, clock)
```
"""

from __future__ import annotations

import secrets

from fastapi import FastAPI

from stepwell.clock import Clock
from stepwell.runs.access import AccessRecords
from stepwell.server.auth import Authenticator
from stepwell.server.identity_provider import IdentityProvider
from stepwell.server.keys import KeyVerifier, RandomBytes
from stepwell.server.limits import OpenStreams
from stepwell.server.login import LoginDesk, login_router
from stepwell.server.oidc import OidcClient
from stepwell.server.settings import ServerSettings
from stepwell.server.tokens import TokenVerifier
from stepwell.server.tries import FailedTries


def install_doors(
    app: FastAPI,
    settings: ServerSettings,
    records: AccessRecords,
    clock: Clock,
    *,
    random_bytes: RandomBytes = secrets.token_bytes,
) -> None:
    """Sets `app.state.authenticator` and `app.state.open_streams`, which policies use, and adds the routes of signing in."""
    provider = IdentityProvider(settings.jwt, clock) if settings.jwt else None
    tokens = TokenVerifier(settings.jwt, provider, clock) if settings.jwt and provider else None
    authenticator = Authenticator(settings, KeyVerifier(records, clock), tokens, records, FailedTries(clock))
    oidc = None
    if settings.oidc and provider and tokens:
        oidc = OidcClient(settings.oidc, provider, tokens, records, clock, random_bytes)
    app.state.authenticator = authenticator
    app.state.open_streams = OpenStreams(settings.max_streams_per_owner)
    app.include_router(login_router(LoginDesk(settings, authenticator, records, oidc, clock, random_bytes)))
