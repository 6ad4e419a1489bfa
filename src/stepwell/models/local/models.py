"""The local models of one process: where their files are, which are in memory, what they are doing.

One object manages all of them, because weights are big: a file is loaded once, however many callers use it. `process_local_models`
returns the object that chat models share unless they get another; that cache is the only process-wide state of this package.
"""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path

from stepwell.errors import ConfigurationError
from stepwell.models.local.catalogue import OWN_FILE, LocalModel, WheelSource, find_local_model
from stepwell.models.local.files.fetching import bytes_kept, fetch_model, is_in_place, remove_model
from stepwell.models.local.llama.runtime import Chunk, LlamaRequest, LlamaRuntime
from stepwell.models.local.llama.server import LlamaOptions, available_threads
from stepwell.models.status import ModelEvent, StatusBoard
from stepwell.settings import Settings

_REPORT_EVERY = 1 << 18
"""Bytes between two progress events: often enough for a smooth bar, rarely enough not to flood a browser."""


class LocalModels:
    """Fetch, load, unload and remove models by id or path. Thread-safe."""

    def __init__(self, folder: Path, *, threads: int | None = None, board: StatusBoard | None = None) -> None:
        self.board = board or StatusBoard()
        self._folder = folder
        self._threads = threads or available_threads()
        self._guard = threading.Lock()
        self._fetching = threading.Lock()
        self._runtimes: dict[str, LlamaRuntime] = {}

    @classmethod
    def from_settings(cls, settings: Settings) -> LocalModels:
        """From the environment: STEPWELL_DATA_DIR and STEPWELL_LOCAL_THREADS."""
        return cls(settings.data_folder / "models", threads=settings.count_local_threads())

    def is_downloaded(self, name: str) -> bool:
        """Whether the file is there; for a path, whether it exists."""
        model = find_local_model(name)
        return is_in_place(model, self._folder) if model else Path(name).expanduser().is_file()

    def pull(self, name: str, stop: threading.Event | None = None) -> Path:
        """The file of a model, downloaded if necessary; progress goes to the board. A path is returned unchanged."""
        model = find_local_model(name)
        if model is None:
            return Path(name).expanduser()
        if is_in_place(model, self._folder):
            return self._folder / model.file
        try:
            with self._fetching:
                path = fetch_model(model, self._folder, _Progress(model, self.board), stop)
        except Exception as error:
            self.board.publish(ModelEvent(model.id, "error", model.file, dtype=model.dtype, message=str(error)))
            raise
        self.board.publish(ModelEvent(model.id, "idle", model.file, dtype=model.dtype))
        return path

    def load(self, name: str) -> None:
        """Fetch and load a model now, and wait until it is ready."""
        done: list[BaseException] = []
        finished = threading.Event()

        def deliver(item: Chunk | BaseException | None) -> None:
            if isinstance(item, BaseException):
                done.append(item)
            finished.set()

        self.runtime(name).ask(LlamaRequest(None, deliver))
        finished.wait()
        if done:
            raise done[0]

    def unload(self, name: str) -> None:
        """Free the memory of a model, if it is loaded."""
        with self._guard:
            runtime = self._runtimes.get(_key(name))  # not removed: chat models still use it; a second one would load twice
        if runtime:
            runtime.unload()

    def status(self, name: str) -> ModelEvent:
        """What a model is doing now. An idle one with a download that was interrupted, perhaps by the end of another process, has the bytes
        that are kept of it."""
        event = self.board.latest(public_id(name))
        model = find_local_model(name) if event.status == "idle" else None
        if model is None or is_in_place(model, self._folder) or not (kept := bytes_kept(model, self._folder)):
            return event
        return ModelEvent(model.id, "idle", model.file, kept, model.size_bytes, model.dtype)

    def remove(self, name: str) -> bool:
        """Unload a catalogue model and delete its file; True if there was one. A user's own file is never deleted."""
        model = find_local_model(name)
        if model is None:
            raise ConfigurationError(
                f"'{Path(name).name}' is a file of your own, not a model of the catalogue; delete it yourself."
            )
        self.unload(name)
        with self._fetching:
            return remove_model(model, self._folder)

    def runtime(self, name: str) -> LlamaRuntime:
        """The single runtime of a model's file. Nothing is loaded before its first request."""
        with self._guard:
            key = _key(name)
            if key not in self._runtimes:
                self._runtimes[key] = self._new_runtime(name)
            return self._runtimes[key]

    def _new_runtime(self, name: str) -> LlamaRuntime:
        model = find_local_model(name)
        about = ModelEvent(
            public_id(name), "idle", model.file if model else Path(name).name, dtype=model.dtype if model else None
        )
        context = model.capabilities.context if model else OWN_FILE.context
        options = LlamaOptions(context=context, threads=self._threads)
        return LlamaRuntime(about, lambda stop: self.pull(name, stop), options, self.board)


class _Progress:
    """Turns byte counts into events, at a limited rate."""

    def __init__(self, model: LocalModel, board: StatusBoard) -> None:
        self._model = model
        self._board = board
        self._told = -_REPORT_EVERY

    def __call__(self, done: int, total: int) -> None:
        if abs(done - self._told) < _REPORT_EVERY and done != total:
            return
        self._told = done
        model = self._model
        file = model.source.requirement if isinstance(model.source, WheelSource) else model.file
        self._board.publish(ModelEvent(model.id, "downloading", file, done, total, model.dtype))


def process_local_models(settings: Settings) -> LocalModels:
    """The local models that everything in this process shares, as long as the folder and the threads are the same."""
    return _shared(settings.data_folder / "models", settings.count_local_threads())


@cache
def _shared(folder: Path, threads: int | None) -> LocalModels:
    return LocalModels(folder, threads=threads)


def _key(name: str) -> str:
    """A model's id, or the real path for a path, so that two spellings of one file share its memory."""
    model = find_local_model(name)
    return model.id if model else str(Path(name).expanduser().resolve())


def public_id(name: str) -> str:
    """The model's name in events and answers: never a path on this machine."""
    model = find_local_model(name)
    return model.id if model else Path(name).name
