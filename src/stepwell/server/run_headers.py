"""Headers that products understand in requests that start runs, such as a payment, and what they add to the response."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Annotated

from fastapi import Depends, Request

from stepwell.database.types import Run
from stepwell.runs.starting import RunOrder
from stepwell.server.login.principal import Principal
from stepwell.server.parts import RunAddition, Services

Additions = Sequence[RunAddition]

STARTS_RUN = {"x-stepwell-starts-run": True}
"""Marks, in the OpenAPI document, the routes whose requests may carry the headers of products."""


async def _sent(request: Request) -> Mapping[str, str]:
    return request.headers


SentHeaders = Annotated[Mapping[str, str], Depends(_sent)]
"""All headers of the request. The OpenAPI document lists those that products understand (`server.openapi`)."""


async def take_headers(
    services: Services, principal: Principal, headers: Mapping[str, str], order: RunOrder
) -> tuple[RunOrder, Additions]:
    """The order after each product has taken its header, and what products add to the response."""
    additions: list[RunAddition] = []
    for service in services.products:
        header = service.run_header
        if header is None or not (value := headers.get(header.name, "").strip()):
            continue
        order, addition = await header.take(services, principal, value, order)
        additions += [addition] if addition else []
    return order, additions


async def then_additions(
    pieces: AsyncGenerator[bytes, None], services: Services, run: Run, additions: Additions
) -> AsyncGenerator[bytes, None]:
    """The stream, followed by the additions. They have no event id: they are sent once, to the client that asked."""
    async for piece in pieces:
        yield piece
    for addition in additions:
        yield await addition.last_event(services, run)


async def late_headers(services: Services, run: Run, additions: Additions) -> dict[str, str]:
    """Headers that are known once the run has ended."""
    found: dict[str, str] = {}
    for addition in additions:
        found |= await addition.late_headers(services, run)
    return found
