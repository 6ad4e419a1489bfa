"""What people need to know about a provider before they connect it: its title, whether it needs a key or an address, where to get a key.

These are the providers that the page and `stepwell models` offer. Every other one in `providers` works through the environment, and most
of them through `openai-compatible` too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stepwell.errors import ConfigurationError
from stepwell.models.providers import LLAMACPP, LM_STUDIO, LOCAL, OLLAMA, OPENAI_COMPATIBLE, PROVIDERS, check_installed


@dataclass(frozen=True)
class ProviderGuide:
    """One provider in words."""

    id: str
    title: str
    needs_key: bool = False
    needs_address: bool = False
    address: str | None = None
    """The usual address, in the form that the provider's chat model takes; None if there is none."""
    key_prefixes: tuple[str, ...] = ()
    """How its keys start, if they are recognisable."""
    key_page: str | None = None
    """Where to get a key."""
    start: str | None = None
    """For a server on this computer: how to start it, as an instruction without a full stop."""

    @property
    def key_hint(self) -> str | None:
        """How a key looks: `starts with sk-ant-`."""
        return f"starts with {' or '.join(self.key_prefixes)}" if self.key_prefixes else None

    @property
    def install(self) -> str | None:
        """The sentence that says what to install; None if everything is there."""
        try:
            check_installed(self.id)
        except ConfigurationError as error:
            return str(error)
        return None

    @property
    def installed(self) -> bool:
        return self.install is None

    @property
    def default_model(self) -> str | None:
        return PROVIDERS[self.id].default_model

    @property
    def on_this_computer(self) -> bool:
        """Whether it is a server that people usually run on their own computer."""
        return self.start is not None


_GUIDES = (
    ProviderGuide(
        "anthropic",
        "Anthropic",
        needs_key=True,
        address="https://api.anthropic.com",
        key_prefixes=("sk-ant-",),
        key_page="https://console.anthropic.com/settings/keys",
    ),
    ProviderGuide(
        "openai",
        "OpenAI",
        needs_key=True,
        address="https://api.openai.com/v1",
        key_prefixes=("sk-",),
        key_page="https://platform.openai.com/api-keys",
    ),
    ProviderGuide(
        "google_genai",
        "Google Gemini",
        needs_key=True,
        address="https://generativelanguage.googleapis.com",
        key_prefixes=("AIza", "AQ."),
        key_page="https://aistudio.google.com/apikey",
    ),
    ProviderGuide(
        "mistralai",
        "Mistral",
        needs_key=True,
        address="https://api.mistral.ai/v1",
        key_page="https://console.mistral.ai/api-keys",
    ),
    ProviderGuide(OPENAI_COMPATIBLE, "OpenAI-compatible server", needs_address=True),
    ProviderGuide(OLLAMA, "Ollama", address="http://127.0.0.1:11434", start="open the Ollama app, or run 'ollama serve'"),
    ProviderGuide(
        LM_STUDIO,
        "LM Studio",
        address="http://127.0.0.1:1234/v1",
        start="open LM Studio and start its server (Developer, Status), or run 'lms server start'",
    ),
    ProviderGuide(LLAMACPP, "llama.cpp", address="http://127.0.0.1:8080/v1", start="run 'llama-server -m model.gguf --jinja'"),
    ProviderGuide(LOCAL, "Runs inside Stepwell"),
)

GUIDES: Mapping[str, ProviderGuide] = {guide.id: guide for guide in _GUIDES}
"""In the order in which they are offered."""


_NOT_OFFERED = {
    "groq": ProviderGuide("groq", "Groq", needs_key=True, key_prefixes=("gsk_",)),
    "deepseek": ProviderGuide("deepseek", "DeepSeek", needs_key=True, key_prefixes=("sk-",)),
    "xai": ProviderGuide("xai", "xAI", needs_key=True, key_prefixes=("xai-",)),
    "openrouter": ProviderGuide("openrouter", "OpenRouter", needs_key=True, key_prefixes=("sk-or-",)),
}


def guide_of(provider: str) -> ProviderGuide:
    """The guide of any provider; an unknown one has its id as its title."""
    return GUIDES.get(provider) or _NOT_OFFERED.get(provider) or ProviderGuide(provider, provider, needs_key=True)
