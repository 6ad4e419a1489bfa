"""Stopping what somebody else wrote: a factory that is still at work, a node that may not listen."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

logger = logging.getLogger(__name__)

_STOP_S = 0.8
"""How long a graph may take to stop: a cancelled run has ended within a second."""


@contextmanager
def ended_by(stop: asyncio.Future[Any], limit: asyncio.Timeout) -> Iterator[None]:
    """Let `stop` end the block that `limit` guards, as if its time were up."""

    def end(_: object) -> None:
        limit.reschedule(asyncio.get_running_loop().time())

    stop.add_done_callback(end)
    try:
        yield
    finally:
        stop.remove_done_callback(end)


async def stop_streaming(streaming: asyncio.Task[None]) -> None:
    """Cancel a task, and leave it behind if it does not end in time: its writes are refused by the fence."""
    if not streaming.done():
        streaming.cancel()
        await asyncio.wait({streaming}, timeout=_STOP_S)
    if not streaming.done():
        logger.warning("a node did not stop in time and was left behind", extra={"task": streaming.get_name()})
        streaming.add_done_callback(_forget_late_error)
    elif not streaming.cancelled():
        streaming.exception()  # looked at already here: what follows may fail before it is asked for


def _forget_late_error(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        logger.info("a node that was left behind has ended", exc_info=error)
