"""The arguments of `stepwell chat`, and whether it talks to an agent in this process or on a server.

Read for `--help`: it must stay light.
"""

from __future__ import annotations

import argparse
from typing import Any

from stepwell.errors import needs_extra
from stepwell.server.addresses import DEFAULT_URL


def add_chat(commands: Any) -> None:
    chat = commands.add_parser(
        "chat", help="talk to a deep agent in the terminal", description="Talk to a deep agent in the terminal."
    )
    chat.add_argument(
        "--model", metavar="PROVIDER:NAME", help="the model to use, e.g. ollama:llama3.2; otherwise the environment decides"
    )
    chat.add_argument("--once", metavar="TEXT", help="send this one message, print the answer and leave")
    chat.add_argument(
        "--ask-before", metavar="TOOL", action="append", default=[], help="ask before this tool runs (may be repeated)"
    )
    chat.add_argument("--demo", action="store_true", help="play a scripted demonstration; needs no model")
    chat.add_argument(
        "--url", metavar="ADDRESS", nargs="?", const=DEFAULT_URL, help=f"talk to an agent on this server; alone, {DEFAULT_URL}"
    )
    chat.add_argument("--assistant", metavar="NAME", help="which of the server's assistants, by name or id")
    chat.add_argument("--thread", metavar="ID", help="continue this thread of the server")


def run_chat(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    builds = arguments.model or arguments.ask_before
    if arguments.demo and (builds or arguments.once is not None):
        parser.error(
            "--demo plays its own script, so --model, --once and --ask-before cannot apply. Leave them out, or --demo."
        )
    if arguments.url is None and not arguments.assistant and not arguments.thread:
        from stepwell.cli.chat import command as chat

        return chat.run(model=arguments.model, once=arguments.once, demo=arguments.demo, ask_before=tuple(arguments.ask_before))
    if builds or arguments.demo:
        parser.error(
            "An agent on a server has its own model and rules, so --model, --ask-before and --demo cannot apply there."
        )
    return _run_on_server(arguments)


def _run_on_server(arguments: argparse.Namespace) -> int:
    with needs_extra("Talking to a server", "server"):
        from stepwell.cli.chat import on_server
    return on_server.run(
        url=arguments.url or DEFAULT_URL, assistant=arguments.assistant, thread=arguments.thread, once=arguments.once
    )
