"""The arguments of `stepwell chat`, and whether it talks to an agent in this process or on a server.

`--help` imports this module, so it must stay light.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stepwell.errors import needs_extra
from stepwell.server.addresses import DEFAULT_URL

APPS: Mapping[str, str] = {"tutor": "deeptutor"}
"""App name on the command line -> its graph on a server."""


def add_chat(commands: Any) -> None:
    chat = commands.add_parser(
        "chat", help="talk to a deep agent in the terminal", description="Talk to a deep agent in the terminal."
    )
    chat.add_argument(
        "app",
        metavar="APP",
        nargs="?",
        choices=APPS,
        help="`tutor` develops an argument by asking you questions (default: a plain agent)",
    )
    chat.add_argument(
        "--model", metavar="PROVIDER:NAME", help="the model to use, such as ollama:llama3.2 (default: from the environment)"
    )
    chat.add_argument("--once", metavar="TEXT", help="send this one message, print the answer and exit")
    chat.add_argument(
        "--ask-before", metavar="TOOL", action="append", default=[], help="ask before this tool runs (may be repeated)"
    )
    chat.add_argument("--demo", action="store_true", help="play a scripted demonstration; needs no model")
    chat.add_argument(
        "--url",
        metavar="ADDRESS",
        nargs="?",
        const=DEFAULT_URL,
        help=f"talk to an agent on this server (without ADDRESS: {DEFAULT_URL})",
    )
    chat.add_argument("--assistant", metavar="NAME", help="talk to this assistant of the server, by name or id")
    chat.add_argument("--thread", metavar="ID", help="continue this thread on the server")
    chat.add_argument(
        "--project",
        metavar="FOLDER",
        type=Path,
        help="a folder in which the agent may work on your files; it asks before each change (default with `tutor`: the current folder)",
    )


def run_chat(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    builds = arguments.model or arguments.ask_before
    project = _read_project(parser, arguments)
    if arguments.demo and (builds or arguments.once is not None):
        parser.error(
            "--demo plays its own script, so --model, --once and --ask-before have no effect. Leave them out, or leave out --demo."
        )
    if arguments.url is None and not arguments.assistant and not arguments.thread:
        if arguments.app == "tutor":
            from stepwell.tutor import chat as tutor

            ask_before = tuple(arguments.ask_before)
            return tutor.run(
                model=arguments.model, once=arguments.once, demo=arguments.demo, ask_before=ask_before, project=project
            )
        from stepwell.cli.chat import command as chat

        return chat.run(model=arguments.model, once=arguments.once, demo=arguments.demo, ask_before=tuple(arguments.ask_before))
    if builds or arguments.demo:
        parser.error("An agent on a server has its own model and rules. Leave out --model, --ask-before and --demo.")
    return _run_on_server(arguments, project)


def _read_project(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> Path | None:
    given: Path | None = arguments.project
    on_server = arguments.url is not None or arguments.assistant or arguments.thread
    if given is None:
        return Path() if arguments.app == "tutor" and not arguments.demo else None
    if arguments.app is None and not on_server:
        parser.error("--project is for an agent that works on your files: `stepwell chat tutor`, or one on a server (--url).")
    if given.exists() and not given.is_dir():
        parser.error(f"--project: '{given}' is a file. Name the project's folder.")
    if not given.exists():
        if not given.absolute().parent.is_dir():
            parser.error(f"--project: there is no folder '{given.parent}' to create '{given.name}' in. Check the path.")
        given.mkdir()
        print(f"Created the folder '{given}' for the project.")
    return given


def _run_on_server(arguments: argparse.Namespace, project: Path | None) -> int:
    with needs_extra("Talking to a server", "server"):
        from stepwell.cli.chat import on_server
    assistant = arguments.assistant or (APPS[arguments.app] if arguments.app else None)
    return on_server.run(
        url=arguments.url or DEFAULT_URL, assistant=assistant, thread=arguments.thread, once=arguments.once, project=project
    )
