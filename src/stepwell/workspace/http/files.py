"""Upload and download of a workspace's files, for the page and other programs. Callers with only one root may leave `root` out.

`ETag` is a file's version. A change with `If-Match` applies only to that version, and one with `If-None-Match: *` only if the file does not
exist; otherwise the response is 412. Other tenants' files look as if they did not exist.
"""

from __future__ import annotations

import builtins
import mimetypes
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Header, Path, Query
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from stepwell.backends.objects.root import OpenedRoot
from stepwell.backends.whole_files import Base, FileFacts, check_folder, check_path
from stepwell.errors import InvalidRequestError, NotFoundError, VersionConflictError
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.policy import policy
from stepwell.server.responses import json_response, nothing
from stepwell.server.routing import Given, JsonRoute
from stepwell.workspace.files.place import Workspace, make_cursor, read_cursor
from stepwell.workspace.files.uploads import LASTS, MAX_PART_BYTES, MAX_PARTS
from stepwell.workspace.http.file_schemas import (
    MAX_PATH_CHARS,
    UploadBegin,
    UploadBegun,
    UploadPart,
    WorkspaceFile,
    WorkspaceListing,
    etag_of,
    file_wire,
)
from stepwell.workspace.service import Workspaces

router = APIRouter(tags=["Workspace"], route_class=JsonRoute)

Reader = Annotated[Principal, Depends(policy("workspace:read"))]
Writer = Annotated[Principal, Depends(policy("workspace:write"))]
Root = Annotated[str | None, Query(max_length=MAX_PATH_CHARS, description="The workspace, such as /company/workspace/")]
FilePath = Annotated[str, Path(max_length=4 * MAX_PATH_CHARS)]
UploadId = Annotated[str, Path(max_length=64)]
Condition = Annotated[str | None, Header(max_length=200)]

MAX_LISTED = 1000
LOOKS = 5
"""How many times we try to read a file that is being written, before the reader gets an error."""
BYTES = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
BODY = {"requestBody": {"required": True, **BYTES}}

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
_TAG = re.compile(r'(?:W/)?"([^"]*)"')


@router.get(
    "/api/workspace/files",
    operation_id="list_workspace_files",
    summary="List the files below a folder of the workspace, page by page",
    responses={200: {"model": WorkspaceListing}},
)
async def list_files(
    principal: Reader,
    services: Given,
    root: Root = None,
    prefix: Annotated[str, Query(max_length=MAX_PATH_CHARS)] = "",
    cursor: Annotated[str | None, Query(max_length=4 * MAX_PATH_CHARS)] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = 100,
) -> Response:
    workspace = workspace_of(services)
    opened = await workspace.open(principal, root)
    folder = check_folder(prefix)
    after = read_cursor(opened.root, folder, cursor)
    files = await workspace.files.list_page(opened.root, folder, after, limit + 1)
    page = files[:limit]
    more = make_cursor(opened.root, folder, page[-1].path) if len(files) > limit else None
    return json_response({"files": [file_wire(file) for file in page], "cursor": more})


@router.get(
    "/api/workspace/files/{path:path}",
    operation_id="get_workspace_file",
    summary="Download a file, or a range of its bytes",
    response_class=Response,
    responses={
        200: BYTES,
        206: BYTES,
        304: {"description": "Not modified"},
        416: {"description": "The range is outside the file"},
    },
)
async def get_file(
    path: FilePath,
    principal: Reader,
    services: Given,
    root: Root = None,
    range: Condition = None,
    if_none_match: Condition = None,
    if_range: Condition = None,
) -> Response:
    workspace = workspace_of(services)
    opened = await workspace.open(principal, root)
    for _ in builtins.range(LOOKS - 1):
        with suppress(VersionConflictError):  # written since we looked at it: try again
            return await _send(workspace, opened, path, range, if_none_match, if_range)
    return await _send(workspace, opened, path, range, if_none_match, if_range)


