"""The context window of a model, by the label under which its calls are counted (`provider:name`)."""

from __future__ import annotations

from functools import lru_cache

from stepwell.errors import StepwellError
from stepwell.models.facts import describe
from stepwell.models.local.catalogue import CATALOGUE
from stepwell.models.providers import LOCAL
from stepwell.models.resolve import resolve_model


@lru_cache(maxsize=64)
def context_window_of(model: str) -> int | None:
    """The context window in tokens; `None` if unknown. May import a provider's package, so code on an event loop calls it in a thread."""
    provider, _, name = model.partition(":")
    if provider == LOCAL:
        return CATALOGUE[name].capabilities.context if name in CATALOGUE else None
    try:
        return describe(resolve_model(model)).context_window if name else None
    except StepwellError:  # a provider that is no longer configured here
        return None
