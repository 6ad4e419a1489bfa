"""API keys, sessions and sign-ins in the database. The server decides what a key looks like and how it is checked.

Only hashes are stored, so nobody can sign in with what is in the database.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from stepwell.backends.objects.grants import NO_ROOTS, Grants
from stepwell.clock import Clock
from stepwell.database.database import SqlDatabase
from stepwell.database.rows import dumps, from_time, loads, to_time
from stepwell.sql import Connection, Row

SIGN_IN_LASTS = timedelta(minutes=10)
"""How long a user has to come back from the identity provider."""


@dataclass(frozen=True)
class ApiKey:
    """`key_id` is the public part of the key."""

    key_id: str
    owner: str
    name: str
    hash: str
    is_operator: bool
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    grants: Grants = NO_ROOTS
    """The workspaces that the key gives access to."""

    def usable(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True)
class SignInSession:
    """A browser session. It ends when the key with which it was opened ends."""

    hash: str
    owner: str
    is_operator: bool
    expires_at: datetime
    key_id: str | None = None
    grants: Grants = NO_ROOTS


@dataclass(frozen=True)
class SignIn:
    """A user who was sent to an identity provider, and what they must bring back. A sign-in can be used once."""

    hash: str
    state: str
    nonce: str
    verifier: str
    expires_at: datetime
    go_to: str = "/"


class AccessRecords:
    """Keys, sessions and sign-ins. Nothing is cached: a revoked key fails on the next request."""

    def __init__(self, database: SqlDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def add_key(self, key: ApiKey) -> None:
        row = (key.key_id, key.owner, key.name, key.hash, key.is_operator, to_time(key.created_at))
        expires = None if key.expires_at is None else to_time(key.expires_at)
        await self._database.write(
            lambda connection: connection.execute(
                "INSERT INTO api_keys (key_id, owner, name, hash, is_operator, created_at, expires_at, roots, read_roots)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, expires, *_grant_texts(key.grants)),
            )
        )

    async def find_key(self, key_id: str) -> ApiKey | None:
        row = await self._database.read(lambda c: c.execute("SELECT * FROM api_keys WHERE key_id = ?", (key_id,)).fetchone())
        return None if row is None else _key(row)

    async def list_keys(self) -> list[ApiKey]:
        rows = await self._database.read(lambda c: c.execute("SELECT * FROM api_keys ORDER BY created_at, key_id").fetchall())
        return [_key(row) for row in rows]

    async def revoke_key(self, key_id: str) -> bool:
        """Revoke the key and end its sessions. Returns whether the key existed and wasn't revoked yet."""
        now = self._now()

        def work(connection: Connection) -> bool:
            changed = connection.execute(
                "UPDATE api_keys SET revoked_at = ? WHERE key_id = ? AND revoked_at IS NULL", (now, key_id)
            )
            connection.execute("DELETE FROM sessions WHERE key_id = ?", (key_id,))
            return changed.rowcount > 0

        return await self._database.write(work)

    async def count_usable_keys(self) -> int:
        now = self._clock.now()
        return sum(key.usable(now) for key in await self.list_keys())

    async def open_session(self, session: SignInSession) -> None:
        now = self._now()

        def work(connection: Connection) -> None:
            _sweep(connection, now)
            connection.execute(
                "INSERT INTO sessions (hash, owner, is_operator, key_id, expires_at, roots, read_roots) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    session.hash,
                    session.owner,
                    session.is_operator,
                    session.key_id,
                    to_time(session.expires_at),
                    *_grant_texts(session.grants),
                ),
            )

        await self._database.write(work)

    async def find_session(self, hash: str) -> SignInSession | None:
        """A session that is open now: not expired, and its key still usable."""
        now = self._now()
        # Checks the key in the same query: a session must not outlive its key.
        row = await self._database.read(
            lambda c: c.execute(
                "SELECT s.* FROM sessions AS s LEFT JOIN api_keys AS k ON k.key_id = s.key_id WHERE s.hash = ? AND s.expires_at > ?"
                " AND (s.key_id IS NULL OR (k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?)"
                " AND k.key_id IS NOT NULL))",
                (hash, now, now),
            ).fetchone()
        )
        if row is None:
            return None
        return SignInSession(
            row["hash"],
            row["owner"],
            bool(row["is_operator"]),
            from_time(row["expires_at"]),
            row["key_id"],
            _grants(row),
        )

    async def close_session(self, hash: str) -> None:
        await self._database.write(lambda c: c.execute("DELETE FROM sessions WHERE hash = ?", (hash,)))

    async def begin_sign_in(self, sign_in: SignIn) -> None:
        now = self._now()

        def work(connection: Connection) -> None:
            _sweep(connection, now)
            connection.execute(
                "INSERT INTO sign_ins (hash, state, nonce, verifier, go_to, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
                (sign_in.hash, sign_in.state, sign_in.nonce, sign_in.verifier, sign_in.go_to, to_time(sign_in.expires_at)),
            )

        await self._database.write(work)

    async def take_sign_in(self, hash: str) -> SignIn | None:
        """Return the sign-in and delete it; `None` if it has expired or was already used."""
        now = self._now()
        row = await self._database.write(
            lambda c: c.execute("DELETE FROM sign_ins WHERE hash = ? AND expires_at > ? RETURNING *", (hash, now)).fetchone()
        )
        if row is None:
            return None
        return SignIn(row["hash"], row["state"], row["nonce"], row["verifier"], from_time(row["expires_at"]), row["go_to"])

    def _now(self) -> float:
        return to_time(self._clock.now())


def _key(row: Row) -> ApiKey:
    return ApiKey(
        key_id=row["key_id"],
        owner=row["owner"],
        name=row["name"],
        hash=row["hash"],
        is_operator=bool(row["is_operator"]),
        created_at=from_time(row["created_at"]),
        expires_at=None if row["expires_at"] is None else from_time(row["expires_at"]),
        revoked_at=None if row["revoked_at"] is None else from_time(row["revoked_at"]),
        grants=_grants(row),
    )


def _grants(row: Row) -> Grants:
    return Grants(tuple(loads(row["roots"])), tuple(loads(row["read_roots"])))


def _grant_texts(grants: Grants) -> tuple[str, str]:
    return dumps(grants.roots), dumps(grants.read_roots)


def _sweep(connection: Connection, now: float) -> None:
    connection.execute("DELETE FROM sessions WHERE expires_at <= ?", (now,))
    connection.execute("DELETE FROM sign_ins WHERE expires_at <= ?", (now,))
