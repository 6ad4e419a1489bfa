"""Connections on an open server: reading, changing and testing them, and the models of every run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from stepwell.connections import tables
from stepwell.connections.addresses import check_address
from stepwell.connections.encryption import FILE, Keyring, SealedKeyError, hint_of
from stepwell.connections.gate import ModelGate
from stepwell.connections.models import ModelsOfRuns
from stepwell.connections.offers import Offers, make_offer
from stepwell.connections.spend import SpendLog
from stepwell.connections.tables import EVERYONE, Ref, Stored, Task
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.errors import AccessError, ConfigurationError, InvalidRequestError, LimitReachedError, NotFoundError
from stepwell.models.access import normal_address
from stepwell.models.connected import ConnectedModel
from stepwell.models.discovery import LocalServer, find_local_servers
from stepwell.models.provider_guide import GUIDES, ProviderGuide, guide_of
from stepwell.models.providers import LM_STUDIO, LOCAL, OLLAMA, SPEAK_OPENAI
from stepwell.server.login.principal import Principal
from stepwell.server.parts import OpenProduct, Parts, ProductService, Services
from stepwell.settings import Secret, Settings
from stepwell.sql import Connection
from stepwell.supervision import Supervisor

MAX_CONNECTIONS = 50
"""How many connections one user may have."""
_TESTS_A_MINUTE = 20
_USERS_MAY_ADDRESS = frozenset({"openai", OLLAMA, *SPEAK_OPENAI})
"""Providers at whose addresses we check every connection, so that ordinary users may give one."""


@dataclass(frozen=True)
class Change:
    """What a request changes in a connection; None leaves it as it is. `forget_key` and `forget_address` remove them."""

    label: str | None = None
    key: Secret | None = None
    forget_key: bool = False
    base_url: str | None = None
    forget_address: bool = False
    models: tuple[str, ...] | None = None
    limits: Mapping[str, float | None] | None = None
    shared: bool | None = None


class Connections(ProductService):
    """What the routes of connections use."""

    def __init__(self, parts: Parts, settings: Settings, keyring: Keyring) -> None:
        self.settings = settings
        self.keyring = keyring
        self.spend = SpendLog(parts.persistence.database, parts.clock)
        self.models = ModelsOfRuns(parts.persistence, settings, keyring, parts.settings.asks_who, self.spend)
        self.gate = ModelGate(self.models)
        self._parts = parts

    async def find_servers(self, principal: Principal) -> Sequence[LocalServer]:
        """The model servers on the server's computer, for those who may know about them."""
        return await find_local_servers(self.settings) if principal.is_operator else ()

    async def offers(self, principal: Principal) -> Offers:
        return await self.models.offers(principal.owner, await self.find_servers(principal))

    async def add(self, principal: Principal, provider: str, change: Change) -> Stored:
        """Store a new connection."""
        guide = _connectable(provider)
        if guide.needs_key and not change.key:
            raise InvalidRequestError(f"{guide.title} needs a key. Enter it, or get one{_at(guide.key_page)}.")
        mine = [each for each in await self._stored(principal) if each.owner == principal.owner]
        label = change.label or _free_label(guide.title, {each.label for each in mine})
        blank = Stored(
            id=self._parts.new_id(),
            owner=principal.owner,
            provider=provider,
            label=label,
            base_url=None,
            sealed_key=None,
            key_hint=None,
            models=(),
            limits={},
            shared=False,
            public=False,
            revision=0,
            created_at=self._parts.clock.now().timestamp(),
        )
        return await self._put(principal, blank, change)

    async def change(self, principal: Principal, connection_id: str, change: Change) -> Stored:
        return await self._put(principal, await self.editable(principal, connection_id), change)

    async def delete(self, principal: Principal, connection_id: str) -> None:
        stored = await self.editable(principal, connection_id)
        now = self._parts.clock.now().timestamp()
        await self._parts.persistence.database.write(lambda connection: tables.delete_connection(connection, stored.id, now))

    async def editable(self, principal: Principal, connection_id: str) -> Stored:
        """A connection that the caller may change: their own, or a shared one if they are an operator."""
        for stored in await self._stored(principal):
            if stored.id == connection_id:
                if may_edit(principal, stored):
                    return stored
                raise AccessError(f"'{stored.label}' belongs to the operator of this server. Only operators can change it.")
        raise NotFoundError("connection", connection_id, "It may have been deleted. Reload the list.")

    async def choose(self, principal: Principal, scope: str, choices: Mapping[Task, Ref | None]) -> None:
        """Store defaults: the caller's own, or everyone's."""
        owner = principal.owner
        offers = await self.offers(principal)
        if scope == "everyone":
            require_operator(principal)
            owner = EVERYONE
            private = [
                offer
                for ref in choices.values()
                if ref and (offer := offers.find(ref.connection)) and _is_private(offer.stored)
            ]
            if private:
                raise InvalidRequestError(
                    f"'{private[0].label}' is only yours. Share the connection before you choose it for everyone."
                )
        for ref in choices.values():
            if ref is not None and (why_not := offers.why_not(ref)):
                raise InvalidRequestError(why_not)
        await self._parts.persistence.database.write(lambda connection: tables.put_choices(connection, owner, choices))

    async def allow(self, allowed: Sequence[str] | None) -> None:
        """Set which models may be used; None allows all."""
        for entry in allowed or ():
            provider, colon, name = entry.partition(":")
            if not (colon and name) or provider not in GUIDES:
                raise InvalidRequestError(
                    f"'{entry[:80]}' is not a model. Write 'provider:name' or 'provider:*'; the providers are: {', '.join(GUIDES)}."
                )
        await self._parts.persistence.database.write(lambda connection: tables.put_allowed(connection, allowed))

    async def count_test(self, principal: Principal) -> None:
        """Raises `LimitReachedError` if the caller tests too often."""
        counted = await self._parts.persistence.counts.count(f"model tests of {principal.owner}", 60.0)
        if counted.number > _TESTS_A_MINUTE:
            wait = max(1, round(counted.left_s))
            raise LimitReachedError(f"You can test {_TESTS_A_MINUTE} times a minute. Try again in {wait} s.", wait)

    async def target(
        self, principal: Principal, *, connection: str | None, provider: str | None, change: Change, model: str | None
    ) -> ConnectedModel:
        """What to test: a connection that the caller may use, or one that is not stored yet."""
        if connection is not None:
            offers = await self.offers(principal)
            offer = offers.find(connection)
            if offer is None:
                raise NotFoundError("connection", connection, "It may have been deleted. Reload the list.")
            name = model or offer.first_model or ""
            if name and (why_not := offers.why_not(Ref(connection, name))):
                raise InvalidRequestError(why_not)
            return _with_environments_access(await self.models.connect(offer, name), self.settings)
        guide = _connectable(provider)
        if not change.base_url:
            _check_usual_address(principal, guide)
        address = await self._check_address(principal, guide.id, change.base_url) if change.base_url else None
        blank = Stored("new", principal.owner, guide.id, guide.title, address, None, None, (), {}, False,
                       address is not None and not principal.is_operator, 0, 0.0)  # fmt: skip
        offer = make_offer(blank, principal.owner)
        return replace(await self.models.connect(offer, model or offer.first_model or ""), key=change.key)

    async def spent(self, principal: Principal, connection_ids: Sequence[str]) -> dict[str, Mapping[str, float]]:
        """What was spent through connections: by everyone for operators, by the caller for others."""
        whose = None if principal.is_operator else principal.owner
        return dict(await self.spend.spent(whose, connection_ids))

    async def spend_rows(self, user: str | None) -> list[dict[str, Any]]:
        return await self.spend.rows(user)

    async def reseal(self) -> int:
        """Seal every key again that an older installation key has sealed. Returns how many."""
        database = self._parts.persistence.database
        count = 0
        for stored in await database.read(tables.all_connections):
            if (sealed := stored.sealed_key) is None:
                continue
            try:
                if await asyncio.to_thread(self.keyring.sealed_by_first, sealed):
                    continue
                again = replace(stored, sealed_key=await asyncio.to_thread(self._reseal, stored, sealed))
            except SealedKeyError:  # its connection says so
                continue
            await database.write(partial(tables.replace_seal, stored=again, before=sealed))
            count += 1
        return count

    def _reseal(self, stored: Stored, sealed: bytes) -> bytes:
        return self.keyring.seal(self.keyring.open(sealed, stored.bound_to), stored.bound_to)

    async def _stored(self, principal: Principal) -> list[Stored]:
        return await self._parts.persistence.database.read(
            lambda connection: tables.read_connections(connection, principal.owner)
        )

    async def _put(self, principal: Principal, stored: Stored, change: Change) -> Stored:
        if change.shared is not None and change.shared != stored.shared:
            require_operator(principal)
        if change.limits is not None and stored.shared:
            require_operator(principal)
        changed = replace(
            stored,
            label=change.label or stored.label,
            models=stored.models if change.models is None else change.models,
            limits=stored.limits if change.limits is None else {**stored.limits, **change.limits},
            shared=stored.shared if change.shared is None else change.shared,
        )
        changed = await self._with_address(principal, changed, change)
        changed = await self._with_key(changed, change)
        if (changed.base_url, changed.sealed_key) != (stored.base_url, stored.sealed_key) or not stored.revision:
            changed = replace(changed, revision=stored.revision + 1)

        def write(connection: Connection) -> None:
            if tables.count_others(connection, changed) >= MAX_CONNECTIONS:
                raise LimitReachedError(f"You have {MAX_CONNECTIONS} connections, the limit. Delete one that you don't use.")
            tables.put_connection(connection, changed)
            if stored.shared and not changed.shared:
                tables.forget_choices_of_others(connection, changed.id, changed.owner)

        await self._parts.persistence.database.write(write)
        return changed

    async def _with_address(self, principal: Principal, stored: Stored, change: Change) -> Stored:
        if change.base_url is None and (change.forget_address or stored.base_url is None):
            _check_usual_address(principal, guide_of(stored.provider))
            return replace(stored, base_url=None, public=False)
        if change.base_url is None or change.base_url == stored.base_url:
            return stored
        address = await self._check_address(principal, stored.provider, change.base_url)
        # A stored key belongs to the address it was entered for. Otherwise whoever may change the address could have the key sent to them.
        if stored.sealed_key is not None and not change.key and not change.forget_key:
            raise InvalidRequestError("The address changes, so the key has to be entered again.")
        return replace(stored, base_url=address, public=not principal.is_operator)

    async def _check_address(self, principal: Principal, provider: str, text: str) -> str | None:
        if not principal.is_operator and provider not in _USERS_MAY_ADDRESS:
            raise AccessError(f"Only operators can give {guide_of(provider).title} another address. Leave it out.")
        try:
            address = normal_address(provider, text)
        except ConfigurationError as error:
            raise InvalidRequestError(str(error)) from error
        if address:
            await check_address(address, private_allowed=principal.is_operator)
        return address

    async def _with_key(self, stored: Stored, change: Change) -> Stored:
        if change.key is None:
            return replace(stored, sealed_key=None, key_hint=None) if change.forget_key else stored
        try:
            sealed = await asyncio.to_thread(self.keyring.seal, change.key, stored.bound_to)
        except ConfigurationError as error:
            raise InvalidRequestError(str(error)) from error
        return replace(stored, sealed_key=sealed, key_hint=hint_of(change.key))


