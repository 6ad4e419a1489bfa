"""The commands that a client sends to a thread.

```
run.start              {assistant_id, input, config, metadata}     -> {run_id}       creates the thread if necessary; see below
input.respond          {interrupt_id, response} | {responses}      -> {run_id}       resumes, once per interrupt
state.get              {namespace, keys}                           -> {values, checkpoint}
state.listCheckpoints  {namespace, limit, before}                  -> {checkpoints}
state.fork             {checkpoint_id, input, config}              -> {run_id, thread_id}
```

The response to a rejected command is `error` with a code and HTTP status 200, because that is where SDKs look for the sentence. Errors of
the request, not of the command, remain problems with their own status: a thread that does not exist or belongs to another user, too many
runs, a database that cannot be written.

`run.start` has no field for an answer: `RemoteGraph` sends `Command(resume=...)` as its input and relies on the server to notice that an
interrupt is open. So we treat an input that does not fit the graph's state as the answer, under the rules for an answer that names no
interrupt; an input that fits is a new message, as usual.

Rule to keep: `input.respond` always names its interrupt by id, so that the answer cannot reach a later interrupt.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from starlette.requests import HTTPConnection

from stepwell.database.types import RequestKey
from stepwell.errors import InterruptAnsweredError, InvalidRequestError, NotFoundError, ResumeError
from stepwell.runs.starting import RunOrder
from stepwell.runs.streaming.modes import PROTOCOL
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.policy import Ask, authorize, decided
from stepwell.server.protocol.bodies import InputRespond, ListCheckpoints, RunStart, StateFork, StateGet, ThreadCommand
from stepwell.server.schemas.config import RunConfig
from stepwell.validation import describe_first_fault

Json = dict[str, Any]

STREAMED = ("values", "updates", "custom", "tools", "lifecycle", PROTOCOL)
"""Stream modes of every run, so that any channel can be subscribed to later."""

_INTERRUPT_ID = re.compile(r"[0-9a-f]{32}")
_NOT_HERE = {
    "agent.getTree": "Get the graph from GET /assistants/{assistant_id}/graph, and follow the channel 'lifecycle' to see what is running.",
    "input.inject": "Start a run with the message as its input: it waits for the active run.",
    "subscription.subscribe": "Open POST /threads/{thread_id}/stream/events, or send it over a websocket.",
    "subscription.unsubscribe": "Close the stream, or send it over the websocket of the subscription.",
    "subscription.reconnect": "Open POST /threads/{thread_id}/stream/events with 'since', or send it over a websocket.",
}


async def carry_out(
    services: Services, principal: Principal, thread_id: str, command: ThreadCommand, key: RequestKey | None = None
) -> Json:
    """The response to a command. If its `key` has already started a run, returns that run."""
    place = await services.persistence.events.newest(thread_id)
    try:
        result = await _Thread(services, principal, thread_id, key).carry_out(command.method, command.params or {})
    except _Refused as refused:
        return {"type": "error", "id": command.id, "error": refused.code, "message": str(refused)}
    # The last event before this command: later events belong to the command.
    return {"type": "success", "id": command.id, "result": result, "meta": {"applied_through_seq": place}}


async def permitted(connection: HTTPConnection, principal: Principal, thread_id: str, command: ThreadCommand) -> Principal:
    """The principal of one command over a websocket: every command is decided about by itself."""
    action = _METHODS[command.method][0] if command.method in _METHODS else "threads:read"
    authorize(principal, action)

    async def meaning(request: HTTPConnection, principal: Principal, ask: Ask) -> Principal:
        return await ask_about(principal, ask, thread_id, command.method, command.params)

    return await decided(principal, action, connection, meaning)


async def ask_about(principal: Principal, ask: Ask, thread_id: str, method: object, params: object) -> Principal:
    """What a command means for a project's auth handlers. What is wrong with it is said when it is carried out."""
    if not isinstance(method, str) or method not in _METHODS:
        return principal
    fields = {**(params if isinstance(params, Mapping) else {}), "thread_id": thread_id}
    if method != "run.start":  # they go on with the thread's assistant
        fields.pop("assistant_id", None)
    return await ask(principal, _METHODS[method][0], fields)


def refuse_disabled(connection: HTTPConnection, command: ThreadCommand) -> None:
    """Refuse what the project has switched off: the routes that do the same do not exist."""
    disabled: Collection[str] = getattr(connection.app.state, "disabled", ())
    if command.method in _METHODS and (part := _METHODS[command.method][0].partition(":")[0]) in disabled:
        raise InvalidRequestError(
            f"'{command.method}' is switched off: the project's langgraph.json has 'http.disable_{part}'."
        )


