"""Model calls that survive bad providers: deadlines, retries, a fallback, and errors that say what to do.

```
ask ──answer──▶ done
 │ fault (`faults`)                           a cut stream is a fault too, and nothing of it reaches the thread
 ├─ retries left, and worth it ──▶ tell the client, wait, ask again
 ├─ there is a fallback model ──▶ the same with that model
 └─ ModelCallError
```
This middleware must be innermost, next to the model, so that its deadlines apply to the call alone, and other middleware around the model
(which writes a summary when the context is too long, say) sees the provider's own error. Its parts are in `model_calls`.

Retries are limited per call and per run, so that a provider that is down does not cost hours. SDKs have their own retries, inside ours;
switch them off with `model_settings={"max_retries": 0}`, as our own products do (`resolve_model(own_retries=False)`).
"""

from __future__ import annotations

import asyncio
import random as system_random
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Annotated, Any, NotRequired, TypedDict, cast

from langchain.agents.middleware import ModelFallbackMiddleware
from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langgraph.types import Command

from stepwell.clock import Clock, SystemClock
from stepwell.control_flow import let_pass
from stepwell.errors import ConfigurationError
from stepwell.middleware.model_calls.deadlines import Deadlines, TimedCall
from stepwell.middleware.model_calls.faults import Fault, failure, fault_of, name_of
from stepwell.middleware.model_calls.side_threads import SideThreads
from stepwell.middleware.request import AsyncHandler, Handler, Response
from stepwell.middleware.turns import turn_of
from stepwell.models.endings import note_ending
from stepwell.models.resolve import resolve_model

CONNECT_S = 10.0
FIRST_TOKEN_S = 120.0
IDLE_S = 60.0
TOTAL_S = 600.0
MAX_RETRIES = 3
RETRY_BUDGET = 20
FIRST_WAIT_S = 1.0
MAX_WAIT_S = 60.0


class RetriesUsed(TypedDict):
    """How many retries a run has used."""

    turn: str
    used: int


class RobustCallsState(AgentState[Any]):
    model_retries: NotRequired[Annotated[RetriesUsed | None, PrivateStateAttr]]


class RobustCallsMiddleware(AgentMiddleware[Any, Any, Any]):
    """Deadlines in seconds (None: no limit), at most `max_retries` per call and `retry_budget` per run, then `fallback`.

    `require_end` rejects a streamed answer without the provider's end marker; switch it off for a server that never sends one.
    """

    state_schema = RobustCallsState
    reaches_subagents = True

    def __init__(
        self,
        *,
        connect_s: float | None = CONNECT_S,
        first_token_s: float | None = FIRST_TOKEN_S,
        idle_s: float | None = IDLE_S,
        total_s: float | None = TOTAL_S,
        max_retries: int = MAX_RETRIES,
        retry_budget: int = RETRY_BUDGET,
        fallback: str | BaseChatModel | None = None,
        require_end: bool = True,
        first_wait_s: float = FIRST_WAIT_S,
        max_wait_s: float = MAX_WAIT_S,
        sleep: Callable[[float], None] = time.sleep,
        asleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = system_random.random,
        clock: Clock | None = None,
    ) -> None:
        super().__init__()
        if max_retries < 0 or retry_budget < 0:
            raise ConfigurationError("max_retries and retry_budget cannot be below 0. Give 0 to ask once only.")
        self.deadlines = Deadlines(connect_s, first_token_s, idle_s, total_s)
        self.fallback = None if fallback is None else resolve_model(fallback)
        # LangChain's middleware knows which parts of a request another provider would reject (prompt caching marks, for example).
        self._switch = None if self.fallback is None else ModelFallbackMiddleware(self.fallback)
        self.max_retries = max_retries
        self.retry_budget = retry_budget
        self.require_end = require_end
        self._first_wait_s = first_wait_s
        self._max_wait_s = max_wait_s
        self._threads = SideThreads()
        self._sleep = sleep
        self._asleep = asleep
        self._random = random
        self._clock = clock or SystemClock()

    def wrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> Response:
        call = _Call(self, request, is_async=False)
        while True:
            try:
                return call.finish(call.next_attempt().call(handler, self._threads))
            except Exception as error:
                wait_s = call.after(error)
            self._sleep(wait_s)

    def awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> Coroutine[Any, Any, Response]:
        # Not `async def`: LangChain's tracing wrapper would cost a thread hop for each call.
        return self._awrap_model_call(request, handler)

    async def _awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> Response:
        call = _Call(self, request, is_async=True)
        while True:
            try:
                return call.finish(await call.next_attempt().acall(handler))
            except Exception as error:
                wait_s = call.after(error)
            await self._asleep(wait_s)

    def judge(self, error: Exception, *, streamed: bool) -> Fault | None:
        """The fault behind an error; None if the model is not to blame."""
        return fault_of(error, now=self._clock.now(), streamed=streamed)

    def wait_before(self, retry: int, fault: Fault) -> float | None:
        """Seconds before this retry (counted from 1); None if the provider asks for a longer wait than we allow.

        The wait is random, below a bound that doubles, so that callers that failed together do not retry together.
        """
        jitter = self._random()
        if fault.retry_after_s is None:
            return jitter * min(self._max_wait_s, self._first_wait_s * 2.0 ** (retry - 1))
        return None if fault.retry_after_s > self._max_wait_s else fault.retry_after_s + jitter * self._first_wait_s

    def for_fallback(self, request: ModelRequest[Any]) -> ModelRequest[Any] | None:
        """The request adapted to the fallback model; None if there is no fallback left."""
        if self._switch is None or request.model is self.fallback:
            return None
        changed: list[ModelRequest[Any]] = []

        def note(candidate: ModelRequest[Any]) -> ModelResponse[Any]:
            if candidate.model is request.model:
                raise ConnectionError  # makes LangChain's middleware try its fallback
            changed.append(candidate)
            return ModelResponse(result=[])

        self._switch.wrap_model_call(request, note)
        return changed[0]


