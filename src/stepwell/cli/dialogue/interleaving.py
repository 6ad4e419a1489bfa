"""One message at a time: pieces of messages that are written side by side become messages that can be read.

Subagents run at once, and so may nodes of a graph. Whoever speaks first has the floor, and its text is passed on as it comes. What
the others say meanwhile is kept, and passed on when the floor is free or when they have ended. Nothing is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Voice(NamedTuple):
    """One message of one agent. Two subagents may have one name, and one agent speaks several times."""

    namespace: tuple[str, ...]
    message_id: str | None


_ONLY = Voice((), None)


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of text, as the model streams it. Pieces of one message have one `voice`."""

    speaker: str
    text: str
    voice: Voice = _ONLY


class Floor:
    """Who may speak."""

    def __init__(self) -> None:
        self._holder: Voice | None = None
        self._waiting: dict[Voice, Said] = {}

    def say(self, piece: Said) -> Iterator[Said]:
        """A piece has come: it is passed on, or kept."""
        holder = self._holder
        if holder and holder != piece.voice and holder.namespace and holder.namespace == piece.voice.namespace:
            yield from self.end_step(holder.namespace)  # an agent that begins another message is done with the one before
        if self._holder in (None, piece.voice):
            self._holder = piece.voice
            yield piece
        else:
            before = self._waiting.get(piece.voice)
            self._waiting[piece.voice] = Said(piece.speaker, before.text + piece.text, piece.voice) if before else piece

    def end_step(self, namespace: tuple[str, ...]) -> Iterator[Said]:
        """An agent has ended a step, and so what it was saying."""
        for voice in [voice for voice in self._waiting if voice.namespace == namespace]:
            yield self._waiting.pop(voice)
        if self._holder and self._holder.namespace == namespace:
            self._holder = next(iter(self._waiting), None)
            if self._holder:
                yield self._waiting.pop(self._holder)

    def rest(self) -> Iterator[Said]:
        """The turn is over: what was kept."""
        kept, self._waiting, self._holder = self._waiting, {}, None
        yield from kept.values()
