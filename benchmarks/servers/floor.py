"""The floor of the stream claim: a bare Starlette server that writes the ticker's events itself. No graph, no journal, no queue.

`python -m benchmarks.servers.floor PORT`
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

INTERVAL_S = 0.1  # as in `graphs`, which would bring LangGraph along


async def ok(request: Request) -> Response:
    return PlainTextResponse("ok")


async def stream(request: Request) -> Response:
    body = await request.json()
    return StreamingResponse(_ticks(body["input"]["events"]), media_type="text/event-stream")


async def _ticks(events: int) -> AsyncIterator[bytes]:
    began = time.time()
    for number in range(events):
        due = began + number * INTERVAL_S
        await asyncio.sleep(max(0.0, due - time.time()))
        data = json.dumps({"number": number, "due": due, "written": time.time()})
        yield f"id: {number}\nevent: custom\ndata: {data}\n\n".encode()
    yield b"event: end\ndata: null\n\n"


def main() -> None:
    routes = [Route("/ok", ok), Route("/threads/{thread_id}/runs/stream", stream, methods=["POST"])]
    uvicorn.run(Starlette(routes=routes), host="127.0.0.1", port=int(sys.argv[1]), access_log=False, log_level="warning")


if __name__ == "__main__":
    main()
