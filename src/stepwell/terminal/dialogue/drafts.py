"""A line that a person types while a run writes to the same screen: keys in, finished lines out. It neither reads nor prints."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass

_ENTER = "\r\n"
_ERASE = "\x7f\b"
_END = "\x04"
_ESCAPE = "\x1b"
_CLEAR = "\x15"
_WORD = "\x17"


@dataclass(frozen=True, slots=True)
class Line:
    """A line that was sent with Enter; with Alt+Enter, `later` is true."""

    text: str
    later: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """Ctrl-D on an empty line."""


class Draft:
    """The line so far. Backspace, Ctrl-U and Ctrl-W edit it; other keys that are not text, such as arrows, do nothing."""

    def __init__(self) -> None:
        self.text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._sequence: str | None = None
        """The keys since Escape, if a sequence of such keys is not complete."""

    def feed(self, keys: bytes) -> Iterator[Line | End]:
        """The lines that these keys finish."""
        for key in self._decoder.decode(keys):
            if self._sequence is not None:
                yield from self._escaped(key)
            elif key in _ENTER:
                yield from self._send()
            elif key == _ESCAPE:
                self._sequence = ""
            elif key == _END and not self.text:
                yield End()
            else:
                self._edit(key)

    def _edit(self, key: str) -> None:
        if key in _ERASE:
            self.text = self.text[:-1]
        elif key == _CLEAR:
            self.text = ""
        elif key == _WORD:
            kept = self.text.rstrip()
            self.text = kept[: kept.rfind(" ") + 1]
        elif key == "\t" or key.isprintable():
            self.text += " " if key == "\t" else key

    def _escaped(self, key: str) -> Iterator[Line]:
        """Alt+Enter is Escape and Enter; Escape and `[` or `O` begin a sequence that ends with a letter or `~`."""
        before, self._sequence = self._sequence, None
        if before == "" and key in _ENTER:
            yield from self._send(later=True)
        elif (before == "" and key in "[O") or (before and not ("@" <= key <= "~")):
            self._sequence = (before or "") + key

    def _send(self, *, later: bool = False) -> Iterator[Line]:
        text, self.text = self.text.strip(), ""
        if text:
            yield Line(text, later)
