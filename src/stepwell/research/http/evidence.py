"""A research report with the evidence for each sentence; the report as a document; and verification of a thread or an uploaded bundle.

For threads of other users the answer is "not found". An uploaded bundle is checked and deleted. Reading, checking and typesetting are
CPU-bound: they run outside the event loop, and count as one of the caller's open streams. A bundle is checked in its own process
(`audit/checking_process.py`), which has a time limit.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from stepwell.errors import BundleError, ConfigurationError, EvidenceError, InvalidRequestError, NotFoundError
from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.evidence import Source
from stepwell.research.audit.ledger import read_evidence
from stepwell.research.audit.story import evidence_of, story_of, story_of_report
from stepwell.research.audit.trail import Entry
from stepwell.research.audit.vault import EvidenceVault
from stepwell.research.database_vault import SqlVault
from stepwell.research.http.evidence_schemas import (
    MEDIA_TYPES,
    ExportFormat,
    ReportResponse,
    SourceTextResponse,
    VerificationResponse,
    VerifyQuery,
    report_wire,
    verification_wire,
)
from stepwell.research.service import research_of
from stepwell.server.limits.bodies import ZIP
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.policy import policy, stream_policy
from stepwell.server.problems import problem
from stepwell.server.responses import json_response
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.fields import ThreadId

if TYPE_CHECKING:
    from stepwell.research.audit.checking_process import BundleChecker

router = APIRouter(tags=["Research"], route_class=JsonRoute)

Reader = Annotated[Principal, Depends(policy("threads:read"))]
Worker = Annotated[Principal, Depends(stream_policy("threads:read"))]
Exporter = Annotated[Principal, Depends(stream_policy("threads:export"))]
OfThread = Annotated[ThreadId, Path(alias="threadId")]
Expected = Annotated[VerifyQuery, Query()]
ReportHash = Annotated[
    str | None, Query(pattern="^[0-9a-f]{64}$", description="The SHA-256 of a report's Markdown; without it, the newest report")
]
SourceId = Annotated[str, Path(alias="sourceId", min_length=1, max_length=64)]

MAX_BUNDLE_BYTES = 64 * 1024 * 1024
_UPLOAD_S = 300.0
_UPLOAD = {"requestBody": {"content": {ZIP: {"schema": {"type": "string", "format": "binary"}}}, "required": True}}
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The document",
        "content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in MEDIA_TYPES.values()},
    }
}


@router.post(
    "/api/research/verify",
    operation_id="verify_bundle",
    summary="Verify a bundle: send the file as application/zip, at most 64 MB; the result comes within 30 s",
    responses={200: {"model": VerificationResponse}},
    openapi_extra=_UPLOAD,
)
async def verify_upload(request: Request, principal: Worker, services: Given, expected: Expected) -> Response:
    if request.headers.get("content-type", "").lower() != ZIP:
        raise InvalidRequestError(f"Send the bundle's file itself as the body, with 'Content-Type: {ZIP}'.")
    async with _folder() as folder:
        bundle = folder / "bundle.zip"
        try:
            async with asyncio.timeout(_UPLOAD_S):
                whole = await _receive(request, bundle)
        except TimeoutError:
            return problem(
                408, "too-slow", "The body did not arrive in time", f"The bundle did not arrive within {_UPLOAD_S:.0f} s."
            )
        except ClientDisconnect:
            return problem(
                400,
                "cut-off",
                "The body did not arrive",
                "The connection closed before the whole bundle arrived. Send it again.",
            )
        if not whole:
            most = f"The bundle is larger than {MAX_BUNDLE_BYTES} bytes. Check it with `stepwell verify` instead."
            return problem(413, "too-large", "The body is too large", most)
        return json_response(await _verify(research_of(services).checker, bundle, expected))


@router.get(
    "/api/research/{threadId}/verify",
    operation_id="verify_research",
    summary="Verify the evidence of a thread's research, as anyone can with its bundle",
    responses={200: {"model": VerificationResponse}},
)
async def verify_research(thread_id: OfThread, principal: Worker, services: Given, expected: Expected) -> Response:
    async with _folder() as folder:
        bundle = await pack_thread(services, principal, thread_id, folder)
        return json_response(await _verify(research_of(services).checker, bundle, expected))


def _write_document(bundle: FilePath, format: str) -> bytes:
    from stepwell.research.audit.export import export_bundle, format_of, require_format  # imported on demand

    chosen = format_of(None, format)
    require_format(chosen)
    return export_bundle(bundle, chosen)


async def _verify(checker: BundleChecker, bundle: FilePath, expected: VerifyQuery) -> dict[str, Any]:
    # In a query, the plus signs of a key may have become spaces.
    key = None if expected.key is None else expected.key.replace(" ", "+")
    try:
        checked = await checker.check(bundle, head=expected.head, key=key, strict=expected.strict)
    except EvidenceError as error:
        raise InvalidRequestError(str(error)) from error
    return verification_wire(checked)


@router.get(
    "/api/research/{threadId}/report",
    operation_id="get_research_report",
    summary="Get a thread's newest report, or an earlier one by its hash, with its claims, quotes and sources",
    responses={200: {"model": ReportResponse}},
)
async def get_report(thread_id: OfThread, principal: Reader, services: Given, sha256: ReportHash = None) -> Response:
    vault, entries = await _evidence(services, principal, thread_id)
    story = story_of_report(entries, sha256) if sha256 else story_of(entries)
    evidence = evidence_of(entries, story)
    if evidence.report_sha256 is None:
        if sha256:
            raise NotFoundError("report", sha256, "The thread has no report with this hash.")
        raise NotFoundError("report of thread", thread_id, "The research has not finished yet. Follow the thread's run.")
    report = (await vault.get(evidence.report_sha256)).decode()
    return json_response(await asyncio.to_thread(report_wire, entries, story, evidence, report))


@router.get(
    "/api/research/{threadId}/sources/{sourceId}/text",
    operation_id="get_source_text",
    summary="Get the stored text of a source, into which quotes point",
    responses={200: {"model": SourceTextResponse}},
)
async def get_source_text(thread_id: OfThread, source_id: SourceId, principal: Reader, services: Given) -> Response:
    vault, entries = await _evidence(services, principal, thread_id)
    source: Source | None = read_evidence(entries).sources.get(source_id)
    if source is None:
        raise NotFoundError("source", source_id, "The thread's report lists its sources.")
    text = (await vault.get(source.text_sha256)).decode(errors="replace")
    return json_response({"source_id": source_id, "text": text, "text_sha256": source.text_sha256})


@router.get(
    "/api/research/{threadId}/export",
    operation_id="export_research",
    summary="Export the research as Markdown, HTML, PDF or DOCX, its sources as BibTeX or CSL-JSON, or its bundle",
    responses=_FILE,
)
async def export_research(thread_id: OfThread, principal: Exporter, services: Given, format: ExportFormat = "md") -> Response:
    async with _folder() as folder:
        bundle = await pack_thread(services, principal, thread_id, folder)
        try:
            document = await asyncio.to_thread(_write_document, bundle, format)
        except (BundleError, ConfigurationError) as error:
            raise InvalidRequestError(str(error)) from error
    # Sent as a download, and never shown as a page of this server.
    named = {"Content-Disposition": f'attachment; filename="research-{thread_id}.{format}"'}
    return Response(document, headers=named, media_type=MEDIA_TYPES[format])


async def _evidence(services: Services, principal: Principal, thread_id: str) -> tuple[EvidenceVault, list[Entry]]:
    await services.threads.get(principal.owner, thread_id, with_values=False)
    vault = SqlVault(services.persistence.database, thread_id)
    entries = await vault.entries()
    if not entries:
        raise NotFoundError(
            "evidence of thread", thread_id, "The thread has no research. Ask a question with POST /api/research."
        )
    return vault, entries


async def pack_thread(services: Services, principal: Principal, thread_id: str, folder: FilePath) -> FilePath:
    """The bundle of a user's thread, in a folder."""
    vault, _ = await _evidence(services, principal, thread_id)
    bundle = folder / f"{thread_id}.zip"
    await write_bundle(vault, bundle, research_of(services).signer)
    return bundle


async def _receive(request: Request, file: FilePath) -> bool:
    """Write the body to a file, piece by piece. Returns whether all of it was stored; of a body that is too large, the rest is read and
    dropped, up to twice the limit."""
    size = 0
    with file.open("wb") as opened:
        async for piece in request.stream():
            size += len(piece)
            if size <= MAX_BUNDLE_BYTES:
                await asyncio.to_thread(opened.write, piece)
            elif size > 2 * MAX_BUNDLE_BYTES:
                break
    return size <= MAX_BUNDLE_BYTES


@asynccontextmanager
async def _folder() -> AsyncIterator[FilePath]:
    made = await asyncio.to_thread(tempfile.TemporaryDirectory, prefix="stepwell-evidence-")
    try:
        yield FilePath(made.name)
    finally:
        await asyncio.to_thread(made.cleanup)
