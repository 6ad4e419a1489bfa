"""Google Cloud Storage's XML API, as far as obstore uses it: `/{bucket}/{name}`, and `/{bucket}?list-type=2`."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import format_datetime
from xml.sax.saxutils import escape

from stepwell.testing.objects.contents import PAGE, Contents, Page, RequestRefusedError, StoredObject, check_generation
from stepwell.testing.objects.wire import Request, Response, cut_range

_META = "x-goog-meta-"
_GENERATION = "x-goog-if-generation-match"


def respond(contents: Contents, request: Request) -> Response:
    """Carry out a request."""
    bucket, _, name = request.path.lstrip("/").partition("/")
    try:
        if not name and request.method == "GET":
            return _list(contents, bucket, request.query)
        return _HANDLERS[request.method](contents, bucket, name, request)
    except RequestRefusedError as refusal:
        body = f"<?xml version='1.0'?><Error><Code>{refusal.code}</Code><Message>{refusal.code}</Message></Error>"
        return Response(refusal.status, body.encode(), {"content-type": "application/xml"})


def _put(contents: Contents, bucket: str, name: str, request: Request) -> Response:
    stored = contents.put(
        bucket,
        name,
        request.body,
        if_generation=_number(request.headers.get(_GENERATION)),
        content_type=request.headers.get("content-type", "application/octet-stream"),
        metadata={key.removeprefix(_META): value for key, value in request.headers.items() if key.startswith(_META)},
    )
    return Response(200, b"", {"etag": stored.etag, "x-goog-generation": str(stored.generation)})


def _get(contents: Contents, bucket: str, name: str, request: Request) -> Response:
    found = contents.get(bucket, name)
    check_generation(found, _number(request.headers.get(_GENERATION)))
    if (wanted := request.headers.get("if-match")) and wanted not in (found.etag, "*"):
        raise RequestRefusedError(412, "PreconditionFailed")
    return cut_range(Response(200, found.data, _headers(found)), request.headers.get("range"))


def _delete(contents: Contents, bucket: str, name: str, request: Request) -> Response:
    contents.delete(bucket, name, if_generation=_number(request.headers.get(_GENERATION)))
    return Response(204)


_HANDLERS = {"PUT": _put, "GET": _get, "HEAD": _get, "DELETE": _delete}


def _headers(found: StoredObject) -> dict[str, str]:
    return {
        "etag": found.etag,
        "content-type": found.content_type,
        "last-modified": format_datetime(found.updated, usegmt=True),
        "x-goog-generation": str(found.generation),
        **{_META + key: value for key, value in found.metadata.items()},
    }


def _list(contents: Contents, bucket: str, query: Mapping[str, str]) -> Response:
    after = query.get("continuation-token") or query.get("start-after") or ""
    limit = int(query.get("max-keys") or PAGE)
    page = contents.list_page(bucket, query.get("prefix", ""), query.get("delimiter", ""), after, limit)
    return Response(200, _page_xml(bucket, page).encode(), {"content-type": "application/xml"})


def _page_xml(bucket: str, page: Page) -> str:
    rows = [
        f"<Contents><Key>{escape(found.name)}</Key><Generation>{found.generation}</Generation>"
        f"<LastModified>{found.updated:%Y-%m-%dT%H:%M:%S}.{found.updated.microsecond // 1000:03}Z</LastModified>"
        f"<ETag>{found.etag}</ETag><Size>{len(found.data)}</Size></Contents>"
        for found in page.objects
    ]
    rows += [f"<CommonPrefixes><Prefix>{escape(prefix)}</Prefix></CommonPrefixes>" for prefix in page.prefixes]
    if page.next_token is not None:
        rows.append(f"<NextContinuationToken>{escape(page.next_token)}</NextContinuationToken>")
    truncated = "true" if page.next_token is not None else "false"
    return (
        "<?xml version='1.0' encoding='UTF-8'?><ListBucketResult xmlns='http://doc.s3.amazonaws.com/2006-03-01'>"
        f"<Name>{escape(bucket)}</Name><IsTruncated>{truncated}</IsTruncated>{''.join(rows)}</ListBucketResult>"
    )


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)
