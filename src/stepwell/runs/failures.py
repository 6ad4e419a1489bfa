"""How the failure of a run is reported: a name and a sentence that can always be stored and sent.

A graph is user code. Its errors may fail to print, contain half a character, or not be `Exception`s at all; whatever they are, the run has
to end and its caller has to learn of it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from stepwell.database.types import NewEvent, RunOutcome
from stepwell.secrets.errors import words_of
from stepwell.secrets.text import hide_secrets
from stepwell.state import wire


def describe_failure(error: BaseException, secrets: Collection[str] = (), *, interrupts: Any = None, **left: Any) -> RunOutcome:
    """The outcome of a failed run. `left` holds the other fields of the outcome, such as values and usage."""
    described = {"error": type(error).__name__, "message": hide_secrets(words_of(error), secrets)}
    return RunOutcome(
        "timeout" if isinstance(error, TimeoutError) else "error",
        "error",
        interrupts=interrupts,
        error=described,
        events=(NewEvent("error", wire.encode(described)),),
        **left,
    )


def hide_in_error(error: Any, secrets: Collection[str]) -> Any:
    """A node's error as it is streamed: an error with the same name, or the same text if it is text, and without secrets."""
    if isinstance(error, BaseException):
        return type(type(error).__name__, (Exception,), {})(hide_secrets(words_of(error), secrets))
    return hide_secrets(error, secrets) if isinstance(error, str) else error
