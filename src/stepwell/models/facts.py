"""What is known about a chat model without calling it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from stepwell.models.capabilities import CAPABLE, Capabilities

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True)
class ModelFacts:
    """Each fact is None if the model does not provide it."""

    provider: str | None = None
    name: str | None = None
    context_window: int | None = None
    """Maximum tokens per call."""


def capabilities_of(model: object) -> Capabilities:
    """What a model is able to do: its own statement, or else the default for a provider's current models."""
    own = getattr(model, "capabilities", None)
    if isinstance(own, Capabilities):
        return own
    window = _context_window(model)
    return replace(CAPABLE, context=window) if window else CAPABLE


def describe(model: BaseChatModel) -> ModelFacts:
    """The facts about a model: its provider as its integration names it (LM Studio is `openai`), its name, its context window."""
    return ModelFacts(_provider(model), _name(model), _context_window(model))


def can_see(model: object) -> bool | None:
    """Whether a model takes images; None if its profile does not say."""
    profile = getattr(model, "profile", None)
    sees = profile.get("image_inputs") if isinstance(profile, Mapping) else None
    return sees if isinstance(sees, bool) else None


def can_read_pdf(model: object) -> bool | None:
    """Whether a model takes PDF files; None if its profile does not say."""
    profile = getattr(model, "profile", None)
    reads = profile.get("pdf_inputs") if isinstance(profile, Mapping) else None
    return reads if isinstance(reads, bool) else None


def takes_in_results(model: object, kind: Literal["image", "pdf"]) -> bool:
    """Whether a model's profile says that it takes images or PDF files, and does not except the results of tools."""
    profile = getattr(model, "profile", None)
    if not isinstance(profile, Mapping):
        return False
    return profile.get(f"{kind}_inputs") is True and profile.get(f"{kind}_tool_message") is not False


def _provider(model: BaseChatModel) -> str | None:
    # Not public, but the only place where every integration identifies itself; LangChain's own tracing reads it.
    tracing = getattr(model, "_get_ls_params", None)
    provider = tracing().get("ls_provider") if callable(tracing) else None
    return provider if isinstance(provider, str) else None


def _name(model: BaseChatModel) -> str | None:
    names = (getattr(model, attribute, None) for attribute in ("model_name", "model", "model_id"))
    return next((name for name in names if isinstance(name, str) and name), None)


def _context_window(model: object) -> int | None:
    profile = getattr(model, "profile", None)
    window = profile.get("max_input_tokens") if isinstance(profile, Mapping) else None
    if window is None:
        window = getattr(model, "num_ctx", None)  # Ollama: the window that the server is asked for
    return window if isinstance(window, int) and window > 0 else None
