"""A turn with an assistant, as foreign protocols see it: begin it, follow it, answer what it asks, stop it.

```
Turns.begin(assistant, input) ─┐
Turns.answer(thread, answers) ─┼─> Turn ─> follow():  TextPiece, ThoughtPiece, ToolStarted, ToolEnded, Restarted ... then one Outcome
Turns.find(thread, run) ───────┘          outcome(): waits for the Outcome alone
```

A turn is a run: it is on disk before `begin` returns, goes on without any connection, and can be found again by another process from its
thread and its id. So nothing here is kept in memory between two requests. A question ends the run; its answer is a new one.

`follow(after=...)` begins after an event's `seq`, which grows within a thread, so a client that reconnects misses nothing.

**Which text is told.** A graph's nodes may ask models for things that nobody is to read: a draft, a verdict. So a message is told when a
node has put it into the thread. Agents are told piece by piece, because the answer of their model's node (`_TALKING`) becomes a message; if
middleware changes it first, the changed text is told too, as a message of its own.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast
from uuid import UUID

import orjson

from stepwell.database.records.types import Page
from stepwell.database.types import CancelAction, MultitaskStrategy, PendingInterrupt, RequestKey, Run, RunEvent, RunStatus
from stepwell.errors import InvalidRequestError
from stepwell.runs.starting import RunOrder
from stepwell.server.bridges.content import last_answer, text_of, thought_of
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services
from stepwell.server.run_headers import Additions, take_headers

Status = Literal["answered", "asks", "stopped", "failed"]

_MODES = ("messages-tuple", "updates", "tools")
_TALKING = frozenset({"model", "agent"})
"""The nodes of agents that LangChain and LangGraph build."""
_CHANGED = "/changed"
_AGENT = ("ai", "AIMessageChunk")
_INTERRUPT = "__interrupt__"
_ACTIVE: tuple[RunStatus, ...] = ("running", "pending")
_MOST_ACTIVE = 1000


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of what the assistant says. Pieces with one `message_id` make up a message."""

    seq: int
    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ThoughtPiece:
    """A piece of the model's reasoning, where its provider shows it."""

    seq: int
    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool is running."""

    seq: int
    call_id: str
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A tool has returned, or failed."""

    seq: int
    call_id: str
    name: str
    output: Any
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Restarted:
    """The run goes on from its last checkpoint, because its worker died: an unfinished message is written again."""

    seq: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn has ended."""

    status: Status
    text: str = ""
    """The assistant's last message; empty if the graph has no messages."""
    message_id: str = ""
    values: Any = None
    """The graph's final values as JSON, without interrupts."""
    questions: Sequence[PendingInterrupt] = ()
    """What the turn waits for, if it `asks`. Empty at a breakpoint."""
    error: str = ""
    """Why it failed, as a sentence."""
    error_kind: str = ""
    seq: int = 0


Happening: TypeAlias = TextPiece | ThoughtPiece | ToolStarted | ToolEnded | Restarted | Outcome


