"""For clients that store knowledge themselves: the files of the embedder that they run, web pages fetched on request, and the text of
files that a browser cannot read."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Header, Path
from starlette.requests import Request
from starlette.responses import Response

from stepwell.errors import FetchFailedError, FetchRefusedError, InvalidRequestError, LimitReachedError, NotFoundError
from stepwell.models.connected import RunModels
from stepwell.server.knowledge import KnowledgeAid
from stepwell.server.limits.bodies import BYTES
from stepwell.server.limits.receiving import BodyRefusedError, ClientGoneError
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.policy import policy
from stepwell.server.problems import problem
from stepwell.server.responses import json_response
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.knowledge import (
    DocumentText,
    EmbedderResponse,
    PageRequest,
    PageText,
    describe_embedder,
    document_wire,
    page_wire,
)
from stepwell.tools.documents.kinds import is_image_name

IMAGES_AN_HOUR = 120
router = APIRouter(tags=["Knowledge"], route_class=JsonRoute)

Reader = Annotated[Principal, Depends(policy("model:read"))]
Asker = Annotated[Principal, Depends(policy("pages:read"))]
Sender = Annotated[Principal, Depends(policy("documents:read"))]
Sha256 = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
FileName = Annotated[
    str,
    Header(alias="x-stepwell-file-name", min_length=1, max_length=1000, description="Percent-encoded; only its ending is used"),
]

_FOR_GOOD = "private, max-age=31536000, immutable"
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
_UPLOAD = {"requestBody": {"content": {BYTES: {"schema": {"type": "string", "format": "binary"}}}, "required": True}}


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


@router.post(
    "/api/documents/read",
    operation_id="read_document",
    summary="Return the text of a file (PDF, office formats, mail, books), sent as application/octet-stream; nothing is stored",
    description="An image (PNG, JPEG, WebP, GIF) is sent to a connected model that reads images, which writes down its text.",
    responses={200: {"model": DocumentText}},
    openapi_extra=_UPLOAD,
)
async def read_document(request: Request, principal: Sender, services: Given, name: FileName) -> Response:
    if request.headers.get("content-type", "").lower() != BYTES:
        raise InvalidRequestError(f"Send the file itself as the body, with 'Content-Type: {BYTES}'.")
    try:
        models = await _models_for_image(unquote(name), principal.owner, services)
        read = await _aid(services).read_document(principal.owner, unquote(name), request.headers, request.receive, models)
    except (FetchRefusedError, FetchFailedError) as error:
        return problem(422, "document-unreadable", "The document cannot be read", str(error))
    except BodyRefusedError as refusal:
        return problem(refusal.status, refusal.name, refusal.title, refusal.detail, headers=refusal.headers)
    except ClientGoneError:
        return problem(
            400, "cut-off", "The body did not arrive", "The connection closed before the whole file arrived. Send it again."
        )
    return json_response(document_wire(read))


async def _models_for_image(name: str, owner: str, services: Services) -> RunModels | None:
    """The caller's models, if one of them has to read an image. Such calls belong to no run, so they have a limit of their own."""
    find = services.registry.find_models
    if not is_image_name(name):
        return None
    counted = await services.persistence.counts.count(f"images of {owner}", 3600.0)
    if counted.number > IMAGES_AN_HOUR:
        wait = max(1, round(counted.left_s))
        raise LimitReachedError(f"{IMAGES_AN_HOUR} images an hour can be read for you. Try again later.", wait)
    return await find(owner, None) if find else None


def _aid(services: Services) -> KnowledgeAid:
    if services.parts.knowledge is None:
        raise NotFoundError("help with knowledge", "here", "This server offers neither an embedder's files nor web pages.")
    return services.parts.knowledge
