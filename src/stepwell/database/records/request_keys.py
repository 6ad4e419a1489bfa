"""Keys that callers choose for what they start: the same key with the same request returns the same result as before.

Functions of a connection. `remember` runs in the transaction that creates what was asked for, so the key and that are always stored
together, even if the process is killed. A row contains ids and a hash, and nothing of the request.
"""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.database.rows import dumps, loads
from stepwell.database.types import RequestKey
from stepwell.errors import RequestKeyError
from stepwell.sql import Connection

KEPT_S = 2 * 24 * 3600.0
"""How long a key is remembered."""


def recall(connection: Connection, key: RequestKey) -> list[str] | None:
    """The ids of what the key has started; `None` if it is new. `RequestKeyError` if the request differs."""
    row = connection.execute(
        "SELECT fingerprint, made FROM request_keys WHERE owner = ? AND key = ?", (key.owner, key.key)
    ).fetchone()
    if row is None:
        return None
    if key.fingerprint and row["fingerprint"] != key.fingerprint:
        raise RequestKeyError(
            "This Idempotency-Key was sent before, with another request. Use a new key for each request, and the same key only to "
            "repeat a request unchanged."
        )
    return list(loads(row["made"]))


def remember(connection: Connection, key: RequestKey, made: Sequence[str], now: float) -> None:
    connection.execute(
        "INSERT INTO request_keys (owner, key, fingerprint, made, created_at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (owner, key) DO UPDATE SET made = excluded.made",
        (key.owner, key.key, key.fingerprint, dumps(list(made)), now),
    )


def forget(connection: Connection, key: RequestKey) -> None:
    connection.execute(
        "DELETE FROM request_keys WHERE owner = ? AND key = ? AND fingerprint = ?", (key.owner, key.key, key.fingerprint)
    )
