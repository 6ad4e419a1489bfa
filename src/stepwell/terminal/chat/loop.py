"""`stepwell chat` as a person sees it: a prompt, turns, and commands that begin with a slash.

Ctrl-C stops a turn, Ctrl-D leaves. This module knows conversations and the terminal, but not where the agent runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from stepwell.answers.client_tools import is_device_request
from stepwell.errors import StepwellError
from stepwell.permission_modes import PERMISSION_MODE, RUN_MODES
from stepwell.terminal.chat.meanwhile import Meanwhile
from stepwell.terminal.chat.options import USUAL
from stepwell.terminal.chat.rewinding import Rewinding
from stepwell.terminal.chat.view import ChatView, files_of, last_answer, todos_of, transcript_lines
from stepwell.terminal.dialogue.answers import Ask, answer_all
from stepwell.terminal.dialogue.loop import Dialogue, NotStoppedError
from stepwell.terminal.dialogue.session import Conversations, OpenInterrupt, Session, StreamPart
from stepwell.terminal.dialogue.terminal import Terminal

TITLE_CHARS = 60
"""A thread's title is the beginning of its first message."""

_LOOK_AGAIN_S = 0.2
_STOPPED = 130
_OPEN = ("pending", "running")
"""Statuses of a background task that works."""

NOTHING_SAID = "(The turn ended without output. This chat shows only the 'messages' of an assistant's state.)"
NO_DEVICE = (
    "The agent is waiting for files on your device. Start the chat with --project FOLDER to let it work in a folder here."
)
TASKS_GO_ON = "(Subagents go on in the background: /tasks shows them, /tasks wait waits for them.)"
NOBODY = "The agent asks a question, but there is nobody to answer."
SCRIPTED = "This is a scripted demonstration: real agent, real tools, every reply written beforehand."
WELCOME = "Stepwell. Type a message; /help lists the commands, Ctrl-C stops a turn, Ctrl-D leaves."
HELP = """While the agent works, what you type is sent to it, and it reads it before its next step.
/files         list the agent's files
/files PATH    show a file
/todos         show the agent's plan
/tasks         list background tasks; /tasks stop ID stops one, /tasks wait waits for them
/subagents     list what subagents were asked
/subagents N   show what one of them did: its number in the list, or its id
/new           start a new thread
/threads       list the threads you can continue
/mode NAME     what the next runs may change: plan, ask, accept_edits, or usual
/rewind        list your messages that can be taken back
/rewind N      go back to before message N: the conversation and the files
/rewind undo   undo that
/thread ID     continue a thread; without an id, show the current one
/queue TEXT    send a message when the turn has ended (while it works, also Alt+Enter)
/aside TEXT    ask something about the conversation without changing it (also /btw)
/help          show this list
/quit          leave (or press Ctrl-D)"""


class Device(Protocol):
    """Carries out operations on the user's files. `project` has one that works in a folder."""

    @property
    def project_id(self) -> str: ...

    def answer(self, question: Mapping[str, Any], claim: Callable[[], str | None]) -> dict[str, Any]:
        """The results of a `client_tool_execution`. Calls `claim` just before it does anything."""
        ...


class UnansweredError(EOFError):
    """The input ended while the agent was waiting for an answer, not at our prompt."""


