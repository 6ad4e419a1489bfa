"""`stepwell wallet`: payments from the operator's side. Balances, debts, swaps with unknown outcomes, audits, earnings.

Commands that only read can open the database even while a server uses it; commands that move money need the server to be stopped, or ask
the server to do it (`--url`). We never print a token except that of a payout, which goes alone to stdout, or into a file that only the user
can read.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from stepwell.errors import ConfigurationError
from stepwell.payments import bookkeeping
from stepwell.payments.commands import wallet_text as text
from stepwell.settings import Settings
from stepwell.terminal.database_file import require_database, with_database
from stepwell.terminal.database_place import PostgresPlace
from stepwell.terminal.own_command import spell_command
from stepwell.terminal.server_request import ask_server

if TYPE_CHECKING:
    from stepwell.database.database import SqlDatabase
    from stepwell.payments.ledger.ledger import Ledger
    from stepwell.payments.states import SessionState
    from stepwell.payments.wallet.wallet import Wallet

T = TypeVar("T")

_PATIENCE_S = 600.0
"""Long, because a server may have to ask its mints and, for each pending operation, retries a mint that is down."""


@dataclass(frozen=True)
class Place:
    """Where the money is: in the database of this machine, or on a server."""

    url: str | None
    database_url: str | None
    settings: Settings

    def ask(self, path: str, params: Mapping[str, str] | None = None, body: Mapping[str, Any] | None = None) -> Any:
        """Request a wallet route of the server."""
        where = f"/api/wallet/all{path}"
        return ask_server(self.url or "", self.settings, where, params=params, body=body, timeout_s=_PATIENCE_S)

    def read(self, work: Callable[[Ledger], Awaitable[T]]) -> T:
        """Read the ledger, whether or not a server is running. Needs no payment settings: debts remain when payments are turned off."""
        from stepwell.payments.ledger.database import DatabaseLedger

        place = require_database(self.database_url, self.settings)
        return with_database(place, lambda opened: work(DatabaseLedger(opened)))

    def work(self, work: Callable[[Wallet], Awaitable[T]], *, moves_money: bool = True) -> T:
        """Open the wallet, which can ask mints and move money. With `moves_money`, no server may be running."""
        from stepwell.payments.configuration import load_charging, open_wallet
        from stepwell.payments.ledger.database import DatabaseLedger

        charging = load_charging(self.settings.payments)
        if charging is None:
            raise ConfigurationError(
                "Payments are not configured here. Set STEPWELL_MINTS, a price and STEPWELL_WALLET_SEED as on the server, "
                "or ask the server with --url."
            )
        chosen = charging

        async def open_and_work(opened: SqlDatabase) -> T:
            async with open_wallet(chosen, DatabaseLedger(opened)) as wallet:
                return await work(wallet)

        if not moves_money:
            return with_database(require_database(self.database_url, self.settings), open_and_work)
        place = require_database(self.database_url, self.settings)
        with _nobody_else(place):
            return with_database(place, open_and_work, alone=True)


def show_seed() -> int:
    """Generate a seed. Only its digits go to stdout, so that `stepwell wallet seed > file` writes nothing else."""
    print(secrets.token_hex(32))
    _aside(
        "Put these digits into STEPWELL_WALLET_SEED, and keep a copy apart from the database: if the database is lost, they are the "
        "only way to recover the money from the mints. Anybody who has them can take the money."
    )
    return 0


def show_sessions(place: Place, *, state: SessionState | None, owner: str | None, limit: int, as_json: bool) -> int:
    if place.url:
        wanted = {"limit": str(limit), **({"state": state} if state else {}), **({"owner": owner} if owner else {})}
        lines = place.ask("/sessions", wanted)
    else:
        lines = place.read(lambda ledger: bookkeeping.list_sessions(ledger, owner=owner, state=state, limit=limit))
    _show(lines, text.describe_sessions, as_json=as_json)
    if len(lines) == limit:
        _aside(f"These are the {limit} most recently used. Show more with --limit, or filter with --state and --owner.")
    return 0


def show_session(place: Place, *, session_id: str, as_json: bool) -> int:
    statement = _read_page(place, session_id, 0)
    while statement["next"] is not None:
        page = _read_page(place, session_id, statement["next"])
        statement = {**page, "history": statement["history"] + page["history"]}
    _show(statement, text.describe_statement, as_json=as_json)
    return 0


def show_owed(place: Place, *, as_json: bool) -> int:
    owed = place.ask("/owed") if place.url else place.read(bookkeeping.list_debts)
    _show(owed, text.describe_debts, as_json=as_json)
    return 0


def show_unknown(place: Place, *, pending: bool, as_json: bool) -> int:
    if place.url:
        lines = place.ask("/operations", {"pending": str(pending).lower()})
    else:
        lines = place.read(lambda ledger: bookkeeping.list_operations(ledger, pending=pending))
    _show(lines, text.describe_operations, as_json=as_json)
    return 0


def settle(place: Place, *, operation_id: str, as_json: bool) -> int:
    """Retry a swap of unknown outcome. Exit code 1 if the outcome is still unknown."""
    if place.url:
        operation = place.ask(f"/operations/{quote(operation_id, safe='')}/reopen", body={})
    else:
        operation = place.work(lambda wallet: bookkeeping.try_again(wallet, operation_id))
    _show(operation, text.describe_outcome, as_json=as_json)
    return 0 if operation["state"] in ("done", "failed") else 1


def audit(place: Place, *, as_json: bool) -> int:
    """Exit code 1 if the books do not add up, or money was spent elsewhere. A mint that cannot be reached counts as neither."""
    found = place.ask("/audit") if place.url else place.work(bookkeeping.audit, moves_money=False)
    _show(found, text.describe_audit, as_json=as_json)
    return 0 if found["adds_up"] and not found["spent_elsewhere_sats"] else 1


def payout(place: Place, *, mint: str | None, again: str | None, to: Path | None) -> int:
    """Withdraw the earnings, or show an earlier payout again."""
    if mint and again:
        raise ConfigurationError("Name a mint to withdraw new earnings, or use --again ID for an earlier payout; not both.")
    if to is None:
        found = _fetch_payout(place, mint, again)
        print(found["token"])
    else:
        found = _keep_payout(place, mint, again, to)
    _aside(text.describe_payout(found, to))
    return 0


def show_payouts(place: Place, *, as_json: bool) -> int:
    lines = place.ask("/payouts") if place.url else place.read(bookkeeping.list_payouts)
    _show(lines, text.describe_payouts, as_json=as_json)
    return 0


def recover(place: Place, *, as_json: bool) -> int:
    """Exit code 1 if some swaps still wait for their mint."""
    found = place.ask("/recover", body={}) if place.url else place.work(bookkeeping.recover)
    _show(found, text.describe_recovery, as_json=as_json)
    return 1 if found["waiting"] else 0


def sweep(place: Place, *, as_json: bool) -> int:
    """Exit code 1 if something failed for now."""
    found = place.ask("/sweep", body={}) if place.url else place.work(bookkeeping.sweep)
    _show(found, text.describe_sweep, as_json=as_json)
    return 1 if found["failed"] else 0


def _read_page(place: Place, session_id: str, after: int) -> Any:
    if place.url:
        return place.ask(f"/sessions/{quote(session_id, safe='')}", {"after": str(after)})
    return place.read(lambda ledger: bookkeeping.read_statement(ledger, session_id, after=after))


def _fetch_payout(place: Place, mint: str | None, again: str | None) -> Any:
    if place.url:
        wanted = {"mint": mint, "payout_id": again}
        return place.ask("/payout", body={name: value for name, value in wanted.items() if value is not None})
    if again is not None:
        return place.work(lambda wallet: bookkeeping.pay_out_again(wallet, again))
    return place.work(lambda wallet: bookkeeping.pay_out(wallet, mint))


def _keep_payout(place: Place, mint: str | None, again: str | None, to: Path) -> Any:
    """Creates the file before it withdraws the money, so that a folder without write access fails before anything has happened."""
    try:
        descriptor = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ConfigurationError(
            f"The file '{to}' cannot be created ({error.strerror}). Name a new file in an existing folder."
        ) from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        try:
            found = _fetch_payout(place, mint, again)
        except BaseException:
            to.unlink()
            raise
        try:
            file.write(found["token"] + "\n")
            file.flush()
            os.fsync(file.fileno())
        except OSError as error:
            command = spell_command(f"wallet payout --again {found['payout_id']}")
            raise ConfigurationError(
                f"The payout was made, but could not be written to '{to}' ({error.strerror}). Fetch it with: {command}"
            ) from error
    return found


@contextmanager
def _nobody_else(place: Path | PostgresPlace) -> Iterator[None]:
    """Lock a SQLite file against servers. Postgres is opened with `alone`; if a server uses it, tell the user what to do."""
    if isinstance(place, PostgresPlace):
        from stepwell.database.postgres.in_use import InUseError

        try:
            yield
        except InUseError as error:
            raise ConfigurationError(_one_at_a_time(str(place))) from error
        return
    from stepwell.database.sqlite.process_lock import ProcessLock

    lock = ProcessLock(place.with_name(place.name + ".lock"))
    if not lock.try_acquire():
        raise ConfigurationError(_one_at_a_time(f"'{place.name}'"))
    try:
        yield
    finally:
        lock.release()


def _one_at_a_time(database: str) -> str:
    return f"A server is using the database {database}, and only one process may move money. Ask the server with --url, or stop it."


def _show(found: Any, describe: Callable[[Any], list[str]], *, as_json: bool) -> None:
    print(json.dumps(found, indent=2) if as_json else "\n".join(describe(found)))


def _aside(sentence: str) -> None:
    print(sentence, file=sys.stderr)