@router.put(
    "/api/workspace/files/{path:path}",
    operation_id="put_workspace_file",
    summary="Store a file",
    responses={200: {"model": WorkspaceFile}},
    openapi_extra=BODY,
)
async def put_file(
    path: FilePath,
    request: Request,
    principal: Writer,
    services: Given,
    root: Root = None,
    if_match: Condition = None,
    if_none_match: Condition = None,
) -> Response:
    workspace = workspace_of(services)
    opened = await workspace.open(principal, root, writing=True)
    checked, base = check_path(path), _base_of(if_match, if_none_match)
    async with workspace.room(opened.tenant) as room:
        room.replaced = opened.root + checked[1:], partial(workspace.size_of, opened, checked)
        async with workspace.uploads.receive(request, room) as received:
            stored = await workspace.files.put(opened.root, checked, received, base)
            room.keep(stored.size)
    return json_response(file_wire(stored), headers={"ETag": etag_of(stored)})


@router.delete(
    "/api/workspace/files/{path:path}", operation_id="delete_workspace_file", summary="Delete a file", status_code=204
)
async def delete_file(
    path: FilePath, principal: Writer, services: Given, root: Root = None, if_match: Condition = None
) -> Response:
    workspace = workspace_of(services)
    opened = await workspace.open(principal, root, writing=True)
    checked = check_path(path)
    if not await workspace.files.delete(opened.root, checked, _base_of(if_match, None)):
        raise _missing(checked)
    workspace.shares.note_deletion(opened.tenant)
    return nothing()


@router.post(
    "/api/workspace/uploads",
    operation_id="begin_upload",
    summary="Begin to upload a file in parts",
    responses={200: {"model": UploadBegun}},
)
async def begin_upload(body: UploadBegin, principal: Writer, services: Given) -> Response:
    workspace = workspace_of(services)
    opened = await workspace.open(principal, body.root, writing=True)
    base = _base_of(body.if_match, body.if_none_match)
    upload = await workspace.uploads.begin(principal.owner, opened.root, opened.tenant, check_path(body.path), base)
    over = datetime.fromtimestamp(upload.begun_at, UTC) + LASTS
    return json_response(
        {"upload_id": upload.upload_id, "max_part_bytes": MAX_PART_BYTES, "max_parts": MAX_PARTS, "expires_at": over}
    )


@router.put(
    "/api/workspace/uploads/{upload_id}/{part}",
    operation_id="put_upload_part",
    summary="Upload a part; sending the same number again replaces it",
    responses={200: {"model": UploadPart}},
    openapi_extra=BODY,
)
async def put_part(
    upload_id: UploadId,
    part: Annotated[int, Path(ge=1, le=MAX_PARTS)],
    request: Request,
    principal: Writer,
    services: Given,
) -> Response:
    workspace = workspace_of(services)
    upload = await workspace.uploads.find(principal.owner, upload_id)
    opened = await workspace.open(principal, upload.root, writing=True)
    async with workspace.room(opened.tenant) as room:
        return json_response({"part": part, "size": await workspace.uploads.take_part(upload, part, request, room)})


@router.post(
    "/api/workspace/uploads/{upload_id}/complete",
    operation_id="complete_upload",
    summary="Join the parts and store the file",
    responses={200: {"model": WorkspaceFile}},
)
async def complete_upload(upload_id: UploadId, principal: Writer, services: Given) -> Response:
    workspace = workspace_of(services)
    upload = await workspace.uploads.find(principal.owner, upload_id)
    opened = await workspace.open(principal, upload.root, writing=True)
    if upload.result is not None:
        return json_response(upload.result, headers={"ETag": upload.result["etag"]})
    async with workspace.room(opened.tenant) as room, workspace.uploads.join(upload) as whole:
        await room.check()  # the space of its parts is already counted
        stored = await workspace.files.put(opened.root, upload.path, whole, upload.base)
    result = {**file_wire(stored), "modified_at": stored.modified_at.isoformat()}
    await workspace.uploads.complete(upload, result)
    return json_response(result, headers={"ETag": etag_of(stored)})


