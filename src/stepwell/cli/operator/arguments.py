"""The arguments of `stepwell db`, `usage`, `effects` and `wallet`, and the function that each calls.

Imports nothing heavy before a command is known.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

from stepwell.payments.states import SessionState

_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_GROUPS = ("run", "thread", "owner", "day", "model")


def add_db(commands: Any) -> None:
    db = commands.add_parser("db", help="maintain the server's database", description="Maintain the server's database.")
    actions = db.add_subparsers(dest="action", metavar="ACTION", required=True)
    status = actions.add_parser("status", help="show its schema version (form), size and contents")
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
    prune.add_argument("--keep-last", metavar="N", type=_count, help="keep this many checkpoints per thread")
    prune.add_argument("--dry-run", action="store_true", help="only show what would be deleted")
    prune.add_argument(
        "--compact", action="store_true", help="return the freed space to the disk; Postgres reuses it automatically"
    )
    prune.add_argument(
        "--graphs", metavar="FILE", type=Path, help="the langgraph.json of the threads' graphs, if prune asks for it"
    )
    for action in (status, migrate, backup, restore, prune):
        _add_database(action)
    _add_move(actions)


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


def add_usage(commands: Any, usual_url: str) -> None:
    text = "show which models runs used, and what that cost"
    usage = commands.add_parser("usage", help=text, description=text.capitalize() + ".")
    usage.add_argument("--by", choices=_GROUPS, default="model", help="group by this and by model (default: model)")
    usage.add_argument("--thread", metavar="ID", help="only this thread")
    usage.add_argument("--json", action="store_true", help="print JSON")
    _add_place(usage, usual_url)


def add_effects(commands: Any, usual_url: str) -> None:
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
        _add_place(action, usual_url)


def add_wallet(commands: Any, usual_url: str) -> None:
    text = "manage payments for agents: balances, refunds owed, earnings"
    wallet = commands.add_parser(
        "wallet",
        help=text,
        description=f"{text.capitalize()}. Amounts are in sats. Commands that only read work while a server is running. Commands that "
        "move money (settle, payout, recover, sweep) need all servers stopped, or ask one with --url.",
    )
    actions = wallet.add_subparsers(dest="action", metavar="ACTION", required=True)
    seed = "generate 64 digits for STEPWELL_WALLET_SEED; keep a copy apart from the database"
    actions.add_parser("seed", help=seed, description=seed[0].upper() + seed[1:] + ".")
    actions_on_money = {
        name: actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        for name, text in {
            "sessions": "list payers' sessions, most recently used first",
            "show": "show one session with its tokens, refund and ledger entries, but nothing that could be spent",
            "owed": "show what payers are owed, by mint: balances, tokens not redeemed, refunds not fetched",
            "unknown": "list swaps whose outcome is unknown, and why",
            "settle": "retry a swap whose outcome is unknown, and show the result; exit code 1 if it is still unknown",
            "audit": "check that the books add up and the mints agree; exit code 1 if not. Names mints that are down",
            "payout": "withdraw the earnings at a mint as a token, printed alone on stdout or written to a file",
            "payouts": "list earlier payouts that may be unspent",
            "recover": "finish swaps that a crash interrupted; a server does this automatically",
            "sweep": "refund idle sessions and record what was spent; a server does this automatically",
        }.items()
    }
    _add_wallet_options(actions_on_money)
    for name, action in actions_on_money.items():
        if name != "payout":
            action.add_argument("--json", action="store_true", help="print JSON")
        _add_url(action, usual_url, "ask this server, as an operator (STEPWELL_API_KEY)")
        _add_database(action)


def _add_wallet_options(actions: Mapping[str, Any]) -> None:
    sessions, payout = actions["sessions"], actions["payout"]
    sessions.add_argument("--state", choices=get_args(SessionState), metavar="STATE", help=", ".join(get_args(SessionState)))
    sessions.add_argument("--owner", metavar="NAME", help="only this user")
    sessions.add_argument(
        "--limit", metavar="N", type=_page, default=100, help="show at most this many, up to 1000 (default: 100)"
    )
    actions["show"].add_argument("session_id", metavar="ID", help="an id from `stepwell wallet sessions`")
    actions["unknown"].add_argument(
        "--pending", action="store_true", help="include swaps that are in progress or waiting for their mint"
    )
    actions["settle"].add_argument("operation_id", metavar="OPERATION", help="an id from `stepwell wallet unknown`")
    payout.add_argument("mint", metavar="MINT", nargs="?", help="the mint's address; optional if only one mint is accepted")
    payout.add_argument("--to", metavar="FILE", type=Path, help="write the token to this new file, readable only by you")
    payout.add_argument("--again", metavar="ID", help="show an earlier payout again: an id from `stepwell wallet payouts`")


def run_db(arguments: argparse.Namespace) -> int:
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


def run_wallet(arguments: argparse.Namespace) -> int:
    from stepwell.payments.commands import wallet
    from stepwell.settings import Settings

    if arguments.action == "seed":
        return wallet.show_seed()
    place = wallet.Place(arguments.url, arguments.database_url, Settings.load())
    if arguments.action == "payout":
        return wallet.payout(place, mint=arguments.mint, again=arguments.again, to=arguments.to)
    as_json = arguments.json
    match arguments.action:
        case "sessions":
            wanted = {"state": arguments.state, "owner": arguments.owner, "limit": arguments.limit}
            return wallet.show_sessions(place, **wanted, as_json=as_json)
        case "show":
            return wallet.show_session(place, session_id=arguments.session_id, as_json=as_json)
        case "unknown":
            return wallet.show_unknown(place, pending=arguments.pending, as_json=as_json)
        case "settle":
            return wallet.settle(place, operation_id=arguments.operation_id, as_json=as_json)
    others = {
        "owed": wallet.show_owed,
        "audit": wallet.audit,
        "payouts": wallet.show_payouts,
        "recover": wallet.recover,
        "sweep": wallet.sweep,
    }
    return others[arguments.action](place, as_json=as_json)


def _add_place(action: Any, usual_url: str) -> None:
    _add_url(action, usual_url, "ask this server for your own data")
    action.add_argument("--all", action="store_true", help="with --url: data of all users (operators only)")
    _add_database(action)


def _add_url(action: Any, usual_url: str, text: str) -> None:
    action.add_argument(
        "--url",
        metavar="ADDRESS",
        nargs="?",
        const=usual_url,
        help=f"{text}, instead of reading the database directly (without ADDRESS: {usual_url})",
    )


def _add_database(action: Any) -> None:
    action.add_argument(
        "--database-url",
        metavar="URL",
        help="sqlite:///path/to/file.db or postgresql://user@host/name (default: the database the server uses)",
    )


def _age(text: str) -> timedelta:
    match = re.fullmatch(r"(\d{1,5})([hdw])", text)
    if not match:
        raise argparse.ArgumentTypeError("a number of hours, days or weeks, such as 12h, 30d or 8w")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _page(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text[:5]) <= 1000:
        raise argparse.ArgumentTypeError("a whole number from 1 to 1000")
    return int(text)


def _count(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text[:9]) <= 1_000_000:
        raise argparse.ArgumentTypeError("a whole number from 1 to 1000000")
    return int(text)
