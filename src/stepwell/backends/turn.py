"""The changes that earlier tool calls of the same model turn asked for, for backends whose files are in the agent's state.

LangGraph runs the calls of a turn in parallel, each on the state before the turn, so a call does not see what the calls before it wrote.
The file tools therefore announce the earlier changes here, and `StateBackend` works as if they had already happened: several edits of
one file in one turn are applied in call order, each to the result of the edit before.

The order itself is kept elsewhere: in `tools.files.order` for calls that change files, in `tools.shell.call_order` for shell commands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A change that an earlier call of the same turn asked for. `old` is None for a whole write."""

    path: str
    new: str
    old: str | None = None
    replace_all: bool = False
    overwrite: bool = False


_EARLIER: ContextVar[tuple[PlannedChange, ...]] = ContextVar("stepwell_earlier_changes", default=())


def earlier_changes(path: str) -> list[PlannedChange]:
    """The changes that earlier calls of this turn asked for on this path, in call order."""
    return [change for change in _EARLIER.get() if change.path == path]


def earlier_writes() -> list[str]:
    """The paths that earlier calls of this turn wrote whole files to."""
    return [change.path for change in _EARLIER.get() if change.old is None]


@contextmanager
def after(changes: Sequence[PlannedChange]) -> Iterator[None]:
    """Run the body as the call that follows these changes."""
    token = _EARLIER.set(tuple(changes))
    try:
        yield
    finally:
        _EARLIER.reset(token)
