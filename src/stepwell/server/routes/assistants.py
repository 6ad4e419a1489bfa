"""Assistants: graphs with a configuration."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field
from starlette.responses import Response

from stepwell.database.records.types import Page
from stepwell.errors import InvalidRequestError
from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy
from stepwell.server.responses import json_response, next_page, nothing
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.assistants import (
    AssistantCount,
    AssistantCreate,
    AssistantPatch,
    AssistantResponse,
    AssistantSearch,
    GraphReadiness,
    GraphSchemas,
    VersionChoice,
    VersionsQuery,
    assistant_wire,
)
from stepwell.server.schemas.fields import JsonObject, PathAssistant, pick

router = APIRouter(tags=["Assistants"], route_class=JsonRoute)

Reader = Annotated[Principal, Depends(policy("assistants:read"))]
Searcher = Annotated[Principal, Depends(policy("assistants:search"))]
Creator = Annotated[Principal, Depends(policy("assistants:create"))]
Updater = Annotated[Principal, Depends(policy("assistants:update"))]
Deleter = Annotated[Principal, Depends(policy("assistants:delete"))]

Depth = Annotated[int, Field(ge=1, le=100)]


@router.post(
    "/assistants", operation_id="create_assistant", summary="Create an assistant", responses={200: {"model": AssistantResponse}}
)
async def create_assistant(body: AssistantCreate, principal: Creator, services: Given) -> Response:
    assistant = await services.assistants.create(
        principal.owner,
        graph_id=body.graph_id,
        name=body.name,
        config=body.config.given() if body.config else None,
        context=body.context,
        metadata=body.metadata,
        assistant_id=body.assistant_id,
        if_exists=body.if_exists or "raise",
        description=body.description,
    )
    return json_response(assistant_wire(assistant))


@router.post(
    "/assistants/search",
    operation_id="search_assistants",
    summary="Search assistants; the header X-Pagination-Next has the offset of the next page",
    responses={200: {"model": list[AssistantResponse]}},
)
async def search_assistants(body: AssistantSearch, principal: Searcher, services: Given) -> Response:
    limit, offset = body.limit or 10, body.offset or 0
    page = Page(limit + 1, offset, body.sort_by or "created_at", body.sort_order != "asc")
    found = await services.assistants.search(principal.owner, body.wanted(), page)
    shown = [pick(assistant_wire(assistant), list(body.select or ())) for assistant in found[:limit]]
    return json_response(shown, headers=next_page(offset, limit, len(found)))


@router.post("/assistants/count", operation_id="count_assistants", summary="Count assistants", responses={200: {"model": int}})
async def count_assistants(body: AssistantCount, principal: Searcher, services: Given) -> Response:
    return json_response(await services.assistants.count(principal.owner, body.wanted()))


@router.get(
    "/api/graphs",
    operation_id="list_graphs",
    summary="List the served graphs, and what is missing for those that cannot run here",
    responses={200: {"model": list[GraphReadiness]}},
)
async def list_graphs(principal: Searcher, services: Given) -> Response:
    found = await services.assistants.readiness(principal.owner)
    modes = await services.assistants.run_modes(principal.owner)
    rewinds = await services.registry.rewinds(principal.owner)
    return json_response(
        [
            {
                "graph_id": name,
                "ready": lacks is None,
                "problem": lacks,
                "run_modes": modes[name],
                "can_rewind": rewinds[name],
            }
            for name, lacks in found.items()
        ]
    )


@router.get(
    "/assistants/{assistant_id}",
    operation_id="get_assistant",
    summary="Get an assistant by its id or its graph's name",
    responses={200: {"model": AssistantResponse}},
)
async def get_assistant(assistant_id: PathAssistant, principal: Reader, services: Given) -> Response:
    return json_response(assistant_wire(await services.assistants.resolve(principal.owner, assistant_id)))


@router.patch(
    "/assistants/{assistant_id}",
    operation_id="update_assistant",
    summary="Update an assistant, which creates a new version",
    responses={200: {"model": AssistantResponse}},
)
async def update_assistant(assistant_id: PathAssistant, body: AssistantPatch, principal: Updater, services: Given) -> Response:
    assistant = await services.assistants.update(
        principal.owner,
        assistant_id,
        graph_id=body.graph_id,
        name=body.name,
        config=body.config.given() if body.config else None,
        context=body.context,
        metadata=body.metadata,
        description=body.description,
    )
    return json_response(assistant_wire(assistant))


@router.delete(
    "/assistants/{assistant_id}",
    operation_id="delete_assistant",
    summary="Delete an assistant and its versions",
    status_code=204,
)
async def delete_assistant(
    assistant_id: PathAssistant, principal: Deleter, services: Given, delete_threads: bool = False
) -> Response:
    await services.assistants.delete(principal.owner, assistant_id, delete_threads=delete_threads)
    return nothing()


@router.post(
    "/assistants/{assistant_id}/versions",
    operation_id="list_assistant_versions",
    summary="List an assistant's versions, newest first",
    responses={200: {"model": list[AssistantResponse]}},
)
async def list_versions(assistant_id: PathAssistant, body: VersionsQuery, principal: Reader, services: Given) -> Response:
    page = Page(body.limit or 10, body.offset or 0, "version")
    found = await services.assistants.versions(principal.owner, assistant_id, body.metadata or {}, page)
    return json_response([assistant_wire(version) for version in found])


@router.post(
    "/assistants/{assistant_id}/latest",
    operation_id="set_latest_assistant_version",
    summary="Make a version the current one",
    responses={200: {"model": AssistantResponse}},
)
async def set_latest(
    assistant_id: PathAssistant,
    principal: Updater,
    services: Given,
    body: VersionChoice | None = None,
    version: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="The version, if the body does not name it")] = None,
) -> Response:
    chosen = body.version if body else version
    if chosen is None:
        raise InvalidRequestError('No version was named. Send {"version": 2} as the body, or ?version=2.')
    return json_response(assistant_wire(await services.assistants.set_latest(principal.owner, assistant_id, chosen)))


@router.get(
    "/assistants/{assistant_id}/schemas",
    operation_id="get_assistant_schemas",
    summary="JSON Schemas of the assistant's graph",
    responses={200: {"model": GraphSchemas}},
)
async def get_schemas(assistant_id: PathAssistant, principal: Reader, services: Given) -> Response:
    return json_response(await services.assistants.schemas(principal.owner, assistant_id))


@router.get(
    "/assistants/{assistant_id}/graph",
    operation_id="get_assistant_graph",
    summary="Nodes and edges of the assistant's graph; xray draws subgraphs too",
    responses={200: {"model": JsonObject}},
)
async def get_graph(
    assistant_id: PathAssistant, principal: Reader, services: Given, xray: Annotated[Depth | bool, Query()] = False
) -> Response:
    return json_response(await services.assistants.graph(principal.owner, assistant_id, xray))


@router.get(
    "/assistants/{assistant_id}/subgraphs",
    operation_id="get_assistant_subgraphs",
    summary="JSON Schemas of the graph's subgraphs",
    responses={200: {"model": dict[str, GraphSchemas]}},
)
async def get_subgraphs(assistant_id: PathAssistant, principal: Reader, services: Given, recurse: bool = False) -> Response:
    return json_response(await services.assistants.subgraphs(principal.owner, assistant_id, None, recurse))


@router.get(
    "/assistants/{assistant_id}/subgraphs/{namespace}",
    operation_id="get_assistant_subgraph",
    summary="JSON Schemas of one subgraph",
    responses={200: {"model": dict[str, GraphSchemas]}},
)
async def get_subgraph(
    assistant_id: PathAssistant,
    namespace: Annotated[str, Path(max_length=1024)],
    principal: Reader,
    services: Given,
    recurse: bool = False,
) -> Response:
    return json_response(await services.assistants.subgraphs(principal.owner, assistant_id, namespace, recurse))
