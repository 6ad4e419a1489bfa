"""The model that would be used and why, the keys of providers, embedded models, and model servers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from stepwell.cli.operator.doctor.finding import Check, Finding, Installation, Level, count
from stepwell.errors import ConfigurationError, StepwellError
from stepwell.models import resolve_model
from stepwell.models.access import normal_address
from stepwell.models.choice import ModelChoice, lacks_key, warning_about
from stepwell.models.discovery import is_local_address
from stepwell.models.local.catalogue import find_local_model
from stepwell.models.probe import ask_for_models, embedded_problem, key_problem
from stepwell.models.provider_guide import guide_of
from stepwell.models.providers import LLAMACPP, LM_STUDIO, LOCAL, OLLAMA, PROVIDERS, check_installed
from stepwell.settings import PROVIDER_VARIABLES, ProviderAccess, Secret
from stepwell.terminal.own_command import spell_command

_SHOWN = 3
_SERVERS = (OLLAMA, LM_STUDIO, LLAMACPP)


def _check_choice(here: Installation) -> Iterator[Finding]:
    choice = here.choice
    mend = f"Set a provider's key, such as ANTHROPIC_API_KEY, or connect a model: {spell_command('models use anthropic')}"
    if isinstance(choice, StepwellError):
        yield Finding("problem", "No model can be used.", str(choice), "Correct STEPWELL_MODEL, or leave it out.")
        return
    try:
        if choice.connected is None:
            resolve_model(str(choice), settings=here.settings)  # reads names and keys; loads no model and sends no request
    except StepwellError as error:
        yield Finding("problem", f"The model {choice} cannot be used.", str(error), mend)
        return
    if lacks_key(choice, here.settings):
        keys, _ = PROVIDER_VARIABLES[choice.provider]
        yield Finding(
            "problem",
            f"{keys[0]} is not set, and the model {choice} needs it.",
            "The provider will reject requests.",
            f"Set {keys[0]} in the environment or in .env.",
        )
        return
    if choice.provider == LOCAL and not _is_meant(choice, here):
        yield Finding(
            "warning",
            "No model is configured, and no key is set.",
            f"The embedded {choice.name} answers: too small for work.",
            mend,
        )
        return
    if _is_chosen(choice.provider, here) and _key_fault(choice.provider, here):
        return  # reported by `provider-key`
    yield Finding("ok", f"The model is {choice} ({choice.reason}).")


def _check_keys(here: Installation) -> Iterator[Finding]:
    for provider, access in here.settings.access.items():
        if fault := _key_fault(provider, here):
            guide = guide_of(provider)
            page = f" Get one at {guide.key_page}" if guide.key_page else ""
            mend = f"Write the whole key of {guide.title}, and nothing else, into {access.variable}.{page}"
            level: Level = "problem" if _is_chosen(provider, here) else "warning"
            yield Finding(level, f"{access.variable} is not a usable key of {guide.title}.", fault, mend)
        else:
            yield Finding("ok", f"{access.variable} is set, and has the form of a key.")
    unset = [names[0] for provider, (names, _) in PROVIDER_VARIABLES.items() if provider not in here.settings.access]
    if unset:
        more = f" and {len(unset) - _SHOWN} more" if len(unset) > _SHOWN else ""
        shown = f"Provider keys not set: {', '.join(unset[:_SHOWN])}{more}."
        yield Finding("ok", shown, "", "docs/reference/environment.md lists their variables.")


def _key_fault(provider: str, here: Installation) -> str | None:
    """What is wrong with a key of the environment, as far as its text shows it."""
    access = here.settings.access.get(provider)
    if access is None:
        return None
    guide, text, own_address = guide_of(provider), _as_sent(access, here), access.base_url is not None
    if problem := key_problem(guide, Secret(text), own_address=own_address):
        return problem.sentence
    if guide.key_prefixes and not own_address and not text.startswith(guide.key_prefixes):
        return f"A key of {guide.title} {guide.key_hint}."
    return None


def _as_sent(access: ProviderAccess, here: Installation) -> str:
    """The key as the provider's SDK gets it: what it reads from the environment itself, it does not trim."""
    return access.key.reveal() if access.handed_over else here.variables.get(access.variable) or access.key.reveal()


def _is_chosen(provider: str, here: Installation) -> bool:
    return isinstance(here.choice, ModelChoice) and here.choice.provider == provider and here.choice.connected is None


