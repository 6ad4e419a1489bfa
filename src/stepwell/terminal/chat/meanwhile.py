"""What a person types while a turn is under way.

```
a key   ─> the line is drawn, and what the agent writes waits until it is finished
Enter   ─> the message goes to the run: the agent reads it before its next model call
Alt+Enter, /queue TEXT, a command ─> waits until the turn has ended
Ctrl-D  ─> leaves when the turn has ended
the turn ends first ─> the line so far stands at the next prompt
```
Only where a person sits at a keyboard. Piped lines are read one after the other, each when the turn before it has ended.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from stepwell.errors import StepwellError
from stepwell.terminal.dialogue.drafts import Draft, End, Line
from stepwell.terminal.dialogue.session import Session
from stepwell.terminal.dialogue.terminal import Terminal

PROMPT = "to the agent> "
QUEUE = "/queue"
LATER = "(This waits until the turn has ended.)"
_KEYS = 4096


class Meanwhile:
    """Reads the keyboard during turns, and keeps what has to wait."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._draft = Draft()
        self._waiting: deque[str | None] = deque()
        self.steered = False
        """Whether a message was sent to a run; the code that has handled its outcome resets this."""
        self.on = True

    def next(self, prompt: str) -> str:
        """The next line: one that has waited, or one that is read now. `EOFError` if the person leaves."""
        if self._waiting:
            line = self._waiting.popleft()
            if line is None:
                raise EOFError
            self._terminal.line(f"{prompt}{line}")
            return line
        draft, self._draft.text = self._draft.text, ""
        return self._terminal.read(prompt, draft)

    def keep(self, text: str) -> None:
        """Let a line wait until the turn has ended."""
        self._waiting.append(text)

    @asynccontextmanager
    async def listen(self, session: Session) -> AsyncIterator[None]:
        """Read the keyboard while a run of the session is shown."""
        keyboard = self._terminal.keyboard if self.on else None
        if keyboard is None:
            yield
            return
        lines: asyncio.Queue[str] = asyncio.Queue()
        with _keys_at_once(keyboard):
            loop = asyncio.get_running_loop()
            sending = loop.create_task(self._send_all(session, lines))
            loop.add_reader(keyboard, self._read, keyboard, lines)
            try:
                yield
                await lines.join()
            except asyncio.CancelledError:
                await self._take_back(session)
                raise
            finally:
                loop.remove_reader(keyboard)
                sending.cancel()
                while not lines.empty():
                    self.keep(lines.get_nowait())
                self._terminal.end_drawing(keep=False)

    def _read(self, keyboard: int, lines: asyncio.Queue[str]) -> None:
        keys = os.read(keyboard, _KEYS)
        if not keys:  # the terminal is gone
            asyncio.get_running_loop().remove_reader(keyboard)
            return
        for each in self._draft.feed(keys):
            match each:
                case End():
                    self._waiting.append(None)
                case Line(text, later):
                    self._terminal.draw(PROMPT, text)
                    self._terminal.end_drawing(keep=True)
                    self._sort(text, lines, later=later)
        if self._draft.text:
            self._terminal.draw(PROMPT, self._draft.text)
        else:
            self._terminal.end_drawing(keep=False)

    def _sort(self, text: str, lines: asyncio.Queue[str], *, later: bool) -> None:
        name, _, argument = text.partition(" ")
        if name == QUEUE:
            text, later = argument.strip(), True
        if not text:
            self._terminal.line(f"Write the message after the command: {QUEUE} and then write a summary")
        elif later or text.startswith("/"):
            self.keep(text)
            self._terminal.line(LATER)
        else:
            lines.put_nowait(text)

    async def _send_all(self, session: Session, lines: asyncio.Queue[str]) -> None:
        while True:
            text = await lines.get()
            try:
                await session.steer(text)
                self.steered = True
            except StepwellError as error:
                self.keep(text)
                self._terminal.line(f"({error} Your message waits until the turn has ended.)")
            finally:
                lines.task_done()

    async def _take_back(self, session: Session) -> None:
        """The person stops the turn: what the agent has not read must not start another one."""
        with suppress(StepwellError):
            for text in await session.withdraw() if self.steered else ():
                self._terminal.end_drawing(keep=False)
                self._terminal.line(f"(The agent has not read: {text})")


@contextmanager
def _keys_at_once(keyboard: int) -> Iterator[None]:
    """Get keys as they are pressed, without showing them. Ctrl-C goes on to interrupt."""
    import termios

    before = termios.tcgetattr(keyboard)
    during = [*before]
    during[3] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(keyboard, termios.TCSADRAIN, during)
    try:
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
