"""Builds the chat model that a name, an instance or the environment selects.

LangChain's `init_chat_model` constructs it; this module adds the local servers, the keys that the SDK cannot see, and errors that say
what to do. It calls no model and opens no connection. Time-outs, retries and routing are elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stepwell.errors import ConfigurationError, ModelUnavailableError
from stepwell.models.access import access_arguments
from stepwell.models.addresses import server_url
from stepwell.models.choice import ModelChoice, choose_model
from stepwell.models.connected import ENVIRONMENT, ConnectedModel, current_models
from stepwell.models.connected_access import connected_arguments, finish
from stepwell.models.model_settings import construction_settings, with_settings
from stepwell.models.provider_guide import guide_of
from stepwell.models.providers import LLAMACPP, LM_STUDIO, LOCAL, OLLAMA, OPENAI_COMPATIBLE, SPEAK_OPENAI, chat_model_class
from stepwell.settings import PROVIDER_VARIABLES, Settings
from stepwell.validation import name_place, reason_of

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def resolve_model(
    model: str | BaseChatModel | None,
    *,
    settings: Settings | None = None,
    model_settings: Mapping[str, Any] | None = None,
    embedded_fallback: bool = False,
    own_retries: bool = True,
) -> BaseChatModel:
    """The chat model for an instance, a `"provider:name"`, or (None) the environment.

    `model_settings` are keyword settings such as `temperature`: passed to the constructor of a named model, or applied to a copy of an
    instance, which itself is never changed. A `model` among them (with `model_provider`, if it is a bare name) replaces the first argument.
    An instance without settings is returned unchanged.

    `embedded_fallback` makes the embedded model the last resort instead of an error. It is for programs that tell their user about it (the
    command line, the server): the embedded default shows that everything works, but cannot do real work.

    `own_retries=False` switches off the SDK's own retries, for agents whose `RobustCallsMiddleware` asks again: otherwise each of its
    attempts would be several requests, which the user waits for and nobody counts.
    """
    wanted = dict(model_settings or {})
    model = _choose_named(wanted.pop("model", None), wanted.pop("model_provider", None), model)
    if model is None or isinstance(model, str):
        settings = settings if settings is not None else Settings.load()
        choice = choose_model(model, settings, embedded_fallback=embedded_fallback)
        return build_model(choice, settings, wanted if own_retries else {**no_retries(choice.provider), **wanted})
    _refuse_what_is_no_model(model)
    return with_settings(model, wanted) if wanted else model


def build_model(choice: ModelChoice, settings: Settings, model_settings: Mapping[str, Any] | None = None) -> BaseChatModel:
    """Construct the chosen model, offline."""
    kind = chat_model_class(choice.provider)
    # Without this check a misspelt setting would be dropped, or sent to the provider unchanged.
    checked = construction_settings(kind, model_settings or {}, owner=f"the model '{choice}'")
    connected = choice.connected
    of_environment = connected is None or connected.from_environment or connected.provider == LOCAL
    ours = _arguments(choice.provider, settings) if connected is None or of_environment else connected_arguments(connected)
    built = _construct(choice, {**ours, **checked}, settings)
    if connected is not None:
        finish(built, connected)
    return _note_calls(built, choice)


def no_retries(provider: str) -> dict[str, int]:
    """The setting that makes a provider's SDK ask once."""
    if "max_retries" not in chat_model_class(provider).model_fields:
        return {}
    return {"max_retries": 1 if provider == "google_genai" else 0}  # Google's SDK counts attempts, and takes 0 for its default


def _note_calls(built: BaseChatModel, choice: ModelChoice) -> BaseChatModel:
    """Inside a run, every message says which model wrote it."""
    if choice.connected is None and current_models() is None:
        return built
    from stepwell.models.connected_calls import note_calls

    provider, title = choice.provider, guide_of(choice.provider).title
    used = choice.connected or ConnectedModel(f"{ENVIRONMENT}{provider}", 0, provider, choice.name, title)
    return note_calls(built, used)


