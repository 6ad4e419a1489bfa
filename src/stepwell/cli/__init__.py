"""The command line: parses the arguments and calls one module per command.

Nothing heavy is imported before the command is known, so that `--help` is instant. We use argparse on purpose: Typer with rich
cost half a second of CPU for `--help` alone, more than our whole budget.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stepwell.cli.chat.arguments import add_chat, run_chat
from stepwell.cli.operator.arguments import (
    add_db,
    add_effects,
    add_usage,
    add_wallet,
    run_db,
    run_effects,
    run_usage,
    run_wallet,
)
from stepwell.errors import StepwellError
from stepwell.research.commands.arguments import COMMANDS as RESEARCH_COMMANDS
from stepwell.research.commands.arguments import add_research, run_research
from stepwell.server.addresses import DEFAULT_HOST, DEFAULT_PORT, DEFAULT_URL
from stepwell.terminal.parsing import Parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return 0
    try:
        return _run(parser, arguments)
    except BrokenPipeError:
        # The reader has gone (`| head`). Without this, Python would report the error again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except StepwellError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # start-up is mostly imports, before any command can handle Ctrl-C itself
        return 130


def _run(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    match arguments.command:
        case "models":
            from stepwell.cli import models

            return models.run(arguments.action, arguments.name)
        case "doctor":
            from stepwell.cli.operator import doctor

            return doctor.run()
        case "keys":
            return _run_keys(arguments)
        case "serve":
            return _run_serve(arguments)
        case "worker":
            return _run_worker(arguments)
        case "db":
            return run_db(arguments)
        case "usage":
            return run_usage(arguments)
        case "effects":
            return run_effects(arguments)
        case "wallet":
            return run_wallet(arguments)
        case command if command in RESEARCH_COMMANDS:
            return run_research(parser, arguments)
    return run_chat(parser, arguments)


def _run_serve(arguments: argparse.Namespace) -> int:
    from stepwell.cli import serve

    return serve.run(
        host=arguments.host,
        port=arguments.port,
        graphs=arguments.graphs,
        database_url=arguments.database_url,
        insecure=arguments.insecure,
        run_timeout_s=arguments.run_timeout,
        power_loss=arguments.power_loss,
        demo=not arguments.no_demo,
        concurrency=arguments.concurrency,
        drain_s=arguments.drain_seconds,
    )


def _run_worker(arguments: argparse.Namespace) -> int:
    from stepwell.cli import worker

    return worker.run(
        graphs=arguments.graphs,
        database_url=arguments.database_url,
        concurrency=arguments.concurrency,
        run_timeout_s=arguments.run_timeout,
        drain_s=arguments.drain_seconds,
        metrics_host=arguments.metrics_host,
        metrics_port=arguments.metrics_port,
    )


def _run_keys(arguments: argparse.Namespace) -> int:
    from stepwell.cli.operator import keys

    match arguments.action:
        case "create":
            return keys.create(
                user=arguments.user,
                operator=arguments.operator,
                expires_days=arguments.expires,
                database_url=arguments.database_url,
                roots=arguments.root,
                read_roots=arguments.read_root,
            )
        case "revoke":
            return keys.revoke(key_id=arguments.key_id, database_url=arguments.database_url)
    return keys.show(database_url=arguments.database_url)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="stepwell", description="Agents that do long, real work.")
    parser.add_argument("--version", action=_Version, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    add_chat(commands)
    add_research(commands, DEFAULT_URL)
    _add_serve(commands)
    _add_worker(commands)
    _add_models(commands)
    _add_keys(commands)
    add_db(commands)
    add_usage(commands, DEFAULT_URL)
    add_effects(commands, DEFAULT_URL)
    add_wallet(commands, DEFAULT_URL)
    commands.add_parser(
        "doctor",
        help="show which model is used and why, what is missing, and the state of the server",
        description="Show which model would be used and why, what the other providers still need, what is installed on this "
        "machine, and the state of the server and its database.",
    )
    return parser


def _add_serve(commands: Any) -> None:
    serve = commands.add_parser(
        "serve",
        help="start the server",
        description="Start the server: durable agents over HTTP, for any client of LangGraph's API.",
    )
    serve.add_argument("--host", metavar="ADDRESS", help=f"address to listen on (default: {DEFAULT_HOST})")
    serve.add_argument(
        "--port", metavar="NUMBER", type=_port, help=f"port to listen on (default: {DEFAULT_PORT}); 0 picks a free one"
    )
    serve.add_argument("--graphs", metavar="FILE", type=Path, help="serve the graphs of this langgraph.json instead of our own")
    serve.add_argument(
        "--no-demo",
        action="store_true",
        help="do not serve the two demo graphs, which need no model and no network (research_demo, demo_agent)",
    )
    serve.add_argument(
        "--database-url",
        metavar="URL",
        help="sqlite:///path/to/file.db, or postgresql://user@host/name, which several servers can share (default: "
        "STEPWELL_DATABASE_URL, DATABASE_URL, or a file in the data folder)",
    )
    serve.add_argument(
        "--concurrency",
        metavar="NUMBER",
        type=_count,
        help="execute at most this many runs at once; 0 leaves all of them to `stepwell worker`",
    )
    serve.add_argument(
        "--run-timeout",
        metavar="SECONDS",
        type=_seconds,
        help="stop a run after this much work; time spent waiting for a person does not count",
    )
    serve.add_argument(
        "--power-loss",
        action="store_true",
        help="confirm a write only once it is on the disk: survives a power failure, but is slower",
    )
    _add_drain_seconds(serve)
    serve.add_argument(
        "--insecure", action="store_true", help="do not require sign-in, even if other machines can reach the server"
    )


def _add_worker(commands: Any) -> None:
    worker = commands.add_parser(
        "worker",
        help="execute runs of a shared database, without serving HTTP clients",
        description="Execute the runs that servers on the same Postgres database accept. You can start any number of workers.",
    )
    worker.add_argument(
        "--concurrency",
        metavar="NUMBER",
        type=_count,
        default=100,
        help="execute at most this many runs at once (default: 100)",
    )
    worker.add_argument("--graphs", metavar="FILE", type=Path, help="the langgraph.json that the servers were started with")
    worker.add_argument("--database-url", metavar="URL", help="postgresql://user@host/name (default: DATABASE_URL)")
    worker.add_argument(
        "--metrics-port",
        metavar="NUMBER",
        type=_port,
        help="serve /ok, /ready and /metrics on this port, without sign-in; 0 picks a free one",
    )
    worker.add_argument(
        "--metrics-host", metavar="ADDRESS", default=DEFAULT_HOST, help=f"address for --metrics-port (default: {DEFAULT_HOST})"
    )
    _add_drain_seconds(worker)
    worker.add_argument(
        "--run-timeout",
        metavar="SECONDS",
        type=_seconds,
        help="stop a run after this much work; time spent waiting for a person does not count",
    )


def _add_drain_seconds(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--drain-seconds",
        metavar="SECONDS",
        type=_count,
        help="on shutdown, give runs this long to finish before handing them back (default: STEPWELL_DRAIN_SECONDS, or 10)",
    )


def _add_models(commands: Any) -> None:
    models = commands.add_parser(
        "models", help="models that run on this machine", description="Models that run on this machine."
    )
    actions = models.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("list", help="list the models, and which of them are on this machine").set_defaults(name=None)
    for action, text in {
        "pull": "download a model",
        "load": "load a model, downloading it if necessary, and print how long it took",
        "remove": "delete a downloaded model",
    }.items():
        parser = actions.add_parser(action, help=text, description=text.capitalize() + ".")
        parser.add_argument(
            "name", metavar="ID", nargs=None if action == "remove" else "?", help="an id from `stepwell models list`"
        )


def _add_keys(commands: Any) -> None:
    keys = commands.add_parser("keys", help="API keys of the server's users", description="API keys of the server's users.")
    actions = keys.add_subparsers(dest="action", metavar="ACTION", required=True)
    create = actions.add_parser("create", help="create a key and show it once", description="Create a key and show it once.")
    create.add_argument(
        "--user", metavar="NAME", required=True, help="the user the key belongs to; a user can have several keys"
    )
    create.add_argument(
        "--operator", action="store_true", help="the key can also read data of all users, such as metrics and usage"
    )
    create.add_argument("--expires", metavar="DAYS", type=_days, help="the key expires after this many days (default: never)")
    for option, may in (("--root", "work in"), ("--read-root", "read only")):
        create.add_argument(
            option,
            metavar="ROOT",
            action="append",
            default=[],
            help=f"a workspace the key may {may}, such as /company/workspace/ (may be repeated)",
        )
    listing = actions.add_parser("list", help="show the keys, without their secrets", description="Show the keys.")
    revoke = actions.add_parser("revoke", help="revoke a key immediately", description="Revoke a key immediately.")
    revoke.add_argument("key_id", metavar="KEY_ID", help="an id from `stepwell keys list`")
    for action in (create, listing, revoke):
        action.add_argument(
            "--database-url",
            metavar="URL",
            help="sqlite:///path/to/file.db or postgresql://user@host/name (default: the database the server uses)",
        )


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text[:6]) > 65535:
        raise argparse.ArgumentTypeError("a whole number from 0 to 65535")
    return int(text)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text[:6]) > 10_000:
        raise argparse.ArgumentTypeError("a whole number from 0 to 10000")
    return int(text)


def _seconds(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text[:9]) <= 2_592_000:
        raise argparse.ArgumentTypeError("a whole number of seconds from 1 to 2592000")
    return int(text)


def _days(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 36500:
        raise argparse.ArgumentTypeError("a whole number of days from 1 to 36500")
    return int(text)


class _Version(argparse.Action):
    """Looks up the version only on request."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"stepwell {version('stepwell')}")
        parser.exit()
