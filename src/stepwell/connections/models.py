"""The models of runs: chosen by name when a run is admitted, opened with their keys when an attempt begins."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stepwell.connections.addresses import public_network
from stepwell.connections.choosing import (
    CHOICE_KEY,
    FOR_KEY,
    KINDS,
    Chosen,
    choose_default,
    choose_explicit,
    pinned_in,
    read_choice,
)
from stepwell.connections.encryption import Keyring, SealedKeyError
from stepwell.connections.offers import Offer, Offers, make_offers
from stepwell.connections.tables import (
    Ref,
    Rules,
    Stored,
    Task,
    read_connection,
    read_connections,
    read_rules,
)
from stepwell.database.persistence import Persistence
from stepwell.database.records.types import Page
from stepwell.errors import ConfigurationError, ModelUnavailableError
from stepwell.models.choice import model_from_environment
from stepwell.models.connected import ENVIRONMENT, CallWatch, ConnectedModel, RunModels
from stepwell.models.discovery import LocalServer
from stepwell.models.provider_guide import guide_of
from stepwell.settings import Secret, Settings
from stepwell.sql import Connection

_RUNS_LOOKED_AT = 10
_NOWHERE = "https://closed.invalid"
"""An address that no server can have (RFC 2606)."""


_Rows = tuple[Rules, list[Stored]]
"""What is stored about the models of a caller: choices and limits, and connections."""


def _read_rows(connection: Connection, caller: str | None, thread_id: str | None = None) -> _Rows:
    rules = read_rules(connection, caller, thread_id)
    return rules, read_connections(connection, caller) if rules.connected else []


@dataclass(frozen=True)
class ModelsOfRuns:
    """Reads connections for runs."""

    persistence: Persistence
    settings: Settings
    keyring: Keyring
    asks_who: bool = False
    """Whether callers are identified."""
    watch: CallWatch | None = None

    async def offers(self, caller: str | None, found: Sequence[LocalServer] = ()) -> Offers:
        """What a caller may use. `found` are the local servers that answer, if their models matter."""
        rows = await self.persistence.database.read(lambda connection: _read_rows(connection, caller))
        return self._make_offers(caller, rows, found)

    def _make_offers(self, caller: str | None, rows: _Rows, found: Sequence[LocalServer] = ()) -> Offers:
        rules, stored = rows
        return make_offers(
            caller,
            self.settings,
            stored,
            mine=rules.mine,
            everyones=rules.everyones,
            allowed=rules.allowed,
            asks_who=self.asks_who,
            found=found,
        )

    async def choose(self, caller: str | None, thread_id: str | None, asked: object, by_assistant: object) -> dict[str, Any]:
        """What to pin into a run: the models that the order asks for, or its conversation names, or its assistant. Raises
        `InvalidRequestError` if the order asks for a model that the caller may not use."""
        rows = await self.persistence.database.read(lambda connection: _read_rows(connection, caller, thread_id))
        offers = self._make_offers(caller, rows)
        # A thread that does not exist is about to be created, or will be refused.
        told = {"this conversation": rows[0].thread.get(CHOICE_KEY), "this assistant": by_assistant}
        chosen = self.fill_in(offers, choose_explicit(offers, asked, told))
        return {CHOICE_KEY: chosen.as_json(), FOR_KEY: {"user": caller, "explicit": chosen.explicit}}

    async def open(self, pinned: Mapping[str, Any]) -> RunModels:
        """The pinned models with their keys.

        Raises:
            ModelUnavailableError: The user may not use one of them any more, or its key cannot be read.
        """
        user, refs, explicit = _read_pinned(pinned)
        offers = await self.offers(user) if refs else None
        models = {task: await self._open_one(ref, offers) for task, ref in refs.items() if offers}
        return self._make(models, user, explicit)

    async def of_reader(self, owner: str | None, thread_id: str | None) -> RunModels | None:
        """The models with which a graph is built to read a thread, or for an owner in general. Never raises: a thread stays readable when
        its connection is gone, with a model that cannot be called."""
        pinned = await self._pinned_last(thread_id) if thread_id else {}
        if pinned:
            user, refs, explicit = _read_pinned(pinned)
        else:
            user, explicit = owner, False
            refs = dict(self.fill_in(await self.offers(owner), Chosen()).models)
        if not refs:
            return self._make({}, user, explicit)
        offers = await self.offers(user)
        models = {}
        for task, ref in refs.items():
            try:
                models[task] = await self._open_one(ref, offers)
            except ModelUnavailableError:
                if closed := await self._closed(ref):
                    models[task] = closed
        return self._make(models, user, explicit)

    async def _pinned_last(self, thread_id: str) -> Mapping[str, Any]:
        """What the newest run of a thread was to use. A run that failed for lack of a model left the thread as the one before it did."""
        runs = await self.persistence.records.list_runs(None, thread_id, None, Page(limit=_RUNS_LOOKED_AT))
        pins = [pinned for run in runs if (pinned := pinned_in(run))[FOR_KEY] and (pinned[CHOICE_KEY] or run.status != "error")]
        return pins[0] if pins else {}

    async def connect(self, offer: Offer, model: str) -> ConnectedModel:
        """A model through a connection, with its key."""
        stored = offer.stored
        return ConnectedModel(
            connection_id=offer.id,
            revision=stored.revision if stored else 0,
            provider=offer.provider,
            name=model,
            label=offer.label,
            key=await self._unseal(stored) if stored else None,
            base_url=offer.base_url,
            network=public_network() if stored and stored.public and stored.base_url else None,
        )

    async def _open_one(self, ref: Ref, offers: Offers) -> ConnectedModel:
        offer = offers.find(ref.connection)
        if offer is None or offers.why_not(ref) is not None:
            raise ModelUnavailableError(await self._say_gone(ref, offer, offers))
        return await self.connect(offer, ref.model)

    async def _say_gone(self, ref: Ref, offer: Offer | None, offers: Offers) -> str:
        if offer is not None:
            return str(offers.why_not(ref))
        if ref.connection.startswith(ENVIRONMENT):
            title = guide_of(ref.connection.removeprefix(ENVIRONMENT)).title
            return f"{title} is not configured where this run is executed. Choose another model and send the message again."
        stored = await self.persistence.database.read(lambda connection: read_connection(connection, ref.connection))
        name = f"The connection '{stored.label}'" if stored else "The connection"
        gone = "was deleted" if stored is None or stored.deleted else "is no longer shared with you"
        return f"{name} that this run was to use {gone}. Choose another model and send the message again."

    async def _closed(self, ref: Ref) -> ConnectedModel | None:
        """The model without its key, to build a graph that is only read."""
        stored = await self.persistence.database.read(lambda connection: read_connection(connection, ref.connection))
        return (
            ConnectedModel(ref.connection, -1, stored.provider, ref.model, stored.label, base_url=_NOWHERE) if stored else None
        )

    async def _unseal(self, stored: Stored) -> Secret | None:
        sealed = stored.sealed_key
        if sealed is None:
            return None
        try:
            return await asyncio.to_thread(self.keyring.open, sealed, stored.bound_to)
        except SealedKeyError as error:
            raise ModelUnavailableError(
                f"The key of the connection '{stored.label}' cannot be read: {error}. Enter the key again."
            ) from error

    def fill_in(self, offers: Offers, chosen: Chosen) -> Chosen:
        """The choice with what is stored for the rest. Where the environment names a model, no default is stored that counts; and a default
        that was chosen explicitly does all the work that has no model of its own."""
        stored = choose_default(offers)
        if "default" in chosen.models:
            return chosen
        left_out = {"default"} if self._environment_decides() else set[Task]()
        more = {task: ref for task, ref in stored.models.items() if task not in left_out}
        return Chosen({**more, **chosen.models}, chosen.explicit, {**stored.reasons, **chosen.reasons})

    def _environment_decides(self) -> bool:
        try:
            return model_from_environment(self.settings) is not None
        except ConfigurationError:  # the graph will report it
            return True

    def _make(self, models: Mapping[Task, ConnectedModel], user: str | None, explicit: bool) -> RunModels:
        tasks = {KINDS[task]: model for task, model in models.items() if task != "default"}
        return RunModels(models.get("default"), tasks, explicit, user, self.watch)


def _read_pinned(pinned: Mapping[str, Any]) -> tuple[str | None, dict[Task, Ref], bool]:
    about = pinned.get(FOR_KEY) or {}
    return about.get("user"), read_choice(pinned.get(CHOICE_KEY) or {}), bool(about.get("explicit"))