@dataclass(frozen=True)
class Turn:
    """One run of one user."""

    services: Services
    principal: Principal
    run: Run
    additions: Additions = ()
    """What products add to the response, such as the change of a payment."""

    async def follow(self, after: int = 0) -> AsyncGenerator[Happening]:
        """What happens, from the beginning or after an event, up to the outcome, which is always last."""
        engine, run = self.services.engine, self.run
        reading, said, seq = _Reading(), set[str](), 0
        # From the beginning, because what an event means depends on those before it.
        events = cast("AsyncGenerator[list[RunEvent]]", engine.events(self.principal.owner, run.thread_id, run.run_id))
        async with aclosing(events) as batches:
            async for batch in batches:
                for event in batch:
                    seq = event.seq
                    for each in reading.read(event):
                        if isinstance(each, TextPiece):
                            said.add(each.message_id.removesuffix(_CHANGED))
                        if seq > after:
                            yield each
        outcome = await self.outcome(seq)
        if seq > after and outcome.text and outcome.status == "answered" and outcome.message_id not in said:
            yield TextPiece(seq, outcome.message_id, outcome.text)
        yield outcome

    async def outcome(self, seq: int = 0) -> Outcome:
        """Waits until the turn has ended."""
        owner, services = self.principal.owner, self.services
        values = orjson.loads(await services.engine.result(owner, self.run.thread_id, self.run.run_id))
        run = await services.persistence.records.get_run(owner, self.run.thread_id, self.run.run_id)
        if run.error:
            kind, reason = str(run.error.get("error") or "Error"), str(run.error.get("message") or "The run failed.")
            return Outcome("failed", error=reason, error_kind=kind, seq=seq)
        asked, values = _split(values)
        message = last_answer(values)
        said, message_id = (text_of(message), str(message.get("id") or "")) if message else ("", "")
        if run.status == "interrupted":
            return Outcome("stopped", said, message_id, values, seq=seq)
        if asked is None and not await self._waits(run):
            return Outcome("answered", said, message_id, values, seq=seq)
        return Outcome("asks", said, message_id, values, await self._questions(asked or ()), seq=seq)

    async def stop(self, action: CancelAction = "interrupt", *, wait: bool = False) -> None:
        """Stop the run; nothing happens if it has ended."""
        await self.services.engine.cancel(
            self.principal.owner, self.run.thread_id, [self.run.run_id], action=action, wait=wait, status=None
        )

    async def _waits(self, run: Run) -> bool:
        """Whether the run stopped at a breakpoint, which its values do not show."""
        if not (run.request.interrupt_before or run.request.interrupt_after):
            return False
        thread = await self.services.threads.get(self.principal.owner, run.thread_id, with_values=False)
        return thread.status == "interrupted"

    async def _questions(self, asked: Sequence[Mapping[str, Any]]) -> tuple[PendingInterrupt, ...]:
        """The questions with their schemas, which only the table of open interrupts has."""
        found = await self.services.persistence.open_interrupts(self.principal.owner, self.run.thread_id)
        still_open = {pending.interrupt_id: pending for pending in found}
        return tuple(still_open.get(each["id"]) or PendingInterrupt(each["id"], each.get("value")) for each in asked)


@dataclass(frozen=True)
class Turns:
    """The turns of one user."""

    services: Services
    principal: Principal

    async def begin(
        self,
        assistant: str,
        given: Any,
        *,
        thread_id: str | None = None,
        keep: bool = False,
        headers: Mapping[str, str] | None = None,
        key: RequestKey | None = None,
        metadata: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
        multitask_strategy: MultitaskStrategy = "enqueue",
    ) -> Turn:
        """Start a turn of an assistant, named by its id or its graph. Without `thread_id` it gets a thread of its own, which is deleted
        after the run unless it is to be kept or waits for an answer. A thread that does not exist yet is created."""
        order = RunOrder(
            assistant,
            thread_id=thread_id,
            input=given,
            metadata=metadata or {},
            context=context,
            if_not_exists="create",
            on_completion="keep" if keep else "keep_if_asked",
            multitask_strategy=multitask_strategy,
            stream_modes=_MODES,
        )
        return await self._start(order, headers, key)

    async def answer(
        self,
        thread_id: str,
        answers: Mapping[str, Any],
        *,
        headers: Mapping[str, str] | None = None,
        key: RequestKey | None = None,
    ) -> Turn:
        """Answer open questions, by the ids of their interrupts. The same answers again find the run that has them."""
        thread = await self.services.threads.get(self.principal.owner, thread_id, with_values=False)
        if not (assistant := thread.metadata.get("assistant_id")):
            raise InvalidRequestError(f"The thread '{thread_id}' has no run yet, so nothing was asked. Send a message first.")
        order = RunOrder(str(assistant), thread_id=thread_id, command={"resume": dict(answers)}, stream_modes=_MODES)
        return await self._start(order, headers, key)

    async def find(self, thread_id: str, run_id: str) -> Turn:
        """A turn that was begun before, maybe by another process. `NotFoundError` if the user has no such run."""
        return Turn(
            self.services,
            self.principal,
            await self.services.persistence.records.get_run(self.principal.owner, thread_id, run_id),
        )

    async def first_run(self, run: Run) -> str:
        """The run with which a run's turn began: answers to its questions are runs of their own."""
        while run.resumes is not None:
            run = await self.services.persistence.records.get_run(self.principal.owner, run.thread_id, run.resumes)
        return run.run_id

    async def going_on(self, first: Run) -> list[str]:
        """The runs of a turn that have not ended."""
        records, owner = self.services.persistence.records, self.principal.owner
        active = [
            run
            for status in _ACTIVE
            for run in await records.list_runs(owner, first.thread_id, status, Page(limit=_MOST_ACTIVE))
        ]
        return [run.run_id for run in active if await self.first_run(run) == first.run_id]

    async def open_questions(self, thread_id: str) -> Sequence[PendingInterrupt]:
        """What a thread waits for now, oldest first; empty for a thread that does not exist."""
        return await self.services.persistence.open_interrupts(self.principal.owner, thread_id)

    async def _start(self, order: RunOrder, headers: Mapping[str, str] | None, key: RequestKey | None) -> Turn:
        additions: Additions = ()
        if headers is not None:
            order, additions = await take_headers(self.services, self.principal, headers, order)
        admitted = await self.services.engine.start(self.principal.owner, order, self.principal.grants, key)
        return Turn(self.services, self.principal, admitted.run, additions)


