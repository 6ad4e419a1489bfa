"""How the command line gets its commands: every product brings a function that adds them (`Product.commands`), and so do we.

```
def add_commands(commands: Commands) -> None:
    notes = commands.add_parser("notes", help="list your notes")
    add_url(notes, "ask this server")
    notes.set_defaults(run=_run_notes)              # required: called with the parsed arguments, returns the exit code

def _run_notes(arguments: Namespace) -> int:
    from notes.listing import show                  # here, not above: `stepwell --help` imports the module of every add_commands

    return show(arguments.url)
```
The command line reports a `StepwellError` of a command in one sentence, with exit code 2.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Protocol

from stepwell.addresses import DEFAULT_URL
from stepwell.errors import StepwellError


class Commands(Protocol):
    """The subparsers of `stepwell`."""

    def add_parser(self, name: str, **options: Any) -> argparse.ArgumentParser:
        """A parser for `stepwell NAME`. `ConfigurationError` if the name is taken."""
        ...


class UsageError(StepwellError):
    """Arguments that do not go together. A command's `run` raises it; the command line also points to the help."""


def add_url(parser: argparse.ArgumentParser, text: str) -> None:
    """`--url [ADDRESS]`: do it on a server."""
    parser.add_argument(
        "--url", metavar="ADDRESS", nargs="?", const=DEFAULT_URL, help=f"{text} (without ADDRESS: {DEFAULT_URL})"
    )


def add_database(parser: argparse.ArgumentParser) -> None:
    """`--database-url URL`: do it on this database."""
    parser.add_argument(
        "--database-url",
        metavar="URL",
        help="sqlite:///path/to/file.db or postgresql://user@host/name (default: the database the server uses)",
    )


def whole_number(least: int, most: int, unit: str = "") -> Callable[[str], int]:
    """The type of an argument: a whole number in this range."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit()) or len(text) > 12 or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"a whole number{unit and f' of {unit}'} from {least} to {most}")
        return int(text)

    return read
