"""One `tools/call`: a turn of an assistant as a stream of MCP messages, or as one result.

```
begin ─> follow ─┬─ tool starts, tool ends ──────> notifications/progress, if the client sent a progressToken
                 ├─ asks ─> elicitation/create ┄┄> (a POST to any server) ┄┄> the next run ─> follow
                 └─ ends ──────────────────────> the result
```
The answer to a question arrives with another request, maybe at another server. It starts the next run, whose events this stream reads from
the database. If the answer is not accepted, or there is none, because the person dismisses the form, declines a question that has no answer
for that, or the client cannot show it, the thread's metadata says so (`REPLY`), and this stream asks again or ends.

A client that loses the connection comes back with the last event's id (`Place`) and gets the rest. Losing it does not stop the run; only
`notifications/cancelled` does.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import json
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import orjson

from stepwell.answers.typed import wording
from stepwell.database.types import PendingInterrupt, RequestKey, Run, RunEvent
from stepwell.errors import (
    AnswerShapeError,
    InterruptAnsweredError,
    InvalidRequestError,
    NotFoundError,
    RequestKeyError,
    ResumeError,
    StepwellError,
)
from stepwell.server.bridges.mcp.arguments import read_arguments
from stepwell.server.bridges.mcp.elicitation import NoAnswerError, form_of, read_reply
from stepwell.server.bridges.mcp.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    RpcError,
    RpcId,
    Session,
    is_rpc_id,
    rpc_error,
    rpc_result,
)
from stepwell.server.bridges.mcp.structured import structured_content
from stepwell.server.bridges.mcp.tools import THREAD_ID, find_tool
from stepwell.server.bridges.naming import NamedAssistant
from stepwell.server.bridges.schemas import compact
from stepwell.server.bridges.turns import Outcome, Restarted, ToolEnded, ToolStarted, Turn, Turns, read_thread_id
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.policy import authorize
from stepwell.server.problems import problem_of
from stepwell.server.run_headers import late_headers
from stepwell.server.served_tools import ServedTool

REPLY = "mcp_reply"
"""Key of a thread's metadata: what became of the last reply to a question that did not answer it."""
_LOOK_S = 1.0
"""How often we look for such a reply while a question is open."""
_MOST_ASKED = 5
"""How often a question is sent whose replies do not fit: a program that fills in forms may never learn."""
_LARGEST = 2**53
_STREAM_PREFIX = "mcp"
_DELETED = "The conversation was deleted during the call, so there is no result. Call the tool again to begin a new one."
_WENT_ON = "The assistant asked, and the conversation went on without an answer. Call this tool with only thread_id for what it came to."


class _WentOnError(Exception):
    """Another run began on the thread, so the question will not be answered."""


@dataclass(frozen=True)
class Place:
    """Where a call's stream is: the id of its events."""

    thread_id: str
    run_id: str
    seq: int
    message_id: RpcId
    progress: RpcId | None = None
    asked: int = 0
    """How often the question after `seq` was sent."""

    def encode(self) -> str:
        return base64.urlsafe_b64encode(orjson.dumps(list(asdict(self).values()))).decode().rstrip("=")


def read_place(text: str) -> Place:
    """The place that an event's id names."""
    try:
        fields = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        thread_id, run_id, seq, message_id, progress, asked = fields
    except (ValueError, TypeError, binascii.Error) as error:
        raise InvalidRequestError("The Last-Event-ID is not one of this server. Call the tool again.") from error
    numbers = all(isinstance(each, int) and 0 <= each < _LARGEST for each in (seq, asked))
    if not (isinstance(thread_id, str) and isinstance(run_id, str) and numbers and is_rpc_id(message_id)):
        raise InvalidRequestError("The Last-Event-ID is not one of this server. Call the tool again.")
    return Place(thread_id, run_id, seq, message_id, progress, asked)


