"""Models as JSON: the one that runs here, what it can do, and those that can be loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from stepwell.errors import StepwellError
from stepwell.models.capabilities import CAPABLE
from stepwell.models.choice import ModelChoice
from stepwell.models.local.catalogue import CATALOGUE, LocalModel
from stepwell.models.providers import LOCAL
from stepwell.models.status import ModelEvent, ModelStatus
from stepwell.models.window import context_window_of
from stepwell.server.model_loading import ModelLoading

if TYPE_CHECKING:
    from stepwell.models.local.models import LocalModels

BETTER = "For a better one, connect a model under Settings > Models, or with `stepwell models use`."
ELSEWHERE = "The graphs served here choose their models themselves."


class ModelResponse(BaseModel):
    id: str = Field(description="`provider:name`")
    name: str
    provider: str
    embedded: bool = Field(description="Whether it runs in the server's own process")
    tools: bool = Field(description="Whether it can use tools reliably")
    writes: bool = Field(description="Whether its text is good enough to show as an answer")
    context: int = Field(description="Context limit in tokens; for a provider's model that we do not know, an assumption")
    size_bytes: int | None
    downloaded: bool
    about: str
    status: ModelStatus
    progress: float | None = Field(description="Per cent, while it is being downloaded")
    message: str | None


class CurrentModel(ModelResponse):
    reason: str = Field(description="Why this model was chosen")


class ModelsResponse(BaseModel):
    current: CurrentModel | None
    problem: str | None = Field(description="Why no model can be used; null if one can")
    sentence: str = Field(description="A sentence that says which model runs now, and how to get a better one")
    embedded: list[ModelResponse] = Field(description="The embedded models that can be loaded here")


def describe_models(loading: ModelLoading) -> dict[str, Any]:
    """May import a provider's package, so call it in a thread, outside the event loop."""
    local = loading.local_models()
    embedded = [_embedded(model, local) for model in CATALOGUE.values()] if local else []
    try:
        choice = loading.choice()
    except StepwellError as error:
        return {"current": None, "problem": str(error), "sentence": f"No model can be used: {error}", "embedded": embedded}
    if choice is None:
        return {"current": None, "problem": None, "sentence": ELSEWHERE, "embedded": embedded}
    current = _current(choice, local)
    return {"current": current, "problem": None, "sentence": _sentence(choice, current), "embedded": embedded}


def _current(choice: ModelChoice, local: LocalModels | None) -> dict[str, Any]:
    known = CATALOGUE.get(choice.name) if choice.provider == LOCAL else None
    if known and local:
        return {**_embedded(known, local), "reason": choice.reason}
    own_file = choice.provider == LOCAL
    event = local.status(choice.name) if own_file and local else ModelEvent(choice.name, "ready")
    return {
        # For an operator's own file we show only its name, never its path.
        "id": f"{choice.provider}:{event.model_id}",
        "name": event.model_id,
        "provider": choice.provider,
        "embedded": own_file,
        "tools": CAPABLE.tools,
        "writes": CAPABLE.writes,
        "context": context_window_of(str(choice)) or CAPABLE.context,
        "size_bytes": None,
        "downloaded": True,
        "about": "",
        **_status(event),
        "reason": choice.reason,
    }


def _embedded(model: LocalModel, local: LocalModels) -> dict[str, Any]:
    return {
        "id": f"{LOCAL}:{model.id}",
        "name": model.title,
        "provider": LOCAL,
        "embedded": True,
        "tools": model.capabilities.tools,
        "writes": model.capabilities.writes,
        "context": model.capabilities.context,
        "size_bytes": model.size_bytes,
        "downloaded": local.is_downloaded(model.id),
        "about": model.cannot,
        **_status(local.status(model.id)),
    }


def _status(event: ModelEvent) -> dict[str, Any]:
    part = event.progress if event.status == "downloading" else None
    return {
        "status": event.status,
        "progress": None if part is None else round(part * 100, 1),
        "message": event.message,
    }


def _sentence(choice: ModelChoice, current: dict[str, Any]) -> str:
    runs = f"{current['name']} runs here, because {choice.reason}."
    return runs if current["tools"] else f"{runs} {current['about']} {BETTER}"
