"""The models connected in this machine's database, for commands. Works on the database directly, even while a server uses it.

What a command stores is for everyone who uses this database: on a server with sign-in, for all of its users.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from stepwell.connections import tables
from stepwell.connections.encryption import FILE, Keyring, SealedKeyError, hint_of
from stepwell.connections.offers import FOUND
from stepwell.connections.tables import EVERYONE, Ref, Stored, Task
from stepwell.errors import ModelUnavailableError
from stepwell.models.connected import ENVIRONMENT, ConnectedModel
from stepwell.models.discovery import local_addresses
from stepwell.models.provider_guide import guide_of
from stepwell.models.providers import LOCAL
from stepwell.server.login.principal import LOCAL as LOCAL_USER
from stepwell.settings import Secret, Settings
from stepwell.sql import Connection
from stepwell.terminal.database_file import with_database
from stepwell.terminal.database_place import PostgresPlace, database_place

T = TypeVar("T")


@dataclass(frozen=True)
class ModelStore:
    """The connections of one database."""

    place: Path | PostgresPlace
    keyring: Keyring
    settings: Settings

    @classmethod
    def open(cls, database_url: str | None, settings: Settings) -> ModelStore:
        place = database_place(database_url, settings)
        alone = not isinstance(place, PostgresPlace)
        return cls(place, Keyring(settings.secrets_key, settings.data_folder / FILE if alone else None), settings)

    @property
    def name(self) -> str:
        """The database as people see it, without a password."""
        return str(self.place) if isinstance(self.place, PostgresPlace) else self.place.name

    @property
    def exists(self) -> bool:
        return isinstance(self.place, PostgresPlace) or self.place.is_file()

    def connections(self) -> list[Stored]:
        """Those that are for everyone, and those of the local user."""
        return self._read(lambda connection: tables.read_connections(connection, LOCAL_USER.owner)) or []

    def default(self) -> ConnectedModel | None:
        """The stored default with its key. Raises `ModelUnavailableError` if its key cannot be opened."""
        return self.chosen("default")

    def chosen(self, task: Task) -> ConnectedModel | None:
        """The model that was chosen for a kind of work, with its key. Raises `ModelUnavailableError` if its key cannot be opened."""

        def read(connection: Connection) -> tuple[Ref | None, Stored | None]:
            mine, everyones = (tables.read_choices(connection, owner) for owner in (LOCAL_USER.owner, EVERYONE))
            ref = mine.get(task) or everyones.get(task)
            return ref, tables.read_connection(connection, ref.connection) if ref else None

        ref, stored = self._read(read) or (None, None)
        return self._connect(ref, stored) if ref else None

    def of_provider(self, provider: str, model: str) -> ConnectedModel | None:
        """A model through the stored connection of its provider, if there is one."""
        stored = next((each for each in self.connections() if each.provider == provider), None)
        return self._connect(Ref(stored.id, model), stored) if stored else None

    def use(self, provider: str, model: str, key: Secret | None, base_url: str | None) -> None:
        """Store a connection, if one is needed, and choose its model for everyone. A second call replaces the first."""
        if key is None and base_url is None and (found := self._without_storing(provider)):
            self._write(lambda connection: _choose(connection, Ref(found, model)))
            return
        title = guide_of(provider).title
        before = next((each for each in self.connections() if _is_ours(each, provider)), None)
        connection_id = before.id if before else str(uuid.uuid4())
        bound_to = (connection_id, LOCAL_USER.owner)
        stored = Stored(
            id=connection_id,
            owner=LOCAL_USER.owner,
            provider=provider,
            label=title,
            base_url=base_url,
            sealed_key=self.keyring.seal(key, bound_to) if key else None,
            key_hint=hint_of(key) if key else None,
            models=(),
            limits=before.limits if before else {},
            shared=True,
            public=False,
            revision=before.revision + 1 if before else 0,
            created_at=before.created_at if before else time.time(),
        )

        def put(connection: Connection) -> None:
            tables.put_connection(connection, stored)
            _choose(connection, Ref(connection_id, model))

        self._write(put)

    def remove(self, provider: str) -> bool:
        """Delete the provider's connection with its key, and the default if it uses the provider. False if there was neither."""
        ours = [each for each in self.connections() if _is_ours(each, provider)]
        ids = {*(each.id for each in ours), f"{FOUND}{provider}", provider if provider == LOCAL else ""}

        def delete(connection: Connection) -> bool:
            chosen = False
            for owner in (LOCAL_USER.owner, EVERYONE):
                gone = [task for task, ref in tables.read_choices(connection, owner).items() if ref.connection in ids]
                tables.put_choices(connection, owner, dict.fromkeys(gone))
                chosen = chosen or bool(gone)
            for stored in ours:
                tables.delete_connection(connection, stored.id, time.time())
            return chosen

        return self.exists and (self._write(delete) or bool(ours))

    def _without_storing(self, provider: str) -> str | None:
        """The id of a connection that needs neither key nor address, because it is on this computer."""
        if provider == LOCAL:
            return LOCAL
        return f"{FOUND}{provider}" if provider in dict(local_addresses(self.settings)) else None

    def _connect(self, ref: Ref, stored: Stored | None) -> ConnectedModel | None:
        kind, _, provider = ref.connection.partition(":")
        if ref.connection == LOCAL or ref.connection.startswith(ENVIRONMENT):
            named = provider or LOCAL
            return ConnectedModel(ref.connection, 0, named, ref.model, guide_of(named).title)
        if f"{kind}:" == FOUND:
            address = dict(local_addresses(self.settings)).get(provider)
            return ConnectedModel(ref.connection, 0, provider, ref.model, guide_of(provider).title, base_url=address)
        if stored is None or stored.deleted:
            return None
        try:
            key = self.keyring.open(stored.sealed_key, stored.bound_to) if stored.sealed_key else None
        except SealedKeyError as error:
            raise ModelUnavailableError(
                f"The stored key of '{stored.label}' cannot be read: {error}. Store it again with: stepwell models use {stored.provider}"
            ) from error
        return ConnectedModel(stored.id, stored.revision, stored.provider, ref.model, stored.label, key, stored.base_url)

    def _read(self, work: Callable[[Connection], T]) -> T | None:
        """None if there is no database yet."""
        return with_database(self.place, lambda database: database.read(work)) if self.exists else None

    def _write(self, work: Callable[[Connection], T]) -> T:
        return with_database(self.place, lambda database: database.write(work))


def _is_ours(stored: Stored, provider: str) -> bool:
    """Whether `stepwell models use` has stored it; what users of the page connect for themselves is theirs."""
    return stored.owner == LOCAL_USER.owner and stored.provider == provider and stored.shared


def _choose(connection: Connection, ref: Ref) -> None:
    tables.put_choices(connection, EVERYONE, {"default": ref})
    tables.put_choices(connection, LOCAL_USER.owner, {"default": None})  # it would come first on this machine
