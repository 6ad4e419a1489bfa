"""Commands of one model turn run one at a time in their shared shell, in the order of their calls.

LangGraph runs the calls of a turn in parallel. `tools.files.order` does the same for file changes, and `backends.turn` tells files in
state what came before.
"""

from __future__ import annotations

import threading
import time
from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage

_GRACE_S = 0.25
"""How long to wait for an earlier call to arrive. It may never come: another middleware can answer it first."""


class CallOrder:
    """Lets calls through one by one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[int] = []
        self._arrived: set[str] = set()
        self._busy = False

    @contextmanager
    def turn(self, call_id: str, earlier: Sequence[str]) -> Iterator[None]:
        """Wait for the calls before this one, then block others while the body runs."""
        place = len(earlier)
        with self._changed:
            insort(self._waiting, place)
            self._arrived.add(call_id)
            self._changed.notify_all()
            self._wait(place, frozenset(earlier))
            self._waiting.remove(place)
            self._busy = True
        try:
            yield
        finally:
            with self._changed:
                self._busy = False
                self._changed.notify_all()

    def _wait(self, place: int, earlier: frozenset[str]) -> None:
        deadline = time.monotonic() + _GRACE_S
        while True:
            missing = not earlier <= self._arrived and time.monotonic() < deadline
            if not missing and not self._busy and place == self._waiting[0]:
                return
            self._changed.wait(max(0.0, deadline - time.monotonic()) if missing else None)


def calls_before(state: Mapping[str, Any], name: str, call_id: str | None) -> list[str]:
    """The ids of earlier calls of the same tool in the same model turn that have no result yet (rejected ones have)."""
    answered: set[str] = set()
    for message in reversed(state.get("messages") or ()):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            ids = [call["id"] or "" for call in message.tool_calls if call["name"] == name]
            earlier = ids[: ids.index(call_id)] if call_id in ids else []
            return [each for each in earlier if each not in answered]
    return []
