"""The one key that signs the bundles of an installation with many servers: in its database, or in a file given to all of them.

| table `installation` | a server with STEPWELL_SIGNING_KEY_FILE | a server without |
|---|---|---|
| empty | signs with the file, and records that: `signing_public_key` | stores a key there: the one of its data folder, or a new one |
| `signing_public_key` | must have the same key, or does not start | does not start: it cannot sign like the others |
| `signing_key` | must have the same key, or does not start | signs with that |
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import psycopg

from stepwell.database.database import Separate, SqlDatabase
from stepwell.database.forms import FIRST
from stepwell.database.postgres.connection import connect
from stepwell.database.postgres.migrate import version_of
from stepwell.errors import ConfigurationError, MissingExtraError, SigningKeyError
from stepwell.research.audit.signing import Signature, SigningKey, new_private_key, public_part, sign_with
from stepwell.sql import Connection

logger = logging.getLogger(__name__)

_KEPT, _PUBLIC = "signing_key", "signing_public_key"
_NAME = "the installation's signing key"


class InstallationKey:
    """A `Signer`. `own` is the key in this server's data folder, or in the file its operator has chosen."""

    def __init__(self, database: Callable[[], SqlDatabase], own: SigningKey) -> None:
        self._database = database
        self._own = own

    def sign(self, message: bytes) -> Signature:
        if self._own.is_chosen:
            self._agree()
            return self._own.sign(message)
        return sign_with(self._keep().encode(), message, _NAME)

    async def check(self) -> None:
        """Called when the server starts. Raises `ConfigurationError` if this server would sign with a different key than the others."""
        try:
            await asyncio.to_thread(self._agree)
        except SigningKeyError as error:
            raise ConfigurationError(str(error)) from error
        except MissingExtraError:
            logger.debug("bundles cannot be signed here: the extra is not installed")

    def _agree(self) -> None:
        facts = self._database().read_now(_read)
        others = public_part(facts[_KEPT].encode(), _NAME) if _KEPT in facts else facts.get(_PUBLIC)
        mine = self._own.public_key()
        if self._own.is_chosen:
            if others is None:
                others = self._database().read_now(Separate(lambda connection: _put(connection, _PUBLIC, str(mine))))
            if mine != others:
                raise SigningKeyError(
                    f"STEPWELL_SIGNING_KEY_FILE contains the key {mine}, but the servers of this database sign with {others}. Give this "
                    "server the same file as the others, or remove the setting if they don't use it."
                )
        elif _PUBLIC in facts and _KEPT not in facts:
            raise SigningKeyError(
                f"The servers of this database sign with the key {others} from a file. Give this server the same file in "
                "STEPWELL_SIGNING_KEY_FILE."
            )
        elif None not in (mine, others) and mine != others:
            logger.warning(
                "'%s' in the data folder is not used: bundles are signed with the installation's key %s, which is in the database",
                *(self._own.file.name, others),
            )

    def _keep(self) -> str:
        """The key stored in the database; if there is none yet, stores this server's own or a new one."""
        facts = self._database().read_now(_read)
        if _KEPT in facts:
            return facts[_KEPT]
        pem = (self._own.read() or new_private_key()).decode()
        names = {"kept": pem, "public": public_part(pem.encode(), _NAME)}
        facts = self._database().read_now(Separate(lambda connection: _put_both(connection, names)))
        if _KEPT not in facts:  # a server with its own file was faster
            self._agree()
        return facts[_KEPT]


def kept_key(url: str) -> str | None:
    """The public key with which the installation of the database at this address signs; `None` if there is none yet."""
    try:
        connection = connect(url)
    except psycopg.Error as error:
        raise ConfigurationError(f"unknown: the database cannot be reached ({type(error).__name__})") from error
    try:
        facts = _read(connection) if version_of(connection) >= FIRST else {}
    finally:
        connection.close()
    return public_part(facts[_KEPT].encode(), _NAME) if _KEPT in facts else facts.get(_PUBLIC)


def _read(connection: Connection) -> dict[str, str]:
    rows = connection.execute("SELECT name, value FROM installation WHERE name IN (?, ?)", (_KEPT, _PUBLIC))
    return {row["name"]: row["value"] for row in rows}


def _put_both(connection: Connection, names: dict[str, str]) -> dict[str, str]:
    """Store a key and its public part, unless another server was faster with either. Returns what is stored. It is a single statement, so
    that of two servers that start at once, one with a file and one without, only one decides."""
    connection.execute(
        f"WITH decided AS (INSERT INTO installation (name, value) VALUES ('{_PUBLIC}', :public) ON CONFLICT DO NOTHING RETURNING name)"  # noqa: S608 - fixed
        f" INSERT INTO installation (name, value) SELECT '{_KEPT}', CAST(:kept AS TEXT) FROM decided ON CONFLICT DO NOTHING",
        names,
    )
    return _read(connection)


def _put(connection: Connection, name: str, value: str) -> str:
    """Store a value, unless another server was faster. Returns what is stored."""
    connection.execute("INSERT INTO installation (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING", (name, value))
    return str(connection.execute("SELECT value FROM installation WHERE name = ?", (name,)).fetchone()["value"])
