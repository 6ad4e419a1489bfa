"""The caller's identity, which a page needs before any other request, and the API keys that operators create."""

from __future__ import annotations

import secrets
from datetime import timedelta
from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from starlette.requests import Request
from starlette.responses import Response

from stepwell.backends.objects.grants import NO_ROOTS, Grants, make_grants
from stepwell.errors import HandlerRefusalError, NotFoundError, NotSignedInError
from stepwell.server.login.api_keys import make_key
from stepwell.server.login.authentication import Authenticator
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.policy import policy
from stepwell.server.responses import json_response, nothing
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.access import KeyCreate, KeyResponse, Me, NewKeyResponse, key_wire

router = APIRouter(tags=["Access"], route_class=JsonRoute)

KeyReader = Annotated[Principal, Depends(policy("keys:read"))]
KeyWriter = Annotated[Principal, Depends(policy("keys:write"))]
KeyId = Annotated[str, Path(pattern="^[0-9a-f]{12}$")]


@router.get(
    "/api/me",
    operation_id="get_me",
    summary="Who you are signed in as, and how to sign in",
    responses={200: {"model": Me}},
)
async def get_me(request: Request, services: Given) -> Response:
    authenticator: Authenticator = request.app.state.authenticator
    try:
        principal: Principal | None = await authenticator.principal_of(request)
    except (NotSignedInError, HandlerRefusalError):
        principal = None
    asks_who = request.app.state.asks_who
    grants = _grants_of(principal, services)
    me = {
        "signed_in": principal is not None,
        "asks_who": asks_who,
        "user": principal and principal.user_id,
        "is_operator": principal is not None and principal.is_operator,
        "via": principal and principal.via,
        "roots": list(grants.roots),
        "read_roots": list(grants.read_roots),
        "sign_in": request.app.state.sign_in_ways if asks_who else [],
        "server": {"version": version("stepwell"), "demo": bool(services.registry.demos)},
    }
    return json_response(me)


def _grants_of(principal: Principal | None, services: Services) -> Grants:
    if principal is None:
        return NO_ROOTS
    grants = principal.grants
    for service in services.products:
        grants = grants.with_more(service.grants_of(principal))
    return grants


@router.get(
    "/api/keys",
    operation_id="list_keys",
    summary="List API keys without their secrets, for operators",
    responses={200: {"model": list[KeyResponse]}},
)
async def list_keys(principal: KeyReader, services: Given) -> Response:
    return json_response([key_wire(key) for key in await services.persistence.access.list_keys()])


@router.post(
    "/api/keys",
    operation_id="create_key",
    summary="Create an API key; only this response shows it",
    responses={200: {"model": NewKeyResponse}},
)
async def create_key(body: KeyCreate, principal: KeyWriter, services: Given) -> Response:
    made = make_key(
        body.user,
        operator=bool(body.operator),
        expires_in=timedelta(days=body.expires_days) if body.expires_days else None,
        now=services.clock.now(),
        random_bytes=secrets.token_bytes,
        name=body.name or "",
        grants=make_grants(body.roots or (), body.read_roots or ()),
    )
    await services.persistence.access.add_key(made.record)
    return json_response({**key_wire(made.record), "key": made.text})


@router.delete(
    "/api/keys/{key_id}", operation_id="revoke_key", summary="Revoke a key and the sessions it opened", status_code=204
)
async def revoke_key(key_id: KeyId, principal: KeyWriter, services: Given) -> Response:
    if not await services.persistence.access.revoke_key(key_id):
        raise NotFoundError("usable key", key_id, "List the keys with GET /api/keys.")
    return nothing()
