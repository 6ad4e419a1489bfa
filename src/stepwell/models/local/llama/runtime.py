"""One model file in memory, and the single thread that uses it.

```
ask() -> queue -> worker: load on the first request -> generate -> chunks to the caller
                          a failed load is reported to the caller; the next request tries again
```
The worker does all native work, so nothing blocks a caller's thread or loop, and requests are served completely, one after the other.
Callers read the answer from `chunks` in a thread, or from `achunks` on an event loop; leaving the iteration in any way (its end,
an exception, `close()`, cancellation) cancels the request. A waiting request is then skipped; a running one ends at its next token, or at
the next small batch while the prompt is being read.

The status board shows the model as downloading, loading, ready, in error, or idle when it is unloaded.
"""

from __future__ import annotations

import asyncio
import atexit
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stepwell.errors import ConfigurationError, ModelAnswerError, ModelLoadError, StepwellError
from stepwell.models.local.llama.server import LlamaOptions, start_llama
from stepwell.models.status import ModelEvent, StatusBoard

Chunk = Mapping[str, Any]
"""A piece of an answer, in the form of OpenAI's streams."""
END = None
"""Comes after the last chunk."""

_LEAVE_S = 5.0


@dataclass(eq=False)
class LlamaRequest:
    """A request to the model. The worker calls `deliver`: with chunks, then with END or an exception."""

    body: Mapping[str, Any] | None
    """If None, the model is only loaded."""
    deliver: Callable[[Chunk | BaseException | None], None]
    _cancelled: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        """Stop the request. May be called twice, and after the end."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()


class LlamaRuntime:
    """Loads a file on first use and keeps it until `unload`."""

    def __init__(
        self,
        about: ModelEvent,
        locate: Callable[[threading.Event], Path],
        options: LlamaOptions,
        board: StatusBoard,
    ) -> None:
        self._about = about
        self._locate = locate
        self._options = options
        self._board = board
        self._requests: queue.SimpleQueue[LlamaRequest | None] = queue.SimpleQueue()
        self._guard = threading.Lock()
        self._worker: threading.Thread | None = None
        self._stop = threading.Event()

    def ask(self, request: LlamaRequest) -> None:
        """Queue a request; answers come through `request.deliver`."""
        with self._guard:
            if self._worker is None or not self._worker.is_alive():
                self._stop = threading.Event()
                self._requests = queue.SimpleQueue()
                name = f"stepwell-{self._about.model_id}"
                self._worker = threading.Thread(target=self._work, args=(self._requests, self._stop), name=name, daemon=True)
                self._worker.start()
                atexit.register(self.unload)  # a native thread must not outlive the interpreter
            self._requests.put(request)

    def unload(self) -> None:
        """Stop the running request, drop the waiting ones, free the memory. The next request loads again."""
        with self._guard:
            worker, self._worker = self._worker, None
            if worker is None:
                return
            self._stop.set()
            self._requests.put(None)
        atexit.unregister(self.unload)
        if worker is not threading.current_thread():
            worker.join(_LEAVE_S)

    def _work(self, requests: queue.SimpleQueue[LlamaRequest | None], stop: threading.Event) -> None:
        """The worker's main loop. The server lives in this frame only."""
        server: Any = None
        while (request := requests.get()) is not None:
            if request.cancelled:
                continue
            if stop.is_set():
                request.deliver(_unloaded_error())
                continue
            try:
                server = server if server is not None else self._load(stop)
                if request.body is not None:
                    _generate(server, request, stop)
                request.deliver(END)
            except BaseException as error:  # every error goes to the caller; the worker continues
                request.deliver(error)
        if server is not None:
            del server
            self._board.publish(ModelEvent(self._about.model_id, "idle", self._about.file, dtype=self._about.dtype))

    def _load(self, stop: threading.Event) -> Any:
        about = self._about
        try:
            path = self._locate(stop)
            size = path.stat().st_size if path.is_file() else None
            self._board.publish(ModelEvent(about.model_id, "loading", about.file, 0, size, about.dtype))
            server = start_llama(path, self._options)
        except BaseException as error:
            failure = error if isinstance(error, StepwellError) else ModelLoadError(f"Loading failed: {type(error).__name__}.")
            self._board.publish(ModelEvent(about.model_id, "error", about.file, dtype=about.dtype, message=str(failure)))
            if failure is error:
                raise
            raise failure from error
        self._board.publish(ModelEvent(about.model_id, "ready", about.file, size or 0, size, about.dtype))
        return server


def _generate(server: Any, request: LlamaRequest, stop: threading.Event) -> None:
    """Run one request; returns when it is finished or cancelled."""
    faults: list[BaseException] = []

    def take(chunk: Chunk) -> bool:
        # Called by native code, which cannot handle an exception. True ends the generation.
        if request.cancelled or stop.is_set():
            return True
        try:
            if "error" in chunk:
                faults.append(_error_from(chunk["error"]))
                return True
            request.deliver(chunk)
        except BaseException as error:
            faults.append(error)
            return True
        return False

    # We request progress of the prompt only because each report is a chance to cancel.
    body = {**(request.body or {}), "stream": True, "return_progress": True, "stream_options": {"include_usage": True}}
    try:
        server.handle_chat_completions(body, take)
    except (ValueError, RuntimeError) as error:
        raise ConfigurationError(f"The embedded model refused the request: {error}") from error
    if faults:
        raise faults[0]
    if stop.is_set():
        raise _unloaded_error()


def _error_from(error: Any) -> StepwellError:
    facts = error if isinstance(error, dict) else {}
    if facts.get("type") == "exceed_context_size_error":
        return ModelAnswerError(
            f"The conversation has {facts.get('n_prompt_tokens')} tokens and the embedded model takes {facts.get('n_ctx')}. "
            "Shorten it, or choose a model with a longer context."
        )
    return ModelAnswerError(f"The embedded model failed: {facts.get('message', error)}")


def _unloaded_error() -> ModelAnswerError:
    return ModelAnswerError("The embedded model was unloaded before it had answered. Ask again.")


_Item = Chunk | BaseException | None


def chunks(runtime: LlamaRuntime, body: Mapping[str, Any]) -> Generator[Chunk]:
    """The answer to a request, for sync code."""
    inbox: queue.SimpleQueue[_Item] = queue.SimpleQueue()
    request = LlamaRequest(body, inbox.put)
    runtime.ask(request)
    try:
        while (item := inbox.get()) is not END:
            yield _raise_or_give(item)
    finally:
        request.cancel()


async def achunks(runtime: LlamaRuntime, body: Mapping[str, Any]) -> AsyncGenerator[Chunk]:
    """`chunks` for an event loop, which is never blocked."""
    loop = asyncio.get_running_loop()
    inbox: asyncio.Queue[_Item] = asyncio.Queue()

    def deliver(item: _Item) -> None:
        with suppress(RuntimeError):  # the loop is closed, so nothing receives it
            loop.call_soon_threadsafe(inbox.put_nowait, item)

    request = LlamaRequest(body, deliver)
    runtime.ask(request)
    try:
        while (item := await inbox.get()) is not END:
            yield _raise_or_give(item)
    finally:
        request.cancel()


def _raise_or_give(item: Chunk | BaseException) -> Chunk:
    if isinstance(item, BaseException):
        raise item
    return item
