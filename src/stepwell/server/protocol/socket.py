"""A thread's stream over a websocket: commands and subscriptions in one direction, responses and events in the other.

```
client ──{id, method, params}──> carry_out                        ──> {type: success | error, id, ...}
         subscription.subscribe    {channels, namespaces, depth}     {subscription_id, replayed_events}, then events
         subscription.reconnect    the same and `since`
         subscription.unsubscribe  {subscription_id}
```
The events are those of `POST /threads/T/stream/events`, as JSON without a frame. An event that fits several subscriptions is sent once.

A socket may be opened before its thread exists: its subscriptions begin when a command of the same socket has created the thread. One that
has lost access is closed, and so is every socket when the server stops; clients reconnect with the last `seq` they saw.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import orjson
from pydantic import Field, ValidationError
from starlette.websockets import WebSocket, WebSocketDisconnect

from stepwell.errors import NotFoundError, StepwellError
from stepwell.server.limits.bodies import BodyChecks
from stepwell.server.limits.receiving import BodyRefusedError
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.protocol.bodies import EventsQuery, ThreadCommand
from stepwell.server.protocol.commands import carry_out, permitted, refuse_disabled
from stepwell.server.protocol.following import find_beginning
from stepwell.server.protocol.translation import translate
from stepwell.server.schemas.fields import Body
from stepwell.server.sse import READER_CHECK, RECHECK_S, ReaderCheck
from stepwell.validation import describe_first_fault

MAX_SUBSCRIPTIONS = 32
POLICY_VIOLATION, GOING_AWAY, BROKEN = 1008, 1012, 1011
_REMEMBERED = 4096
"""How many sent events a socket remembers. Subscriptions that overlap are seldom further apart."""
_log = logging.getLogger("stepwell.server")

Json = dict[str, Any]


class Reconnect(EventsQuery):
    """`subscription.reconnect`: the same id again, if the client had one."""

    subscription_id: str | None = Field(default=None, min_length=1, max_length=256)


class Unsubscribe(Body):
    """`subscription.unsubscribe`."""

    subscription_id: str = Field(min_length=1, max_length=256)


class ThreadSocket:
    """One connection. `serve` returns when it is closed."""

    def __init__(self, websocket: WebSocket, services: Services, principal: Principal, thread_id: str) -> None:
        self._websocket = websocket
        self._services = services
        self._principal = principal
        self._thread_id = thread_id
        self._checks = BodyChecks(services.parts.settings)
        self._sending = asyncio.Lock()
        self._sent: OrderedDict[int, None] = OrderedDict()
        self._following: dict[str, asyncio.Task[None]] = {}
        self._waiting: dict[str, EventsQuery] = {}
        """Subscriptions that wait for the thread to be created."""

    async def serve(self) -> None:
        await self._websocket.accept()
        main = asyncio.create_task(self._receive())
        self._services.streams.add(main)
        watch = asyncio.create_task(self._watch())
        try:
            done, _ = await asyncio.wait({main, watch}, return_when=asyncio.FIRST_COMPLETED)
            if watch in done:
                await self._close(POLICY_VIOLATION, "Access has ended. Sign in again.")
            elif main.cancelled():
                await self._close(GOING_AWAY, "The server is stopping. Reconnect.")
            elif (error := main.exception()) and not isinstance(error, WebSocketDisconnect):
                _log.error("a websocket broke off", exc_info=error)
                await self._close(BROKEN, "The server failed. Reconnect.")
        finally:
            tasks = [main, watch, *self._following.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _receive(self) -> None:
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            await self._send(await self._respond((message.get("text") or "").encode() or message.get("bytes") or b""))
            await self._begin_waiting()

    async def _respond(self, content: bytes) -> Json:
        try:
            await self._checks.check(content)
            sent = orjson.loads(content)
        except BodyRefusedError as refused:
            return _error(None, "invalid_argument", refused.detail)
        except orjson.JSONDecodeError:
            sent = None
        if not isinstance(sent, dict):
            return _error(None, "invalid_argument", "A command must be a JSON object: {id, method, params}.")
        try:
            command = ThreadCommand.model_validate(sent)
        except ValidationError as error:
            return _error(None, "invalid_argument", f"{describe_first_fault(error)}.")
        try:
            if handle := self._own_methods.get(command.method):
                return {"type": "success", "id": command.id, "result": await handle(command.params or {})}
            refuse_disabled(self._websocket, command)
            principal = await permitted(self._websocket, self._principal, self._thread_id, command)
            return await carry_out(self._services, principal, self._thread_id, command)
        except ValidationError as error:
            return _error(command.id, "invalid_argument", f"{describe_first_fault(error, under=('params',))}.")
        except StepwellError as error:
            return _error(command.id, "no_such_thread" if isinstance(error, NotFoundError) else "refused", str(error))
        except Exception:
            _log.exception("a command over a websocket failed")
            return _error(command.id, "unknown_error", "The server failed to carry out the command.")

    @property
    def _own_methods(self) -> dict[str, Callable[[Json], Awaitable[Json]]]:
        return {
            "subscription.subscribe": self._subscribe,
            "subscription.reconnect": self._reconnect,
            "subscription.unsubscribe": self._unsubscribe,
        }

    async def _subscribe(self, params: Json) -> Json:
        return self._add(self._services.new_id(), EventsQuery.model_validate(params))

    async def _reconnect(self, params: Json) -> Json:
        query = Reconnect.model_validate(params)
        return self._add(query.subscription_id or self._services.new_id(), query)

    def _add(self, subscription_id: str, query: EventsQuery) -> Json:
        self._drop(subscription_id)
        if len(self._following) + len(self._waiting) >= MAX_SUBSCRIPTIONS:
            raise StepwellError(f"A socket has at most {MAX_SUBSCRIPTIONS} subscriptions. End one, or open another socket.")
        self._waiting[subscription_id] = query
        return {"subscription_id": subscription_id, "replayed_events": 0}

    async def _unsubscribe(self, params: Json) -> Json:
        self._drop(Unsubscribe.model_validate(params).subscription_id)
        return {}

    def _drop(self, subscription_id: str) -> None:
        self._waiting.pop(subscription_id, None)
        if task := self._following.pop(subscription_id, None):
            task.cancel()

    async def _begin_waiting(self) -> None:
        """Begin the subscriptions, after their response, if the thread exists."""
        if not self._waiting:
            return
        try:
            await self._services.threads.get(self._principal.owner, self._thread_id, with_values=False)
        except NotFoundError:
            return
        for subscription_id, query in self._waiting.items():
            self._following[subscription_id] = asyncio.create_task(self._follow(query))
        self._waiting.clear()

    async def _follow(self, query: EventsQuery) -> None:
        subscription, after = query.subscription(), query.since
        try:
            if after is None:
                thread = await self._services.threads.get(self._principal.owner, self._thread_id, with_values=False)
                after = await find_beginning(self._services.persistence, thread, subscription, self._services.clock.now())
            async for batch in self._services.engine.thread_events(self._principal.owner, self._thread_id, after=after):
                now_ms = int(self._services.clock.now().timestamp() * 1000)
                for event in batch:
                    told = translate(event)
                    if told is not None and subscription.wants(told.channel, told.namespace):
                        await self._send_event(told.seq, told.json(now_ms))
        except Exception:
            _log.exception("a subscription of a websocket broke off")
            await self._close(BROKEN, "The stream broke off. Reconnect.")

    async def _send_event(self, seq: int, content: bytes) -> None:
        async with self._sending:
            if seq in self._sent:
                return
            self._sent[seq] = None
            if len(self._sent) > _REMEMBERED:
                self._sent.popitem(last=False)
            await self._websocket.send_text(content.decode())

    async def _send(self, response: Json) -> None:
        async with self._sending:
            await self._websocket.send_text(orjson.dumps(response).decode())

    async def _watch(self) -> None:
        """Return when the reader has lost access."""
        may_read: ReaderCheck | None = self._websocket.scope.get("state", {}).get(READER_CHECK)
        if may_read is None:
            await asyncio.Event().wait()
            return
        while await may_read():  # noqa: ASYNC110  access is looked up, nobody tells us
            await asyncio.sleep(RECHECK_S)

    async def _close(self, code: int, reason: str) -> None:
        with suppress(RuntimeError, WebSocketDisconnect):  # it is closed already
            await self._websocket.close(code, reason)


def _error(command_id: int | None, code: str, message: str) -> Json:
    return {"type": "error", "id": command_id, "error": code, "message": message}
