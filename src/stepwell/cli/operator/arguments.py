"""The arguments of `stepwell keys`, `db`, `usage`, `effects`, `crons` and `doctor`, and the function that each calls."""

from __future__ import annotations

import argparse
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

from stepwell.addresses import DEFAULT_URL
from stepwell.terminal.commands import Commands, add_database, add_url, whole_number

_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_GROUPS = ("run", "thread", "owner", "day", "model")


def add_commands(commands: Commands) -> None:
    _add_keys(commands)
    _add_db(commands)
    _add_usage(commands)
    _add_effects(commands)
    _add_crons(commands)
    _add_doctor(commands)


def _add_keys(commands: Commands) -> None:
    keys = commands.add_parser("keys", help="API keys of the server's users", description="API keys of the server's users.")
    actions = keys.add_subparsers(dest="action", metavar="ACTION", required=True)
    create = actions.add_parser("create", help="create a key and show it once", description="Create a key and show it once.")
    create.add_argument(
        "--user", metavar="NAME", required=True, help="the user the key belongs to; a user can have several keys"
    )
    create.add_argument(
        "--operator", action="store_true", help="the key can also read data of all users, such as metrics and usage"
    )
    create.add_argument(
        "--expires",
        metavar="DAYS",
        type=whole_number(1, 36_500, "days"),
        help="the key expires after this many days (default: never)",
    )
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
        add_database(action)
    keys.set_defaults(run=_run_keys)


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


def _add_db(commands: Commands) -> None:
    db = commands.add_parser("db", help="maintain the server's database", description="Maintain the server's database.")
    actions = db.add_subparsers(dest="action", metavar="ACTION", required=True)
    status = actions.add_parser("status", help="show its schema version, size and contents")
    migrate = actions.add_parser("migrate", help="upgrade its schema to this version; backs up a SQLite file first")
    backup = actions.add_parser("backup", help="back up a SQLite file, even while a server uses it; for Postgres use pg_dump")
    backup.add_argument("file", metavar="FILE", type=Path, help="the file to write")
    backup.add_argument("--force", action="store_true", help="overwrite the file if it exists")
    restore = actions.add_parser(
        "restore", help="replace a SQLite file with a backup; stop the server first; for Postgres use pg_restore"
    )
    restore.add_argument("file", metavar="FILE", type=Path, help="a file made by `stepwell db backup`")
    prune = actions.add_parser(
        "prune",
        help="delete old threads and checkpoints; keeps threads with an active run or an open interrupt",
        description="Delete old threads and checkpoints. Without --older-than and --keep-last, STEPWELL_RETENTION_DAYS and "
        "STEPWELL_RETENTION_CHECKPOINTS apply.",
    )
    prune.add_argument("--older-than", metavar="AGE", type=_age, help="delete threads not touched for this long: 30d, 12h, 8w")
    prune.add_argument(
        "--keep-last", metavar="N", type=whole_number(1, 1_000_000), help="keep this many checkpoints per thread"
    )
    prune.add_argument("--dry-run", action="store_true", help="only show what would be deleted")
    prune.add_argument(
        "--compact", action="store_true", help="return the freed space to the disk; Postgres reuses it automatically"
    )
    prune.add_argument(
        "--graphs", metavar="FILE", type=Path, help="the langgraph.json of the threads' graphs, if prune asks for it"
    )
    for action in (status, migrate, backup, restore, prune):
        add_database(action)
    _add_move(actions)
    db.set_defaults(run=_run_db)


def _add_move(actions: Any) -> None:
    move = actions.add_parser(
        "move",
        help="copy everything from SQLite to Postgres, or back; stop all servers first",
        description="Copy everything from one database to an empty one: SQLite to Postgres, or back. Stop all servers and workers "
        "first. The source is not changed; the target gets everything or nothing. At the end, row counts and checksums of all "
        "tables are compared and printed. A PLACE is postgresql://user@host/name or a SQLite file.",
    )
    move.add_argument("--from", metavar="PLACE", dest="source", help="the database to move (default: the one the server uses)")
    move.add_argument(
        "--to", metavar="PLACE", dest="target", required=True, help="an empty database, or a file that does not exist yet"
    )


def _run_db(arguments: argparse.Namespace) -> int:
    from stepwell.cli.operator import db

    if arguments.action == "move":
        from stepwell.cli.operator import move

        return move.run(source=arguments.source, target=arguments.target)
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


def _add_usage(commands: Commands) -> None:
    text = "show which models runs used, and what that cost"
    usage = commands.add_parser("usage", help=text, description=text.capitalize() + ".")
    usage.add_argument("--by", choices=_GROUPS, default="model", help="group by this and by model (default: model)")
    usage.add_argument("--thread", metavar="ID", help="only this thread")
    usage.add_argument("--json", action="store_true", help="print JSON")
    _add_place(usage)
    usage.set_defaults(run=_run_usage)