class _Refused(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class _Thread:
    """The commands of one thread."""

    def __init__(self, services: Services, principal: Principal, thread_id: str, key: RequestKey | None) -> None:
        self._services = services
        self._principal = principal
        self._owner = principal.owner
        self._thread_id = thread_id
        self._key = key

    async def carry_out(self, method: str, params: Json) -> Json:
        if method in _NOT_HERE:
            raise _Refused("not_supported", f"'{method}' is not supported. {_NOT_HERE[method]}")
        if method not in _METHODS:
            raise _Refused("unknown_command", f"Unknown command '{method[:100]}'. Commands: {', '.join(_METHODS)}.")
        action, model, handle = _METHODS[method]
        authorize(self._principal, action)
        try:
            return await handle(self, model.model_validate(params))
        except ValidationError as error:
            raise _Refused("invalid_argument", f"{describe_first_fault(error, under=('params',))}.") from error
        except InvalidRequestError as error:
            raise _Refused("invalid_argument", str(error)) from error
        except (InterruptAnsweredError, ResumeError) as error:
            raise _Refused("no_such_interrupt", str(error)) from error
        except NotFoundError as error:
            if error.kind == "thread":
                raise
            raise _Refused("no_such_checkpoint" if error.kind == "checkpoint" else "invalid_argument", str(error)) from error

    async def run_start(self, params: RunStart) -> Json:
        strategy: Json = {"multitask_strategy": params.multitask_strategy} if params.multitask_strategy else {}
        given: Json = {"command": {"resume": params.input}} if await self._is_answer(params) else {"input": params.input}
        order = RunOrder(
            assistant_id=params.assistant_id,
            metadata=params.metadata or {},
            if_not_exists="create",
            **self._common(params.config),
            **strategy,
            **given,
        )
        return await self._start(order)

    async def _is_answer(self, params: RunStart) -> bool:
        """Whether the input of a run can only be an answer: an interrupt is open, and the input does not fit the graph's state."""
        if params.input is None or not await self._services.persistence.open_interrupts(self._owner, self._thread_id):
            return False
        if not isinstance(params.input, Mapping):
            return True
        schema = (await self._services.assistants.schemas(self._owner, params.assistant_id))["input_schema"]
        return schema is not None and not params.input.keys() & (schema.get("properties") or {}).keys()

    async def input_respond(self, params: InputRespond) -> Json:
        answers = params.answers()
        if not answers:
            raise _Refused("invalid_argument", "No interrupt was named. Send 'interrupt_id' and 'response', or 'responses'.")
        if unknown := [each for each in answers if not _INTERRUPT_ID.fullmatch(each)]:
            raise _Refused("no_such_interrupt", f"No interrupt '{unknown[0]}' is open on this thread.")
        command = {"resume": answers, **params.model_dump(include={"update", "goto"}, exclude_none=True)}
        assistant_id = await self._assistant()
        order = RunOrder(
            assistant_id=assistant_id, command=command, metadata=params.metadata or {}, **self._common(params.config)
        )
        return await self._start(order)

    async def state_get(self, params: StateGet) -> Json:
        place = {"checkpoint_ns": "|".join(params.namespace)} if params.namespace else None
        state = await self._services.threads.state(self._owner, self._thread_id, checkpoint=place)
        values = state["values"] if isinstance(state["values"], dict) else {}
        chosen = values if params.keys is None else {key: values[key] for key in params.keys if key in values}
        return {"values": chosen, **_checkpoint(state)}

    async def list_checkpoints(self, params: ListCheckpoints) -> Json:
        place = {"checkpoint_ns": "|".join(params.namespace)} if params.namespace else None
        states = await self._services.threads.history(
            self._owner,
            self._thread_id,
            limit=params.limit,
            before=params.before,
            checkpoint=place,
            show_values=lambda values: None,
        )
        return {"checkpoints": [_summary(state) for state in states]}

    async def state_fork(self, params: StateFork) -> Json:
        common = {**self._common(params.config), "checkpoint_id": params.checkpoint_id}
        started = await self._start(RunOrder(assistant_id=await self._assistant(), input=params.input, **common))
        return {**started, "thread_id": self._thread_id}

    async def _assistant(self) -> str:
        """The assistant of the thread's last run."""
        thread = await self._services.threads.get(self._owner, self._thread_id, with_values=False)
        if not (assistant_id := thread.metadata.get("assistant_id")):
            raise _Refused("no_such_run", "This thread has no runs yet. Begin with run.start.")
        return str(assistant_id)

    def _common(self, config: RunConfig | None) -> Json:
        given = config.given() if config else {}
        checkpoint_id = given.get("configurable", {}).get("checkpoint_id")
        return {
            "thread_id": self._thread_id,
            "config": given,
            "stream_modes": STREAMED,
            "stream_subgraphs": True,
            # The protocol has no separate field for the checkpoint from which a run branches.
            "checkpoint_id": checkpoint_id if isinstance(checkpoint_id, str) else None,
        }

    async def _start(self, order: RunOrder) -> Json:
        admitted = await self._services.engine.start(self._owner, order, self._principal.grants, self._key)
        return {"run_id": admitted.run.run_id}


_METHODS: Mapping[str, tuple[str, type[BaseModel], Callable[[_Thread, Any], Awaitable[Json]]]] = {
    "run.start": ("runs:create", RunStart, _Thread.run_start),
    "input.respond": ("runs:create", InputRespond, _Thread.input_respond),
    "state.get": ("threads:read", StateGet, _Thread.state_get),
    "state.listCheckpoints": ("threads:read", ListCheckpoints, _Thread.list_checkpoints),
    "state.fork": ("runs:create", StateFork, _Thread.state_fork),
}


def _checkpoint(state: Mapping[str, Any]) -> Json:
    place = state.get("checkpoint") or {}
    if not place.get("checkpoint_id"):
        return {}
    return {"checkpoint": {"id": place["checkpoint_id"], "ns": place.get("checkpoint_ns") or ""}}


def _summary(state: Mapping[str, Any]) -> Json:
    metadata = state.get("metadata") or {}
    return {
        "id": (state.get("checkpoint") or {}).get("checkpoint_id"),
        "timestamp": state.get("created_at"),
        "step": metadata.get("step", -1),
        "metadata": metadata,
    }
