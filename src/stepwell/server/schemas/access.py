"""The caller's identity and API keys as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from stepwell.backends.objects.grants import MAX_GRANTED
from stepwell.database.keys_and_sessions import ApiKey
from stepwell.server.login.principal import Via
from stepwell.server.schemas.fields import Body, Name, Whole, WireModel

SignInWay = Literal["key", "provider"]
Roots = Annotated[list[Annotated[str, Field(max_length=1024)]], Field(max_length=MAX_GRANTED)]


class ServerAbout(WireModel):
    version: str
    demo: bool = Field(description="Whether demo graphs are served, which need no model and no network")


class Me(WireModel):
    """Who the caller is. `user` and `via` are null if the caller is not signed in."""

    signed_in: bool
    asks_who: bool = Field(description="Whether the server requires sign-in")
    user: str | None
    is_operator: bool
    via: Via | None
    roots: list[str] = Field(
        description="The workspaces that the caller may use; empty if the server requires no sign-in, as all are open then"
    )
    read_roots: list[str] = Field(description="The workspaces that the caller may only read")
    sign_in: list[SignInWay] = Field(description="How a browser can sign in; empty if the server requires no sign-in")
    server: ServerAbout


class KeyCreate(Body):
    user: Annotated[str, Field(min_length=1, max_length=200)]
    name: Name | None = None
    operator: bool | None = None
    expires_days: Annotated[int, Field(ge=1, le=36500), Whole] | None = None
    roots: Roots | None = None
    read_roots: Roots | None = None


class KeyResponse(WireModel):
    """An API key without its secret."""

    key_id: str
    user: str
    name: str
    is_operator: bool
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    roots: list[str] = Field(description="The workspaces that the key gives access to")
    read_roots: list[str] = Field(description="The workspaces that the key may only read")


class NewKeyResponse(KeyResponse):
    key: str = Field(description="The complete key. Only this response shows it; the server does not store it")


def key_wire(key: ApiKey) -> dict[str, Any]:
    return {
        "key_id": key.key_id,
        "user": key.owner,
        "name": key.name,
        "is_operator": key.is_operator,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "roots": list(key.grants.roots),
        "read_roots": list(key.grants.read_roots),
    }