def _choose_named(name: object, provider: object, model: str | BaseChatModel | None) -> Any:
    """The model that `model` and `model_provider` among the settings name, or else the given one."""
    if provider is None:
        return model if name is None else name
    if not isinstance(name, str):
        raise ConfigurationError("The model setting 'model_provider' needs a 'model' beside it: the name of one of its models.")
    return f"{provider}:{name}"


def _refuse_what_is_no_model(model: object) -> None:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable

    # A configurable model of `init_chat_model` is not a BaseChatModel, but binds tools like one.
    if isinstance(model, BaseChatModel) or (isinstance(model, Runnable) and callable(getattr(model, "bind_tools", None))):
        return
    raise ConfigurationError(
        f"A {type(model).__name__} is not a model. Pass 'provider:name', an instance of a LangChain chat model, or None for "
        "the model of the environment."
    )


def _arguments(provider: str, settings: Settings) -> dict[str, Any]:
    """The arguments that the SDK would not find by itself."""
    if provider == LOCAL:
        from stepwell.models.local.models import process_local_models

        return {"local_models": process_local_models(settings)}
    if provider == OLLAMA:
        return {"base_url": server_url(settings.ollama_address, default_port=11434, variable="OLLAMA_BASE_URL or OLLAMA_HOST")}
    if provider == LM_STUDIO:
        address = server_url(settings.lm_studio_address, default_port=1234, default_path="/v1", variable="LM_STUDIO_BASE_URL")
        return access_arguments(provider, settings.lm_studio_api_key, address)
    if provider == LLAMACPP:
        address = server_url(settings.llamacpp_address, default_port=8080, default_path="/v1", variable="LLAMACPP_BASE_URL")
        return access_arguments(provider, None, address)
    if provider == OPENAI_COMPATIBLE:
        raise ModelUnavailableError(
            "A model of an OpenAI-compatible server needs the server's address. Connect the server with: "
            "stepwell models use openai-compatible"
        )
    from pydantic import SecretStr

    # At an address of the user's LangChain would not ask for the tokens used, and they could only be estimated.
    counted = {"stream_usage": True} if provider == "openai" else {}
    access = settings.access.get(provider)
    if access is None or not access.handed_over:
        return counted
    address_argument = {"base_url": access.base_url} if access.base_url else {}
    return {"api_key": SecretStr(access.key.reveal()), **address_argument, **counted}


def _construct(choice: ModelChoice, arguments: Mapping[str, Any], settings: Settings) -> BaseChatModel:
    from langchain.chat_models import init_chat_model
    from pydantic import ValidationError

    provider = "openai" if choice.provider in SPEAK_OPENAI else choice.provider
    try:
        if provider == LOCAL:
            return _build_embedded(choice.name, arguments)
        built: BaseChatModel = init_chat_model(choice.name, model_provider=provider, **arguments)
    except ValidationError as error:
        faults = "; ".join(
            f"{name_place(fault['loc'], 'it')}: {reason_of(fault)}" for fault in error.errors(include_input=False)
        )
        # Not chained: pydantic prints the values it was given.
        raise ModelUnavailableError(f"The model '{choice}' cannot be built: {faults}.") from None
    except ConfigurationError:
        raise
    except Exception as error:
        # Integrations raise whatever their SDK raises; in each case the model is unavailable.
        raise ModelUnavailableError(_why_not(choice, error, settings)) from error
    return built


def _build_embedded(name: str, arguments: Mapping[str, Any]) -> BaseChatModel:
    from stepwell.models.local.catalogue import find_local_model
    from stepwell.models.local.chat_model import EmbeddedChatModel

    find_local_model(name)  # an unknown name is rejected now, not at the first call
    return EmbeddedChatModel(model=name, **arguments)


def _why_not(choice: ModelChoice, error: Exception, settings: Settings) -> str:
    keys, _ = PROVIDER_VARIABLES.get(choice.provider, ((), ()))
    if keys and choice.provider not in settings.access:
        return (
            f"The model '{choice}' cannot be built without a key: {keys[0]} is not set. Set it in the environment or in .env, "
            "or pass an instance of the chat model."
        )
    return f"The model '{choice}' cannot be built: {type(error).__name__}: {error}"
