"""Items of the store as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from langgraph.store.base import Item, SearchItem
from pydantic import AfterValidator, Field

from stepwell.server.schemas.fields import Body, JsonObject, Limit, Offset, Whole, WireModel

Label = Annotated[str, Field(min_length=1, max_length=512, pattern=r"^[^.\x00\x1f]+$")]
Key = Annotated[str, Field(min_length=1, max_length=1024)]
MAX_DEPTH = 50


def _check_reserved(namespace: list[str]) -> list[str]:
    if namespace and namespace[0] == "langgraph":
        raise ValueError("a namespace may not begin with 'langgraph', which is reserved for LangGraph")
    return namespace


Prefix = Annotated[list[Label], Field(max_length=MAX_DEPTH)]
Namespace = Annotated[list[Label], Field(min_length=1, max_length=MAX_DEPTH), AfterValidator(_check_reserved)]


class ItemPut(Body):
    namespace: Namespace
    key: Key
    value: JsonObject
    index: Literal[False] | Annotated[list[str], Field(max_length=100)] | None = None
    ttl: Annotated[float, Field(gt=0, le=10**9, allow_inf_nan=False)] | None = None


class ItemKey(Body):
    """What `GET /store/items` asks for, beside the namespace."""

    key: Key
    refresh_ttl: bool | None = None


class ItemDelete(Body):
    namespace: Namespace
    key: Key


class ItemSearch(Body):
    namespace_prefix: Prefix
    filter: JsonObject | None = None
    limit: Limit | None = None
    offset: Offset | None = None
    query: Annotated[str, Field(max_length=65_536)] | None = None
    refresh_ttl: bool | None = None


class NamespaceQuery(Body):
    prefix: Prefix | None = None
    suffix: Prefix | None = None
    max_depth: Annotated[int, Field(ge=1, le=MAX_DEPTH), Whole] | None = None
    limit: Limit | None = None
    offset: Offset | None = None


class ItemResponse(WireModel):
    """A value stored under a namespace and a key."""

    namespace: list[str]
    key: str
    value: JsonObject
    created_at: datetime
    updated_at: datetime
    score: float | None = None


class ItemsResponse(WireModel):
    """The items that a search found."""

    items: list[ItemResponse]


class NamespacesResponse(WireModel):
    """Namespaces that contain items."""

    namespaces: list[list[str]]


def item_wire(item: Item) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "namespace": list(item.namespace),
        "key": item.key,
        "value": item.value,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }
    return {**shown, "score": item.score} if isinstance(item, SearchItem) else shown
