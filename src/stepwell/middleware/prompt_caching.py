"""Anthropic's prompt caching, from langchain-anthropic, for Anthropic models only."""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.language_models import BaseChatModel


def prompt_caching(model: BaseChatModel) -> AgentMiddleware[Any, Any, Any] | None:
    """The middleware that marks prompts for caching, if this model's provider is Anthropic."""
    if not model._llm_type.startswith("anthropic"):
        return None
    # An Anthropic model is an instance of langchain-anthropic's class, so that package with its middleware is installed.
    from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware

    caching: AgentMiddleware[Any, Any, Any] = AnthropicPromptCachingMiddleware(unsupported_model_behavior="ignore")
    return caching
