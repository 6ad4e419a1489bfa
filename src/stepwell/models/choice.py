"""Which model is meant, and why. Pure: imports no SDK, opens no connection, asks no server.

```
explicit name > chosen for this run (`connected`) > STEPWELL_MODEL > environment of a local server > STEPWELL_LOCAL_MODEL
  > first provider whose key is set > stored default (`connected`)
  > the embedded model, if the caller asks for it (`embedded_fallback`: the command line and the server do) > error
```

The environment of a local server is `STEPWELL_MODEL_PROVIDER` (or `DEEPAGENTS_MODEL_PROVIDER`); without it, a model name for Ollama or
for LM Studio is enough (Ollama's comes first). An address alone selects nothing, because `OLLAMA_HOST` is also set for the server itself.
A caller with its own last resort calls `find_model`; None means that no model is configured.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from stepwell.errors import ModelUnavailableError
from stepwell.models.connected import ConnectedModel, current_models
from stepwell.models.local.catalogue import CATALOGUE, DEFAULT_LOCAL_MODEL
from stepwell.models.providers import LM_STUDIO, LOCAL, OLLAMA, PROVIDERS, find_provider, known_provider
from stepwell.settings import PROVIDER_VARIABLES, Settings

# Name prefixes of the best-known families. LangChain has a longer list, but it assigns Gemini to Vertex and `gpt-oss` to OpenAI.
_FAMILIES = {
    "claude": "anthropic",
    "gpt-": "openai",
    "chatgpt": "openai",
    "o1": "openai",
    "o3": "openai",
    "gemini": "google_genai",
}
_NOT_OF_THE_FAMILY = ("gpt-oss",)

_NO_MODEL = (
    "No model is configured. Three options: pass one (model='anthropic:claude-sonnet-4-6', or a chat model); "
    "set a provider's key, such as ANTHROPIC_API_KEY, in the environment or in .env; or use a local server: OLLAMA_MODEL_NAME "
    "for Ollama, or STEPWELL_MODEL_PROVIDER=lm-studio with LM_STUDIO_MODEL_NAME. Without any of them, an embedded model can be "
    "asked for by name: model='local:qwen3-4b'; the smallest, 'local:smollm2-135m', talks but cannot use tools."
)


@dataclass(frozen=True)
class ModelChoice:
    """A model by name, and the reason for choosing it."""

    provider: str
    name: str
    reason: str
    connected: ConnectedModel | None = field(default=None, compare=False)
    """The connection to use; None for the environment's access to the provider."""

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}"


def choose_model(model: str | None, settings: Settings, *, embedded_fallback: bool = False) -> ModelChoice:
    """The model that `model` names, or else the one that the run or the environment selects; if there is none, the embedded one, if
    allowed."""
    if model is not None:
        return _read_name(model, "the model argument", fallback=settings.model_provider)
    chosen = find_model(settings)
    if chosen is None and embedded_fallback:
        return ModelChoice(LOCAL, DEFAULT_LOCAL_MODEL, "nothing else is configured")
    if chosen is None:
        raise ModelUnavailableError(_NO_MODEL)
    return chosen


def find_model(settings: Settings) -> ModelChoice | None:
    """The model of the current run, or the one that the environment selects; None if there is neither. Raises if a setting is invalid."""
    models = current_models()
    if models and models.explicit and models.default:
        return connected_choice(models.default)
    if chosen := model_from_environment(settings):
        return chosen
    return connected_choice(models.default) if models and models.default else None


def connected_choice(model: ConnectedModel) -> ModelChoice:
    """The choice of a connected model."""
    return ModelChoice(model.provider, model.name, f"chosen through the connection '{model.label}'", model)


def model_from_environment(settings: Settings) -> ModelChoice | None:
    """The model that the environment selects; None if it says nothing about models. Raises if a setting is invalid."""
    if settings.model:
        return _from_variable(settings.model, settings.model_provider)
    return _local(settings) or _first_with_key(settings)


