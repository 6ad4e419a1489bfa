"""Four times that one model call may take: to connect, to its first token, between two tokens, in all.

```
start ──connect──▶ connected ──────────▶ first token ──idle──▶ token ──idle──▶ … ──▶ answer
  └───────────── first token ────────────────┘                                        │
  └────────────────────────────────── total ───────────────────────────────────────────┘
```
First token and idle count where the answer is streamed; an answer that comes in one piece has the total only.

Connecting happens inside the SDK: it is told its limit where it takes one with a request, and elsewhere the first token's covers it.

An async call is cancelled. A sync call runs in a thread of its own, and a thread cannot be stopped from outside: it is left alone,
ends at its next token or at the SDK's own time-out, and nothing it still says is heard.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from langchain.agents.middleware.types import ModelRequest, ModelResponse

from stepwell.errors import ConfigurationError
from stepwell.middleware.model_errors import DeadlinePassedError, StreamCutError
from stepwell.middleware.request import AsyncHandler, Handler
from stepwell.middleware.stream_watch import StreamWatch, came_to_its_end, watching, will_stream

# Integrations whose SDK takes a time-out with each request, and the module that has its class of time-outs.
_TAKE_A_TIMEOUT: Mapping[str, str] = {
    "langchain_openai": "openai",
    "langchain_anthropic": "anthropic",
    "langchain_groq": "groq",
}

Outcome = ModelResponse[Any] | BaseException


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds; None is no limit."""

    connect_s: float | None
    first_token_s: float | None
    idle_s: float | None
    total_s: float | None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ConfigurationError(f"{name} is {value!r}. Give a number of seconds above 0, or None for no limit.")

    def told_to_the_sdk(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """The request with the limits that only the SDK can keep."""
        if self.connect_s is None or "timeout" in request.model_settings:
            return request
        packages = {kind.__module__.partition(".")[0] for kind in type(request.model).__mro__}
        sdk = next((sys.modules.get(module) for package, module in _TAKE_A_TIMEOUT.items() if package in packages), None)
        if sdk is None or not hasattr(sdk, "Timeout"):
            return request
        timeout = sdk.Timeout(self.total_s, connect=self.connect_s)
        return request.override(model_settings={**request.model_settings, "timeout": timeout})


class Attempt:
    """One call of the model under deadlines."""

    def __init__(self, deadlines: Deadlines, request: ModelRequest[Any], *, is_async: bool, must_end: bool = True) -> None:
        self._limits = deadlines
        self._request = deadlines.told_to_the_sdk(request)
        self._must_end = must_end
        self._streams = will_stream(request, is_async=is_async)
        self._move: Callable[[], None] = lambda: None
        self.watch = StreamWatch(self._on_token)
        self._now: Callable[[], float] = time.monotonic
        self._started = self._last_token = 0.0

    async def acall(self, handler: AsyncHandler) -> ModelResponse[Any]:
        """The model's answer, or the error that it became."""
        loop = asyncio.get_running_loop()
        self._start(loop.time)
        due = self._due()
        if due is None and not self._streams:
            return await handler(self._request)
        timer = asyncio.timeout_at(due)
        self._move = lambda: timer.reschedule(self._due())
        try:
            async with timer:
                with watching(self.watch) if self._streams else nullcontext():
                    return self._whole(await handler(self._request))
        except TimeoutError:
            if not timer.expired():
                raise
            raise self._passed() from None

    def call(self, handler: Handler) -> ModelResponse[Any]:
        """The same for a sync caller, who waits for another thread."""
        self._start(time.monotonic)
        if self._due() is None:
            with watching(self.watch) if self._streams else nullcontext():
                return self._whole(handler(self._request))
        outcome = self._await_outcome(self._in_a_thread(handler))
        if isinstance(outcome, BaseException):
            raise outcome
        return self._whole(outcome)

    def _in_a_thread(self, handler: Handler) -> queue.SimpleQueue[Outcome]:
        outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()

        def work() -> None:
            try:
                with watching(self.watch):
                    outcomes.put(handler(self._request))
            except BaseException as error:  # handed to the caller, whatever it is
                outcomes.put(error)

        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(work,), name="model-call", daemon=True).start()
        return outcomes

    def _await_outcome(self, outcomes: queue.SimpleQueue[Outcome]) -> Outcome:
        while True:
            due = self._due()
            remaining = None if due is None else due - self._now()
            try:
                return outcomes.get(timeout=None if remaining is None else max(0.0, remaining))
            except queue.Empty:
                moved = self._due()
                if moved is None or moved > self._now():
                    continue  # tokens came meanwhile
                self.watch.abandoned = True
                raise self._passed() from None

    def _start(self, now: Callable[[], float]) -> None:
        self._now = now
        self._started = now()

    def _on_token(self) -> None:
        self._last_token = self._now()
        self._move()

    def _whole(self, response: ModelResponse[Any]) -> ModelResponse[Any]:
        if self._streams and self._must_end and self.watch.begun and not came_to_its_end(self._request, response):
            raise StreamCutError
        return response

    def _limits_now(self) -> list[tuple[float, str, float]]:
        """When each deadline that counts now is due, its name, its length."""
        limits = [(self._started, "total", self._limits.total_s)]
        if self._streams and not self.watch.begun:
            limits.append((self._started, "first token", self._limits.first_token_s))
        elif self._streams:
            limits.append((self._last_token, "idle", self._limits.idle_s))
        return [(start + length, name, length) for start, name, length in limits if length is not None]

    def _due(self) -> float | None:
        return min((due for due, _, _ in self._limits_now()), default=None)

    def _passed(self) -> DeadlinePassedError:
        _, name, length = min(self._limits_now())
        return DeadlinePassedError(name, length)
