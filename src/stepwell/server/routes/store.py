"""The store: items that a user keeps across threads. Each user has their own store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ValidationError
from starlette.responses import Response

from stepwell.database.callers import Caller, item_condition
from stepwell.errors import HandlerResultError, InvalidRequestError
from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy
from stepwell.server.responses import json_response, nothing
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.store import (
    ItemDelete,
    ItemKey,
    ItemPut,
    ItemResponse,
    ItemSearch,
    ItemsResponse,
    NamespaceQuery,
    NamespacesResponse,
    item_wire,
)
from stepwell.validation import describe_first_fault

B = TypeVar("B", bound=BaseModel)

router = APIRouter(tags=["Store"], route_class=JsonRoute)

Reader = Annotated[Principal, Depends(policy("store:read"))]
Searcher = Annotated[Principal, Depends(policy("store:search"))]
Writer = Annotated[Principal, Depends(policy("store:write"))]
Deleter = Annotated[Principal, Depends(policy("store:delete"))]


def namespace_for(principal: Principal, asked: Sequence[str]) -> tuple[str, ...]:
    """The namespace that was asked for, or the one that a project's auth handler put in its place."""
    chosen = principal.owner.namespace if isinstance(principal.owner, Caller) else None
    return tuple(asked) if chosen is None else chosen


def decided(principal: Principal, body: B) -> B:
    """The body with what a project's auth handler changed in it."""
    changed = principal.owner.item if isinstance(principal.owner, Caller) else None
    if not changed:
        return body
    try:
        return type(body).model_validate({**body.model_dump(exclude_unset=True), **changed})
    except ValidationError as error:
        raise HandlerResultError(
            f"The project's auth handler changed a request about the store into one that is not valid: {describe_first_fault(error)}"
        ) from error


@router.put("/store/items", operation_id="put_item", summary="Store an item, replacing any earlier one", status_code=204)
async def put_item(body: ItemPut, principal: Writer, services: Given) -> Response:
    store, body = services.persistence.store(principal.owner), decided(principal, body)
    ttl = {"ttl": body.ttl} if body.ttl is not None and store.supports_ttl else {}
    await store.aput(namespace_for(principal, body.namespace), body.key, body.value, body.index, **ttl)
    return nothing()


@router.get(
    "/store/items",
    operation_id="get_item",
    summary="Get an item; null if it does not exist",
    responses={200: {"model": ItemResponse | None}},
)
async def get_item(
    principal: Reader,
    services: Given,
    key: Annotated[str, Query(min_length=1, max_length=1024)],
    namespace: Annotated[list[str] | None, Query(max_length=50)] = None,
    refresh_ttl: bool | None = None,
) -> Response:
    asked = decided(principal, ItemKey(key=key, refresh_ttl=refresh_ttl))
    item = await services.persistence.store(principal.owner).aget(
        namespace_for(principal, _labels(namespace)), asked.key, refresh_ttl=asked.refresh_ttl
    )
    return json_response(item_wire(item) if item else None)


def _labels(namespace: list[str] | None) -> tuple[str, ...]:
    """The labels of a namespace. SDKs send them joined by dots; several `namespace` parameters are accepted too."""
    labels = tuple(label for part in namespace or () for label in part.split("."))
    if not labels or not all(labels):
        raise InvalidRequestError("'namespace' must be non-empty labels joined by dots, such as 'users.ada'.")
    return labels


@router.delete("/store/items", operation_id="delete_item", summary="Delete an item", status_code=204)
async def delete_item(body: ItemDelete, principal: Deleter, services: Given) -> Response:
    key = decided(principal, body).key
    await services.persistence.store(principal.owner).adelete(namespace_for(principal, body.namespace), key)
    return nothing()


@router.post(
    "/store/items/search",
    operation_id="search_items",
    summary="Search items under a namespace",
    responses={200: {"model": ItemsResponse}},
)
async def search_items(body: ItemSearch, principal: Searcher, services: Given) -> Response:
    body = decided(principal, body)
    found = await services.persistence.store(principal.owner).asearch(
        namespace_for(principal, body.namespace_prefix),
        query=body.query,
        filter=_narrowed(principal, body.filter),
        limit=body.limit or 10,
        offset=body.offset or 0,
        refresh_ttl=body.refresh_ttl,
    )
    return json_response({"items": [item_wire(item) for item in found]})


def _narrowed(principal: Principal, asked: dict[str, Any] | None) -> dict[str, Any] | None:
    """The filter that was asked for, and the one of a project's auth handler."""
    items = principal.owner.items if isinstance(principal.owner, Caller) else None
    if items is None:
        return asked
    return {"$and": [*([asked] if asked else []), item_condition(items)]}


@router.post(
    "/store/namespaces",
    operation_id="list_namespaces",
    summary="List namespaces that contain items",
    responses={200: {"model": NamespacesResponse}},
)
async def list_namespaces(body: NamespaceQuery, principal: Searcher, services: Given) -> Response:
    body = decided(principal, body)
    found = await services.persistence.store(principal.owner).alist_namespaces(
        prefix=namespace_for(principal, body.prefix or ()) or None,
        suffix=tuple(body.suffix) if body.suffix else None,
        max_depth=body.max_depth,
        limit=body.limit or 100,
        offset=body.offset or 0,
    )
    return json_response({"namespaces": [list(namespace) for namespace in found]})