def _read_name(text: str, source: str, fallback: str | None = None) -> ModelChoice:
    """Parse `provider:name`, or a bare name whose provider is clear."""
    prefix, colon, name = (part.strip() for part in text.partition(":"))
    if not prefix or (colon and not name):
        raise ModelUnavailableError(
            f"'{text}' in {source} is not a model. Write 'provider:name', for example 'openai:gpt-5.5'."
        )
    if colon:
        return ModelChoice(known_provider(prefix, asked_by=f"{source}, '{text}'"), name, f"named by {source}")
    family = _family(prefix)
    if family:
        return ModelChoice(family, prefix, f"named by {source}; the provider follows from the name")
    if fallback:
        provider = known_provider(fallback, asked_by="the environment's model provider")
        return ModelChoice(provider, prefix, f"named by {source}; the provider is the environment's")
    likely = next((provider for start, provider in _FAMILIES.items() if prefix[:3].lower() == start[:3]), "openai")
    raise ModelUnavailableError(
        f"The provider of the model '{prefix}' in {source} is not clear from its name. Write 'provider:name', for example "
        f"'{likely}:{prefix}'. The providers are: {', '.join(sorted(PROVIDERS))}."
    )


def _family(name: str) -> str | None:
    if name.lower().startswith(_NOT_OF_THE_FAMILY):
        return None
    return next((provider for start, provider in _FAMILIES.items() if name.lower().startswith(start)), None)


def _from_variable(text: str, provider: str | None) -> ModelChoice:
    """The model in `STEPWELL_MODEL`. Together with a provider variable it may be a bare name, even one with a colon (an Ollama tag)."""
    if not provider:
        return _read_name(text, "STEPWELL_MODEL")
    wanted = known_provider(provider, asked_by="the environment's model provider")
    prefix, _, name = text.partition(":")
    if name and find_provider(prefix):
        return _read_name(text, "STEPWELL_MODEL")
    return ModelChoice(wanted, text, "named by STEPWELL_MODEL; the provider is the environment's")


def _local(settings: Settings) -> ModelChoice | None:
    """The model that the environment selects by a provider variable, or by the name of a local model."""
    servers = {
        OLLAMA: (settings.ollama_model_name, "OLLAMA_MODEL_NAME"),
        LM_STUDIO: (settings.lm_studio_model_name, "LM_STUDIO_MODEL_NAME"),
        LOCAL: (settings.local_model, "STEPWELL_LOCAL_MODEL"),
    }
    if not settings.model_provider:
        named = ((provider, name, variable) for provider, (name, variable) in servers.items() if name)
        return next((ModelChoice(provider, name, f"{variable} is set") for provider, name, variable in named), None)
    provider = known_provider(settings.model_provider, asked_by="the environment's model provider")
    name, variable = servers.get(provider, (None, "STEPWELL_MODEL"))
    name = name or PROVIDERS[provider].default_model
    if name:
        return ModelChoice(provider, name, f"the environment's model provider is {provider}")
    raise ModelUnavailableError(
        f"The environment's model provider is '{provider}', but {variable} is not set. Set it to the name of a model that "
        "this provider serves."
    )


def _first_with_key(settings: Settings) -> ModelChoice | None:
    for provider, access in settings.access.items():
        name = PROVIDERS[provider].default_model
        if name:
            return ModelChoice(provider, name, f"{access.variable} is set")
    return None


def lacks_key(choice: ModelChoice, settings: Settings) -> bool:
    """Whether the provider takes keys, and none is set for it."""
    return choice.connected is None and choice.provider in PROVIDER_VARIABLES and choice.provider not in settings.access


def warning_about(choice: ModelChoice, settings: Settings) -> str | None:
    """What the chosen model is known to lack: an ability or a key."""
    if choice.provider == LOCAL:
        model = CATALOGUE.get(choice.name)
        return model.cannot if model else None
    if lacks_key(choice, settings):
        keys, _ = PROVIDER_VARIABLES[choice.provider]
        return f"{keys[0]} is not set, so the provider will reject requests. Set it in the environment or in .env."
    return None
