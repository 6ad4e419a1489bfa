"""Lets pauses, cancellations and lost databases pass through middleware that is not ours.

Middleware that retries calls or turns errors into results often catches `Exception`: LangChain's `ToolRetryMiddleware` and
`ToolErrorMiddleware` would retry a run that has lost its lease, or tell the model about it. What `control_flow` names must never become a
result, so it travels through such middleware as a `BaseException`, which `except Exception` does not catch (`finally` still runs).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from typing import Any, cast

from langchain.agents.middleware.types import AgentMiddleware

from stepwell.control_flow import find_passing

_SYNC = ("wrap_tool_call", "wrap_model_call")
_ASYNC = ("awrap_tool_call", "awrap_model_call")


class _Signal(BaseException):
    """Carries an exception that must pass."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


def let_signals_pass(stack: Sequence[AgentMiddleware[Any, Any, Any]]) -> None:
    """Put a guard around each wrapper that other people have written. It is added to the object, once."""
    for entry in stack:
        for name in _foreign_wrappers(cast("Any", type(entry))):
            half = getattr(entry, name)
            if hasattr(entry, "__dict__") and not getattr(half, "lets_signals_pass", False):
                guarded = _aguard(half) if name in _ASYNC else _guard(half)
                guarded.lets_signals_pass = True  # type: ignore[attr-defined]  # a mark on a function of ours
                setattr(entry, name, guarded)


@lru_cache(maxsize=256)
def _foreign_wrappers(kind: Any) -> tuple[str, ...]:
    """The wrappers of a middleware that come from code that is not ours. One that `halves` adds counts as the other half's."""
    found: list[str] = []
    for pair in zip(_SYNC, _ASYNC, strict=True):
        plain = {getattr(AgentMiddleware, name) for name in pair}
        own = [half for half in (getattr(kind, name) for name in pair) if half not in plain]
        if own and not any(half.__module__.startswith("stepwell.") for half in own):
            found.extend(pair)
    return tuple(found)


def _guard(half: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def guarded(request: Any, handler: Callable[[Any], Any]) -> Any:
        def inner(given: Any) -> Any:
            try:
                return handler(given)
            except Exception as error:
                if (found := find_passing(error)) is not None:
                    raise _Signal(found) from error
                raise

        try:
            return half(request, inner)
        except _Signal as signal:
            raise signal.error from signal.error.__cause__

    return guarded


def _aguard(half: Callable[[Any, Any], Awaitable[Any]]) -> Callable[[Any, Any], Any]:
    async def run(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        async def inner(given: Any) -> Any:
            try:
                return await handler(given)
            except Exception as error:
                if (found := find_passing(error)) is not None:
                    raise _Signal(found) from error
                raise

        try:
            return await half(request, inner)
        except _Signal as signal:
            raise signal.error from signal.error.__cause__

    def guarded(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        # Not `async def`: LangChain's tracing wrapper would cost a thread hop for each call.
        return run(request, handler)

    return guarded
