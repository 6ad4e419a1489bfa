"""Four time limits for one model call: to connect, to the first token, between two tokens, in total.

```
start ──connect──▶ connected ──────────▶ first token ──idle──▶ token ──idle──▶ … ──▶ answer
  └───────────── first token ────────────────┘                                        │
  └────────────────────────────────── total ───────────────────────────────────────────┘
```
The first-token and idle limits apply only to streamed answers; for an answer in one piece there is only the total limit.

Connecting happens inside the SDK. If the SDK takes a time-out with each request, we pass the limit; otherwise the first-token limit
covers connecting.

An async call is cancelled. A sync call runs in its own thread, which cannot be stopped from outside, so we abandon the call: it ends at
its next token or at the SDK's own time-out, and its output is ignored.
"""

from __future__ import annotations

import asyncio
import queue
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from langchain.agents.middleware.types import ModelRequest, ModelResponse

from stepwell.errors import ConfigurationError
from stepwell.middleware.listening import listening
from stepwell.middleware.model_calls.faults import DeadlinePassedError, StreamCutError
from stepwell.middleware.model_calls.side_threads import SideThreads
from stepwell.middleware.model_calls.stream_watch import StreamWatch, came_to_its_end, will_stream
from stepwell.middleware.request import AsyncHandler, Handler

# Integrations whose SDK takes a time-out with each request, and the module that contains its `Timeout` class.
_TAKE_A_TIMEOUT: Mapping[str, str] = {
    "langchain_openai": "openai",
    "langchain_anthropic": "anthropic",
    "langchain_groq": "groq",
}


@dataclass(frozen=True, slots=True)
class Deadlines:
    """The limits in seconds; None means no limit."""

    connect_s: float | None
    first_token_s: float | None
    idle_s: float | None
    total_s: float | None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ConfigurationError(f"{name} is {value!r}. Give a number of seconds above 0, or None for no limit.")

    def tell_sdk(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """The request with the limit that only the SDK can enforce, namely the one for connecting."""
        if self.connect_s is None or "timeout" in request.model_settings:
            return request
        make = _timeout_class(type(request.model))
        if make is None:
            return request
        timeout = make(self.total_s, connect=self.connect_s)
        return request.override(model_settings={**request.model_settings, "timeout": timeout})


@lru_cache(maxsize=64)
def _timeout_class(model: type[Any]) -> Callable[..., Any] | None:
    """The `Timeout` class of the model's SDK, if that takes a time-out with each request. The SDK is loaded, since the model exists."""
    packages = {kind.__module__.partition(".")[0] for kind in model.__mro__}
    sdk = next((sys.modules.get(module) for package, module in _TAKE_A_TIMEOUT.items() if package in packages), None)
    return getattr(sdk, "Timeout", None)


class TimedCall:
    """One call of the model under deadlines."""

    def __init__(self, deadlines: Deadlines, request: ModelRequest[Any], *, is_async: bool, must_end: bool = True) -> None:
        self._limits = deadlines
        self._request = deadlines.tell_sdk(request)
        self._must_end = must_end
        self._streams = will_stream(request, is_async=is_async)
        self._tell_waiter: Callable[[], None] = lambda: None
        self.watch = StreamWatch(self._on_token)
        self._now: Callable[[], float] = time.monotonic
        self._started = self._last_token = 0.0
        self._tokens = 0

    async def acall(self, handler: AsyncHandler) -> ModelResponse[Any]:
        """The model's answer. Raises if a deadline passes or the stream is cut."""
        self._start(asyncio.get_running_loop().time)
        timer = asyncio.timeout_at(self._due())
        # A token may still arrive between the time-out and the cancellation that it causes.
        self._tell_waiter = lambda: None if timer.expired() else timer.reschedule(self._due())
        try:
            async with timer:
                with listening(*([self.watch] if self._streams else [])):
                    return self._whole(await handler(self._request))
        except TimeoutError:
            if not timer.expired():
                raise
            raise self._passed_error() from None

    def call(self, handler: Handler, threads: SideThreads) -> ModelResponse[Any]:
        """The same for a sync caller, which waits for another thread."""
        self._start(time.monotonic)
        if not self._is_limited():
            return self._whole(self._call_watched(handler))
        outcome = threads.run(lambda: self._call_watched(handler))
        # The first token may bring the deadline forward; later tokens only postpone it, which we notice when the time is up.
        self._tell_waiter = lambda: outcome.wake() if self._tokens == 1 else None
        while True:
            try:
                return self._whole(outcome.get(self._remaining()))
            except queue.Empty:
                if self._remaining() == 0.0:
                    self.watch.abandoned = True
                    raise self._passed_error() from None

    def _call_watched(self, handler: Handler) -> ModelResponse[Any]:
        with listening(self.watch):
            return handler(self._request)

    def _remaining(self) -> float | None:
        due = self._due()
        return None if due is None else max(0.0, due - self._now())

    def _start(self, now: Callable[[], float]) -> None:
        self._now = now
        self._started = self._last_token = now()

    def _on_token(self) -> None:
        self._last_token = self._now()
        self._tokens += 1
        self._tell_waiter()

    def _is_limited(self) -> bool:
        limits = self._limits
        return limits.total_s is not None or (self._streams and (limits.first_token_s or limits.idle_s) is not None)

    def _whole(self, response: ModelResponse[Any]) -> ModelResponse[Any]:
        if self._streams and self._must_end and self.watch.begun and not came_to_its_end(self._request, response):
            raise StreamCutError
        return response

    def _limits_now(self) -> list[tuple[float, str, float]]:
        """For each deadline that applies now: when it is due, its name and its length."""
        limits = [(self._started, "total", self._limits.total_s)]
        if self._streams and not self.watch.begun:
            limits.append((self._started, "first token", self._limits.first_token_s))
        elif self._streams:
            limits.append((self._last_token, "idle", self._limits.idle_s))
        return [(start + length, name, length) for start, name, length in limits if length is not None]

    def _due(self) -> float | None:
        return min((due for due, _, _ in self._limits_now()), default=None)

    def _passed_error(self) -> DeadlinePassedError:
        _, name, length = min(self._limits_now())
        return DeadlinePassedError(name, length)
