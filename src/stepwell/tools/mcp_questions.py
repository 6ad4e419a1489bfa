"""Passes questions of an MCP server (its elicitations) on to the person, while a call is under way.

```
call ─▶ server asks ─┬─ answered before ─▶ the stored answer ─▶ the server goes on
                     └─ new ─▶ the server gets an error, the call ends, the graph pauses
                                                                  └─ answered ─▶ the call is made again, from its start
```
A pause may last for days and outlive this process, so no call can wait for it. The call is made again instead, and every answer given so
far is replayed in order. A server that asks before it acts therefore acts once; one that acts first and asks then acts again with every
question. `EffectsMiddleware` treats the pause like that of any tool that asks.

A question does not say which call it belongs to. A session that serves one call knows; in a shared session, a question counts only if one
call is under way. After the first question, calls in that session wait for one another.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from langgraph.config import get_config

from stepwell.answers.elicitation import QuestionKeepsChangingError, ask_elicitation

if TYPE_CHECKING:
    from mcp.types import ElicitRequestParams, ElicitResult, ErrorData

    _Question = tuple[ElicitRequestParams, asyncio.Future[ElicitResult | ErrorData]]

GIVE_UP_S = 5.0
"""How long a call that the graph's pause ends may take to end by itself."""
MAX_MESSAGE_CHARS = 10_000
MAX_FIELDS = 50

_INVALID_REQUEST = -32600
_URL_REQUIRED = -32042
_CHECKPOINTER = "__pregel_checkpointer"
_FIELD_KEYS = (
    "type", "title", "description", "default", "enum", "enumNames", "format", "minLength", "maxLength", "minimum", "maximum", "items",
    "minItems", "maxItems",
)  # fmt: skip
"""What a field of a form may say. A `pattern` is left out, because a server could choose one that takes for ever."""

DECLINED = "stepwell_declined"
"""Marks the result of a call whose question the person declined or dismissed, in `additional_kwargs`. The server may have acted before."""

Result = TypeVar("Result")


class QuestionError(Exception):
    """A question that cannot be asked. Its text is for the model."""


