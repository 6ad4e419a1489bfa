"""Loads the embedded model on request and reports progress. It is loaded once, however many requests there are: later ones join in.

The model's own thread does the work (`stepwell.models.local`); this module passes its events to the event loop.
"""

from __future__ import annotations

import asyncio
import queue
from collections.abc import AsyncIterator, Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from stepwell.errors import MissingExtraError, StepwellError
from stepwell.models.status import ModelEvent

if TYPE_CHECKING:
    from stepwell.models.local.models import LocalModels

LOOK_EVERY_S = 0.1
LOAD_TIMEOUT_S = 3600.0
"""Long enough for a big model over a slow connection; the download itself has shorter time-outs."""

UNDER_WAY = ("downloading", "loading")


class ModelLoading:
    """The embedded model of this server: `load` loads it if necessary, `follow` only watches."""

    def __init__(self, local_models: Callable[[], LocalModels], model: str) -> None:
        self._local_models = local_models
        self._model = model

    def local_models(self) -> LocalModels | None:
        """The models that can be loaded here; `None` if the extra is not installed."""
        return self._local_models() if find_spec("xllamacpp") else None

    async def load(self, model: str | None = None) -> AsyncIterator[ModelEvent]:
        """Load a model (default: the server's) once, and report progress. The last event is `ready` or `error`."""
        wanted = model or self._model
        try:
            models = self._open_models()
            latest = models.status(wanted)
        except StepwellError as error:
            yield ModelEvent(wanted, "error", message=str(error))
            return
        with models.board.following() as news:
            outcome = self._ask(models, wanted)
            if latest.status != "idle":
                yield latest
            async with asyncio.timeout(LOAD_TIMEOUT_S):
                while not outcome.done():
                    await asyncio.wait({outcome}, timeout=LOOK_EVERY_S)
                    for event in _drain(news, latest.model_id):
                        if event.status in UNDER_WAY:
                            yield event
        yield _last(outcome, models.status(wanted))

    async def follow(self, model: str | None = None) -> AsyncIterator[ModelEvent]:
        """A model's current status and, while it is being loaded, its progress until the end. Starts nothing."""
        wanted = model or self._model
        try:
            models = self._open_models()
        except StepwellError as error:
            yield ModelEvent(wanted, "error", message=str(error))
            return
        with models.board.following() as news:
            latest = shown = models.status(wanted)
            yield shown
            async with asyncio.timeout(LOAD_TIMEOUT_S):
                while latest.status in UNDER_WAY:
                    await asyncio.sleep(LOOK_EVERY_S)
                    for latest in _drain(news, shown.model_id):
                        if latest.status != "idle":
                            yield (shown := latest)
                    if latest.status == "idle":  # briefly between download and loading, or permanently, so check once more
                        await asyncio.sleep(LOOK_EVERY_S)
                        latest = models.status(wanted)
        if latest != shown:
            yield latest

    def _open_models(self) -> LocalModels:
        require_local()
        return self._local_models()

    def _ask(self, models: LocalModels, model: str) -> asyncio.Future[BaseException | None]:
        """Ask the model's thread to load it. The future gets `None`, or the error."""
        from stepwell.models.local.llama.runtime import LlamaRequest

        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[BaseException | None] = loop.create_future()

        def settle(error: BaseException | None) -> None:
            if not outcome.done():
                outcome.set_result(error)

        def deliver(item: Any) -> None:
            if item is None or isinstance(item, BaseException):
                loop.call_soon_threadsafe(settle, item)

        models.runtime(model).ask(LlamaRequest(None, deliver))
        return outcome


def require_local() -> None:
    """Raise `MissingExtraError` if models cannot run in this process."""
    if find_spec("xllamacpp") is None:
        raise MissingExtraError("The embedded model", "local")


def _drain(news: queue.SimpleQueue[ModelEvent], model_id: str) -> list[ModelEvent]:
    """This model's events since the last call."""
    found: list[ModelEvent] = []
    while not news.empty():
        event = news.get_nowait()
        if event.model_id == model_id:
            found.append(event)
    return found


def _last(outcome: asyncio.Future[BaseException | None], now: ModelEvent) -> ModelEvent:
    error = outcome.result()
    if error is None:
        return ModelEvent(now.model_id, "ready", now.file, now.done_bytes, now.total_bytes, now.dtype)
    said = str(error) if isinstance(error, StepwellError) else "The model could not be loaded. The log says why."
    return ModelEvent(now.model_id, "error", now.file, dtype=now.dtype, message=said)
