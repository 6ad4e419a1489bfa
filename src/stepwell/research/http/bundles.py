"""A thread's research evidence as one file that anyone can check with `stepwell verify`.

The file is written to a temporary folder, sent and deleted. Only the thread's owner gets it; others get the error that the thread is not
found.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path as FilePath
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from stepwell.errors import NotFoundError
from stepwell.research.audit.bundle import write_bundle
from stepwell.research.database_vault import SqlVault
from stepwell.research.service import research_of
from stepwell.server.login.principal import Principal
from stepwell.server.policy import stream_policy
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.fields import ThreadId

router = APIRouter(tags=["Research"], route_class=JsonRoute)

Exporter = Annotated[Principal, Depends(stream_policy("threads:export"))]
_ZIP = {200: {"description": "The bundle", "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}}


@router.get(
    "/api/research/{threadId}/bundle",
    operation_id="research_bundle",
    summary="All the evidence of a thread's research, as one file for `stepwell verify`",
    responses=_ZIP,  # type: ignore[arg-type]  # FastAPI declares a wider value type
)
async def research_bundle(
    thread_id: Annotated[ThreadId, Path(alias="threadId")], principal: Exporter, services: Given
) -> Response:
    await services.threads.get(principal.owner, thread_id, with_values=False)
    vault = SqlVault(services.persistence.database, thread_id)
    if not await vault.entries():
        raise NotFoundError(
            "evidence of thread", thread_id, "The thread has no research. Ask a question with POST /api/research."
        )
    folder = FilePath(await asyncio.to_thread(tempfile.mkdtemp, prefix="stepwell-bundle-"))
    packed = _Packed(folder, f"{thread_id}.zip")
    try:
        await write_bundle(vault, packed.file, research_of(services).signer)
    except BaseException:
        await packed.remove()
        raise
    return packed


class _Packed(FileResponse):
    """A file in its own folder; both are deleted once it is sent or the client disconnects."""

    def __init__(self, folder: FilePath, name: str) -> None:
        self.file = folder / name
        super().__init__(self.file, media_type="application/zip", filename=name)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self.remove()

    async def remove(self) -> None:
        await asyncio.to_thread(self._remove)

    def _remove(self) -> None:
        self.file.unlink(missing_ok=True)
        self.file.parent.rmdir()
