"""Every connection that a caller can use: what the environment gives, what is stored, the model servers on this computer, and the models
that run inside Stepwell.

| id | source | who may use it | with which models |
|---|---|---|---|
| `env:anthropic` | environment | everyone | those that the environment names; on a server without sign-in, any |
| a UUID | stored | its owner; everyone, if it is shared | owner: any; everyone else: those it lists, if it lists some |
| `found:ollama` | found | everyone on a server without sign-in | any |
| `local` | embedded | everyone on a server without sign-in | those of the catalogue |

Whatever an operator has chosen as a default for everyone, everyone may use. If the operator keeps a list of allowed models, that list
decides about the names, for everyone and through every connection; the environment's own default is always allowed. A file on the server
is never a name: models inside Stepwell are those of the catalogue, and what the environment or an operator's command names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from stepwell.connections.tables import Ref, Stored, Task
from stepwell.errors import ConfigurationError
from stepwell.models.choice import ModelChoice, choose_model, model_from_environment
from stepwell.models.connected import ENVIRONMENT
from stepwell.models.discovery import LocalServer, local_addresses
from stepwell.models.local.catalogue import CATALOGUE
from stepwell.models.provider_guide import guide_of
from stepwell.models.providers import LM_STUDIO, LOCAL, OLLAMA
from stepwell.settings import Settings

FOUND = "found:"
EMBEDDED = LOCAL
Source = Literal["environment", "stored", "found", "embedded"]


@dataclass(frozen=True)
class Offer:
    """A connection as one caller sees it."""

    id: str
    provider: str
    label: str
    source: Source
    models: tuple[str, ...] = ()
    """The names that are offered; the first one is used if none is chosen."""
    any_model: bool = False
    """Whether the caller may use other names too."""
    variable: str | None = None
    """The environment variable it comes from."""
    base_url: str | None = field(default=None, repr=False)
    stored: Stored | None = field(default=None, repr=False)

    @property
    def first_model(self) -> str | None:
        return next(iter(self.models), None) or guide_of(self.provider).default_model


@dataclass(frozen=True)
class Offers:
    """What one caller may use."""

    caller: str | None
    offers: tuple[Offer, ...]
    mine: Mapping[Task, Ref]
    everyones: Mapping[Task, Ref]
    allowed: tuple[str, ...] | None = None

    def find(self, connection_id: str) -> Offer | None:
        return next((offer for offer in self.offers if offer.id == connection_id), None)

    def why_not(self, ref: Ref) -> str | None:
        """Why the caller may not use a model; None if they may."""
        offer = self.find(ref.connection)
        if offer is None:
            return "This connection does not exist, or is not yours to use. Choose another model."
        if not self._is_allowed(offer, ref.model):
            return (
                f"The operator of this server does not allow the model '{ref.model}'. Choose another one, or ask the operator."
            )
        if ref.model in offer.models or ref in self.everyones.values():
            return None
        if (offer.any_model or self.allowed is not None) and (offer.provider != LOCAL or ref.model in CATALOGUE):
            return None
        return f"The model '{ref.model}' is not offered through '{offer.label}'. Choose one of: {', '.join(offer.models) or 'none'}."

    def _is_allowed(self, offer: Offer, model: str) -> bool:
        return self.allowed is None or bool({f"{offer.provider}:{model}", f"{offer.provider}:*"} & set(self.allowed))


def make_offers(
    caller: str | None,
    settings: Settings,
    stored: Iterable[Stored],
    *,
    mine: Mapping[Task, Ref],
    everyones: Mapping[Task, Ref],
    allowed: tuple[str, ...] | None,
    asks_who: bool,
    found: Sequence[LocalServer] = (),
) -> Offers:
    """`asks_who`: the server has sign-in, so that its callers are different people. `found` are the local servers that answer; without
    them, the usual addresses are offered without knowing their models."""
    chosen_for_all = {ref.connection for ref in everyones.values()}
    offers = [replace(offer, any_model=not asks_who) for offer in environment_offers(settings)]
    offers += [make_offer(each, caller) for each in stored]
    seen = {server.provider for server in found}
    unseen = [
        LocalServer(name, guide_of(name).title, address) for name, address in local_addresses(settings) if name not in seen
    ]
    local = [_found_offer(server) for server in (*found, *unseen)]
    offers += [replace(offer, any_model=not asks_who) for offer in local if not asks_who or offer.id in chosen_for_all]
    if not asks_who or EMBEDDED in chosen_for_all:
        offers.append(_embedded_offer())
    return Offers(caller, tuple(offers), mine, everyones, allowed)


def environment_offers(settings: Settings) -> list[Offer]:
    """What the environment gives, one offer for each provider."""
    found: dict[str, Offer] = {}

    def add(provider: str, variable: str, *models: str | None) -> None:
        known = found.get(provider) or Offer(
            f"{ENVIRONMENT}{provider}", provider, guide_of(provider).title, "environment", variable=variable
        )
        named = (*known.models, *(model for model in models if model))
        found[provider] = replace(known, models=tuple(dict.fromkeys(named)))

    for provider, access in settings.access.items():
        add(provider, access.variable)
    add_named = {
        OLLAMA: (settings.ollama_model_name, "OLLAMA_MODEL_NAME"),
        LM_STUDIO: (settings.lm_studio_model_name, "LM_STUDIO_MODEL_NAME"),
        LOCAL: (settings.local_model, "STEPWELL_LOCAL_MODEL"),
    }
    for provider, (name, variable) in add_named.items():
        if name:
            add(provider, variable, name)
    for choice, variable in _named(settings):
        add(choice.provider, variable, choice.name)
    return [
        offer if offer.models else replace(offer, models=tuple(filter(None, [guide_of(offer.provider).default_model])))
        for offer in found.values()
    ]


def _named(settings: Settings) -> list[tuple[ModelChoice, str]]:
    """The models that the environment names; a setting that is wrong is reported by the run that would use it."""
    named = []
    try:
        if choice := model_from_environment(settings):
            named.append((choice, "STEPWELL_MODEL" if settings.model else "STEPWELL_MODEL_PROVIDER"))
    except ConfigurationError:
        pass
    for kind, name in settings.task_models.items():
        try:
            named.append((choose_model(name, settings), f"STEPWELL_MODEL_{kind.upper()}"))
        except ConfigurationError:
            continue
    return named


def make_offer(stored: Stored, caller: str | None) -> Offer:
    """A stored connection as a caller sees it."""
    mine = stored.owner == caller
    return Offer(
        stored.id,
        stored.provider,
        stored.label,
        "stored",
        stored.models,
        any_model=mine or not stored.models,
        base_url=stored.base_url,
        stored=stored,
    )


def _found_offer(server: LocalServer) -> Offer:
    label = f"{server.title} on this computer"
    return Offer(
        f"{FOUND}{server.provider}",
        server.provider,
        label,
        "found",
        tuple(model.name for model in server.models),
        base_url=server.base_url,
    )


def _embedded_offer() -> Offer:
    return Offer(EMBEDDED, LOCAL, guide_of(LOCAL).title, "embedded", tuple(CATALOGUE))