class _Call:
    """The attempts to get one answer from the model."""

    __slots__ = ("_asked", "_attempt", "_is_async", "_request", "_retries", "_rules")

    def __init__(self, rules: RobustCallsMiddleware, request: ModelRequest[Any], *, is_async: bool) -> None:
        self._rules = rules
        self._request = request
        self._is_async = is_async
        self._attempt: TimedCall | None = None
        self._asked = 0
        """How many times we have asked the current model."""
        self._retries = 0
        """How many retries there were with all models together."""

    def next_attempt(self) -> TimedCall:
        self._asked += 1
        self._attempt = TimedCall(
            self._rules.deadlines, self._request, is_async=self._is_async, must_end=self._rules.require_end
        )
        return self._attempt

    def finish(self, response: ModelResponse[Any]) -> Response:
        """The answer, which says if it is incomplete, together with the number of retries the run has used."""
        for message in response.result:
            if isinstance(message, AIMessage):
                note_ending(message)
        if not self._retries:
            return response
        used: RetriesUsed = {"turn": self._turn(), "used": self._used_before() + self._retries}
        return ExtendedModelResponse(response, Command(update={"model_retries": used}))

    def after(self, error: Exception) -> float:
        """How long to wait before the next attempt; raises an error if there will be none."""
        watch = cast("TimedCall", self._attempt).watch
        fault = self._rules.judge(error, streamed=watch.begun)
        if fault is None:
            let_pass(error)
            raise error
        wait_s = self._wait_before_retry(fault)
        if wait_s is not None:
            self._retries += 1
            self._tell("model_retry", fault, watch.message_id, wait_s)
            return wait_s
        request = self._rules.for_fallback(self._request)
        if request is None:
            raise failure(self._request.model, fault, self._asked) from error
        self._request, self._asked = request, 0
        self._tell("model_fallback", fault, watch.message_id, 0.0)
        return 0.0

    def _wait_before_retry(self, fault: Fault) -> float | None:
        rules = self._rules
        if not fault.retryable or self._asked > rules.max_retries:
            return None
        if self._used_before() + self._retries >= rules.retry_budget:
            return None
        return rules.wait_before(self._asked, fault)

    def _tell(self, what: str, fault: Fault, message_id: str | None, wait_s: float) -> None:
        """Send a custom stream event. Clients then drop what they have shown of the message with this id."""
        write = getattr(self._request.runtime, "stream_writer", None)
        if write is None:
            return
        event = {"type": what, "attempt": self._asked + 1, "reason": fault.kind, "model": name_of(self._request.model)}
        write({**event, "wait_s": round(wait_s, 3), "message_id": message_id})

    def _turn(self) -> str:
        return turn_of(cast("Mapping[str, Any]", self._request.state).get("messages") or ())

    def _used_before(self) -> int:
        used: RetriesUsed | None = cast("Mapping[str, Any]", self._request.state).get("model_retries")
        return used["used"] if used and used["turn"] == self._turn() else 0
