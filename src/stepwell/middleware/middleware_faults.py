"""Tells whether an error around a tool call is a bug in middleware or the tool's own.

A tool that fails answers its call (ADR 0005). A bug in the code around the tool (`TypeError` and the like) is different, because the
model cannot fix it: as a tool result it would make every call fail while the run seems to succeed. So it fails the run, with a message
for the programmer. Other errors that middleware raises (`PermissionError("not on Sundays")`) reject the call and become its result.

We find an error's origin in its traceback: a tool's error has passed through the function that runs tools.
"""

from __future__ import annotations

from traceback import walk_tb
from types import CodeType

from langgraph.prebuilt import ToolNode

from stepwell.errors import MiddlewareError

PROGRAMMING_ERRORS = (NotImplementedError, TypeError, AttributeError, NameError, LookupError, AssertionError, ImportError)
_RUNS_TOOLS = frozenset({ToolNode._execute_tool_sync.__code__, ToolNode._execute_tool_async.__code__})


def middleware_fault(tool: str, error: Exception) -> MiddlewareError | None:
    """The error to fail the run with; None if the tool itself failed, or if middleware rejected the call."""
    if isinstance(error, MiddlewareError):
        return error
    if not isinstance(error, PROGRAMMING_ERRORS):
        return None
    passed: list[CodeType] = [frame.f_code for frame, _ in walk_tb(error.__traceback__)]
    if not _RUNS_TOOLS.isdisjoint(passed):
        return None
    place = passed[-1].co_qualname if passed else "unknown code"
    return MiddlewareError(
        f"The middleware code {place} failed around the tool '{tool}': {type(error).__name__}: {error}. Fix the middleware; the tool "
        "and the model are not the cause."
    )
