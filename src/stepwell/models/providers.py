"""The model providers: the package each needs, and its default model.

The names are those of LangChain's `init_chat_model` (a test compares them), plus `local`, which runs in this process, and three that
use OpenAI's protocol: `lm-studio`, `llamacpp` and `openai-compatible` (any address). The variables for the providers' keys are in
`stepwell.settings`; what people read about a provider is in `provider_guide`.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepwell.errors import MissingExtraError, ModelUnavailableError
from stepwell.models.local.catalogue import DEFAULT_LOCAL_MODEL
from stepwell.validation import suggest

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

LM_STUDIO = "lm-studio"
LOCAL = "local"
OLLAMA = "ollama"
LLAMACPP = "llamacpp"
OPENAI_COMPATIBLE = "openai-compatible"

SPEAK_OPENAI = frozenset({LM_STUDIO, LLAMACPP, OPENAI_COMPATIBLE})
"""Servers that are not OpenAI, but use its chat completions protocol."""


@dataclass(frozen=True)
class Provider:
    """Where to find a provider's chat model."""

    module: str
    chat_model: str
    """The class, a name in `module`."""
    extra: str | None = None
    """The extra of Stepwell that installs the package; without one the package is installed by its own name."""
    default_model: str | None = None
    """The model to use if only the provider's name or key is given."""
    needs: str | None = None
    """The package to look for, if it is not the module's own."""

    @property
    def package(self) -> str:
        return self.needs or self.module.partition(".")[0]


PROVIDERS: Mapping[str, Provider] = {
    "anthropic": Provider("langchain_anthropic", "ChatAnthropic", "anthropic", "claude-sonnet-4-6"),
    "openai": Provider("langchain_openai", "ChatOpenAI", "openai", "gpt-5.5"),
    "google_genai": Provider(
        "langchain_google_genai", "ChatGoogleGenerativeAI", extra="google", default_model="gemini-flash-latest"
    ),
    "mistralai": Provider("langchain_mistralai", "ChatMistralAI", extra="mistral", default_model="mistral-large-latest"),
    "groq": Provider("langchain_groq", "ChatGroq", default_model="openai/gpt-oss-120b"),
    "deepseek": Provider("langchain_deepseek", "ChatDeepSeek", default_model="deepseek-v4-pro"),
    "xai": Provider("langchain_xai", "ChatXAI", default_model="grok-4.5"),
    "openrouter": Provider("langchain_openrouter", "ChatOpenRouter", default_model="anthropic/claude-sonnet-4.5"),
    OLLAMA: Provider("langchain_ollama", "ChatOllama", "ollama"),
    LM_STUDIO: Provider("langchain_openai", "ChatOpenAI", "openai"),
    LLAMACPP: Provider("langchain_openai", "ChatOpenAI", "openai"),
    OPENAI_COMPATIBLE: Provider("langchain_openai", "ChatOpenAI", "openai"),
    LOCAL: Provider("stepwell.models.local.chat_model", "EmbeddedChatModel", "local", DEFAULT_LOCAL_MODEL, needs="xllamacpp"),
    "anthropic_bedrock": Provider("langchain_aws", "ChatAnthropicBedrock"),
    "azure_ai": Provider("langchain_azure_ai.chat_models", "AzureAIOpenAIApiChatModel"),
    "azure_openai": Provider("langchain_openai", "AzureChatOpenAI", "openai"),
    "baseten": Provider("langchain_baseten", "ChatBaseten"),
    "bedrock": Provider("langchain_aws", "ChatBedrock"),
    "bedrock_converse": Provider("langchain_aws", "ChatBedrockConverse"),
    "bedrock_mantle_anthropic": Provider("langchain_aws", "ChatAnthropicMantle"),
    "bedrock_mantle_openai": Provider("langchain_aws", "ChatOpenAIMantle"),
    "cohere": Provider("langchain_cohere", "ChatCohere"),
    "fireworks": Provider("langchain_fireworks", "ChatFireworks"),
    "google_anthropic_vertex": Provider("langchain_google_vertexai.model_garden", "ChatAnthropicVertex"),
    "google_vertexai": Provider("langchain_google_vertexai", "ChatVertexAI"),
    "huggingface": Provider("langchain_huggingface", "ChatHuggingFace"),
    "ibm": Provider("langchain_ibm", "ChatWatsonx"),
    "langsmith": Provider("langchain_openai", "ChatOpenAI", "openai"),
    "litellm": Provider("langchain_litellm", "ChatLiteLLM"),
    "meta": Provider("langchain_meta", "ChatMetaModel"),
    "nvidia": Provider("langchain_nvidia_ai_endpoints", "ChatNVIDIA"),
    "perplexity": Provider("langchain_perplexity", "ChatPerplexity"),
    "together": Provider("langchain_together", "ChatTogether"),
    "upstage": Provider("langchain_upstage", "ChatUpstage"),
}

_OTHER_SPELLINGS = {
    "lm_studio": LM_STUDIO,
    "lmstudio": LM_STUDIO,
    "llama.cpp": LLAMACPP,
    "llama_cpp": LLAMACPP,
    "openai_compatible": OPENAI_COMPATIBLE,
    "google": "google_genai",
    "mistral": "mistralai",
}


def find_provider(name: str) -> str | None:
    """The provider for a name in any spelling (`Google-GenAI`, `lm_studio`), or None."""
    plain = name.strip().lower().replace("-", "_")
    known = _OTHER_SPELLINGS.get(plain, plain)
    return known if known in PROVIDERS else None


def known_provider(name: str, *, asked_by: str) -> str:
    """Like `find_provider`, but an unknown name is an error; `asked_by` says where the name came from."""
    found = find_provider(name)
    if found:
        return found
    raise ModelUnavailableError(
        f"Unknown model provider '{name}' in {asked_by}.{suggest(name.lower(), PROVIDERS)} "
        f"Known providers: {', '.join(sorted(PROVIDERS))}. "
        "A name that contains a colon needs its provider in front, as in 'ollama:qwen3:8b'."
    )


def chat_model_class(provider: str) -> type[BaseChatModel]:
    """The class of a provider's models, imported now; for a missing package the error names the command that installs it."""
    check_installed(provider)
    return _import_class(provider, PROVIDERS[provider])


def check_installed(provider: str) -> None:
    """Raise an error if the provider's package is not installed. Imports nothing."""
    needed = PROVIDERS[provider]
    if importlib.util.find_spec(needed.package):
        return
    if needed.extra:
        raise MissingExtraError(f"The model provider '{provider}'", needed.extra)
    distribution = needed.package.replace("_", "-")
    raise ModelUnavailableError(
        f"The model provider '{provider}' needs the package {distribution}, which is not installed. "
        f"Install it with: pip install {distribution}"
    )


def _import_class(provider: str, needed: Provider) -> type[BaseChatModel]:
    try:
        found: type[BaseChatModel] = getattr(importlib.import_module(needed.module), needed.chat_model)
    except (ImportError, AttributeError) as error:
        raise ModelUnavailableError(
            f"The package of the model provider '{provider}' is installed but cannot be used ({type(error).__name__}): it does "
            f"not fit the other packages. Update it with: pip install -U {needed.package.replace('_', '-')}"
        ) from error
    return found
