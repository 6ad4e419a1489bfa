"""Turns `"provider:name"`, an instance or the environment into a chat model.

```
resolve_model = choose (which model, and why: pure, offline)  ->  build (the provider's chat model)  ->  model_settings
RunModels     = which models one run uses, through which connections (`connected`)
describe      = what is known about a model: provider, name, context window
LocalModels   = the embedded models of this process: pull, load, unload, remove, and a board with their status
usage         = what model calls use, in tokens and money (`pricing` has the prices): for budgets, runs and research
```

Importing this package imports no SDK; a provider's package is imported when one of its models is built. Building a model opens no
connection, so if a server is down, only the first call fails.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stepwell.models.capabilities import CAPABLE, Capabilities
from stepwell.models.choice import ModelChoice, choose_model, find_model, model_from_environment
from stepwell.models.facts import ModelFacts, capabilities_of, describe
from stepwell.models.local.catalogue import CATALOGUE, DEFAULT_LOCAL_MODEL, LocalModel, find_local_model
from stepwell.models.resolve import resolve_model
from stepwell.models.status import ModelEvent, StatusBoard

if TYPE_CHECKING:
    from stepwell.models.local.chat_model import EmbeddedChatModel
    from stepwell.models.local.models import LocalModels, process_local_models

_LATER = {
    "EmbeddedChatModel": "stepwell.models.local.chat_model",
    "LocalModels": "stepwell.models.local.models",
    "process_local_models": "stepwell.models.local.models",
}
"""Names that are imported on first use, because they load LangChain, or what only the embedded model needs."""

__all__ = [
    "CAPABLE",
    "CATALOGUE",
    "DEFAULT_LOCAL_MODEL",
    "Capabilities",
    "EmbeddedChatModel",
    "LocalModel",
    "LocalModels",
    "ModelChoice",
    "ModelEvent",
    "ModelFacts",
    "StatusBoard",
    "capabilities_of",
    "choose_model",
    "describe",
    "find_local_model",
    "find_model",
    "model_from_environment",
    "process_local_models",
    "resolve_model",
]


def __getattr__(name: str) -> Any:
    home = _LATER.get(name)
    if home is None:
        raise AttributeError(f"module 'stepwell.models' has no attribute '{name}'")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value
