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

from stepwell.backends.paths import is_within


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A change that an earlier call of the same turn asked for."""

    path: str
    new: str | None = None
    """The new text, whole or in place of `old`; None if the path is deleted or moved."""
    old: str | None = None
    replace_all: bool = False
    overwrite: bool = False
    destination: str | None = None
    """Where the path is moved to."""

    def concerns(self, other: PlannedChange) -> bool:
        """Whether the order of the two matters: they have a path in common, or one is below the other's."""
        return any(is_within(one, two) or is_within(two, one) for one in self.paths for two in other.paths)

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path,) if self.destination is None else (self.path, self.destination)


_EARLIER: ContextVar[tuple[PlannedChange, ...]] = ContextVar("stepwell_earlier_changes", default=())


def earlier_changes() -> tuple[PlannedChange, ...]:
    """The changes that earlier calls of this turn asked for, in call order."""
    return _EARLIER.get()


@contextmanager
def after(changes: Sequence[PlannedChange]) -> Iterator[None]:
    """Run the body as the call that follows these changes."""
    token = _EARLIER.set(tuple(changes))
    try:
        yield
    finally:
        _EARLIER.reset(token)
