"""Changes of one file asked for in one model turn happen in call order, also where they take effect at once.

LangGraph runs the calls of a turn side by side. Files in state need no more than to know what came before (`backends.turn`); on a
disk or in a store the earlier call must really be done. A call waits for its predecessors on the same path. One that never
arrives (a person rejected it, another middleware answered it) is waited for only a moment.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from stepwell.tools.turn_order import FileTurn

GRACE_S = 0.25
POLL_S = 0.002
MAX_TURNS = 256


@dataclass(slots=True)
class _Calls:
    """The calls of one turn, as far as they got."""

    arrived: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)


class ChangeGate:
    """Lets changes of one file through one after the other. One gate serves a set of file tools."""

    def __init__(self) -> None:
        self._moved = threading.Condition()
        self._turns: dict[tuple[int, str], _Calls] = {}

    @contextmanager
    def passing(self, turn: FileTurn) -> Iterator[None]:
        """Wait for the predecessors, then let the body change the file."""
        if not turn.is_shared:
            yield
            return
        deadline = self._arrive(turn)
        with self._moved:
            while not self._is_free(turn, deadline):
                self._moved.wait(POLL_S)
        try:
            yield
        finally:
            self._leave(turn)

    @asynccontextmanager
    async def apassing(self, turn: FileTurn) -> AsyncIterator[None]:
        """The same from async code, without holding a thread."""
        if not turn.is_shared:
            yield
            return
        deadline = self._arrive(turn)
        while not self._is_free(turn, deadline):  # noqa: ASYNC110  # the calls before may run in other threads or loops
            await asyncio.sleep(POLL_S)
        try:
            yield
        finally:
            self._leave(turn)

    def _arrive(self, turn: FileTurn) -> float:
        with self._moved:
            if len(self._turns) >= MAX_TURNS:
                # Turns whose last call never came; what is still waiting goes on after its moment of grace.
                self._turns.pop(next(iter(self._turns)))
            self._turns.setdefault(turn.key, _Calls()).arrived.add(turn.call_id)
        return time.monotonic() + GRACE_S

    def _is_free(self, turn: FileTurn, deadline: float) -> bool:
        calls = self._turns.get(turn.key, _Calls())
        missing = [call for call in turn.predecessors if call not in calls.done]
        if not missing:
            return True
        return time.monotonic() > deadline and not calls.arrived.intersection(missing)

    def _leave(self, turn: FileTurn) -> None:
        with self._moved:
            if turn.has_followers:
                self._turns.setdefault(turn.key, _Calls()).done.add(turn.call_id)
            else:
                self._turns.pop(turn.key, None)
            self._moved.notify_all()
