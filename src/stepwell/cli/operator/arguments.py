"""The arguments of `stepwell db`, `usage` and `effects`, and which function they mean. Imports nothing heavy before a command is known."""

from __future__ import annotations

import argparse
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_GROUPS = ("run", "thread", "owner", "day", "model")


def add_db(commands: Any) -> None:
    db = commands.add_parser("db", help="look after the server's database", description="Look after the server's database.")
    actions = db.add_subparsers(dest="action", metavar="ACTION", required=True)
    status = actions.add_parser("status", help="its form, its size, what is in it")
    migrate = actions.add_parser("migrate", help="bring it to the form of this version; makes a backup first")
    backup = actions.add_parser("backup", help="copy it, also while a server works on it")
    backup.add_argument("file", metavar="FILE", type=Path, help="where to")
    backup.add_argument("--force", action="store_true", help="overwrite the file if it is there")
    restore = actions.add_parser("restore", help="put a backup in its place; the server must be stopped")
    restore.add_argument("file", metavar="FILE", type=Path, help="a file of `stepwell db backup`")
    prune = actions.add_parser(
        "prune",
        help="delete what is old; threads with a run under way or an interrupt open stay",
        description="Delete what is old. Without --older-than and --keep-last, as STEPWELL_RETENTION_DAYS and "
        "STEPWELL_RETENTION_CHECKPOINTS say.",
    )
    prune.add_argument("--older-than", metavar="AGE", type=_age, help="threads nobody has touched for so long: 30d, 12h, 8w")
    prune.add_argument("--keep-last", metavar="N", type=_count, help="keep so many checkpoints of each thread")
    prune.add_argument("--dry-run", action="store_true", help="only say what would go")
    prune.add_argument("--compact", action="store_true", help="give the freed space back to the disk")
    prune.add_argument("--graphs", metavar="FILE", type=Path, help="the langgraph.json of the threads, if a graph is asked for")
    for action in (status, migrate, backup, restore, prune):
        _add_database(action)


def add_usage(commands: Any, usual_url: str) -> None:
    text = "what runs used of models, and what it cost"
    usage = commands.add_parser("usage", help=text, description=text.capitalize() + ".")
    usage.add_argument("--by", choices=_GROUPS, default="model", help="one line for each of these and each model")
    usage.add_argument("--thread", metavar="ID", help="of this thread only")
    usage.add_argument("--json", action="store_true", help="as JSON")
    _add_place(usage, usual_url)


def add_effects(commands: Any, usual_url: str) -> None:
    text = "what tools began, and nobody knows whether it happened"
    effects = commands.add_parser("effects", help=text, description=text.capitalize() + ".")
    actions = effects.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="those that somebody should look at, newest first")
    listing.add_argument("--known", action="store_true", help="also those whose outcome is known, or that are under way")
    listing.add_argument("--thread", metavar="ID", help="of this thread and its copies only")
    settle = actions.add_parser("settle", help="say whether one happened; the model is told when the thread goes on")
    settle.add_argument("key", metavar="KEY", help="a key of `stepwell effects list`")
    outcome = settle.add_mutually_exclusive_group(required=True)
    outcome.add_argument("--done", metavar="NOTE", nargs="?", const="", help="it happened; the note is told to the model")
    outcome.add_argument("--not-done", metavar="NOTE", nargs="?", const="", help="it did not happen")
    for action in (listing, settle):
        action.add_argument("--json", action="store_true", help="as JSON")
        _add_place(action, usual_url)


def run_db(arguments: argparse.Namespace) -> int:
    from stepwell.cli.operator import db

    url = arguments.database_url
    match arguments.action:
        case "migrate":
            return db.migrate(database_url=url)
        case "backup":
            return db.backup(file=arguments.file, force=arguments.force, database_url=url)
        case "restore":
            return db.restore(file=arguments.file, database_url=url)
        case "prune":
            return db.prune(
                older_than=arguments.older_than,
                keep_last=arguments.keep_last,
                dry_run=arguments.dry_run,
                compact=arguments.compact,
                graphs=arguments.graphs,
                database_url=url,
            )
    return db.status(database_url=url)


def run_usage(arguments: argparse.Namespace) -> int:
    from stepwell.cli.operator import usage

    return usage.run(
        by=arguments.by,
        thread=arguments.thread,
        as_json=arguments.json,
        url=arguments.url,
        everybody=arguments.all,
        database_url=arguments.database_url,
    )


def run_effects(arguments: argparse.Namespace) -> int:
    from stepwell.cli.operator import effects

    where = {
        "as_json": arguments.json,
        "url": arguments.url,
        "everybody": arguments.all,
        "database_url": arguments.database_url,
    }
    if arguments.action == "list":
        return effects.show(known=arguments.known, thread=arguments.thread, **where)
    happened = arguments.done is not None
    return effects.settle(key=arguments.key, happened=happened, note=arguments.done or arguments.not_done or "", **where)


def _add_place(action: Any, usual_url: str) -> None:
    action.add_argument(
        "--url",
        metavar="ADDRESS",
        nargs="?",
        const=usual_url,
        help=f"ask this server, for what is yours, instead of reading the database of this machine; alone, {usual_url}",
    )
    action.add_argument("--all", action="store_true", help="with --url: of all users; for operators")
    _add_database(action)


def _add_database(action: Any) -> None:
    action.add_argument("--database-url", metavar="URL", help="sqlite:///path/to/file.db, if it is not the usual one")


def _age(text: str) -> timedelta:
    match = re.fullmatch(r"(\d{1,5})([hdw])", text)
    if not match:
        raise argparse.ArgumentTypeError("a number of hours, days or weeks, such as 12h, 30d or 8w")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _count(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text[:9]) <= 1_000_000:
        raise argparse.ArgumentTypeError("a whole number from 1 on")
    return int(text)