class Chat:
    """Connects conversations with a terminal. Starts a new thread unless it gets a session."""

    def __init__(
        self,
        runner: asyncio.Runner,
        terminal: Terminal,
        conversations: Conversations,
        *,
        session: Session | None = None,
        ask: Ask | None = None,
        device: Device | None = None,
        for_agent: Collection[str] = (),
        more_help: str = "",
        mode: str | None = None,
    ) -> None:
        """`mode` is what runs are held to; `device` carries out what a run asks of the user's device; `for_agent` are slash commands to
        pass to the agent unchanged."""
        self._runner = runner
        self._terminal = terminal
        self._conversations = conversations
        self._ask = ask or terminal.ask
        self._device = device
        self._for_agent = for_agent
        self._help = "\n".join(part for part in (more_help, HELP) if part)
        self._rewinding = Rewinding(runner, terminal)
        self._meanwhile = Meanwhile(terminal)
        if mode:
            conversations.configurable[PERMISSION_MODE] = mode
        self._take(session or conversations.new())

    @property
    def thread_id(self) -> str:
        return self._session.thread_id

    def converse(self) -> int:
        """Read and answer messages until the person leaves."""
        self._terminal.line(WELCOME)
        while True:
            try:
                text = self._meanwhile.next("you> ").strip()
                if text in ("/quit", "/exit"):
                    return 0
                self._tell_of_tasks()
                if text.startswith("/") and text.partition(" ")[0] not in self._for_agent:
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
        """Send one message, for scripts. Returns exit code 1 at an interrupt that nobody can answer."""
        self._meanwhile.on = False
        try:
            return self.once(text)
        except EOFError:
            self._terminal.line(NOBODY)
            return 1

    def once(self, text: str) -> int:
        """Send one message and handle everything that follows from it."""
        message: dict[str, Any] = {"messages": [{"role": "user", "content": text}]}
        if self._device is not None:
            message["current_project_id"] = self._device.project_id
        return self._turn(self._session.send(message, title=text[:TITLE_CHARS]), if_silent=NOTHING_SAID)

    def catch_up(self) -> int:
        """Show the state of a thread: the last answer, a turn still in progress, open interrupts."""
        if answer := last_answer(self._runner.run(self._session.values())):
            self._terminal.line(answer)
        return self._turn(self._session.follow())

    def _take(self, session: Session) -> None:
        self._session = session
        self._view = ChatView(self._terminal)
        self._known_answer = ""
        self._awaits_tasks = False
        self._dialogue = Dialogue(self._runner, session, self._view, self._answer, partial(self._meanwhile.listen, session))

    def _tell_of_tasks(self) -> None:
        """Show what the agent has said since the last turn, because a background task woke it."""
        if not self._awaits_tasks:
            return
        answer = last_answer(self._runner.run(self._session.values()))
        if answer != self._known_answer:
            self._terminal.line(answer)
        self._known_answer = answer
        self._awaits_tasks = any(task.status in _OPEN for task in self._runner.run(self._session.tasks()))

    def _answer(self, interrupts: Sequence[OpenInterrupt]) -> dict[str, Any]:
        """The device carries out its own interrupts; the person answers the others."""
        device = self._device
        for_device = [each for each in interrupts if is_device_request(each.value)]
        if device is None and for_device:
            self._terminal.line(NO_DEVICE)
            raise UnansweredError
        if device is None:
            return answer_all(interrupts, self._ask)
        answers = answer_all([each for each in interrupts if each not in for_device], self._ask)
        for each in for_device:
            answers[each.id] = device.answer(each.value, partial(self._claim, each.id))
        return answers

    def _claim(self, interrupt_id: str) -> str | None:
        return self._runner.run(self._session.claim(interrupt_id))

    def _turn(self, parts: AsyncGenerator[StreamPart], if_silent: str = "") -> int:
        """Show a run, and those that begin with messages which came too late for it."""
        code = self._show(parts, if_silent)
        while self._meanwhile.steered and code != _STOPPED:
            self._meanwhile.steered = False
            code = self._show(self._session.hear_steered())
        self._meanwhile.steered = False
        if self._view.gave_tasks:
            self._view.gave_tasks, self._awaits_tasks = False, True
            self._terminal.line(TASKS_GO_ON)
        if self._awaits_tasks:
            self._known_answer = last_answer(self._runner.run(self._session.values()))
        return code

    def _show(self, parts: AsyncGenerator[StreamPart], if_silent: str = "") -> int:
        try:
            ending = self._dialogue.run(parts)
        except NotStoppedError as error:
            self._terminal.line(f"The turn could not be stopped: {error}")
            return _STOPPED
        except StepwellError as error:
            self._terminal.line(f"The turn failed: {error}")
            return 1
        except Exception as error:  # whatever a provider or a tool raised, the conversation can continue
            self._terminal.line(f"The turn failed: {type(error).__name__}: {error}")
            return 1
        match ending:
            case "unanswered":
                raise UnansweredError
            case "stopped":
                self._terminal.line("(stopped)")
                return _STOPPED
            case "silent" if if_silent:
                self._terminal.line(if_silent)
        return 0

    def _command(self, text: str) -> None:
        name, _, argument = text.partition(" ")
        try:
            self._carry_out(name, argument.strip())
        except StepwellError as error:
            self._terminal.line(str(error))

    def _carry_out(self, name: str, argument: str) -> None:
        match name:
            case "/help":
                self._terminal.line(self._help)
            case "/todos":
                todos = todos_of(self._runner.run(self._session.values()))
                self._terminal.plan(todos) if todos else self._terminal.line("No plan yet.")
            case "/files":
                self._files(argument)
            case "/tasks":
                self._tasks(*argument.split(maxsplit=1))
            case "/subagents":
                self._subagents(argument)
            case "/new":
                self._take(self._conversations.new())
                self._terminal.line(f"Thread {self._session.thread_id}")
            case "/threads":
                newest = self._runner.run(self._conversations.newest())
                lines = [f"{thread.thread_id}  {thread.about}" for thread in newest]
                self._terminal.line("\n".join(lines) or "No threads yet.")
            case "/mode":
                self._mode(argument)
            case "/rewind":
                self._rewinding.carry_out(self._session, argument)
            case "/queue":
                self.once(argument) if argument else self._terminal.line("Write the message after the command.")
            case "/aside" | "/btw":
                self._aside(argument)
            case "/thread":
                self._thread(argument)
            case _:
                self._terminal.line(f"No command '{name}'. /help lists them.")

    def _subagents(self, wanted: str) -> None:
        tasks = self._runner.run(self._session.subagents())
        if not wanted:
            lines = [f"{number}  {task.name}  {task.about}" for number, task in enumerate(tasks, 1)]
            self._terminal.line("\n".join(lines) or "No subagents yet.")
            return
        chosen = tasks[int(wanted) - 1].task_id if wanted.isdecimal() and 0 < int(wanted) <= len(tasks) else wanted
        if chosen not in {task.task_id for task in tasks}:
            self._terminal.line(f"No subagent '{wanted}'. /subagents lists them.")
            return
        messages = self._runner.run(self._session.subagent_messages(chosen))
        self._terminal.line("\n".join(line for message in messages for line in transcript_lines(message)))

    def _mode(self, name: str) -> None:
        held = self._conversations.configurable
        if name == USUAL:
            held.pop(PERMISSION_MODE, None)
        elif name in RUN_MODES:
            held[PERMISSION_MODE] = name
        elif name:
            self._terminal.line(f"No mode '{name}'. Use one of: {', '.join([*RUN_MODES, USUAL])}.")
            return
        self._terminal.line(f"Mode: {held.get(PERMISSION_MODE, USUAL)}")

    def _aside(self, question: str) -> None:
        if not question:
            self._terminal.line("Write the question after the command: /aside what have we decided so far?")
            return
        try:
            self._terminal.line(self._runner.run(self._session.aside(question)))
        except StepwellError:
            raise
        except Exception as error:  # whatever a provider raised, the conversation can continue
            self._terminal.line(f"The question was not answered: {type(error).__name__}: {error}")

    def _tasks(self, verb: str = "", task_id: str = "") -> None:
        match verb, task_id:
            case "", "":
                pass
            case "stop", name if name:
                self._runner.run(self._session.stop_task(name))
            case "wait", "":
                while any(task.status in _OPEN for task in self._runner.run(self._session.tasks())):
                    self._runner.run(asyncio.sleep(_LOOK_AGAIN_S))
                self._turn(self._session.hear_tasks(), last_answer(self._runner.run(self._session.values())) or "")
                return
            case _:
                self._terminal.line("Use /tasks, /tasks stop ID or /tasks wait.")
                return
        lines = [
            f"{task.task_id}  {task.agent_name}  {task.status}  {task.description[:TITLE_CHARS]}".rstrip()
            for task in self._runner.run(self._session.tasks())
        ]
        self._terminal.line("\n".join(lines) or "No background tasks yet.")

    def _thread(self, thread_id: str) -> None:
        if not thread_id:
            self._terminal.line(f"Thread {self._session.thread_id}")
            return
        self._take(self._runner.run(self._conversations.open(thread_id)))
        self.catch_up()

    def _files(self, path: str) -> None:
        files = files_of(self._runner.run(self._session.values()))
        if not path:
            listing = [f"{name}  {len(text.encode('utf-8', 'replace'))} bytes" for name, text in files.items()]
            self._terminal.line("\n".join(listing) or "No files yet.")
        else:
            self._terminal.line(files.get(path, f"No file '{path}'. /files lists them."))
