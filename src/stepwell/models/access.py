"""How to reach a provider: the arguments of its chat model for a key and an address, and addresses as people write them.

The one place that knows what each chat model calls these arguments, and which form of address it takes: OpenAI's and Mistral's end in
`/v1`, those of Anthropic, Google and Ollama do not.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from stepwell.errors import ConfigurationError
from stepwell.models.addresses import server_url
from stepwell.models.provider_guide import guide_of
from stepwell.models.providers import LLAMACPP, LM_STUDIO, LOCAL, OLLAMA, SPEAK_OPENAI
from stepwell.settings import Secret

_LOCAL_PORTS = {OLLAMA: (11434, ""), LM_STUDIO: (1234, "/v1"), LLAMACPP: (8080, "/v1")}
"""The port and the path that a local server has if its address does not say."""


def normal_address(provider: str, address: str | None) -> str | None:
    """The address for a provider's chat model, from an address as people write it; the usual one for None. Raises `ConfigurationError`,
    whose message does not contain the address (it may contain a password)."""
    text = (address or "").strip().rstrip("/")
    if not text:
        return guide_of(provider).address
    if "?" in text or "#" in text:
        raise ConfigurationError("The address contains '?' or '#'. Leave that part out; a key is entered separately.")
    if provider in _LOCAL_PORTS:
        port, path = _LOCAL_PORTS[provider]
        return server_url(text, default_port=port, default_path=path, variable="The address")
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid or any(character.isspace() for character in text):
        raise ConfigurationError(
            "The address is not the address of a server. Write it with http:// or https://, for example 'https://models.example.com/v1'."
        )
    return text


def access_arguments(provider: str, key: Secret | None, base_url: str | None) -> dict[str, Any]:
    """The arguments for the constructor of the provider's chat model."""
    if provider == LOCAL:
        return {}
    from pydantic import SecretStr

    address = {"base_url": normal_address(provider, base_url)} if base_url or provider in _LOCAL_PORTS else {}
    if provider == OLLAMA:
        # Ollama itself needs no key; one may be needed by a proxy in front of it, or by its cloud.
        return {**address, "client_kwargs": {"headers": {"Authorization": f"Bearer {key.reveal()}"}}} if key else address
    if provider in SPEAK_OPENAI:
        secret = SecretStr(key.reveal() if key else "none")  # most of these servers need no key, but the SDK does
        return {**address, "api_key": secret, "use_responses_api": False, "stream_usage": True}
    return {**address, "api_key": SecretStr(key.reveal())} if key else address
