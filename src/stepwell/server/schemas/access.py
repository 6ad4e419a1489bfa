"""Who asks, and keys, on the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from stepwell.backends.objects.grants import MAX_GRANTED
from stepwell.database.access import ApiKey
from stepwell.server.login.principal import Via
from stepwell.server.schemas.fields import Body, Name, Whole

SignInWay = Literal["key", "provider"]
Roots = Annotated[list[Annotated[str, Field(max_length=1024)]], Field(max_length=MAX_GRANTED)]


class ServerAbout(BaseModel):
    version: str
    demo: bool = Field(description="Whether graphs are served that need no model and no network, for a first look")


class Me(BaseModel):
    """Whom the server takes the caller for. `user` and `via` are null where it does not know yet."""

    signed_in: bool
    asks_who: bool = Field(description="Whether requests must say whose they are")
    user: str | None
    is_operator: bool
    via: Via | None
    roots: list[str] = Field(description="The workspaces that are open to the caller; empty where nobody is asked, and all are")
    read_roots: list[str] = Field(description="Those that they may read only")
    sign_in: list[SignInWay] = Field(description="How a browser can sign in; empty where nobody is asked")
    server: ServerAbout


class KeyCreate(Body):
    user: Annotated[str, Field(min_length=1, max_length=200)]
    name: Name | None = None
    operator: bool | None = None
    expires_days: Annotated[int, Field(ge=1, le=36500), Whole] | None = None
    roots: Roots | None = None
    read_roots: Roots | None = None


class KeyResponse(BaseModel):
    """An API key without its secret."""

    key_id: str
    user: str
    name: str
    is_operator: bool
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    roots: list[str] = Field(description="The workspaces that it opens")
    read_roots: list[str] = Field(description="Those that it opens to read only")


class NewKeyResponse(KeyResponse):
    key: str = Field(description="The whole key. It is shown only now, and kept nowhere")


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
