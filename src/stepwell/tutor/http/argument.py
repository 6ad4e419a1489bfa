"""A tutor's argument as a file, in formats that other programs read."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter, Depends, Path
from starlette.responses import Response

from stepwell.errors import NotFoundError
from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy
from stepwell.server.routing import Given, JsonRoute
from stepwell.server.schemas.fields import ThreadId

router = APIRouter(tags=["Tutor"], route_class=JsonRoute)

Exporter = Annotated[Principal, Depends(policy("threads:export"))]
Form: TypeAlias = Literal["md", "json", "argdown", "mermaid"]

_MEDIA: dict[Form, tuple[str, str]] = {
    "md": ("text/markdown; charset=utf-8", "md"),
    "json": ("application/json", "json"),
    "argdown": ("text/plain; charset=utf-8", "argdown"),
    "mermaid": ("text/plain; charset=utf-8", "mmd"),
}
"""Format -> media type, file extension."""
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The argument",
        "content": {
            kind: {"schema": {"type": "string"}}
            for kind in dict.fromkeys(media.partition(";")[0] for media, _ in _MEDIA.values())
        },
    }
}


@router.get(
    "/api/tutor/{threadId}/argument",
    operation_id="export_argument",
    summary="Export the argument of a tutor's thread as Markdown, JSON, Argdown or Mermaid",
    responses=_FILE,
)
async def export_argument(
    thread_id: Annotated[ThreadId, Path(alias="threadId")],
    principal: Exporter,
    services: Given,
    form: Form = "md",
) -> Response:
    state = await services.threads.state(principal.owner, thread_id, checkpoint=None, subgraphs=False)
    argument = state["values"].get("argument")
    if not argument:
        raise NotFoundError("argument of thread", thread_id, "A thread has one once the tutor has asked its first question.")
    from stepwell.tutor.argument.exports import export_data  # on demand: loads all that is known about arguments

    media, ending = _MEDIA[form]
    # As a download, never as a page of this server.
    named = {"Content-Disposition": f'attachment; filename="argument.{ending}"'}
    return Response(export_data(argument, form), headers=named, media_type=media)
