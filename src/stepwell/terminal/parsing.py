"""The command-line parser. For a typo it suggests the nearest spelling and points to the help, instead of printing the whole usage."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from stepwell.validation import suggest


class Parser(argparse.ArgumentParser):
    """Commands and subcommands use this class too: argparse creates them with their parent's class."""

    def parse_known_args(  # type: ignore[override]  # overloads that differ only in the namespace's class
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> Any:
        """Overridden here, not in `parse_args`, because a subcommand's parser knows its own options and can suggest one."""
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            options = self._option_string_actions
            kind = "option" if unknown[0].startswith("-") else "argument"
            self.error(f"Unknown {kind} '{unknown[0]}'.{suggest(unknown[0].partition('=')[0], options)}")
        return known, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            hint = suggest(str(value), known) or f" Choose from: {', '.join(known)}."
            raise argparse.ArgumentError(action, f"there is no '{value}'.{hint}")

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\nSee `{self.prog} --help`.\n")
