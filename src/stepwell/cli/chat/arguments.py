"""The arguments of `stepwell chat`, and whether it talks to an agent in this process or on a server.

`--help` imports this module, so it must stay light.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from stepwell.addresses import DEFAULT_URL
from stepwell.errors import needs_extra
from stepwell.permission_modes import RUN_MODES
from stepwell.products import ChatApp, installed_products, load_place
from stepwell.terminal.commands import Commands, UsageError, add_url


def add_commands(commands: Commands) -> None:
    apps = _apps()
    chat = commands.add_parser(
        "chat", help="talk to a deep agent in the terminal", description="Talk to a deep agent in the terminal."
    )
    described = "; ".join(f"`{name}` {app.description}" for name, app in apps.items())
    chat.add_argument("app", metavar="APP", nargs="?", choices=apps, help=f"{described} (default: a plain agent)")
    chat.add_argument(
        "--model", metavar="PROVIDER:NAME", help="the model to use, such as ollama:llama3.2 (default: from the environment)"
    )
    chat.add_argument("--once", metavar="TEXT", help="send this one message, print the answer and exit")
    chat.add_argument(
        "--ask-before", metavar="TOOL", action="append", default=[], help="ask before this tool runs (may be repeated)"
    )
    chat.add_argument("--mode", choices=RUN_MODES, help="plan only, ask before every change, or accept changes of files")
    chat.add_argument("--demo", action="store_true", help="play a scripted demonstration; needs no model")
    add_url(chat, "talk to an agent on this server")
    chat.add_argument("--assistant", metavar="NAME", help="talk to this assistant of the server, by name or id")
    chat.add_argument("--thread", metavar="ID", help="continue this thread on the server")
    chat.add_argument(
        "--project",
        metavar="FOLDER",
        type=Path,
        help="a folder in which the agent may work on your files; it asks before each change (default with "
        f"{', '.join(f'`{name}`' for name in apps)}: the current folder)",
    )
    chat.set_defaults(run=_run_chat)


def _apps() -> dict[str, ChatApp]:
    return {name: app for product in installed_products() for name, app in product.chats.items()}


def _run_chat(arguments: argparse.Namespace) -> int:
    builds = arguments.model or arguments.ask_before
    on_server = arguments.url is not None or arguments.assistant or arguments.thread
    project = _read_project(arguments, on_server=on_server)
    if arguments.demo and (builds or arguments.once is not None):
        raise UsageError(
            "--demo plays its own script, so --model, --once and --ask-before have no effect. Leave them out, or leave out --demo."
        )
    if not on_server:
        return _run_here(arguments, project)
    if builds or arguments.demo:
        raise UsageError("An agent on a server has its own model and rules. Leave out --model, --ask-before and --demo.")
    return _run_on_server(arguments, project)


def _read_project(arguments: argparse.Namespace, *, on_server: bool) -> Path | None:
    given: Path | None = arguments.project
    if given is None:
        return Path() if arguments.app and not arguments.demo else None
    if arguments.app is None and not on_server:
        ways = ", or ".join([*(f"`stepwell chat {name}`" for name in _apps()), "one on a server (--url)"])
        raise UsageError(f"--project is for an agent that works on your files: {ways}.")
    if given.exists() and not given.is_dir():
        raise UsageError(f"--project: '{given}' is a file. Name the project's folder.")
    if not given.exists():
        if not given.absolute().parent.is_dir():
            raise UsageError(f"--project: there is no folder '{given.parent}' to create '{given.name}' in. Check the path.")
        given.mkdir()
        print(f"Created the folder '{given}' for the project.")
    return given


def _run_here(arguments: argparse.Namespace, project: Path | None) -> int:
    from stepwell.terminal.chat.options import ChatOptions

    place = _apps()[arguments.app].place if arguments.app else "stepwell.cli.chat.command:run"
    ask_before = tuple(arguments.ask_before)
    return int(
        load_place(place)(ChatOptions(arguments.model, arguments.once, arguments.demo, ask_before, project, arguments.mode))
    )


def _run_on_server(arguments: argparse.Namespace, project: Path | None) -> int:
    with needs_extra("Talking to a server", "server"):
        from stepwell.cli.chat import on_server
    apps = _apps()
    return on_server.run(
        url=arguments.url or DEFAULT_URL,
        assistant=arguments.assistant or (apps[arguments.app].graph if arguments.app else None),
        thread=arguments.thread,
        once=arguments.once,
        project=project,
        apps=apps.values(),
        mode=arguments.mode,
    )
