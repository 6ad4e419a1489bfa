"""What is known about a model's abilities by its name, without calling it: from LangChain's model profiles, from the catalogue of embedded
models, from a local server's own statement. Unknown abilities are None; nothing is guessed.

`capabilities` is the other question: what an application may assume about a model that it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from stepwell.errors import StepwellError
from stepwell.models.local.catalogue import find_local_model
from stepwell.models.providers import LOCAL, OLLAMA, SPEAK_OPENAI, chat_model_class

if TYPE_CHECKING:
    from stepwell.models.discovery import LocalServer


@dataclass(frozen=True)
class Abilities:
    """None means: not known."""

    tools: bool | None = None
    """It calls tools."""
    sees: bool | None = None
    """It takes images."""
    writes: bool = True
    """What it writes can be shown to a person as an answer; false only for the tiny embedded model."""
    context: int | None = None
    """Maximum tokens per call."""


def abilities_of(provider: str, name: str, found: Iterable[LocalServer] = ()) -> Abilities:
    """The abilities of a model; `found` are the local servers of `discovery`, if their models are meant.

    May import a provider's package, so code on an event loop calls it in a thread. Results are remembered."""
    if provider == LOCAL:
        return _of_embedded(name)
    if provider == OLLAMA or provider in SPEAK_OPENAI:
        return _of_local_server(provider, name, found)
    return _of_profile(provider, name)


def _of_embedded(name: str) -> Abilities:
    try:
        model = find_local_model(name)
    except StepwellError:
        return Abilities()
    if model is None:  # a user's own file
        return Abilities(sees=False)
    able = model.capabilities
    return Abilities(tools=able.tools, sees=False, writes=able.writes, context=able.context)


def _of_local_server(provider: str, name: str, found: Iterable[LocalServer]) -> Abilities:
    models = (model for server in found if server.provider == provider for model in server.models)
    model = next((model for model in models if model.name in (name, f"{name}:latest")), None)
    return Abilities(model.tools, model.sees, True, model.context) if model else Abilities()


@lru_cache(maxsize=1024)
def _of_profile(provider: str, name: str) -> Abilities:
    try:
        # Offline, and never called: the key only satisfies the constructor.
        kind: Any = chat_model_class(provider)
        profile = kind(model=name, api_key="none").profile
    except Exception:  # whatever an integration raises for a name or an argument that it does not know
        return Abilities()
    if not isinstance(profile, Mapping) or not profile:
        return Abilities()
    window = profile.get("max_input_tokens")
    return Abilities(
        tools=profile.get("tool_calling"), sees=profile.get("image_inputs"), context=window if isinstance(window, int) else None
    )