def workspace_of(services: Services) -> Workspace:
    """The workspace that this server serves; 404 if there is none."""
    workspaces = services.find(Workspaces)
    found = workspaces.workspace if workspaces else None
    if found is None or found.graph_id not in services.registry.names:
        served = ", ".join(sorted(services.registry.names)) or "none"
        raise NotFoundError("graph", "workspace", f"This server does not serve it, and these routes need it. Served: {served}.")
    return found


async def _find(workspace: Workspace, opened: OpenedRoot, path: str) -> FileFacts:
    checked = check_path(path)
    file = await workspace.files.look(opened.root, checked)
    if file is None:
        raise _missing(checked)
    return file


async def _send(
    workspace: Workspace, opened: OpenedRoot, path: str, asked: str | None, if_none_match: str | None, if_range: str | None
) -> Response:
    """A response with the file's current version. Raises `VersionConflictError` if the file changed before its first bytes were read."""
    file = await _find(workspace, opened, path)
    headers = _headers_of(file)
    if if_none_match is not None and (if_none_match == "*" or file.version in _TAG.findall(if_none_match)):
        return Response(status_code=304, headers=headers)
    start, end = _range_of(asked if if_range in (None, etag_of(file)) else None, file.size)
    whole = (start, end) == (0, file.size)
    headers |= {"Content-Length": str(end - start)}
    headers |= {} if whole else {"Content-Range": f"bytes {start}-{end - 1}/{file.size}"}
    pieces = await _begin(workspace.files.read(opened.root, file, start, end))
    kind = mimetypes.guess_type(file.path)[0] or "application/octet-stream"
    return StreamingResponse(pieces, 200 if whole else 206, headers, kind)


async def _begin(pieces: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    """The same pieces, with the first already read, so that we never announce the length of a file that can no longer be read."""
    first = await anext(pieces, b"")

    async def go_on() -> AsyncIterator[bytes]:
        async with aclosing(pieces):
            yield first
            async for piece in pieces:
                yield piece

    return go_on()


def _missing(path: str) -> NotFoundError:
    return NotFoundError("file", path, "List the files with GET /api/workspace/files.")


def _base_of(if_match: str | None, if_none_match: str | None) -> Base:
    """The version that a change applies to, from RFC 9110's headers."""
    if if_none_match is not None and if_none_match.strip() != "*":
        raise InvalidRequestError("For a change, If-None-Match can only be '*': store the file only if it does not exist yet.")
    if if_match is not None and if_none_match is not None:
        raise InvalidRequestError("If-Match and If-None-Match contradict each other. Send one of them.")
    if if_match is None:
        return Base(absent=if_none_match is not None)
    tag = _TAG.fullmatch(if_match.strip())
    if tag is None:
        raise InvalidRequestError("If-Match must be an ETag of this file, with its quotation marks.")
    return Base(version=tag[1])


def _range_of(asked: str | None, size: int) -> tuple[int, int]:
    """Start and end of the requested range: the whole file if it is empty or `asked` is not one range of bytes, as RFC 9110 allows."""
    found = _RANGE.fullmatch(asked.strip()) if asked else None
    if size == 0 or found is None or not (found[1] or found[2]):
        return 0, size
    start = int(found[1]) if found[1] else max(size - int(found[2]), 0)
    end = min(int(found[2]) + 1, size) if found[1] and found[2] else size
    if start >= size or start >= end:
        raise HTTPException(416, f"The file has {size} bytes.", {"Content-Range": f"bytes */{size}"})
    return start, end


def _headers_of(file: FileFacts) -> dict[str, str]:
    """Headers that make a browser save a tenant's file, never show it as a page of this server or run scripts in it."""
    return {
        "ETag": etag_of(file),
        "Accept-Ranges": "bytes",
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.path.rpartition('/')[2], safe='')}",
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
