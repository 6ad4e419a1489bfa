"""The HTTP endpoint of a worker (`stepwell worker --metrics-port`): its health, whether it claims runs, its metrics.

It needs no sign-in and shows no user data, so it should listen where only the operator's programs can reach it. It stays open while the
process drains, and then reports that the process is healthy but not ready.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.config import Config
from uvicorn.server import Server

from stepwell.errors import NotReadyError, StorageUnavailableError
from stepwell.server.health import check_readiness
from stepwell.server.limits.heads import BoundedHeads
from stepwell.server.parts import Services
from stepwell.server.responses import json_response


@asynccontextmanager
async def open_worker_door(services: Services, bound: socket.socket) -> AsyncIterator[None]:
    """Serve on this socket until the block ends."""
    config = Config(
        _make_door(services),
        http=BoundedHeads,
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    door = _Door(config)
    answering = asyncio.create_task(door.serve(sockets=[bound]))
    try:
        yield
    finally:
        door.should_exit = True
        await answering


class _Door(Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The worker handles signals itself."""
        yield


def _make_door(services: Services) -> Starlette:
    async def ok(request: Request) -> Response:
        return json_response({"ok": True})

    async def ready(request: Request) -> Response:
        try:
            return json_response(await check_readiness(services, check_db=True))
        except (NotReadyError, StorageUnavailableError) as error:
            return json_response({"ok": False, "detail": str(error)}, status=503)

    async def metrics(request: Request) -> Response:
        return Response(await services.metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return Starlette(routes=[Route("/ok", ok), Route("/ready", ready), Route("/metrics", metrics)])
