"""`stepwell models use`, `test`, and the connected models in `stepwell models list`."""

from __future__ import annotations

import asyncio
import getpass
import sys
from collections.abc import Iterator

from stepwell.cli.model_store import ModelStore
from stepwell.connections.addresses import check_address
from stepwell.errors import ConfigurationError, ModelUnavailableError, StepwellError
from stepwell.models.access import normal_address
from stepwell.models.choice import choose_model, model_from_environment
from stepwell.models.connected import ENVIRONMENT, ConnectedModel, RunModels, using
from stepwell.models.discovery import find_local_servers
from stepwell.models.probe import Probe, ProbeTarget, probe
from stepwell.models.provider_guide import GUIDES, ProviderGuide, guide_of
from stepwell.models.providers import known_provider
from stepwell.settings import Secret, Settings
from stepwell.terminal.own_command import spell_command

_PIPED = 100_000
"""At most this much is read from a pipe: a key is short."""


def default_on_this_machine(settings: Settings) -> RunModels | None:
    """The models of commands, if the environment selects none: the default that is stored in this machine's database."""
    try:
        if model_from_environment(settings):
            return None
        store = ModelStore.open(None, settings)
    except ConfigurationError:  # the command itself reports it
        return None
    chosen = store.default()
    return RunModels(default=chosen) if chosen else None


def use(name: str, *, address: str | None, remove: bool, database_url: str | None) -> int:
    """Connect a provider and make one of its models the default, or remove it. Returns the exit code."""
    guide, model = _read(name)
    settings = Settings.load()
    store = ModelStore.open(database_url, settings)
    if remove:
        return _remove(store, guide)
    if address:
        address = normal_address(guide.id, address) or ""
        asyncio.run(check_address(address, private_allowed=True))
    if guide.needs_key and (why_not := store.keyring.why_not):
        print(why_not, file=sys.stderr)
        return 2
    key = _ask_key(guide)
    found = asyncio.run(probe(ProbeTarget(guide.id, model, key, address), settings=settings))
    if not found.ok or found.model is None:
        print(_sentence(found), "Nothing was stored.", file=sys.stderr)
        return 2
    store.use(guide.id, found.model, key, address)
    print(_verdict(found))
    for line in _where(store, guide, found.model, settings):
        print(line)
    return 0


def test(name: str | None, *, database_url: str | None) -> int:
    """Test the model that would be used, or a named one through the environment or its stored connection."""
    settings = Settings.load()
    found = asyncio.run(probe(find_target(name, settings, ModelStore.open(database_url, settings)), settings=settings))
    if not found.ok:
        print(f"{found.model or name}: {_sentence(found)}", file=sys.stderr)
        return 2
    print(_verdict(found))
    return 0


def show(database_url: str | None) -> None:
    """Print the connected models, and which one is used."""
    settings = Settings.load()
    store = ModelStore.open(database_url, settings)
    try:
        stored = store.default()
        with using(RunModels(default=stored) if stored else None):
            choice = choose_model(None, settings, embedded_fallback=True)
        print(f"Used by default: {choice} ({choice.reason})")
    except StepwellError as error:
        print(f"Used by default: none. {error}")
    for provider, access in settings.access.items():
        print(f"  {guide_of(provider).title}: key in {access.variable}")
    for each in store.connections():
        key = f"key {each.key_hint}" if each.key_hint else "with a key" if each.sealed_key else "no key"
        print(f"  {each.label}: {key}, stored in {store.name}")
    for server in asyncio.run(find_local_servers(settings)):
        names = ", ".join(model.name for model in server.models) or "no models yet"
        print(f"  {server.title} on this computer: {names}")
    print(f"Connect another with: {spell_command('models use PROVIDER')} ({', '.join(GUIDES)})\n")


def _read(name: str) -> tuple[ProviderGuide, str]:
    prefix, _, model = (part.strip() for part in name.partition(":"))
    provider = known_provider(prefix, asked_by=f"'{name}'")
    if provider not in GUIDES:
        raise ModelUnavailableError(
            f"'{provider}' cannot be stored. Set its key in the environment, or use its OpenAI-compatible address with: "
            f"{spell_command('models use openai-compatible')} --address URL. Providers to store: {', '.join(GUIDES)}."
        )
    return GUIDES[provider], model


def _ask_key(guide: ProviderGuide) -> Secret | None:
    """The key, typed without echo, or from a pipe. Only for providers that may need one."""
    if not (guide.needs_key or guide.needs_address):
        return None
    if sys.stdin.isatty():
        hint = f", {guide.key_hint}" if guide.key_hint else ""
        page = f" Get one at {guide.key_page}" if guide.key_page else ""
        prompt = f"Key for {guide.title}{hint}.{page}\n" if guide.needs_key else "Key, or nothing if the server needs none.\n"
        text = getpass.getpass(f"{prompt}Key (not shown): ")
    else:
        text = sys.stdin.read(_PIPED)
    return Secret(text.strip("\r\n")) if text.strip() else None


def _remove(store: ModelStore, guide: ProviderGuide) -> int:
    if store.remove(guide.id):
        print(f"{guide.title} is no longer connected in {store.name}; its key was deleted there.")
        return 0
    print(f"{guide.title} is not connected in {store.name}.")
    return 0


def _where(store: ModelStore, guide: ProviderGuide, model: str, settings: Settings) -> Iterator[str]:
    key = ", the key encrypted" if guide.needs_key else ""
    yield f"{guide.title} with {model} is now the default for commands on this machine and servers on {store.name} (stored there{key})."
    try:
        first = model_from_environment(settings)
    except ConfigurationError:
        first = None
    if first:
        yield f"The environment comes first, though: it selects {first} ({first.reason})."
    yield f"Undo it with: {spell_command(f'models use {guide.id} --remove')}"


def find_target(name: str | None, settings: Settings, store: ModelStore) -> ConnectedModel:
    """The model of this name, or else the one that would be used."""
    if name is None:
        chosen = model_from_environment(settings)
        stored = None if chosen else store.default()
        if stored:
            return stored
        choice = chosen or choose_model(None, settings, embedded_fallback=True)
        return ConnectedModel(f"{ENVIRONMENT}{choice.provider}", 0, choice.provider, choice.name, str(choice))
    prefix, _, model = (part.strip() for part in name.partition(":"))
    provider = known_provider(prefix, asked_by=f"'{name}'")
    stored = None if provider in settings.access else store.of_provider(provider, model)
    return stored or ConnectedModel(f"{ENVIRONMENT}{provider}", 0, provider, model, guide_of(provider).title)


def _verdict(found: Probe) -> str:
    facts = [f"answers after {found.latency_ms} ms"]
    facts += ["streams"] if found.streams else []
    facts += ["calls tools"] if found.tools else []
    facts += ["sees images"] if found.sees else []
    text = f"{found.model} works: it {', '.join(facts)}."
    return f"{text} {found.problem.sentence}" if found.problem else text


def _sentence(found: Probe) -> str:
    return found.problem.sentence if found.problem else "The model does not answer."
