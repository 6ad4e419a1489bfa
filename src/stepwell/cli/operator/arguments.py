"""The arguments of `stepwell db`, `usage`, `effects` and `wallet`, and which function they mean.

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
    db = commands.add_parser("db", help="look after the server's database", description="Look after the server's database.")
    actions = db.add_subparsers(dest="action", metavar="ACTION", required=True)
    status = actions.add_parser("status", help="its form, its size, what is in it")
    migrate = actions.add_parser("migrate", help="bring it to the form of this version; makes a backup of a SQLite file first")
    backup = actions.add_parser("backup", help="copy a SQLite file, also while a server works on it; Postgres: pg_dump")
    backup.add_argument("file", metavar="FILE", type=Path, help="where to")
    backup.add_argument("--force", action="store_true", help="overwrite the file if it is there")
    restore = actions.add_parser(
        "restore", help="put a backup in a SQLite file's place; the server must be stopped; Postgres: pg_restore"
    )
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
    prune.add_argument(
        "--compact", action="store_true", help="give the freed space back to the disk; Postgres uses it again by itself"
    )
    prune.add_argument("--graphs", metavar="FILE", type=Path, help="the langgraph.json of the threads, if a graph is asked for")
    for action in (status, migrate, backup, restore, prune):
        _add_database(action)
    _add_move(actions)


def _add_move(actions: Any) -> None:
    move = actions.add_parser(
        "move",
        help="take all of it from SQLite to Postgres, or back; the servers must be stopped",
        description="Take everything from one database to another one that is empty: SQLite to Postgres, or back. All servers and workers "
        "must be stopped. The database it is taken from is not changed; the other one gets everything or nothing. Afterwards counts "
        "and checksums of all tables are compared and printed. A PLACE is postgresql://user@host/name or a SQLite file.",
    )
    move.add_argument("--from", metavar="PLACE", dest="source", help="the database to be moved, if it is not the usual one")
    move.add_argument(
        "--to", metavar="PLACE", dest="target", required=True, help="where to: an empty database, or a file that is not there"
    )


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


def add_wallet(commands: Any, usual_url: str) -> None:
    text = "the money that agents are paid with: who has how much, what is owed, what was earned"
    wallet = commands.add_parser(
        "wallet",
        help=text,
        description=f"{text.capitalize()}. Amounts are in sats. What only reads works beside a running server; what moves money "
        "(settle, payout, recover, sweep) wants all servers stopped, or asks one with --url.",
    )
    actions = wallet.add_subparsers(dest="action", metavar="ACTION", required=True)
    seed = "make 64 digits for STEPWELL_WALLET_SEED; keep a copy apart from the database"
    actions.add_parser("seed", help=seed, description=seed.capitalize() + ".")
    actions_on_money = {
        name: actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        for name, text in {
            "sessions": "payers' sessions, those touched last first",
            "show": "one session with its tokens, its refund and every line of the ledger; nothing that could be spent",
            "owed": "what payers are owed, by mint: balances, tokens not redeemed, refunds not fetched",
            "unknown": "swaps of which nobody knows whether the mint did them, and why",
            "settle": "have a swap of unknown outcome tried again, and say what came of it; exit code 1 if nobody knows more than before",
            "audit": "whether the books add up and the mints agree; exit code 1 if not. A mint that is down is named",
            "payout": "take the earnings at a mint out as a token, which alone goes to stdout, or to a file",
            "payouts": "earlier payouts that are not known to be spent yet",
            "recover": "finish the swaps that a crash left under way; a server does it by itself",
            "sweep": "pay idle sessions back and notice what was spent; a server does it by itself",
        }.items()
    }
    _add_wallet_options(actions_on_money)
    for name, action in actions_on_money.items():
        if name != "payout":
            action.add_argument("--json", action="store_true", help="as JSON")
        _add_url(action, usual_url, "ask this server, as an operator (STEPWELL_API_KEY)")
        _add_database(action)


def _add_wallet_options(actions: Mapping[str, Any]) -> None:
    sessions, payout = actions["sessions"], actions["payout"]
    sessions.add_argument("--state", choices=get_args(SessionState), metavar="STATE", help=", ".join(get_args(SessionState)))
    sessions.add_argument("--owner", metavar="NAME", help="of this user only")
    sessions.add_argument(
        "--limit", metavar="N", type=_page, default=100, help="at most so many, up to 1000; 100 if nothing is said"
    )
    actions["show"].add_argument("session_id", metavar="ID", help="an id of `stepwell wallet sessions`")
    actions["unknown"].add_argument(
        "--pending", action="store_true", help="also those that are under way or wait for their mint"
    )
    actions["settle"].add_argument("operation_id", metavar="OPERATION", help="an id of `stepwell wallet unknown`")
    payout.add_argument("mint", metavar="MINT", nargs="?", help="its address; may be left out where only one is accepted")
    payout.add_argument("--to", metavar="FILE", type=Path, help="write the token to this new file, which only you can read")
    payout.add_argument("--again", metavar="ID", help="show an earlier payout instead: an id of `stepwell wallet payouts`")


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
    from stepwell.cli.operator import wallet
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
    _add_url(action, usual_url, "ask this server, for what is yours")
    action.add_argument("--all", action="store_true", help="with --url: of all users; for operators")
    _add_database(action)


def _add_url(action: Any, usual_url: str, text: str) -> None:
    action.add_argument(
        "--url",
        metavar="ADDRESS",
        nargs="?",
        const=usual_url,
        help=f"{text}, instead of reading the database of this machine; alone, {usual_url}",
    )


def _add_database(action: Any) -> None:
    action.add_argument(
        "--database-url",
        metavar="URL",
        help="sqlite:///path/to/file.db or postgresql://user@host/name, if it is not the usual one",
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
        raise argparse.ArgumentTypeError("a whole number from 1 on")
    return int(text)