def read_thread_id(given: object) -> str:
    """The id of a thread that a caller names; `InvalidRequestError` if it is invalid."""
    try:
        return str(UUID(str(given)))
    except ValueError as error:
        raise InvalidRequestError(
            "The thread's id is a UUID. Send one of your own to begin a conversation that is kept."
        ) from error


class _Reading:
    """Reads the journal of one run."""

    def __init__(self) -> None:
        self._attempts = 0
        self._written: dict[str, str] = {}
        """Messages of this run and their text so far: told ones, and ones that may be for nobody."""
        self._told: set[str] = set()

    def read(self, event: RunEvent) -> Iterator[Happening]:
        match event.event:
            case "messages":
                message, metadata = orjson.loads(event.data)
                yield from self._message(event.seq, message, metadata)
            case "updates":
                for update in orjson.loads(event.data).values():
                    yield from self._stored(event.seq, update)
            case "tools":
                yield from self._tool(event.seq, orjson.loads(event.data))
            case "metadata":
                self._attempts += 1
                if self._attempts > 1:
                    yield Restarted(event.seq, self._attempts)

    def _message(self, seq: int, message: Mapping[str, Any], metadata: Mapping[str, Any]) -> Iterator[Happening]:
        if message.get("type") not in _AGENT:
            return
        message_id, text = str(message.get("id") or ""), text_of(message)
        self._written[message_id] = self._written.get(message_id, "") + text
        if metadata.get("langgraph_node") not in _TALKING or metadata.get("lc_source"):  # a summary has a source
            return
        if thought := thought_of(message):
            yield ThoughtPiece(seq, message_id, thought)
        if text:
            self._told.add(message_id)
            yield TextPiece(seq, message_id, text)

    def _stored(self, seq: int, update: Any) -> Iterator[Happening]:
        """The messages that a node puts into the thread. Those that were there before, and come again, are not told."""
        for part in update if isinstance(update, list) else [update]:
            messages = part.get("messages") if isinstance(part, Mapping) else None
            for message in messages if isinstance(messages, list) else [messages]:
                if not isinstance(message, Mapping) or message.get("type") not in _AGENT:
                    continue
                message_id, text = str(message.get("id") or ""), text_of(message)
                if (
                    not text
                    or message_id not in self._written
                    or (message_id in self._told and self._written[message_id] == text)
                ):
                    continue
                name = f"{message_id}{_CHANGED}" if message_id in self._told else message_id
                self._told.add(message_id)
                self._written[message_id] = text
                yield TextPiece(seq, name, text)

    def _tool(self, seq: int, note: Mapping[str, Any]) -> Iterator[Happening]:
        call_id, name = str(note.get("toolCallId") or ""), str(note.get("name") or "")
        match note.get("event"):
            case "on_tool_start":
                yield ToolStarted(seq, call_id, name, note.get("input"))
            case "on_tool_end":
                yield ToolEnded(seq, call_id, name, note.get("output"))
            case "on_tool_error":
                yield ToolEnded(seq, call_id, name, note.get("error"), failed=True)


def _split(values: Any) -> tuple[list[Mapping[str, Any]] | None, Any]:
    """The questions in a run's final values, or None, and the values without them."""
    if not isinstance(values, dict) or _INTERRUPT not in values:
        return None, values
    return values[_INTERRUPT], {name: value for name, value in values.items() if name != _INTERRUPT}
