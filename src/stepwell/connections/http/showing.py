"""Connections as their page shows them, for one caller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from stepwell.connections.choosing import KINDS, Chosen
from stepwell.connections.http.schemas import (
    Choice,
    ChosenModel,
    ConnectionResponse,
    ConnectionsResponse,
    FoundServer,
    LimitsResponse,
    OfferedModel,
    ProviderResponse,
    Spent,
)
from stepwell.connections.offers import EMBEDDED, FOUND, Offer, Offers
from stepwell.connections.service import Connections, may_edit
from stepwell.connections.tables import TASKS, Task
from stepwell.errors import ConfigurationError
from stepwell.models.abilities import abilities_of
from stepwell.models.choice import ModelChoice, choose_model, model_from_environment
from stepwell.models.connected import ENVIRONMENT
from stepwell.models.discovery import FoundModel, LocalServer
from stepwell.models.local.catalogue import CATALOGUE
from stepwell.models.pricing import price_of
from stepwell.models.provider_guide import GUIDES, ProviderGuide, guide_of
from stepwell.models.providers import LOCAL
from stepwell.server.login.principal import Principal
from stepwell.settings import Settings

if TYPE_CHECKING:
    from stepwell.models.local.models import LocalModels

_NAMED = 3


def show_all(
    connections: Connections,
    principal: Principal,
    offers: Offers,
    found: Sequence[LocalServer],
    local: LocalModels | None,
    spent: Mapping[str, Mapping[str, float]],
) -> ConnectionsResponse:
    """Everything that the settings page shows. Imports providers' packages, so call it in a thread."""
    reachable = {f"{FOUND}{server.provider}" for server in found}
    hidden = [offer for offer in offers.offers if offer.source == "found" and offer.id not in reachable]
    return ConnectionsResponse(
        connections=[
            show(offer, principal, found, local, spent.get(offer.id)) for offer in offers.offers if offer not in hidden
        ],
        providers=[_provider(guide) for guide in GUIDES.values()],
        found=[_server(server) for server in found],
        choice=_choice(offers, connections.models.fill_in(offers, Chosen()), connections.settings),
        can_store=connections.keyring.why_not is None,
        why_not=connections.keyring.why_not,
        may_share=principal.is_operator,
        may_use_private_addresses=principal.is_operator,
        allowed=None if offers.allowed is None else list(offers.allowed),
    )


def show(
    offer: Offer,
    principal: Principal,
    found: Iterable[LocalServer] = (),
    local: LocalModels | None = None,
    spent: Mapping[str, float] | None = None,
) -> ConnectionResponse:
    """One connection."""
    stored = offer.stored
    mine = stored is not None and stored.owner == principal.owner
    editable = stored is not None and may_edit(principal, stored)
    return ConnectionResponse(
        id=offer.id,
        provider=offer.provider,
        label=offer.label,
        # Where the installation's connections lead is nobody's business but the operators'.
        base_url=offer.base_url if editable or principal.is_operator else None,
        has_key=(stored is not None and stored.sealed_key is not None)
        or (offer.source == "environment" and guide_of(offer.provider).needs_key),
        key_hint=stored.key_hint if stored and editable else None,
        source=offer.source,
        variable=offer.variable if principal.is_operator else None,
        shared=stored.shared if stored else True,
        mine=mine,
        editable=editable,
        problem=guide_of(offer.provider).install,
        warning=_warn_of_limits(offer),
        models=_models(offer, list(found), local),
        limits=LimitsResponse.model_validate(stored.limits if stored else {}),
        spent=Spent.model_validate(spent or {}),
    )


def _warn_of_limits(offer: Offer) -> str | None:
    """A limit can only be kept for models whose price is known, so the others are refused (`spend`)."""
    if offer.stored is None or all(limit is None for limit in offer.stored.limits.values()):
        return None
    names = offer.models or tuple(filter(None, [offer.first_model]))
    unpriced = [name for name in names if price_of(f"{offer.provider}:{name}") is None]
    if names and not unpriced:
        return None
    which = ", ".join(unpriced[:_NAMED]) + (" and others" if len(unpriced) > _NAMED else "")
    about = f"The price of {which}" if unpriced else f"The price of {offer.label}"
    return f"{about} is not known, so its calls are refused while there is a limit. Remove the limit, or use models with a known price."


