"""Middleware that is written for sync code only, or for async code only.

LangChain calls `wrap_tool_call` in sync code and `awrap_tool_call` in async code, and the same for model calls. A caller who tries an
agent with `invoke` writes only the sync half, but a server is async and would find no async half.

| a middleware has | in sync code | in async code |
|---|---|---|
| both halves, or neither | as it is | as it is |
| the sync half | as it is | the half runs in its own thread, and the call that it wraps on the event loop |
| the async half | `MiddlewareError`, which says so | as it is |

The missing half is added to the caller's own object, so its counters and other state stay where the caller looks for them.
Hooks that are nodes of the graph (`before_model` and the like) need no help: LangGraph runs sync ones in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware

from stepwell.errors import ConfigurationError, MiddlewareError
from stepwell.middleware.model_calls.side_threads import SideThreads

_HALVES = (("wrap_tool_call", "awrap_tool_call"), ("wrap_model_call", "awrap_model_call"))


def complete_halves(stack: Sequence[AgentMiddleware[Any, Any, Any]]) -> None:
    """Add the missing half to each middleware that wraps calls only in sync code or only in async code."""
    threads = SideThreads()
    for entry in stack:
        for sync_name, async_name in _HALVES:
            has_sync, has_async = _has(entry, sync_name), _has(entry, async_name)
            if has_sync and not has_async:
                _add(entry, async_name, partial(_run_beside_loop, threads, getattr(entry, sync_name)))
            elif has_async and not has_sync:
                _add(entry, sync_name, partial(_refuse_sync, entry, sync_name, async_name))


def _has(entry: AgentMiddleware[Any, Any, Any], name: str) -> bool:
    return getattr(type(entry), name) is not getattr(AgentMiddleware, name) or name in getattr(entry, "__dict__", {})


def _add(entry: AgentMiddleware[Any, Any, Any], name: str, half: Callable[..., Any]) -> None:
    try:
        setattr(entry, name, half)
    except AttributeError as error:
        raise ConfigurationError(
            f"The middleware {entry.name} has no {name}, and its __slots__ prevent us from adding one. Write {name} in its class."
        ) from error


def _refuse_sync(entry: AgentMiddleware[Any, Any, Any], sync_name: str, async_name: str, request: Any, handler: Any) -> Any:
    raise MiddlewareError(
        f"The middleware {entry.name} has only {async_name}, and this run is sync. Call the agent with ainvoke or astream, or write "
        f"{sync_name} too."
    )


def _run_beside_loop(
    threads: SideThreads, half: Callable[[Any, Any], Any], request: Any, handler: Callable[[Any], Awaitable[Any]]
) -> Awaitable[Any]:
    # Not `async def`: LangChain's tracing wrapper would cost one more thread hop per call.
    return _Beside(threads, half, handler).run(request)


class _Beside:
    """One call of a sync half while an event loop waits for it. The call gets its own thread, because the half may wait as long as a
    subagent works, and halves that wait for one another could use up a thread pool."""

    def __init__(self, threads: SideThreads, half: Callable[[Any, Any], Any], handler: Callable[[Any], Awaitable[Any]]) -> None:
        self._threads = threads
        self._half = half
        self._handler = handler
        self._loop = asyncio.get_running_loop()
        self._inner: list[Future[Any]] = []
        """Futures that the half has started on the loop, so that we can cancel them."""
        self._is_cancelled = False

    async def run(self, request: Any) -> Any:
        outcome: asyncio.Future[Any] = self._loop.create_future()

        def work() -> None:
            try:
                result, error = self._half(request, self._handle), None
            except BaseException as raised:  # the caller decides what to do with the error, which may be a pause of the graph
                result, error = None, raised
            self._loop.call_soon_threadsafe(_settle, outcome, result, error)

        self._threads.run(work)
        try:
            return await outcome
        except asyncio.CancelledError:
            self._is_cancelled = True
            for each in list(self._inner):
                each.cancel()
            raise

    def _handle(self, request: Any) -> Any:
        async def ask() -> Any:
            return await self._handler(request)

        future = asyncio.run_coroutine_threadsafe(ask(), self._loop)
        self._inner.append(future)
        if self._is_cancelled:  # cancelled while this thread was starting the inner call
            future.cancel()
        return future.result()


def _settle(outcome: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if outcome.cancelled():
        return
    if isinstance(error, StopIteration):  # a future cannot hold one
        error = RuntimeError(f"StopIteration: {error}")
    if error is None:
        outcome.set_result(result)
    else:
        outcome.set_exception(error)
