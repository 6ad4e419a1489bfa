"""`stepwell keys`: API keys of the server's users. Works on the database directly, even while a server uses it."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import TextIO, TypeVar

from stepwell.backends.objects.grants import make_grants
from stepwell.clock import Clock, SystemClock
from stepwell.database.keys_and_sessions import AccessRecords, ApiKey
from stepwell.server.login.api_keys import make_key
from stepwell.settings import Settings
from stepwell.terminal.database_file import with_database
from stepwell.terminal.database_place import database_place
from stepwell.terminal.own_command import spell_command

T = TypeVar("T")


def create(
    *,
    user: str,
    operator: bool,
    expires_days: int | None,
    database_url: str | None,
    roots: Sequence[str] = (),
    read_roots: Sequence[str] = (),
) -> int:
    """Create a key and print it. It cannot be shown again."""
    clock = SystemClock()
    lasts = None if expires_days is None else timedelta(days=expires_days)
    grants = make_grants(roots, read_roots)
    made = make_key(user, operator=operator, expires_in=lasts, now=clock.now(), random_bytes=secrets.token_bytes, grants=grants)
    _with_records(database_url, clock, lambda records: records.add_key(made.record))
    print(made.text)
    role = "an operator" if operator else "a user"
    print(f"Key '{made.record.key_id}' for '{user}', {role}. It is shown only once: store it somewhere safe.", file=_aside())
    return 0


def show(*, database_url: str | None) -> int:
    """List the keys, without their secrets."""
    clock = SystemClock()
    keys = _with_records(database_url, clock, lambda records: records.list_keys())
    for key in keys:
        role = "operator" if key.is_operator else "user"
        opens = "".join(f"  {root}" for root in key.grants.roots) + "".join(
            f"  {root} (read)" for root in key.grants.read_roots
        )
        print(f"{key.key_id}  {role:8}  {_state(key, clock.now()):22}  since {key.created_at:%Y-%m-%d}  {key.owner}{opens}")
    if not keys:
        print(f"No keys. Create one with: {spell_command('keys create --user NAME')}")
    return 0


def revoke(*, key_id: str, database_url: str | None) -> int:
    """Revoke a key. A running server rejects it from the next request on."""
    # Accept the whole key too: the user may not know its id.
    wanted = key_id.split("_")[1] if key_id.startswith("sw_") and key_id.count("_") >= 2 else key_id
    revoked = _with_records(database_url, SystemClock(), lambda records: records.revoke_key(wanted))
    print(
        f"Key '{wanted}' is revoked."
        if revoked
        else f"No usable key '{wanted}'. List them with `{spell_command('keys list')}`."
    )
    return 0 if revoked else 1


def _with_records(database_url: str | None, clock: Clock, work: Callable[[AccessRecords], Awaitable[T]]) -> T:
    """Do the work. Creates a missing database, because a server that other machines can reach needs a key before its first start."""
    place = database_place(database_url, Settings.load())
    return with_database(place, lambda opened: work(AccessRecords(opened, clock)))


def _state(key: ApiKey, now: datetime) -> str:
    if key.revoked_at:
        return f"revoked {key.revoked_at:%Y-%m-%d}"
    if key.expires_at is None:
        return "usable"
    return f"{'until' if key.usable(now) else 'expired'} {key.expires_at:%Y-%m-%d}"


def _aside() -> TextIO:
    """Where messages go, so that `stepwell keys create ... > file` writes only the key to the file."""
    return sys.stderr
