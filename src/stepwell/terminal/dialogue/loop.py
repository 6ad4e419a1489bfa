"""The dialogue: show a run, ask a person about its interrupts, resume with the answers, until there are no more interrupts.

```
parts of a run ─> view.show ─> interrupts? ─ no ─> done (or silent: there was nothing to see)
      ^                            │ yes
      └──── session.answer <─── answer ─ nobody is there ─> unanswered
Ctrl-C at any moment ─> session.stop ─> stopped
```
This module knows only a session, a view and a function that answers. The command decides what to say about an ending, and its exit code.
Errors are raised.

One event loop serves the whole dialogue (clients belong to a loop), and lines are read outside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from typing import Any, Literal, Protocol, TypeAlias

from stepwell.errors import RunError, StepwellError
from stepwell.terminal.dialogue.session import OpenInterrupt, Session, StreamPart

Ending: TypeAlias = Literal["done", "silent", "stopped", "unanswered"]

Answer: TypeAlias = Callable[[Sequence[OpenInterrupt]], Mapping[str, Any]]
"""Answers interrupts: returns interrupt id -> answer, or raises `EOFError` when nobody is there."""


Meanwhile: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]
"""What goes on while a run is shown, such as reading what a person types."""


class View(Protocol):
    """Where a person sees the run."""

    def show(self, part: StreamPart) -> bool:
        """Show a part; returns whether there was anything to show."""
        ...

    def close(self) -> None:
        """The stream has ended, with or without an error: show what was held back."""
        ...


class NotStoppedError(RunError):
    """Ctrl-C was pressed, and the run could not be stopped; the message says why."""


class Dialogue:
    """One thread, its view, and the function that answers."""

    def __init__(
        self, runner: asyncio.Runner, session: Session, view: View, answer: Answer, meanwhile: Meanwhile = nullcontext
    ) -> None:
        self._runner = runner
        self._meanwhile = meanwhile
        self._session = session
        self._view = view
        self._answer = answer

    def run(self, parts: AsyncGenerator[StreamPart]) -> Ending:
        """Show a run and everything that follows from it. `NotStoppedError` if Ctrl-C could not end the run."""
        try:
            silent = not self._show(parts)
            while interrupts := self._runner.run(self._session.interrupts()):
                silent = False
                try:
                    answers = self._answer(interrupts)
                except EOFError:
                    return "unanswered"
                self._show(self._session.answer(answers))
        except KeyboardInterrupt:
            self._stop()
            return "stopped"
        return "silent" if silent else "done"

    def _show(self, parts: AsyncGenerator[StreamPart]) -> bool:
        try:
            return self._runner.run(self._read(parts))
        finally:
            self._view.close()

    async def _read(self, parts: AsyncGenerator[StreamPart]) -> bool:
        seen = False
        # Closed here even if the screen fails (`| head`): the generator that executes the run must not stay open until the loop ends.
        async with aclosing(parts) as arriving, self._meanwhile():
            async for part in arriving:
                seen = self._view.show(part) or seen
        return seen

    def _stop(self) -> None:
        try:
            self._runner.run(self._session.stop())
        except StepwellError as error:
            raise NotStoppedError(str(error)) from error
