"""From the runtime's worker thread to whoever waits for chunks: a thread, or a task on an event loop.

Leaving the loop over the chunks in any way (the end, an exception, `close()`, cancellation) cancels the request.
"""

from __future__ import annotations

import asyncio
import queue
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import suppress
from typing import Any

from stepwell.models.local.llama_runtime import END, Chunk, LlamaRequest, LlamaRuntime

_Item = Chunk | BaseException | None


def chunks(runtime: LlamaRuntime, body: Mapping[str, Any]) -> Generator[Chunk]:
    """The answer to a request, for sync code."""
    inbox: queue.SimpleQueue[_Item] = queue.SimpleQueue()
    request = LlamaRequest(body, inbox.put)
    runtime.ask(request)
    try:
        while (item := inbox.get()) is not END:
            yield _checked(item)
    finally:
        request.cancel()


async def achunks(runtime: LlamaRuntime, body: Mapping[str, Any]) -> AsyncGenerator[Chunk]:
    """The same on an event loop, which is never blocked."""
    loop = asyncio.get_running_loop()
    inbox: asyncio.Queue[_Item] = asyncio.Queue()

    def deliver(item: _Item) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            loop.call_soon_threadsafe(inbox.put_nowait, item)

    request = LlamaRequest(body, deliver)
    runtime.ask(request)
    try:
        while (item := await inbox.get()) is not END:
            yield _checked(item)
    finally:
        request.cancel()


def _checked(item: Chunk | BaseException) -> Chunk:
    if isinstance(item, BaseException):
        raise item
    return item
