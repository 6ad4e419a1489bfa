"""The command line: collects the commands, ours and those of the products, parses the arguments and calls the chosen command.

Nothing heavy is imported before the command is known, so that `--help` is instant. We use argparse on purpose: Typer with rich
cost half a second of CPU for `--help` alone, more than our whole budget.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from stepwell.cli import arguments as serving
from stepwell.cli.acp import arguments as acp
from stepwell.cli.chat import arguments as chat
from stepwell.cli.operator import arguments as operator
from stepwell.cli.project import arguments as project
from stepwell.errors import ConfigurationError, StepwellError
from stepwell.products import Product, installed_products, load_part
from stepwell.terminal.commands import Commands, UsageError
from stepwell.terminal.parsing import Parser

_OURS = "Stepwell itself"
_RUN_AGENTS = ("chat", "research", "acp")
"""Commands that may call a model in this process."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        parser = make_parser(installed_products())
        arguments = parser.parse_args(argv)
        if arguments.command is None:
            parser.print_help()
            return 0
        try:
            with _models_of_this_machine(arguments):
                return int(arguments.run(arguments))
        except UsageError as error:
            parser.error(str(error))
    except BrokenPipeError:
        # The reader has gone (`| head`). Without this, Python would report the error again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except StepwellError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # start-up is mostly imports, before any command can handle Ctrl-C itself
        return 130


@contextmanager
def _models_of_this_machine(arguments: argparse.Namespace) -> Iterator[None]:
    """Commands that run an agent here use the model that `stepwell models use` has stored, unless they or the environment name another."""
    if arguments.command not in _RUN_AGENTS or getattr(arguments, "url", None) or getattr(arguments, "model", None):
        yield
        return
    from stepwell.settings import Settings
    from stepwell.terminal.database_place import PostgresPlace, database_place

    settings = Settings.load()
    # A database of another project, and one on another machine, are not asked; without the package for keys, none was stored.
    own = settings.database_url is None or settings.database_is_meant
    place = database_place(None, settings) if own and find_spec("cryptography") else None
    if place is None or isinstance(place, PostgresPlace) or not place.is_file():
        yield
        return
    from stepwell.cli.connected_models import default_on_this_machine
    from stepwell.models.connected import using

    with using(default_on_this_machine(settings)):
        yield


def make_parser(products: Iterable[Product]) -> argparse.ArgumentParser:
    """The parser of all commands. The parsed arguments contain the command's `run` (`terminal.commands`).

    Raises:
        ConfigurationError: The commands of a product cannot be imported, or have a name that is taken.
    """
    parser = Parser(prog="stepwell", description="Agents that do long, real work.")
    parser.add_argument("--version", action=_Version, help="show the version and exit")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    owners: dict[str, str] = {}
    ours = _Commands(subparsers, _OURS, owners)
    chat.add_commands(ours)
    for product in sorted(products, key=lambda product: not product.graphs):  # in the help, agents come first
        if product.commands:
            _add_commands(product, _Commands(subparsers, f"the product '{product.name}'", owners))
    project.add_commands(ours)
    serving.add_commands(ours)
    acp.add_commands(ours)
    operator.add_commands(ours)
    return parser


def _add_commands(product: Product, commands: Commands) -> None:
    add = load_part(product, "commands")
    try:
        add(commands)
    except ConfigurationError:
        raise
    except Exception as error:
        raise ConfigurationError(
            f"The commands of the product '{product.name}' cannot be added: {type(error).__name__}: {error}. "
            "Repair or uninstall its package."
        ) from error


class _Commands:
    """Adds one owner's commands. Refuses names that are taken."""

    def __init__(self, subparsers: Any, owner: str, owners: dict[str, str]) -> None:
        self._subparsers = subparsers
        self._owner = owner
        self._owners = owners

    def add_parser(self, name: str, **options: Any) -> argparse.ArgumentParser:
        for each in (name, *options.get("aliases", ())):
            if each in self._owners:
                both = (self._owners[each], self._owner)
                raise ConfigurationError(
                    f"The command '{each}' is brought by both {' and '.join(both)}. "
                    f"Uninstall {' or '.join(owner for owner in both if owner != _OURS)}."
                )
            self._owners[each] = self._owner
        added: argparse.ArgumentParser = self._subparsers.add_parser(name, **options)
        return added


class _Version(argparse.Action):
    """Looks up the version only on request."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"stepwell {version('stepwell')}")
        parser.exit()
