"""Longer texts for people: wrapped to the width of their terminal, some of them bold or dim. In a file or a pipe every line stays whole
and plain, so that programs find it."""

from __future__ import annotations

import os
import textwrap
from typing import Literal, TextIO

from stepwell.terminal.dialogue.terminal import make_printable

Style = Literal["plain", "bold", "dim"]
_CODES: dict[Style, str] = {"bold": "\x1b[1m", "dim": "\x1b[2m"}
_RESET = "\x1b[0m"
_USUAL_WIDTH, _LEAST_WIDTH = 80, 20


class PassageWriter:
    """Writes passages to a screen, from top to bottom. `colours` says whether a terminal gets any styles."""

    def __init__(self, screen: TextIO, *, colours: bool = True) -> None:
        self._screen = screen
        self._width = _find_width(screen) if screen.isatty() else None
        self._styled = colours and self._width is not None

    def write(self, text: str = "", *, lead: str = "", indent: str | None = None, style: Style = "plain") -> None:
        """Write a text, with `lead` before its first line, and `indent` before the others (default: spaces as long as `lead`)."""
        before = lead
        for line in self._lines(make_printable(text, self._screen), len(lead)):
            styled = f"{_CODES[style]}{line}{_RESET}" if line and self._styled and style in _CODES else line
            self._screen.write(f"{before}{styled}".rstrip() + "\n")
            before = " " * len(lead) if indent is None else indent
        self._screen.flush()

    def _lines(self, text: str, taken: int) -> list[str]:
        lines = text.split("\n")
        if self._width is None:
            return lines
        room = max(_LEAST_WIDTH, self._width - taken)
        return [piece for line in lines for piece in textwrap.wrap(line, room, break_on_hyphens=False) or [""]]


def _find_width(screen: TextIO) -> int:
    try:
        return os.get_terminal_size(screen.fileno()).columns or _USUAL_WIDTH
    except (OSError, ValueError):  # a screen without a file descriptor, or one that does not tell
        return _USUAL_WIDTH
