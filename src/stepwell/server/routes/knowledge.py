"""For clients that store knowledge themselves: the files of the embedder that they run, and web pages fetched on request."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path
from starlette.responses import Response

from stepwell.errors import NotFoundError
from stepwell.server.knowledge import KnowledgeAid
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.policy import policy
from stepwell.server.responses import json_response
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.knowledge import EmbedderResponse, PageRequest, PageText, describe_embedder, page_wire

router = APIRouter(tags=["Knowledge"], route_class=JsonRoute)

Reader = Annotated[Principal, Depends(policy("model:read"))]
Asker = Annotated[Principal, Depends(policy("pages:read"))]
Sha256 = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]

_FOR_GOOD = "private, max-age=31536000, immutable"
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.get(
    "/api/embedder",
    operation_id="get_embedder",
    summary="The embedder that a browser can run, and where its files are",
    responses={200: {"model": EmbedderResponse}},
)
async def get_embedder(principal: Reader, services: Given) -> Response:
    return json_response(describe_embedder(services.parts.knowledge is not None and services.parts.knowledge.has_embedder()))


@router.get(
    "/api/embedder/files/{sha256}",
    operation_id="get_embedder_file",
    summary="Get one of the embedder's files by its hash",
    responses=_FILE,
)
async def get_embedder_file(sha256: Sha256, principal: Reader, services: Given) -> Response:
    content = await _aid(services).file(sha256)
    return Response(content, headers={"cache-control": _FOR_GOOD}, media_type="application/octet-stream")


@router.post(
    "/api/pages/read",
    operation_id="read_page",
    summary="Fetch a public web page and return its text; nothing is stored",
    responses={200: {"model": PageText}},
)
async def read_page(body: PageRequest, principal: Asker, services: Given) -> Response:
    return json_response(page_wire(await _aid(services).read_page(principal.owner, body.url)))


def _aid(services: Services) -> KnowledgeAid:
    if services.parts.knowledge is None:
        raise NotFoundError("help with knowledge", "here", "This server offers neither an embedder's files nor web pages.")
    return services.parts.knowledge
