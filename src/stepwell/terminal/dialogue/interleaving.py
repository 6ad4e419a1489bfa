"""Shows messages that are streamed in parallel one at a time, so that a person can read them.

Subagents and nodes of a graph can run in parallel. The first to speak has the floor, and its text is passed on as it arrives. The text
of the others is buffered until the floor is free or they have finished. Nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Voice(NamedTuple):
    """One message of one agent. A speaker's name is not enough: two subagents may share it, and an agent sends several messages."""

    namespace: tuple[str, ...]
    message_id: str | None


_ONLY = Voice((), None)


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of text, as the model streams it. Pieces of one message share a `voice`."""

    speaker: str
    text: str
    voice: Voice = _ONLY


class Floor:
    """Decides who may speak."""

    def __init__(self) -> None:
        self._holder: Voice | None = None
        self._waiting: dict[Voice, Said] = {}

    def say(self, piece: Said) -> Iterator[Said]:
        """Pass a piece on, or buffer it."""
        holder = self._holder
        if holder and holder != piece.voice and holder.namespace and holder.namespace == piece.voice.namespace:
            yield from self.end_step(holder.namespace)  # an agent that starts another message has finished the previous one
        if self._holder in (None, piece.voice):
            self._holder = piece.voice
            yield piece
        else:
            before = self._waiting.get(piece.voice)
            self._waiting[piece.voice] = Said(piece.speaker, before.text + piece.text, piece.voice) if before else piece

    def end_step(self, namespace: tuple[str, ...]) -> Iterator[Said]:
        """An agent has finished a step, and with it the message it was writing."""
        for voice in [voice for voice in self._waiting if voice.namespace == namespace]:
            yield self._waiting.pop(voice)
        if self._holder and self._holder.namespace == namespace:
            self._holder = next(iter(self._waiting), None)
            if self._holder:
                yield self._waiting.pop(self._holder)

    def rest(self) -> Iterator[Said]:
        """Everything still buffered. Call this at the end of a turn."""
        kept, self._waiting, self._holder = self._waiting, {}, None
        yield from kept.values()
