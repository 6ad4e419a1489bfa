"""`stepwell chat tutor`: a seminar in the terminal, with a local folder instead of the browser's project.

The conversation lives in this process; the argument lives in the folder, where the next chat continues it. Without a model that can use
tools, the tutor asks questions from the method alone, and says so.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from stepwell.errors import ConfigurationError
from stepwell.terminal.chat.loop import SCRIPTED, Chat
from stepwell.terminal.chat.options import ChatOptions, choose_model
from stepwell.terminal.chat.project import CHOICES, NOTES_CHOICES, FolderProject
from stepwell.terminal.dialogue.graph_session import GraphConversations
from stepwell.terminal.dialogue.terminal import Terminal
from stepwell.tutor.product import PRODUCT

HELP = """/hint          get a hint, more explicit each time
/tell          get the wording itself (or type "just tell me")
/edit NAME WORDS, /withdraw NAME    change or give up your claim, reason 1, objection 1 ...
/ground WORDS, /objection WORDS     add a reason or an objection
/lint          list what a careful reader would mark
/export FORM   export the whole argument: md, json, argdown, mermaid"""
_APP = PRODUCT.chats["tutor"]


def run(options: ChatOptions) -> int:
    """Run the command and return its exit code."""
    terminal = Terminal(sys.stdin, sys.stdout)
    if options.demo:
        return _demonstrate(terminal)
    try:
        agent = _build(choose_model(options.model), options.ask_before)
    except ConfigurationError as error:
        print(error, file=sys.stderr)
        return 2
    folder = options.project or Path()
    if options.once is None:
        terminal.line(f"Your project is the folder {folder.resolve().name}. Nothing is written there without your permission.")
    with asyncio.Runner() as runner:
        device = FolderProject(folder, terminal)
        for_agent = _APP.slash_commands
        chat = Chat(
            runner, terminal, GraphConversations(agent), device=device, for_agent=for_agent, more_help=HELP, mode=options.mode
        )
        return chat.converse() if options.once is None else chat.only(options.once)


def _build(model: Any, ask_before: tuple[str, ...]) -> Any:
    from langgraph.checkpoint.memory import InMemorySaver

    from stepwell.tutor.agent import build

    return build(model, checkpointer=InMemorySaver(), interrupt_on=dict.fromkeys(ask_before, True))


def _demonstrate(terminal: Terminal) -> int:
    """A whole seminar by a scripted model and a scripted person, in a temporary folder."""
    from langgraph.checkpoint.memory import InMemorySaver

    from stepwell.tutor.demo import PERSON, REQUEST, build_demo_tutor

    terminal.line(SCRIPTED)
    with TemporaryDirectory() as folder, asyncio.Runner() as runner:
        return play_person(runner, terminal, build_demo_tutor(InMemorySaver()), Path(folder), (REQUEST, *PERSON))


def play_person(runner: asyncio.Runner, terminal: Terminal, tutor: Any, folder: Path, lines: Sequence[str]) -> int:
    """Let a tutor talk to a person whose lines are scripted. The person lets it keep its notes."""
    person = iter(lines)

    def answer(text: str) -> str:
        typed = "y" if text in (CHOICES, NOTES_CHOICES) else next(person)
        terminal.line(text)
        terminal.line(f"answer> {typed}   (scripted)")
        return typed

    first = next(person)
    terminal.line(f"you> {first}   (scripted)")
    device = FolderProject(folder, terminal, ask=answer)
    return Chat(runner, terminal, GraphConversations(tutor), ask=answer, device=device).only(first)
