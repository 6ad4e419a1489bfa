"""The arguments of `stepwell init`."""

from __future__ import annotations

import argparse
from pathlib import Path

from stepwell.terminal.commands import Commands

TEMPLATES = {
    "agent": "an agent with a tool of your own",
    "research": "reports whose every sentence can be checked, under a policy of your own",
    "tutor": "a dialogue that develops an argument",
    "workspace": "an agent on the files of a folder, which asks before it changes them",
    "product": "a package with a table, a rule for runs, a route and a command for the server",
}
"""Folders in `templates/`, and what each makes."""


def add_commands(commands: Commands) -> None:
    init = commands.add_parser(
        "init",
        help="start a project of your own",
        description="Create a folder with an agent, its test, a langgraph.json, a README and a Makefile. It runs at once, without a key.",
        epilog="Templates: " + "; ".join(f"{name}: {text}" for name, text in TEMPLATES.items()) + ".",
    )
    init.add_argument("folder", metavar="NAME", type=Path, help="the new folder; its last part is the project's name")
    init.add_argument(
        "--template", metavar="NAME", choices=tuple(TEMPLATES), default="agent", help=f"{', '.join(TEMPLATES)} (default: agent)"
    )
    init.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from stepwell.cli.project.init import run

    return run(arguments.folder, arguments.template)
