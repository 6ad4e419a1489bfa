"""The command line: reads the arguments and hands over to one module per command.

Nothing heavy is imported before the command is known, so that `--help` answers at once. It is argparse on purpose: Typer with
rich cost half a second of CPU for `--help` alone, more than our whole budget.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from stepwell.errors import StepwellError


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
        # The reader has gone (`| head`): nobody to tell. Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except StepwellError as error:
        print(error, file=sys.stderr)
        return 2


def _run(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    match arguments.command:
        case "models":
            from stepwell.cli import models

            return models.run(arguments.action, arguments.name)
        case "doctor":
            from stepwell.cli import doctor

            return doctor.run()
    from stepwell.cli import chat

    if arguments.demo and (arguments.model or arguments.once is not None or arguments.ask_before):
        parser.error(
            "--demo plays its own script, so --model, --once and --ask-before cannot apply. Leave them out, or --demo."
        )
    return chat.run(model=arguments.model, once=arguments.once, demo=arguments.demo, ask_before=tuple(arguments.ask_before))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="stepwell", description="Agents that do long, real work.")
    parser.add_argument("--version", action=_Version, help="show the version and leave")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
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
    _add_models(commands)
    commands.add_parser(
        "doctor",
        help="show which model is used and why, and what is missing",
        description="Show which model would be used and why, what is missing for the others, and what this machine has.",
    )
    return parser


def _add_models(commands: Any) -> None:
    models = commands.add_parser(
        "models", help="models that run on this machine", description="Models that run on this machine."
    )
    actions = models.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("list", help="what there is, and what is on this machine").set_defaults(name=None)
    for action, text in {
        "pull": "download a model",
        "load": "load a model, downloading it if need be, and say how long it took",
        "remove": "delete a downloaded model",
    }.items():
        parser = actions.add_parser(action, help=text, description=text.capitalize() + ".")
        parser.add_argument(
            "name", metavar="ID", nargs=None if action == "remove" else "?", help="an id of `stepwell models list`"
        )


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"stepwell {version('stepwell')}")
        parser.exit()
