"""The parser of the command line: a slip is answered with the nearest spelling and the help to look at, not with the whole usage."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from stepwell.validation import suggest


class Parser(argparse.ArgumentParser):
    """Commands and their subcommands are of this class too: argparse makes them of their parent's."""

    def parse_known_args(  # type: ignore[override]  # overloads that differ only in the namespace's class
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> Any:
        """Here, and not at the top: the command that was meant knows which options it has."""
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            options = self._option_string_actions
            kind = "option" if unknown[0].startswith("-") else "argument"
            self.error(f"There is no {kind} '{unknown[0]}' here.{suggest(unknown[0].partition('=')[0], options)}")
        return known, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            hint = suggest(str(value), known) or f" Choose from: {', '.join(known)}."
            raise argparse.ArgumentError(action, f"there is no '{value}'.{hint}")

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\nSee `{self.prog} --help`.\n")
