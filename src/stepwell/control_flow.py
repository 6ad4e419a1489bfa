"""Which exceptions must never become the result of a tool, a subagent, a node, a backend, or a retry.

| what | recognised | what happens instead |
|---|---|---|
| a lost database or lease (`InfrastructureError`) | wrapped in anything | the run is executed again from its last checkpoint |
| LangGraph's signals: a pause, a command to a parent, draining | wrapped in anything | LangGraph acts on it |
| an answer that does not fit its interrupt | wrapped in anything | the person answers again |
| a cancellation | as it is, or in a group | the cancelled task ends |

A model that gets "the database is away" as a result retries in its own way: it repeats the call, and pays twice. So all code that turns
an exception into a result calls `let_pass` first:

```python
except Exception as error:
    let_pass(error)
    return as_result(error)
```
We do not look for a cancellation among an error's causes, because a cancellation is the cause of Python's own time-outs, and the
time-out of a slow tool may become its result.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import CancelledError as FutureCancelledError

from langgraph.errors import GraphBubbleUp, NodeCancelledError, is_invalid_resume

from stepwell.errors import errors_within, find_infrastructure

_CANCELLED = (asyncio.CancelledError, FutureCancelledError, NodeCancelledError)


def let_pass(error: BaseException) -> None:
    """Raise the exception within an error that must not become a result; if there is none, return."""
    found = find_passing(error)
    if found is not None:
        raise found from found.__cause__


def find_passing(error: BaseException) -> BaseException | None:
    """The exception within an error that must not become a result. A lost database or lease comes before a pause, because
    the pause will recur when the run is executed again."""
    return find_infrastructure(error) or _find_signal(error) or _find_cancellation(error)


def _find_signal(error: BaseException) -> BaseException | None:
    return next((one for one in errors_within(error) if isinstance(one, GraphBubbleUp) or is_invalid_resume(one)), None)


def _find_cancellation(error: BaseException) -> BaseException | None:
    if isinstance(error, BaseExceptionGroup):
        return next((found for each in error.exceptions if (found := _find_cancellation(each)) is not None), None)
    return error if isinstance(error, _CANCELLED) else None