def may_edit(principal: Principal, stored: Stored) -> bool:
    return stored.owner == principal.owner or (stored.shared and principal.is_operator)


def require_operator(principal: Principal) -> None:
    if not principal.is_operator:
        raise AccessError("Only operators of this server can decide for everyone. Ask one, or change it for yourself.")


def connections_of(services: Services) -> Connections:
    """The open connections of a server, for routes."""
    found = services.find(Connections)
    assert found is not None, "its routes come with it"  # noqa: S101
    return found


def open_connections(settings: Settings) -> OpenProduct:
    """Opens connections with the installation's key."""

    @asynccontextmanager
    async def opened(parts: Parts, supervisor: Supervisor) -> AsyncIterator[Connections]:
        alone = isinstance(parts.persistence, EmbeddedPersistence)
        keyring = Keyring(settings.secrets_key, settings.data_folder / FILE if alone else None)
        connections = Connections(parts, settings, keyring)
        parts.registry.find_models = connections.models.of_reader
        await connections.reseal()
        yield connections

    return opened


def _with_environments_access(model: ConnectedModel, settings: Settings) -> ConnectedModel:
    """The environment's key and address, for a test; runs leave them to the provider's SDK."""
    if not model.from_environment:
        return model
    addresses = {OLLAMA: settings.ollama_address, LM_STUDIO: settings.lm_studio_address}
    access = settings.access.get(model.provider)
    if access:
        return replace(model, key=access.key, base_url=access.base_url)
    key = settings.lm_studio_api_key if model.provider == LM_STUDIO else None
    return replace(model, key=key, base_url=addresses.get(model.provider))


def _connectable(provider: str | None) -> ProviderGuide:
    if provider is None or provider not in GUIDES or provider == LOCAL:
        known = ", ".join(name for name in GUIDES if name != LOCAL)
        raise InvalidRequestError(f"'{provider}' cannot be connected here. Providers: {known}.")
    return guide_of(provider)


def _check_usual_address(principal: Principal, guide: ProviderGuide) -> None:
    """Raise `InvalidRequestError` if the caller has to give an address."""
    if guide.needs_address:
        raise InvalidRequestError(f"{guide.title} needs an address, such as https://models.example.com/v1.")
    if guide.on_this_computer and not principal.is_operator:
        raise InvalidRequestError(
            f"Without an address, {guide.title} is the one on the server's own computer. Only an operator can connect a model on a "
            "private address. Give the https:// address of yours."
        )


def _is_private(stored: Stored | None) -> bool:
    return stored is not None and not stored.shared


def _at(page: str | None) -> str:
    return f" at {page}" if page else " from the provider"


def _free_label(title: str, taken: set[str]) -> str:
    return next(label for number in range(1, 1000) if (label := title if number == 1 else f"{title} {number}") not in taken)
