"""The terminal: shows events, asks, reads lines. It knows nothing about agents.

Text from a model or a tool may contain control characters that move the cursor or overwrite earlier text; they are shown as `?`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from shutil import get_terminal_size
from typing import Any, TextIO
from unicodedata import combining, east_asian_width

from stepwell.terminal.dialogue.events import MAIN, Called, Checked, Heard, Planned, Restarted, Returned, TurnEvent
from stepwell.terminal.dialogue.interleaving import Said, Voice

LINE_CHARS = 100
"""Tool calls and results are cut to one line of this length."""

QUIET_TOOLS = ("write_todos", "ask_user", "ask_choices")
"""Tools whose calls are not shown, because they are visible anyway: as a plan, or as a question with the typed answer below it."""
MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}

# C0 and C1 controls except newline and tab, and the marks that reverse the direction of text.
_CONTROLS = {
    c: "?" for c in (*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)) if chr(c) not in "\n\t"
}


class Terminal:
    """A screen that is written from top to bottom."""

    def __init__(self, source: TextIO, screen: TextIO) -> None:
        self._source = source
        self._screen = screen
        self._speaking: tuple[str, Voice] | None = None
        """The speaker and message of an unfinished line."""
        self._held: list[str] | None = None
        """What is written while a person types a line; None if nobody does."""
        self._drawn = 0
        """How many columns of that line are on the screen."""

    @property
    def interactive(self) -> bool:
        """Whether a person sits in front of the terminal."""
        return self._source.isatty() and self._screen.isatty()

    def show(self, event: TurnEvent) -> None:
        """Show what happened."""
        match event:
            case Said():
                self._stream(event)
            case Called(speaker, tool, args) if tool not in QUIET_TOOLS:
                self.line(f"{_label(speaker)}→ {tool}({_arguments(args)})")
            case Returned(speaker, tool, text, failed) if failed or tool not in QUIET_TOOLS:
                self.line(f"{_label(speaker)}{'✗' if failed else '←'} {_short(text)}")
            case Planned(speaker, todos):
                self.plan(todos, speaker)
            case Checked(speaker):
                self.line(f"{_label(speaker)}{'✓' if event.result == 'satisfied' else '✗'} {event.words}")
                for missing in event.missing:
                    self.line(f"{_label(speaker)}  - {_short(missing)}")
            case Heard(text):
                self.line(f"(The agent reads: {_short(text)})")
            case Restarted():
                self.line("(The server restarted this turn from its last checkpoint; some text may be repeated.)")

    def plan(self, todos: tuple[Mapping[str, str], ...] | list[Mapping[str, str]], speaker: str = MAIN) -> None:
        """Show a list of todos, one line each."""
        for todo in todos:
            self.line(f"{_label(speaker)}{MARKS.get(todo['status'], '[?]')} {_short(todo['content'])}")

    def line(self, text: str = "") -> None:
        """Write a separate line, ending any text that is still being streamed."""
        self.end_text()
        self._write(text + "\n")

    def end_text(self) -> None:
        """End the line of streamed text."""
        if self._speaking is not None:
            self._write("\n")
            self._speaking = None

    def ask(self, text: str) -> str:
        """Show a question and read one line; `EOFError` at the end of input."""
        self.line(text)
        return self.read("answer> ")

    def read(self, prompt: str, draft: str = "") -> str:
        """Read one line; `EOFError` at the end of input. `draft` is what the person has typed of it already."""
        self.end_text()
        if self.interactive:
            return _edit(prompt, draft)
        line = self._source.readline()
        if not line:
            raise EOFError
        return line.rstrip("\n")

    @property
    def keyboard(self) -> int | None:
        """The file descriptor of a person's keyboard; None if nobody sits in front of the terminal."""
        return self._source.fileno() if self.interactive and sys.platform != "win32" else None

    def draw(self, prompt: str, text: str) -> None:
        """Show a line that a person is typing, or show it anew. What is written from now on waits for `end_drawing`."""
        if self._held is None:
            self.end_text()
            self._held, self._drawn = [], 0
        shown = make_printable(_tail(prompt, text, get_terminal_size().columns - 1), self._screen)
        width = _width(shown)
        gone = max(0, self._drawn - width)
        self._drawn = width
        self._put("\r" + shown + " " * gone + "\b" * gone)

    def end_drawing(self, *, keep: bool) -> None:
        """The line is finished; it stays on the screen if `keep`. Writes what was held back."""
        if self._held is None:
            return
        held, self._held = self._held, None
        self._put("\n" if keep else "\r" + " " * self._drawn + "\r")
        self._put("".join(held))

    def _stream(self, piece: Said) -> None:
        if self._speaking != (piece.speaker, piece.voice):
            self.end_text()
            self._write(_label(piece.speaker))
            self._speaking = (piece.speaker, piece.voice)
        self._write(piece.text)

    def _write(self, text: str) -> None:
        printable = make_printable(text, self._screen)
        if self._held is not None:
            self._held.append(printable)
        else:
            self._put(printable)

    def _put(self, text: str) -> None:
        self._screen.write(text)
        self._screen.flush()


def make_printable(text: str, screen: TextIO) -> str:
    """The text without control characters, and without letters that the screen's encoding lacks."""
    encoding = screen.encoding or "utf-8"
    return text.translate(_CONTROLS).encode(encoding, "replace").decode(encoding)


def _edit(prompt: str, draft: str) -> str:
    """Read a line with the line editing of the platform."""
    if not draft:
        return input(prompt)
    try:
        import readline
    except ImportError:  # without it, nothing can be put into the line
        return draft + input(prompt + draft)
    readline.set_startup_hook(lambda: readline.insert_text(draft))
    try:
        return input(prompt)
    finally:
        readline.set_startup_hook()


def _width(text: str) -> int:
    """How many columns the text takes."""
    return sum(2 if east_asian_width(letter) in "WF" else 0 if combining(letter) else 1 for letter in text)


def _tail(prompt: str, text: str, columns: int) -> str:
    """The prompt with the end of the text, on one line."""
    while text and _width(prompt) + _width(text) > columns:
        text = text[1:]
    return prompt + text


def _label(speaker: str) -> str:
    return "" if speaker == MAIN else f"[{speaker}] "


def _arguments(args: Mapping[str, Any]) -> str:
    return _short(", ".join(f"{name}={json.dumps(value, ensure_ascii=False, default=str)}" for name, value in args.items()))


def _short(text: str) -> str:
    """The first line, cut to fit, and the number of further lines."""
    first, _, rest = text.strip().partition("\n")
    cut = first if len(first) <= LINE_CHARS else first[: LINE_CHARS - 1] + "…"
    return f"{cut} (+{rest.count(chr(10)) + 1} lines)" if rest else cut
