"""Google Cloud Storage's JSON API, as far as google-cloud-storage uses it: objects under `/storage/v1`, uploads and downloads."""

from __future__ import annotations

import json
from base64 import b64encode
from email.parser import BytesParser
from email.policy import HTTP
from hashlib import md5
from typing import Any
from urllib.parse import unquote

from stepwell.testing.objects.contents import PAGE, Contents, RequestRefusedError, StoredObject, check_generation
from stepwell.testing.objects.wire import Request, Response, cut_range

PREFIXES = ("/storage/v1/b/", "/upload/storage/v1/b/", "/download/storage/v1/b/")


def speaks(path: str) -> bool:
    """Whether a URL belongs to this API."""
    return path.startswith(PREFIXES)


def respond(contents: Contents, request: Request) -> Response:
    """Carry out a request."""
    bucket, _, rest = request.raw_path.partition("/b/")[2].partition("/")
    name = unquote(rest.removeprefix("o").removeprefix("/"))
    try:
        return _carry_out(contents, request, unquote(bucket), name)
    except RequestRefusedError as refusal:
        return _json(refusal.status, {"error": {"code": refusal.status, "message": refusal.code}})


def _carry_out(contents: Contents, request: Request, bucket: str, name: str) -> Response:
    if request.path.startswith("/upload/"):
        return _upload(contents, request, bucket)
    if not name:
        return _list(contents, request, bucket)
    wanted = _generation(request)
    if request.method == "DELETE":
        contents.delete(bucket, name, if_generation=wanted)
        return Response(204)
    found = contents.get(bucket, name)
    check_generation(found, wanted)
    if request.query.get("alt") == "media":
        headers = {
            "content-type": found.content_type,
            "x-goog-generation": str(found.generation),
            "x-goog-hash": f"md5={_md5(found)}",
        }
        return cut_range(Response(200, found.data, headers), request.headers.get("range"))
    return _json(200, _resource(found))


def _upload(contents: Contents, request: Request, bucket: str) -> Response:
    """`uploadType=media` sends only the bytes, `multipart` first a part that describes them."""
    described: dict[str, Any] = {}
    data, content_type = request.body, request.headers.get("content-type", "")
    if request.query.get("uploadType") == "multipart":
        described, data, content_type = _split_parts(content_type, request.body)
    stored = contents.put(
        bucket,
        described.get("name") or request.query["name"],
        data,
        if_generation=_generation(request),
        content_type=content_type,
        metadata=described.get("metadata"),
    )
    return _json(200, _resource(stored))


def _split_parts(content_type: str, body: bytes) -> tuple[dict[str, Any], bytes, str]:
    """The description, the bytes and their type, from a `multipart/related` body."""
    message = BytesParser(policy=HTTP).parsebytes(f"content-type: {content_type}\r\n\r\n".encode() + body)
    about, content = message.iter_parts()
    return json.loads(about.get_content()), bytes(content.get_payload(decode=True)), content.get_content_type()


def _list(contents: Contents, request: Request, bucket: str) -> Response:
    query = request.query
    limit = int(query.get("maxResults") or PAGE)
    page = contents.list_page(bucket, query.get("prefix", ""), query.get("delimiter", ""), query.get("pageToken", ""), limit)
    answer: dict[str, Any] = {"kind": "storage#objects", "items": [_resource(found) for found in page.objects]}
    if page.prefixes:
        answer["prefixes"] = page.prefixes
    if page.next_token is not None:
        answer["nextPageToken"] = page.next_token
    return _json(200, answer)


def _resource(found: StoredObject) -> dict[str, Any]:
    return {
        "kind": "storage#object",
        "id": f"{found.bucket}/{found.name}/{found.generation}",
        "bucket": found.bucket,
        "name": found.name,
        "generation": str(found.generation),
        "metageneration": "1",
        "size": str(len(found.data)),
        "contentType": found.content_type,
        "etag": found.etag.strip('"'),
        "md5Hash": _md5(found),
        "metadata": dict(found.metadata),
        "timeCreated": found.updated.isoformat(),
        "updated": found.updated.isoformat(),
    }


def _generation(request: Request) -> int | None:
    text = request.query.get("ifGenerationMatch")
    return None if text is None else int(text)


def _md5(found: StoredObject) -> str:
    return b64encode(md5(found.data, usedforsecurity=False).digest()).decode()


def _json(status: int, answer: dict[str, Any]) -> Response:
    return Response(status, json.dumps(answer).encode(), {"content-type": "application/json"})