def _models(offer: Offer, found: list[LocalServer], local: LocalModels | None) -> list[OfferedModel]:
    if offer.id == EMBEDDED:
        return [_embedded(name, local) for name in offer.models] if local else []
    if offer.source == "found":
        return [_found(model) for server in found if server.provider == offer.provider for model in server.models]
    names = offer.models or tuple(filter(None, [offer.first_model]))
    return [_named(offer.provider, name, found) for name in names]


def _named(provider: str, name: str, found: Iterable[LocalServer]) -> OfferedModel:
    able = abilities_of(provider, name, found)
    return OfferedModel(name=name, tools=able.tools, sees=able.sees, writes=able.writes, context=able.context)


def _embedded(name: str, local: LocalModels) -> OfferedModel:
    known, event = CATALOGUE[name], local.status(name)
    part = event.progress if event.status == "downloading" else None
    return OfferedModel(
        name=name,
        title=known.title,
        tools=known.capabilities.tools,
        sees=False,
        writes=known.capabilities.writes,
        context=known.capabilities.context,
        size_bytes=known.download_bytes,
        downloaded=local.is_downloaded(name),
        status=event.status,
        progress=None if part is None else round(part * 100, 1),
    )


def _found(model: FoundModel) -> OfferedModel:
    return OfferedModel(
        name=model.name, tools=model.tools, sees=model.sees, context=model.context, size_bytes=model.size_bytes, downloaded=True
    )


def _server(server: LocalServer) -> FoundServer:
    return FoundServer(
        provider=server.provider,
        title=server.title,
        base_url=server.base_url,
        models=[_found(model) for model in server.models],
    )


def _provider(guide: ProviderGuide) -> ProviderResponse:
    return ProviderResponse(
        id=guide.id,
        title=guide.title,
        needs_key=guide.needs_key,
        needs_address=guide.needs_address,
        key_hint=guide.key_hint,
        key_page=guide.key_page,
        installed=guide.installed,
        install=guide.install,
        default_model=guide.default_model,
    )


def _choice(offers: Offers, stored: Chosen, settings: Settings) -> Choice:
    """What a run of the caller uses if nothing is chosen for it, and why."""
    environment = _of_environment(settings)

    def chosen(task: Task) -> ChosenModel | None:
        if named := environment.get(task):
            return named
        ref = stored.models.get(task)
        offer = offers.find(ref.connection) if ref else None
        if ref is None or offer is None:
            return None
        return ChosenModel(connection=ref.connection, model=ref.model, label=offer.label, reason=stored.reasons[task])

    return Choice(**{task: chosen(task) for task in TASKS})


def _of_environment(settings: Settings) -> dict[Task, ChosenModel]:
    """The models that the environment sets. A setting that is wrong is reported by the run that would use it."""
    found: dict[Task, ChosenModel] = {}
    try:
        if default := model_from_environment(settings):
            found["default"] = _environments(default, f"set by {_variable(default, settings)}")
    except ConfigurationError:
        pass
    for task, kind in KINDS.items():
        if name := settings.task_models.get(kind):
            try:
                found[task] = _environments(choose_model(name, settings), f"set by STEPWELL_MODEL_{kind.upper()}")
            except ConfigurationError:
                continue
    return found


def _environments(choice: ModelChoice, reason: str) -> ChosenModel:
    return ChosenModel(
        connection=f"{ENVIRONMENT}{choice.provider}",
        model=choice.name if choice.provider != LOCAL else choice.name.rpartition("/")[2],
        label=guide_of(choice.provider).title,
        reason=reason,
    )


def _variable(choice: ModelChoice, settings: Settings) -> str:
    if settings.model:
        return "STEPWELL_MODEL"
    if settings.model_provider:
        return "STEPWELL_MODEL_PROVIDER"
    access = settings.access.get(choice.provider)
    return access.variable if access else choice.reason.removesuffix(" is set")