class AskingCall:
    """One call under way, and the questions that the server asks meanwhile."""

    def __init__(self, server: str, tool: str) -> None:
        self._server, self._tool = server, tool
        self._asked: asyncio.Queue[_Question] = asyncio.Queue()

    async def ask(self, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        """Called where the session receives messages; the answer comes from `run`."""
        answer: asyncio.Future[ElicitResult | ErrorData] = asyncio.get_running_loop().create_future()
        self._asked.put_nowait((params, answer))
        return await answer

    async def run(self, call: Callable[[], Awaitable[Result]]) -> Result:
        """Make the call, and answer what the server asks. A pause of the graph is raised from here, in the tool's own task."""
        while True:
            try:
                return await self._run_once(call)
            except Exception as error:
                required = _required_urls(error)
                if not required:
                    raise
                for params in required:
                    if self._answer(params)["action"] != "accept":
                        raise QuestionError(_declined(self._server, self._tool)) from error

    async def _run_once(self, call: Callable[[], Awaitable[Result]]) -> Result:
        calling: asyncio.Future[Result] = asyncio.ensure_future(call())
        try:
            while (question := await self._next_question(calling)) is not None:
                params, answer = question
                try:
                    _reply(answer, _result(self._answer(params)))
                except BaseException:
                    _reply(answer, _refusal("There is no answer yet. The call is made again when there is one."))
                    await asyncio.wait((calling,), timeout=GIVE_UP_S)
                    raise
            return calling.result()
        finally:
            if not calling.done():
                calling.cancel()
            await asyncio.wait((calling,))
            if not calling.cancelled():
                calling.exception()  # looked at, so that asyncio does not report it

    async def _next_question(self, calling: asyncio.Future[Any]) -> _Question | None:
        """The server's next question; None if the call ends without one."""
        getting = asyncio.ensure_future(self._asked.get())
        try:
            await asyncio.wait((calling, getting), return_when=asyncio.FIRST_COMPLETED)
            return None if calling.done() else getting.result()
        finally:
            getting.cancel()

    def _answer(self, params: ElicitRequestParams) -> dict[str, Any]:
        _require_someone(self._server)
        try:
            answer = ask_elicitation(_question(self._server, self._tool, params))
        except QuestionKeepsChangingError:
            raise QuestionError(
                f"The MCP server '{self._server}' asks the user something else each time '{self._tool}' is called, so no answer could be "
                "given to it."
            ) from None
        if answer["action"] != "accept" and (noted := _declines.get()) is not None:
            noted.append(self._tool)
        return answer


_calling: ContextVar[AskingCall | None] = ContextVar("stepwell_mcp_call", default=None)
"""The call that opened the session in which a message arrives; None in a session that was opened for several calls."""


_declines: ContextVar[list[str] | None] = ContextVar("stepwell_mcp_declines", default=None)


@contextmanager
def noting_declines() -> Iterator[list[str]]:
    """Within it, the names of tools whose questions the person declines are noted. Work that is started within it notes them too."""
    noted: list[str] = []
    token = _declines.set(noted)
    try:
        yield noted
    finally:
        _declines.reset(token)


class SharedSession:
    """Who is asked in a session that serves several calls."""

    def __init__(self) -> None:
        self._under_way: list[AskingCall] = []
        self._has_asked = False
        self._one_at_a_time = asyncio.Lock()

    @asynccontextmanager
    async def serve(self, call: AskingCall) -> AsyncIterator[None]:
        alone = self._has_asked
        if alone:
            await self._one_at_a_time.acquire()
        self._under_way.append(call)
        try:
            yield
        finally:
            self._under_way.remove(call)
            if alone:
                self._one_at_a_time.release()

    async def on_elicitation(self, context: Any, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        self._has_asked = True
        if len(self._under_way) != 1:
            return _refusal(
                f"{len(self._under_way)} calls are under way in this session, so it is unknown whose question this is. Make this call "
                "again, alone."
            )
        return await self._under_way[0].ask(params)


async def ask_caller(context: Any, params: ElicitRequestParams, about: Any) -> ElicitResult | ErrorData:
    """The callback of a session that was opened for one call."""
    call = _calling.get()
    return _refusal("No call is under way.") if call is None else await call.ask(params)


async def run_asking(call: AskingCall, make: Callable[[], Awaitable[Result]], shared: SharedSession | None) -> Result:
    """Make a call whose server may ask."""
    if shared is not None:
        async with shared.serve(call):
            return await call.run(make)
    token = _calling.set(call)
    try:
        return await call.run(make)
    finally:
        _calling.reset(token)


def _reply(answer: asyncio.Future[ElicitResult | ErrorData], reply: ElicitResult | ErrorData) -> None:
    if not answer.done():  # the session may have ended meanwhile
        answer.set_result(reply)


def _require_someone(server: str) -> None:
    try:
        stores = get_config()["configurable"].get(_CHECKPOINTER) is not None
    except (RuntimeError, KeyError):
        stores = False
    if not stores:
        raise QuestionError(
            f"The MCP server '{server}' asks the user something, but without a graph with a checkpointer nothing stores the question until "
            "it is answered."
        )


def _question(server: str, tool: str, params: ElicitRequestParams) -> dict[str, Any]:
    message = params.message[:MAX_MESSAGE_CHARS]
    if params.mode == "url":
        address = urlsplit(params.url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise QuestionError(f"The MCP server '{server}' asks the user to open an address that is not one of the web.")
        # What comes after the path is made anew by many servers for every question.
        asked = {"mode": "url", "message": message, "url": params.url}
        return _named(server, tool, asked, [message, address.scheme, address.netloc, address.path])
    schema = plain_schema(params.requestedSchema)
    return _named(server, tool, {"mode": "form", "message": message, "requested_schema": schema}, [message, schema])


def _named(server: str, tool: str, asked: dict[str, Any], identity: list[Any]) -> dict[str, Any]:
    written = json.dumps([server, tool, *identity], sort_keys=True, ensure_ascii=False)
    return {"server": server, "tool": tool, **asked, "question_id": hashlib.sha256(written.encode()).hexdigest()[:16]}


def plain_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A requested form with what the protocol allows: one level of plain fields. Choices with titles become `enum` and `enumNames`."""
    properties = schema.get("properties")
    given = properties if isinstance(properties, Mapping) else {}
    fields = {str(name): _field(each) for name, each in list(given.items())[:MAX_FIELDS] if isinstance(each, Mapping)}
    listed = schema.get("required")
    required = [name for name in listed if name in fields] if isinstance(listed, list) else []
    return {"type": "object", "properties": fields, **({"required": required} if required else {})}


def _field(described: Mapping[str, Any]) -> dict[str, Any]:
    field = {key: described[key] for key in _FIELD_KEYS if key in described}
    titled = described.get("oneOf") or described.get("anyOf")
    if isinstance(titled, list) and titled and all(isinstance(each, Mapping) and "const" in each for each in titled):
        field["enum"] = [each["const"] for each in titled]
        field["enumNames"] = [str(each.get("title", each["const"])) for each in titled]
    if isinstance(field.get("items"), Mapping):
        field["items"] = _field(field["items"])
    return field


def _required_urls(error: BaseException) -> list[Any]:
    """The addresses that a server wants the person to open before it takes the call (the protocol's error -32042)."""
    details = getattr(error, "error", None)
    if getattr(details, "code", None) != _URL_REQUIRED:
        return []
    from mcp.types import ElicitationRequiredErrorData

    try:
        return list(ElicitationRequiredErrorData.model_validate(getattr(details, "data", None)).elicitations)
    except ValueError:
        return []


def _result(answer: Mapping[str, Any]) -> ElicitResult:
    from mcp.types import ElicitResult

    content = answer.get("content") if answer["action"] == "accept" else None
    return ElicitResult(action=answer["action"], content=content)


def _refusal(message: str) -> ErrorData:
    from mcp.types import ErrorData

    return ErrorData(code=_INVALID_REQUEST, message=message)


def _declined(server: str, tool: str) -> str:
    return f"'{tool}' was not run: the user did not open the address that the MCP server '{server}' asks for."
