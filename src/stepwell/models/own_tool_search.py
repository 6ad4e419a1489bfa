"""Whether a model's provider searches tools itself, so that deferred tools can be sent to it with a mark and are read only when needed.

Anthropic does so from Claude 4.5 on, OpenAI from GPT-5.4 on. A server that only speaks a provider's protocol may not, so the address
counts too.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel

_VERSIONS = {
    "ChatAnthropic": (re.compile(r"claude-(?:[a-z]+-)*(\d+)(?:[-.](\d{1,2}))?(?![\d])"), (4, 5)),
    "ChatOpenAI": (re.compile(r"gpt-(\d+)(?:\.(\d{1,2}))?(?![\d])"), (5, 4)),
}
_HOSTS = {"ChatAnthropic": "api.anthropic.com", "ChatOpenAI": "api.openai.com"}


def searches_tools_itself(model: BaseChatModel) -> bool:
    """Whether this model has its provider's tool search."""
    kind = type(model).__name__
    if kind not in _VERSIONS:
        return False
    pattern, first = _VERSIONS[kind]
    found = pattern.match(str(getattr(model, "model", None) or getattr(model, "model_name", "")))
    if found is None or (int(found[1]), int(found[2] or 0)) < first:
        return False
    return all(urlsplit(str(address)).hostname == _HOSTS[kind] for address in _addresses(model, kind))


def _addresses(model: BaseChatModel, kind: str) -> list[object]:
    """Where the model's calls go; None for a client that was given to it, whose address is not known."""
    if kind == "ChatAnthropic":
        return [getattr(model, "anthropic_api_url", None)]
    # Only the clients know an address from the environment.
    clients = [getattr(model, name, None) for name in ("root_client", "root_async_client")]
    return [getattr(client, "base_url", None) for client in clients]
