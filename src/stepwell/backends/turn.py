"""The changes that earlier tool calls of the same model turn have made, for backends whose files are in the agent's state.

LangGraph runs the calls of a turn in parallel, each on the state before the turn, and applies their updates when all of them have run.
So a call does not see what the calls before it wrote. `tools.files.order` lets it wait for them and announces their updates here, and
`StateBackend` applies them as LangGraph will: several edits of one file in one turn build on each other. Only what a call really returned
is announced, never what it asked for: permissions, a person, a run mode, a hook or an error may have refused it.

Shell commands have their own order: `tools.shell.call_order`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

FilesUpdate = Mapping[str, Any]
"""What a call writes to the `files` channel (`changes`)."""

_EARLIER: ContextVar[tuple[FilesUpdate, ...]] = ContextVar("stepwell_earlier_updates", default=())


def earlier_updates() -> tuple[FilesUpdate, ...]:
    """The updates of the state's files that earlier calls of this turn returned, in call order."""
    return _EARLIER.get()


@contextmanager
def after(updates: Sequence[FilesUpdate]) -> Iterator[None]:
    """Run the body as the call that follows these updates."""
    token = _EARLIER.set(tuple(updates))
    try:
        yield
    finally:
        _EARLIER.reset(token)