@dataclass(frozen=True)
class Call:
    """One call of one client."""

    services: Services
    principal: Principal
    session: Session
    message_id: RpcId
    progress: RpcId | None = None

    async def result(self, params: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
        """The whole call as one message, for clients that read no streams. A question ends it."""
        quiet = replace(self, session=replace(self.session, id=self.session.name), progress=None)
        return await quiet._last(quiet.messages(params, headers))

    async def _last(self, messages: AsyncGenerator[tuple[Place | None, dict[str, Any]]]) -> dict[str, Any]:
        async with aclosing(messages) as told:
            return [message async for _, message in told][-1]

    async def messages(
        self, params: Mapping[str, Any], headers: Mapping[str, str]
    ) -> AsyncGenerator[tuple[Place | None, dict[str, Any]]]:
        """The messages of the call's stream, each with its place. The last one is the result, or an error."""
        try:
            tool = await find_tool(self.services, self.principal, params.get("name"))
            arguments = params.get("arguments") or {}
            if not isinstance(arguments, Mapping):
                raise RpcError(INVALID_PARAMS, "'arguments' is an object.")
            if isinstance(tool, ServedTool):
                yield None, rpc_result(self.message_id, await self._use(tool, arguments))
                return
            turn, after = await self._begin(tool, arguments, headers)
        except RpcError as error:
            yield None, rpc_error(self.message_id, error.code, str(error))
            return
        except RequestKeyError:
            fault = "The id of this request was used in this session for another call. Give each request an id of its own."
            yield None, rpc_error(self.message_id, INVALID_REQUEST, fault)
            return
        except StepwellError as error:
            yield None, rpc_result(self.message_id, _failure(error))
            return
        async with aclosing(
            self.follow(turn, Place(turn.run.thread_id, turn.run.run_id, after, self.message_id, self.progress))
        ) as told:
            async for each in told:
                yield each

    async def follow(self, turn: Turn, place: Place) -> AsyncGenerator[tuple[Place | None, dict[str, Any]]]:
        """The stream from a place on."""
        try:
            async with aclosing(self._follow(turn, place)) as told:
                async for each in told:
                    yield each
        except NotFoundError:
            yield None, self.deleted()
        except _WentOnError:
            yield None, rpc_result(self.message_id, {"content": [_text(_WENT_ON)], **_place_of(turn.run), "isError": True})

    def deleted(self) -> dict[str, Any]:
        """The last message of a call whose conversation is gone."""
        return rpc_result(self.message_id, {"content": [_text(_DELETED)], "isError": True})

    async def _follow(self, turn: Turn, place: Place) -> AsyncGenerator[tuple[Place | None, dict[str, Any]]]:
        if self.session.knows_priming and place.seq == 0:
            yield place, {}
        sent: Place | None = None
        sent_question = ""
        while True:
            outcome = Outcome("stopped")
            async with aclosing(turn.follow(place.seq)) as happenings:
                async for each in happenings:
                    if isinstance(each, Outcome):
                        outcome = each
                    elif self.progress is not None and (line := _line(each)):
                        place = replace(place, seq=each.seq)
                        yield place, self._progress(each.seq, line)
            asked = replace(place, seq=max(place.seq, outcome.seq))
            question = outcome.questions[0] if outcome.status == "asks" and outcome.questions else None
            form = form_of(question, self.session) if question else None
            if question is None or form is None:
                yield asked, rpc_result(self.message_id, await self._result(turn, outcome))
                return
            if sent and question.interrupt_id == sent_question:  # another one was answered elsewhere; the form is still shown
                asked = replace(asked, asked=sent.asked)
            sent_question = question.interrupt_id
            answered: Turn | None = None
            async with aclosing(self._ask(turn, question, form, asked)) as asking:
                async for step in asking:
                    if isinstance(step, Turn):
                        answered = step
                    else:
                        sent = step[0]
                        yield step
            if answered is None:
                yield asked, rpc_result(self.message_id, await self._result(turn, outcome))
                return
            turn = answered
            place = replace(asked, run_id=turn.run.run_id, asked=0)

    async def _ask(
        self, turn: Turn, question: PendingInterrupt, form: dict[str, Any], place: Place
    ) -> AsyncGenerator[tuple[Place, dict[str, Any]] | Turn]:
        """Send the question until it is answered; then yields the turn that goes on. Ends without one if the question stays open."""
        problem = ""
        while True:
            if not place.asked or problem:
                place = replace(place, asked=place.asked + 1)
                message_id = f"{turn.run.thread_id}:{question.interrupt_id}:{place.asked}"
                told = {**form, "message": f"{problem}\n{form['message']}".strip()}
                yield place, {"jsonrpc": "2.0", "id": message_id, "method": "elicitation/create", "params": told}
            found = await self._next(turn, place.seq, f"{question.interrupt_id}:{place.asked}")
            if isinstance(found, str):
                problem = found
                if place.asked >= _MOST_ASKED:
                    return
                continue
            if found is not None:
                yield found
            return

    async def _next(self, turn: Turn, after: int, asked: str) -> Turn | str | None:
        """The run that answers this one's question; or what was wrong with a reply; or None if there will be no answer."""
        events = cast(
            "AsyncGenerator[list[RunEvent]]",
            self.services.engine.thread_events(self.principal.owner, turn.run.thread_id, after=after),
        )
        async with aclosing(events) as batches:
            batch = asyncio.ensure_future(anext(batches))
            try:
                while True:
                    done, _ = await asyncio.wait({batch}, timeout=_LOOK_S)
                    if done:
                        try:
                            told = batch.result()
                        except StopAsyncIteration:  # only a deleted thread has no more events
                            raise NotFoundError("thread", turn.run.thread_id, "It was deleted.") from None
                        for event in told:
                            if event.run_id != turn.run.run_id:
                                return await self._going_on(turn, event.run_id)
                        batch = asyncio.ensure_future(anext(batches))
                    elif (reply := await self._reply(turn.run.thread_id, asked)) is not None:
                        return reply or None
            finally:
                batch.cancel()
                with suppress(asyncio.CancelledError, StopAsyncIteration, StepwellError):
                    await batch

    async def _going_on(self, turn: Turn, run_id: str) -> Turn:
        """The run that follows on the thread, if it answers one of the turn's questions. Each of several may be answered by itself; all of
        these runs resume the one that asked."""
        found = await Turns(self.services, self.principal).find(turn.run.thread_id, run_id)
        turns = Turns(self.services, self.principal)
        if found.run.resumes is None or await turns.first_run(found.run) != await turns.first_run(turn.run):
            raise _WentOnError
        return found

    async def _reply(self, thread_id: str, asked: str) -> str | None:
        """What was wrong with the reply to this question; empty if it leaves the question open, or if the call was cancelled; None if there
        was none."""
        thread = await self.services.threads.get(self.principal.owner, thread_id, with_values=False)
        reply = thread.metadata.get(REPLY)
        if isinstance(reply, Mapping) and reply.get("cancelled") == _call_name(self.session, self.message_id):
            return ""
        return str(reply.get("problem", "")) if isinstance(reply, Mapping) and reply.get("asked") == asked else None

    async def _begin(self, tool: NamedAssistant, arguments: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[Turn, int]:
        """The turn of this call, and after which event it is followed. With nothing but a thread, the thread's newest run."""
        authorize(self.principal, "runs:create")
        turns = Turns(self.services, self.principal)
        key = call_key(self.principal, self.session, self.message_id, _fingerprint(tool.name, arguments))
        thread_id = None if arguments.get(THREAD_ID) is None else read_thread_id(arguments[THREAD_ID])
        given = {name: value for name, value in arguments.items() if name != THREAD_ID}
        assistant_id = tool.assistant.assistant_id
        if thread_id and (waiting := await turns.open_questions(thread_id)) and given:
            if (before := await self.services.engine.started_by(key)) is not None:  # it is this call that asks
                return Turn(self.services, self.principal, before.run), 0
            raise InvalidRequestError(f"The conversation waits for an answer. {_how_to_answer(thread_id, waiting[0])}")
        if thread_id and not given:
            try:
                newest = await self.services.engine.newest_run(self.principal.owner, thread_id)
            except NotFoundError:
                newest = None
            if newest is None:
                raise NotFoundError("conversation", thread_id, "Send messages too, to begin it.")
            return Turn(self.services, self.principal, newest), 0
        read = await read_arguments(self.services, self.principal, tool.assistant, given, continues=thread_id is not None)
        return await turns.begin(assistant_id, read, thread_id=thread_id, headers=headers, key=key), 0

    async def _use(self, tool: ServedTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
        authorize(self.principal, tool.action)
        found = await tool.call(self.services, self.principal, arguments)
        return {"content": [_text(compact(found))], "structuredContent": dict(found), "isError": False}

    async def _result(self, turn: Turn, outcome: Outcome) -> dict[str, Any]:
        told = {**_told(turn, outcome, await self._output_fields(turn.run)), **_place_of(turn.run)}
        if turn.additions:
            told["_meta"] |= await late_headers(self.services, turn.run, turn.additions)
        return told

    async def _output_fields(self, run: Run) -> Collection[str] | None:
        owner = self.principal.owner
        try:
            assistant = await self.services.assistants.get(owner, run.request.assistant_id)
        except NotFoundError:  # deleted meanwhile
            return None
        return await self.services.registry.output_fields(assistant.graph_id, owner)

    def _progress(self, seq: int, line: str) -> dict[str, Any]:
        params = {"progressToken": self.progress, "progress": seq, "message": line}
        return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def call_key(principal: Principal, session: Session, message_id: RpcId, fingerprint: str = "") -> RequestKey | None:
    """The key by which any server finds the run of a call. Ids are unique within a session."""
    if not session.name:
        return None
    return RequestKey(str(principal.owner), _call_name(session, message_id), fingerprint)


def _call_name(session: Session, message_id: RpcId) -> str:
    return f"{_STREAM_PREFIX}:{session.name}:{orjson.dumps(message_id).decode()}"


def _fingerprint(name: str, arguments: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps([name, arguments], sort_keys=True).encode()).hexdigest()


def _place_of(run: Run) -> dict[str, dict[str, str]]:
    return {"_meta": {"thread_id": run.thread_id, "run_id": run.run_id}}


async def cancel_call(services: Services, principal: Principal, session: Session, message_id: Any) -> None:
    """`notifications/cancelled`: stop what a call has started, and nothing else on its thread. A question that it asked stays open. Nothing
    happens if the call has ended, is not known, or only follows what others have started."""
    if not is_rpc_id(message_id):
        return
    with suppress(NotFoundError):  # deleted meanwhile
        started = await services.engine.started_by(call_key(principal, session, message_id))
        if started is None:
            return
        turns, thread_id = Turns(services, principal), started.run.thread_id
        if going_on := await turns.going_on(started.run):
            await services.engine.cancel(principal.owner, thread_id, going_on)
        elif await turns.open_questions(thread_id):
            cancelled = {"cancelled": _call_name(session, message_id)}
            await services.threads.update(principal.owner, thread_id, {REPLY: cancelled})


async def take_reply(services: Services, principal: Principal, message_id: Any, reply: Mapping[str, Any] | None) -> None:
    """The client's answer to `elicitation/create`; None if it says that it cannot ask. What does not answer the question is noted for the
    stream that asked."""
    parts = message_id.split(":") if isinstance(message_id, str) else []
    if len(parts) != 3:
        raise InvalidRequestError("The id of this response names no question of this server.")
    thread_id, interrupt_id, number = parts
    turns = Turns(services, principal)
    pending = next((each for each in await turns.open_questions(thread_id) if each.interrupt_id == interrupt_id), None)
    if pending is None:  # answered elsewhere
        return
    asked = f"{interrupt_id}:{number}"
    try:
        if reply is None:
            raise NoAnswerError
        await turns.answer(thread_id, {interrupt_id: read_reply(pending, reply)})
    except NoAnswerError:
        await services.threads.update(principal.owner, thread_id, {REPLY: {"asked": asked}})
    except (ValueError, AnswerShapeError) as error:
        await services.threads.update(principal.owner, thread_id, {REPLY: {"asked": asked, "problem": str(error)}})
    except (InterruptAnsweredError, ResumeError, NotFoundError):  # another answer was faster, or the thread was deleted
        return


def _told(turn: Turn, outcome: Outcome, fields: Collection[str] | None) -> dict[str, Any]:
    match outcome.status:
        case "answered":
            structured = structured_content(outcome, fields)
            text = outcome.text or (outcome.values if isinstance(outcome.values, str) else compact(_plainly(structured)))
            return {"content": [_text(text)], "structuredContent": structured, "isError": False}
        case "asks":
            waiting = [wording(each.value, each.response_schema) for each in outcome.questions]
            lines = [
                "The assistant asks, and waits for an answer.",
                *waiting,
                _how_to_answer(turn.run.thread_id, *outcome.questions),
            ]
            questions = [{"interrupt_id": each.interrupt_id, "value": each.value} for each in outcome.questions]
            structured = {THREAD_ID: turn.run.thread_id, "questions": questions}
            return {"content": [_text("\n".join(lines))], "structuredContent": structured, "isError": True}
        case "stopped":
            return {"content": [_text("The call was cancelled.")], "isError": True}
        case _:
            return {"content": [_text(f"The assistant failed: {outcome.error}")], "isError": True}


def _how_to_answer(thread_id: str, *questions: PendingInterrupt) -> str:
    named = "".join(f' with {{"command": {{"resume": {{"{each.interrupt_id}": ...}}}}}}' for each in questions[:1])
    return (
        f"Its thread is {thread_id}. A person can answer there, on this server's page or by POST /threads/{thread_id}/runs{named}; "
        "or call this tool again with only thread_id, from a client that supports elicitation. The same call then returns the result."
    )


def _plainly(structured: dict[str, Any]) -> Any:
    """The value itself, if it was wrapped because it is no object."""
    return structured["value"] if structured.keys() == {"value"} else structured


def _failure(error: StepwellError) -> dict[str, Any]:
    if problem_of(error) is None:  # not for callers: a mistake of ours, or of the operator
        raise error
    return {"content": [_text(str(error))], "isError": True}


def _line(happening: Any) -> str:
    match happening:
        case ToolStarted(name=name):
            return f"Running {name}"
        case ToolEnded(name=name, failed=failed):
            return f"{name} failed" if failed else f"{name} is done"
        case Restarted():
            return "Resuming after an interruption"
        case _:
            return ""


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