def _check_packages(here: Installation) -> Iterator[Finding]:
    for provider, access in here.settings.access.items():
        try:
            check_installed(provider)
        except ConfigurationError as error:
            known = PROVIDERS[provider]
            package = f"'stepwell[{known.extra}]'" if known.extra else known.package.replace("_", "-")
            level: Level = "problem" if _is_chosen(provider, here) else "warning"
            what = f"{access.variable} is set, but the package of {provider} is missing."
            yield Finding(level, what, str(error), f"pip install {package}")


def _check_embedded(here: Installation) -> Iterator[Finding]:
    choice = here.choice
    if isinstance(choice, StepwellError) or choice.provider != LOCAL:
        return
    if problem := embedded_problem(choice.name, here.settings):
        what = f"The embedded model {choice.name} is not on this machine."
        if problem.kind == "model_not_pulled" and (known := find_local_model(choice.name)):
            why = f"Its first use downloads {known.download_size}."
            yield Finding("note", what, why, f"To do it now: {spell_command('models pull')} {choice.name}")
        else:
            yield Finding("problem", what, problem.sentence, "Check the name or the path.")
    if _is_meant(choice, here) and (warning := warning_about(choice, here.settings)):
        yield Finding("warning", f"{choice} is a small model.", warning, f"Connect a larger one: {spell_command('models use')}")


def _is_meant(choice: ModelChoice, here: Installation) -> bool:
    """Whether the user has chosen the model; otherwise it is the last resort."""
    return bool(here.settings.model or here.settings.model_provider or here.settings.local_model or choice.connected)


def _check_model_server(here: Installation) -> Iterator[Finding]:
    choice = here.choice
    if isinstance(choice, StepwellError) or choice.provider not in _SERVERS or choice.connected:
        return
    settings = here.settings
    written = {OLLAMA: settings.ollama_address, LM_STUDIO: settings.lm_studio_address, LLAMACPP: settings.llamacpp_address}
    key = settings.lm_studio_api_key if choice.provider == LM_STUDIO else None
    yield from _ask(here, choice.provider, choice.name, key, written[choice.provider])


def _check_online(here: Installation) -> Iterator[Finding]:
    for provider, access in here.settings.access.items() if here.online else ():
        name = here.choice.name if isinstance(here.choice, ModelChoice) and _is_chosen(provider, here) else ""
        yield from _ask(here, provider, name, access.key, access.base_url)


def _ask(here: Installation, provider: str, name: str, key: Secret | None, written: str | None) -> Iterator[Finding]:
    """Ask for the list of models, which costs nothing."""
    title = guide_of(provider).title
    try:
        address = normal_address(provider, written)
    except ConfigurationError as error:
        yield Finding("problem", f"The address of {title} is invalid.", str(error), "Correct the variable with its address.")
        return
    if address is None:
        yield Finding("note", f"{title} has no list of models that we know.", "", spell_command("models test"))
        return
    if not here.online and not is_local_address(address):
        return
    problem, listed = asyncio.run(ask_for_models(provider, name, key, address))
    if problem:
        mend = f"Afterwards test it: {spell_command('models test')}"
        # A provider may know names that it does not list; Ollama does not.
        level: Level = "warning" if problem.kind == "model_unknown" else "problem"
        yield Finding(level, f"{title} cannot be used now.", problem.sentence, mend)
    else:
        yield Finding("ok", f"{title} answers and accepts the request; it lists {count(listed, 'chat model', 'chat models')}.")


CHECKS = (
    Check(
        "model",
        "no model or key is set, the model's name has no known provider, or its key is missing",
        "set a provider's key, or `stepwell models use PROVIDER`",
        _check_choice,
    ),
    Check(
        "provider-key",
        "a key has spaces or quotation marks, is too short or a placeholder, or does not start as the provider's keys do",
        "write the whole key alone into its variable",
        _check_keys,
    ),
    Check(
        "provider-package",
        "a key is set, and the provider's package is not installed",
        "`pip install` as the finding says",
        _check_packages,
    ),
    Check(
        "embedded-model",
        "the embedded model is unknown, not downloaded, or too small for work",
        "`stepwell models pull ID`, or another model",
        _check_embedded,
    ),
    Check(
        "model-server",
        "Ollama, LM Studio or llama.cpp is chosen on this machine, and does not answer or lacks the model",
        "start it, or pull the model",
        _check_model_server,
    ),
    Check(
        "provider-online",
        "with `--online`: a provider rejects the key, is unreachable, or does not list the model",
        "as the finding says; then `stepwell models test`",
        _check_online,
    ),
)
