"""Builds the chat model that a name, an instance or the environment selects.

LangChain's `init_chat_model` constructs it; this module adds the local servers, the keys that the SDK cannot see, and errors that say
what to do. It calls no model and opens no connection. Time-outs, retries and routing are elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stepwell.errors import ConfigurationError, ModelUnavailableError
from stepwell.models.addresses import server_url
from stepwell.models.choice import ModelChoice, choose_model
from stepwell.models.model_settings import construction_settings, with_settings
from stepwell.models.providers import LM_STUDIO, LOCAL, OLLAMA, chat_model_class
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
) -> BaseChatModel:
    """The chat model for an instance, a `"provider:name"`, or (None) the environment.

    `model_settings` are keyword settings such as `temperature`: passed to the constructor of a named model, or applied to a copy of an
    instance, which itself is never changed. A `model` among them (with `model_provider`, if it is a bare name) replaces the first argument.
    An instance without settings is returned unchanged.

    `embedded_fallback` makes the embedded model the last resort instead of an error. It is for programs that tell their user about it (the
    command line, the server): the embedded default shows that everything works, but cannot do real work.
    """
    wanted = dict(model_settings or {})
    model = _choose_named(wanted.pop("model", None), wanted.pop("model_provider", None), model)
    if model is None or isinstance(model, str):
        settings = settings if settings is not None else Settings.load()
        return build_model(choose_model(model, settings, embedded_fallback=embedded_fallback), settings, wanted)
    _refuse_what_is_no_model(model)
    return with_settings(model, wanted) if wanted else model


def build_model(choice: ModelChoice, settings: Settings, model_settings: Mapping[str, Any] | None = None) -> BaseChatModel:
    """Construct the chosen model, offline."""
    kind = chat_model_class(choice.provider)
    # Without this check a misspelt setting would be dropped, or sent to the provider unchanged.
    checked = construction_settings(kind, model_settings or {}, owner=f"the model '{choice}'")
    return _construct(choice, {**_arguments(choice.provider, settings), **checked}, settings)


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
    if provider == OLLAMA:
        return {"base_url": server_url(settings.ollama_address, default_port=11434, variable="OLLAMA_BASE_URL or OLLAMA_HOST")}
    if provider == LOCAL:
        from stepwell.models.local.models import process_local_models

        return {"local_models": process_local_models(settings)}
    from pydantic import SecretStr

    if provider == LM_STUDIO:
        address = settings.lm_studio_address
        key = settings.lm_studio_api_key
        return {
            "base_url": server_url(address, default_port=1234, default_path="/v1", variable="LM_STUDIO_BASE_URL"),
            "api_key": SecretStr(key.reveal() if key else "lm-studio"),  # the server needs none, but the SDK does
            "use_responses_api": False,
            "stream_usage": True,
        }
    access = settings.access.get(provider)
    if access is None or not access.handed_over:
        return {}
    address_argument = {"base_url": access.base_url} if access.base_url else {}
    return {"api_key": SecretStr(access.key.reveal()), **address_argument}


def _construct(choice: ModelChoice, arguments: Mapping[str, Any], settings: Settings) -> BaseChatModel:
    from langchain.chat_models import init_chat_model
    from pydantic import ValidationError

    provider = "openai" if choice.provider == LM_STUDIO else choice.provider
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
