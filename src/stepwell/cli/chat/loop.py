"""The conversation as a person sees it: read a line, show the turn, put the agent's questions to the person, go round.

Ctrl-C stops a turn, Ctrl-D leaves. It knows sessions and the terminal, and not where the agent is.

One event loop serves the whole conversation (clients belong to a loop), and lines are read outside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import cast

from stepwell.cli.chat.session import Session
from stepwell.cli.dialogue.answers import Ask, answer_all
from stepwell.cli.dialogue.events import TurnEvent
from stepwell.cli.dialogue.terminal import Terminal
from stepwell.errors import StepwellError

NOTHING_SAID = "(The turn ended without a word. This chat shows what an assistant keeps in the 'messages' of its state.)"
NOBODY = "The agent asks, and there is nobody to answer."
WELCOME = "Stepwell. Type a message; /help lists the commands, Ctrl-C stops a turn, Ctrl-D leaves."
HELP = """/files         the files the agent keeps
/files PATH    show one of them
/todos         the agent's plan
/new           begin another thread
/threads       the threads that can be continued
/thread ID     continue one of them; without an id, say which this is
/help          this list
/quit          leave (so does Ctrl-D)"""


class UnansweredError(EOFError):
    """The input ended at a question of the agent, not at our prompt."""


class Chat:
    """Joins a session and a terminal."""

    def __init__(self, runner: asyncio.Runner, terminal: Terminal, session: Session, ask: Ask | None = None) -> None:
        self._runner = runner
        self._terminal = terminal
        self._session = session
        self._ask = ask or terminal.ask

    def converse(self) -> int:
        """Go round until the person leaves."""
        self._terminal.line(WELCOME)
        while True:
            try:
                text = self._terminal.read("you> ").strip()
                if text in ("/quit", "/exit"):
                    return 0
                if text.startswith("/"):
                    self._command(text)
                elif text:
                    self.once(text)
            except EOFError as end:
                unheard = isinstance(end, UnansweredError) and not self._terminal.interactive
                self._terminal.line(NOBODY if unheard else "")
                return int(unheard)
            except KeyboardInterrupt:
                self._terminal.line("(Ctrl-D leaves)")

    def only(self, text: str) -> int:
        """One message for a script; a question that nobody is there to answer ends it."""
        try:
            return self.once(text)
        except EOFError:
            self._terminal.line(NOBODY)
            return 1

    def once(self, text: str) -> int:
        """One message and everything that follows from it."""
        return self._turn(self._session.say(text), if_silent=NOTHING_SAID)

    def catch_up(self) -> int:
        """Show where a thread stands: the last answer, a turn that is still under way, questions that wait."""
        if answer := self._runner.run(self._session.last_answer()):
            self._terminal.line(answer)
        return self._turn(self._session.follow())

    def _turn(self, events: AsyncIterator[TurnEvent], if_silent: str = "") -> int:
        try:
            silent = not self._show(events)
            while questions := self._runner.run(self._session.questions()):
                silent = False
                self._show(self._session.answer(answer_all(questions, self._ask)))
            if silent and if_silent:
                self._terminal.line(if_silent)
        except KeyboardInterrupt:
            return self._stop()
        except EOFError as end:
            raise UnansweredError from end
        except StepwellError as error:
            self._terminal.line(f"The turn failed: {error}")
            return 1
        except Exception as error:  # whatever a provider or a tool raised, the conversation can go on
            self._terminal.line(f"The turn failed: {type(error).__name__}: {error}")
            return 1
        return 0

    def _stop(self) -> int:
        try:
            self._runner.run(self._session.stop())
            self._terminal.line("(stopped)")
        except StepwellError as error:
            self._terminal.line(f"The turn could not be stopped: {error}")
        return 130

    def _show(self, events: AsyncIterator[TurnEvent]) -> bool:
        """Show a turn; gives whether there was anything to show."""

        async def show() -> bool:
            some = False
            # Closed here also when the screen fails (`| head`): what drives the turn must not be left to the end of the loop.
            async with aclosing(cast("AsyncGenerator[TurnEvent]", events)) as turn:
                async for event in turn:
                    some = True
                    self._terminal.show(event)
            return some

        shown = self._runner.run(show())
        self._terminal.end_text()
        return shown

    def _command(self, text: str) -> None:
        name, _, argument = text.partition(" ")
        try:
            self._carry_out(name, argument.strip())
        except StepwellError as error:
            self._terminal.line(str(error))

    def _carry_out(self, name: str, argument: str) -> None:
        match name:
            case "/help":
                self._terminal.line(HELP)
            case "/todos":
                todos = self._runner.run(self._session.todos())
                self._terminal.plan(todos) if todos else self._terminal.line("No plan yet.")
            case "/files":
                self._files(argument)
            case "/new":
                self._runner.run(self._session.new_thread())
                self._terminal.line(f"Thread {self._session.thread_id}")
            case "/threads":
                lines = [f"{thread.thread_id}  {thread.about}" for thread in self._runner.run(self._session.threads())]
                self._terminal.line("\n".join(lines) or "No threads yet.")
            case "/thread":
                self._thread(argument)
            case _:
                self._terminal.line(f"No command '{name}'. /help lists them.")

    def _thread(self, thread_id: str) -> None:
        if not thread_id:
            self._terminal.line(f"Thread {self._session.thread_id}")
            return
        self._runner.run(self._session.open_thread(thread_id))
        self.catch_up()

    def _files(self, path: str) -> None:
        files = self._runner.run(self._session.files())
        if not path:
            listing = [f"{name}  {len(text.encode('utf-8', 'replace'))} bytes" for name, text in files.items()]
            self._terminal.line("\n".join(listing) or "No files yet.")
        else:
            self._terminal.line(files.get(path, f"No file '{path}'. /files lists them."))
