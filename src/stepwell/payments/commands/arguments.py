"""The arguments of `stepwell wallet`, and the functions that its actions call."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from stepwell.payments.states import SessionState
from stepwell.terminal.commands import Commands, add_database, add_url, whole_number


def add_commands(commands: Commands) -> None:
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
    _add_options(actions_on_money)
    for name, action in actions_on_money.items():
        if name != "payout":
            action.add_argument("--json", action="store_true", help="print JSON")
        add_url(action, "ask this server, as an operator (STEPWELL_API_KEY), instead of reading the database directly")
        add_database(action)
    wallet.set_defaults(run=_run_wallet)


def _add_options(actions: Mapping[str, argparse.ArgumentParser]) -> None:
    sessions, payout = actions["sessions"], actions["payout"]
    sessions.add_argument("--state", choices=get_args(SessionState), metavar="STATE", help=", ".join(get_args(SessionState)))
    sessions.add_argument("--owner", metavar="NAME", help="only this user")
    sessions.add_argument(
        "--limit",
        metavar="N",
        type=whole_number(1, 1000),
        default=100,
        help="show at most this many, up to 1000 (default: 100)",
    )
    actions["show"].add_argument("session_id", metavar="ID", help="an id from `stepwell wallet sessions`")
    actions["unknown"].add_argument(
        "--pending", action="store_true", help="include swaps that are in progress or waiting for their mint"
    )
    actions["settle"].add_argument("operation_id", metavar="OPERATION", help="an id from `stepwell wallet unknown`")
    payout.add_argument("mint", metavar="MINT", nargs="?", help="the mint's address; optional if only one mint is accepted")
    payout.add_argument("--to", metavar="FILE", type=Path, help="write the token to this new file, readable only by you")
    payout.add_argument("--again", metavar="ID", help="show an earlier payout again: an id from `stepwell wallet payouts`")


def _run_wallet(arguments: argparse.Namespace) -> int:
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