def _run_usage(arguments: argparse.Namespace) -> int:
    from stepwell.cli.operator import usage

    return usage.run(
        by=arguments.by,
        thread=arguments.thread,
        as_json=arguments.json,
        url=arguments.url,
        everybody=arguments.all,
        database_url=arguments.database_url,
    )


def _add_effects(commands: Commands) -> None:
    text = "list and settle tool effects that may or may not have happened"
    effects = commands.add_parser("effects", help=text, description=text.capitalize() + ".")
    actions = effects.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the effects that somebody should check, newest first")
    listing.add_argument("--known", action="store_true", help="include effects whose outcome is known, or that are in progress")
    listing.add_argument("--thread", metavar="ID", help="only this thread and its copies")
    settle = actions.add_parser("settle", help="record whether an effect happened; the model learns it when the thread resumes")
    settle.add_argument("key", metavar="KEY", help="a key from `stepwell effects list`")
    outcome = settle.add_mutually_exclusive_group(required=True)
    outcome.add_argument("--done", metavar="NOTE", nargs="?", const="", help="it happened; the model gets the note")
    outcome.add_argument("--not-done", metavar="NOTE", nargs="?", const="", help="it did not happen")
    for action in (listing, settle):
        action.add_argument("--json", action="store_true", help="print JSON")
        _add_place(action)
    effects.set_defaults(run=_run_effects)


def _add_crons(commands: Commands) -> None:
    text = "runs on a schedule: list, add and remove them"
    crons = commands.add_parser("crons", help=text, description=text.capitalize() + ".")
    actions = crons.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the crons of all users, newest first")
    listing.add_argument("--slots", metavar="CRON_ID", help="what became of this cron's slots instead")
    listing.add_argument("--json", action="store_true", help="print JSON")
    adding = actions.add_parser("add", help="start a run with a message by a schedule, on a server")
    adding.add_argument("assistant", metavar="ASSISTANT", help="a graph's name or an assistant's id")
    adding.add_argument("schedule", metavar="SCHEDULE", help="such as '0 9 * * mon-fri' or @daily")
    adding.add_argument("message", metavar="MESSAGE", help="what to say to the agent")
    adding.add_argument("--timezone", metavar="ZONE", help="such as Europe/Berlin (default: UTC)")
    adding.add_argument("--url", metavar="ADDRESS", default=DEFAULT_URL, help=f"the server (default: {DEFAULT_URL})")
    removing = actions.add_parser("remove", help="remove a cron; runs that it has started go on")
    removing.add_argument("cron_id", metavar="CRON_ID", help="an id from `stepwell crons list`")
    for action in (listing, removing):
        add_database(action)
    crons.set_defaults(run=_run_crons)


def _run_crons(arguments: argparse.Namespace) -> int:
    from stepwell.cli.operator import crons

    match arguments.action:
        case "list":
            return crons.show(slots_of=arguments.slots, as_json=arguments.json, database_url=arguments.database_url)
        case "add":
            return crons.add(
                assistant=arguments.assistant,
                schedule=arguments.schedule,
                message=arguments.message,
                timezone=arguments.timezone,
                url=arguments.url,
            )
        case _:
            return crons.remove(cron_id=arguments.cron_id, database_url=arguments.database_url)


def _run_effects(arguments: argparse.Namespace) -> int:
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


def _add_doctor(commands: Commands) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="find problems and say what mends them; show which model is used and why",
        description="Look for the likeliest problems of this installation: keys, models, settings, database, graphs, the server. Each "
        "finding says what mends it. Changes no settings and no data. Exit code 1 if there is a problem.",
    )
    doctor.add_argument(
        "--online", action="store_true", help="also ask providers and object storage, with requests that cost nothing"
    )
    doctor.add_argument("--json", action="store_true", help="print JSON")
    doctor.add_argument(
        "--graphs",
        metavar="FILE",
        type=Path,
        nargs="?",
        const=Path("langgraph.json"),
        help="also import the graphs of this langgraph.json, which runs the project's code (without FILE: ./langgraph.json)",
    )
    doctor.set_defaults(run=_run_doctor)


def _run_doctor(arguments: argparse.Namespace) -> int:
    from stepwell.cli.operator.doctor import command

    return command.run(online=arguments.online, as_json=arguments.json, graphs_file=arguments.graphs)


def _add_place(action: argparse.ArgumentParser) -> None:
    add_url(action, "ask this server for your own data, instead of reading the database directly")
    action.add_argument("--all", action="store_true", help="with --url: data of all users (operators only)")
    add_database(action)


def _age(text: str) -> timedelta:
    match = re.fullmatch(r"(\d{1,5})([hdw])", text)
    if not match:
        raise argparse.ArgumentTypeError("a number of hours, days or weeks, such as 12h, 30d or 8w")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
