"""Drives runs: claim, drive, record, finish.

```
start ─> queue.admit ┄┄> queue.work ─> Attempt.run ─> queue.finish        (claim and finish are transactions of the queue)
                                          │
                          events.append <─┘ as it goes ┄┄> events(...) for followers
```

An admitted run is driven until it ends, by this process or the next one. It does not depend on any connection.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from types import TracebackType
from typing import Any, Literal, Protocol, Self

from langchain_core.callbacks import BaseCallbackHandler

from stepwell.answers import AnswerShapes
from stepwell.clock import Clock
from stepwell.database.callers import Caller, stamped
from stepwell.database.events.reading import BEGINNING
from stepwell.database.persistence import Persistence
from stepwell.database.queue.types import Admission, Admitted, ClaimedRun
from stepwell.database.records.types import Page
from stepwell.database.sent_messages import SentMessage, input_of
from stepwell.database.shared_spending import note_agent
from stepwell.database.types import (
    SYSTEM,
    Assistant,
    BackgroundTask,
    CancelAction,
    Lease,
    RequestKey,
    Run,
    RunEvent,
    RunOutcome,
)
from stepwell.errors import (
    AccessError,
    InfrastructureError,
    InvalidRequestError,
    NotFoundError,
    StepwellError,
    StorageUnavailableError,
)
from stepwell.permission_modes import PERMISSION_MODE
from stepwell.runs.assistants import Assistants
from stepwell.runs.attempt import Attempt
from stepwell.runs.failures import describe_failure
from stepwell.runs.gates import Arrival, Gate
from stepwell.runs.graphs.inputs import input_fault
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.starting import RunOrder, check_answers, make_admission
from stepwell.runs.webhooks.rules import WebhookRules, check_webhook_url
from stepwell.sql import Connection
from stepwell.state import wire
from stepwell.state.steering import SteeringMessage
from stepwell.supervision import Duty, Supervisor, stop
from stepwell.tools.background import split_graph_id
from stepwell.tools.rewind.journal import NO_INPUT
from stepwell.tools.shared_spending import WHOLE_THREAD

logger = logging.getLogger(__name__)

_RUNS_LOOKED_AT = 10
OPERATOR = "operator"
"""The owner of runs that an operator starts without a thread."""
MOST_AT_ONCE = 1000
"""How many runs one process drives at the same time, by default."""
_ALWAYS_SENT = frozenset({"metadata", "error", "end"})
_STORAGE_RETRY_S = 1.0
_LONGEST_RETRY_S = 60.0
_MAX_DOUBLINGS = 10
_EARLY_S = 10.0


class RunWatcher(Protocol):
    """Observes attempts: logs, metrics, traces. It must not raise and must not take long."""

    def began(self, run: Run) -> Sequence[BaseCallbackHandler]:
        """Returns callback handlers for nodes, models and tools of this attempt."""
        ...

    def ended(self, run: Run, outcome: RunOutcome | None) -> None:
        """An attempt has ended. An `outcome` of `None` means that it was abandoned, and that the run will be driven again."""
        ...


@dataclass(frozen=True)
class EngineOptions:
    """How an engine drives runs."""

    concurrency: int = MOST_AT_ONCE
    """How many runs this process drives at once."""
    run_timeout_s: float | None = None
    max_active_runs_per_owner: int | None = None
    answer_shapes: AnswerShapes = field(default_factory=AnswerShapes)
    refuse_bare_answers: bool = False
    """Whether answers must name their question."""
    drain_s: float = 10.0
    """How long runs get to finish when the process stops."""
    webhook_rules: WebhookRules = field(default_factory=WebhookRules)


class Engine:
    """`async with Engine(...)`: recovers what a dead process left, then drives runs until the block is left."""

    def __init__(
        self,
        persistence: Persistence,
        registry: GraphRegistry,
        assistants: Assistants,
        *,
        clock: Clock,
        new_id: Callable[[], str],
        options: EngineOptions | None = None,
        gates: Sequence[Gate] = (),
        watchers: Sequence[RunWatcher] = (),
        supervisor: Supervisor | None = None,
    ) -> None:
        self._persistence = persistence
        self._registry = registry
        self._assistants = assistants
        self._clock = clock
        self._new_id = new_id
        self._options = options or EngineOptions()
        self._gates = tuple(gates)
        self._watchers = tuple(watchers)
        self._supervisor = supervisor or Supervisor()
        self._worker = f"{os.getpid()}-{new_id()}"
        self._recovered = False
        self._draining = asyncio.Event()
        self._driving: dict[str, Attempt] = {}
        self._stop_early: dict[str, CancelAction] = {}
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def driving(self) -> int:
        """How many runs are being driven here."""
        return len(self._driving)

    @property
    def draining(self) -> bool:
        """Whether this engine has stopped claiming runs."""
        return self._draining.is_set()

    def stop_claiming(self) -> None:
        """Claim no more runs; current ones continue. `drain` does this too, and waits."""
        self._draining.set()

    async def __aenter__(self) -> Self:
        try:
            await self._recover()
        except StorageUnavailableError as error:
            # Even with a full disk, much can be read and deleted.
            logger.warning("the database cannot be written to; runs will be driven once it can: %s", error)
        self._tasks = [
            self._supervisor.start("driving runs", self._work, vital=True),
            self._supervisor.start("cancelling runs", self._obey_cancellations, vital=True),
        ]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.drain()

    async def drain(self) -> int:
        """Claim no more runs, let current ones finish for a while, then hand the rest back, for the next process to continue. Returns how
        many runs were handed back. Leaving the block does this too; a server calls it while it can still answer waiting clients."""
        self.stop_claiming()
        working, obeying = self._tasks
        await asyncio.wait({working}, timeout=self._options.drain_s)
        handed_back = len(self._driving)
        await stop([working, obeying])
        return handed_back

    async def _recover(self) -> None:
        """Recover what dead processes left. Called once, before the first claim."""
        if self._recovered:
            return
        recovered = await self._persistence.queue.recover(self._worker)
        self._recovered = True
        if recovered:
            logger.info("runs of an earlier process will be driven again", extra={"count": len(recovered)})

    async def _work(self, duty: Duty) -> None:
        while not self._recovered and not self._draining.is_set():
            try:
                await self._recover()
            except StorageUnavailableError as error:
                await asyncio.sleep(duty.failed(error))
        await self._persistence.queue.work(
            self._drive, worker=self._worker, concurrency=self._options.concurrency, draining=self._draining, duty=duty
        )

    async def start(self, owner: str | None, order: RunOrder, grants: object = None, key: RequestKey | None = None) -> Admitted:
        """Admit a run. When this returns, the run is on disk and will be driven. `grants` is what the caller's key or token tells gates. If
        `key` has started a run before, returns that run."""
        return (await self.start_many(owner, [order], grants, key))[0]

    async def start_many(
        self, owner: str | None, orders: Sequence[RunOrder], grants: object = None, key: RequestKey | None = None
    ) -> list[Admitted]:
        """Admit all of them or none."""
        # This comes before any other check, because a request that was valid the first time may not be valid now.
        if key and (before := await self._persistence.queue.recall(key)) is not None:
            return before
        return await self._persistence.queue.admit_many([await self._admission(owner, order, grants) for order in orders], key)

    async def start_scheduled(
        self, owner: str, order: RunOrder, grants: object, claim: Callable[[Connection, Run], bool]
    ) -> Admitted | None:
        """Admit a run of a schedule if `claim` settles its slot, in the same transaction. None if the slot was settled already."""
        wanted = await self._admission(owner, order, grants)
        return await self._persistence.queue.admit_if(wanted, lambda connection: claim(connection, wanted.run))

    async def steer(
        self, owner: str | None, thread_id: str, run_id: str, message: SteeringMessage, grants: object = None
    ) -> SentMessage:
        """Let a message enter a run that works, before its next model call. When this returns, the message is on disk: if the run ends
        first, it becomes the input of the next run. So gates admit it now, as they would admit that run."""
        run = await self._persistence.records.get_run(owner, thread_id, run_id)
        given = input_of([message])
        fields = await self._registry.input_fields(run.request.graph_id, run.owner, self._persistence.store(run.owner))
        if fault := input_fault(run.request.graph_id, fields, given):
            raise InvalidRequestError(fault)
        for gate in self._gates:
            gate.check_stored(given)
        try:
            await self._admit_message(owner, run, given, grants)
        except StepwellError:  # a message that was sent before was admitted then
            if not await self._persistence.records.was_sent(owner, thread_id, message.id):
                raise
        return await self._persistence.queue.steer(owner, thread_id, run_id, message)

    async def _admit_message(self, owner: str | None, run: Run, given: Mapping[str, Any], grants: object) -> None:
        """Ask the gates whether a run of the message's sender would be admitted. The message itself belongs to the run that gets it, with
        that run's models, workspace and payer."""
        if not self._gates:
            return
        configurable = run.request.config.get("configurable") or {}
        arrival = Arrival(
            caller=owner,
            owner=run.owner,
            thread_id=run.thread_id,
            assistant=await self._assistants.resolve(owner, run.request.assistant_id),
            order=RunOrder(run.request.assistant_id, run.thread_id, input=given, config={"configurable": configurable}),
            grants=grants,
        )
        for gate in self._gates:
            arrival = await gate.admit(arrival)

    async def newest_run(self, owner: str | None, thread_id: str) -> Run | None:
        """The thread's newest run; None if it has none."""
        runs = await self._persistence.records.list_runs(owner, thread_id, None, Page(limit=1))
        return runs[0] if runs else None

    async def share_budget(self, thread_id: str) -> None:
        """A side question is about to spend from the thread's budget, if the thread has one of its own: note what it has spent."""
        newest = await self._persistence.saver().aget_tuple({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}})
        spent = newest.checkpoint["channel_values"].get("spending") if newest else None
        if spent and spent.get("turn") == WHOLE_THREAD:
            await self._persistence.database.write(lambda connection: note_agent(connection, thread_id, WHOLE_THREAD, spent))

    async def is_agent(self, owner: str, graph_id: str) -> bool:
        """Whether the graph is an agent of ours, which can answer side questions."""
        return bool((await self._registry.run_modes(owner)).get(graph_id))

    async def started_by(self, key: RequestKey | None) -> Admitted | None:
        """The run a key has started before."""
        before = await self._persistence.queue.recall(key) if key else None
        return before[0] if before else None

    async def check_order(self, owner: str, order: RunOrder) -> Assistant:
        """Check an order for a later run as far as possible now, without gates. Returns its assistant."""
        assistant = await self._check_order(owner, order)
        make_admission(order, assistant, run_id="", thread_id="", owner=owner, now=self._clock.now())
        return assistant

    async def _check_order(self, owner: str | None, order: RunOrder) -> Assistant:
        if order.webhook:
            check_webhook_url(order.webhook, self._options.webhook_rules)
        assistant = await self._assistants.resolve(owner, order.assistant_id)
        if isinstance(owner, Caller) and owner.may_run is not None and assistant.assistant_id not in owner.may_run:
            raise AccessError("The project's auth was not asked about a run of this assistant, so it is not started.")
        if split_graph_id(assistant.graph_id, self._registry.names)[0]:
            raise NotFoundError(
                "assistant",
                order.assistant_id,
                "It is a background subagent: its agent starts it. Write to a task's thread as its agent.",
            )
        await self._check_input(owner, assistant.graph_id, order)
        return assistant

    async def _admission(self, owner: str | None, order: RunOrder, grants: object) -> Admission:
        order = _from_caller(owner, order)
        assistant = await self._check_order(owner, order)
        arrival = Arrival(
            caller=owner,
            owner=str(owner) if owner is not None else await self._owner_of(order.thread_id),
            thread_id=order.thread_id or self._new_id(),
            assistant=assistant,
            order=order,
            grants=grants,
        )
        for gate in self._gates:
            arrival = await gate.admit(arrival)
        admission = make_admission(
            arrival.order,
            assistant,
            run_id=self._new_id(),
            thread_id=arrival.thread_id,
            owner=arrival.owner,
            now=self._clock.now(),
            max_active=self._options.max_active_runs_per_owner if owner is not None else None,
            refuse_bare=self._options.refuse_bare_answers,
            place=arrival.place,
        )
        return await self._check_answers(await self._check_mode(arrival.owner, _signed(owner, admission)))

    async def _check_mode(self, owner: str, admission: Admission) -> Admission:
        """Refuse an unknown mode of an agent's run. A run that answers a question keeps the mode of the run that asked, and one that goes
        on without a message keeps the mode of the run before it, unless it names another."""
        request = admission.run.request
        configurable = request.config.get("configurable") or {}
        if PERMISSION_MODE in configurable:
            if (await self._registry.run_modes(owner)).get(request.graph_id):
                from stepwell.middleware.run_modes import mode_of  # a graph with modes has loaded it already

                mode_of(configurable)
            return admission
        is_answer = admission.answers is not None
        if not is_answer and not request.command and request.input is not None:
            return admission
        try:
            runs = await self._persistence.records.list_runs(None, admission.run.thread_id, None, Page(limit=_RUNS_LOOKED_AT))
        except NotFoundError:  # the run makes its thread, so none was before it
            return admission
        before = next((run for run in runs if not is_answer or run.status not in ("pending", "running")), None)
        mode = (before.request.config.get("configurable") or {}).get(PERMISSION_MODE) if before else None
        if mode is None:
            return admission
        config = {**request.config, "configurable": {**configurable, PERMISSION_MODE: mode}}
        run = replace(admission.run, request=replace(request, config=config))
        return replace(admission, run=run, given=admission.given | {PERMISSION_MODE})

    async def _check_input(self, owner: str | None, graph_id: str, order: RunOrder) -> None:
        """Refuse input that the graph can't accept, before anything is stored or paid, since such input would drop the thread's open
        questions."""
        fields = await self._registry.input_fields(graph_id, owner or SYSTEM, self._persistence.store(owner or SYSTEM))
        if order.command is None and (fault := input_fault(graph_id, fields, order.input)):
            raise InvalidRequestError(fault)
        given = order.input if order.command is None else order.command.get("update")
        if (
            not order.rewinds
            and isinstance(given, Mapping)
            and "rewind" in given
            and (await self._registry.rewinds(owner)).get(graph_id)
        ):
            raise InvalidRequestError(NO_INPUT)

    async def _check_answers(self, admission: Admission) -> Admission:
        if admission.answers is None:
            return admission
        asked = await self._persistence.open_interrupts(admission.caller or admission.run.owner, admission.run.thread_id)
        # In a thread: checking a large answer against a schema takes time.
        checked = await asyncio.to_thread(check_answers, admission.answers, asked, self._options.answer_shapes)
        return replace(admission, checked=checked)

    async def events(
        self,
        owner: str | None,
        thread_id: str,
        run_id: str,
        *,
        after: int = BEGINNING,
        modes: Sequence[str] | None = None,
        found: Run | None = None,
    ) -> AsyncIterator[list[RunEvent]]:
        """A run's events after number `after`, existing and future, up to the run's end. With `modes`, events of other modes are left
        out. `found` is the run, if the owner has just started or got it."""
        run = found or await self._persistence.records.get_run(owner, thread_id, run_id)
        wanted = None if modes is None else {_event_name(mode) for mode in modes} | _ALWAYS_SENT
        async for batch in self._persistence.events.follow_run(thread_id, run_id, after=after):
            if run.resumes:
                await self._note_shown(thread_id, batch)
            chosen = batch if wanted is None else [event for event in batch if _base_name(event.event) in wanted]
            if chosen:
                yield chosen

    async def thread_events(
        self, owner: str | None, thread_id: str, *, after: int | None = None
    ) -> AsyncIterator[list[RunEvent]]:
        """The events of all runs of a thread, without an end."""
        await self._persistence.records.get_thread(owner, thread_id, with_values=False)
        async for batch in self._persistence.events.follow_thread(thread_id, after=after):
            await self._note_shown(thread_id, batch)
            yield batch

    async def _note_shown(self, thread_id: str, batch: Sequence[RunEvent]) -> None:
        """Note that a client that receives the end of a run has seen the run's last question, so that an answer from now on is no repeat of
        an earlier one."""
        for event in batch:
            if event.event == "end":
                with suppress(StorageUnavailableError):  # the answer then has to name its question
                    await self._persistence.queue.note_shown(thread_id, asked_by=event.run_id)

    async def result(self, owner: str | None, thread_id: str, run_id: str) -> bytes:
        """Wait for a run and return its final values as JSON; `{"__error__": ...}` if it failed."""
        records = self._persistence.records
        read = partial(records.get_run_and_result, owner, thread_id, run_id)
        run, values = await self._persistence.queue.ended(run_id, read, lambda found: found[0].finished)
        if run.resumes:
            with suppress(StorageUnavailableError):
                await self._persistence.queue.note_shown(thread_id, asked_by=run_id)
        if run.error:
            return wire.encode({"__error__": run.error})
        return values or b"null"

    async def cancel(
        self,
        owner: str | None,
        thread_id: str | None,
        run_ids: Sequence[str] | None,
        *,
        action: CancelAction = "interrupt",
        wait: bool = False,
        status: Literal["pending", "running", "all"] | None = None,
    ) -> list[Run]:
        """Stop the named runs, which must exist, or all runs of a thread (or of the owner) that have a certain status."""
        if run_ids and thread_id:
            for run_id in run_ids:
                await self._persistence.records.get_run(owner, thread_id, run_id)
        chosen = list(run_ids) if run_ids else await self._open_runs(owner, thread_id, status)
        runs = await self._persistence.queue.cancel(owner, chosen, action)
        if wait:
            await asyncio.gather(*(self._persistence.queue.finished(run.run_id) for run in runs))
        return runs

    async def cancel_task(self, owner: str | None, thread_id: str, task_id: str) -> BackgroundTask:
        """Stop a background task of a thread, and wait until it has stopped."""
        records = self._persistence.records
        await records.background_task(owner, thread_id, task_id)
        runs = await self._persistence.queue.cancel_task(task_id)
        await asyncio.gather(*(self._persistence.queue.finished(run.run_id) for run in runs))
        return await records.background_task(owner, thread_id, task_id)

    async def _open_runs(
        self, owner: str | None, thread_id: str | None, status: Literal["pending", "running", "all"] | None
    ) -> list[str]:
        if status is None:
            raise InvalidRequestError(
                "The request does not say which runs to cancel. Send run_ids with thread_id, or a status."
            )
        return await self._persistence.records.open_runs(owner, thread_id, None if status == "all" else status)

    async def _owner_of(self, thread_id: str | None) -> str:
        """The owner of a run that an operator starts: on a user's thread, it belongs to that user."""
        if thread_id is None:
            return OPERATOR
        try:
            return (await self._persistence.records.get_thread(None, thread_id, with_values=False)).owner
        except NotFoundError:
            return OPERATOR

    async def _drive(self, claim: ClaimedRun) -> None:
        """Drive one claimed run, then end it. Whatever interrupts this, the run is either ended or driven again."""
        run = claim.run
        callbacks = [handler for watcher in self._watchers for handler in watcher.began(run)]
        attempt = Attempt(
            self._persistence,
            self._registry,
            claim,
            timeout_s=self._options.run_timeout_s,
            callbacks=callbacks,
            clock=self._clock,
            gates=self._gates,
            find_assistant=self._assistants.resolve,
            max_active=self._options.max_active_runs_per_owner,
        )
        self._driving[run.run_id] = attempt
        if early := self._stop_early.pop(run.run_id, None):
            attempt.stop(early)
        outcome: RunOutcome | None = None
        try:
            outcome = await self._attempt(claim, attempt)
        finally:
            del self._driving[run.run_id]
            for watcher in self._watchers:
                watcher.ended(run, outcome)
        if outcome is not None:
            for attendance in attempt.attending:
                try:
                    await attendance.after_end(outcome.status)
                except Exception:  # the run has ended, and nobody waits for this
                    logger.exception("a product failed after the end of a run", extra={"run_id": run.run_id})

    async def _attempt(self, claim: ClaimedRun, attempt: Attempt) -> RunOutcome | None:
        queue, lease = self._persistence.queue, claim.lease
        try:
            return await self._finish(lease, await attempt.run())
        except StorageUnavailableError as error:
            logger.warning(
                "the database cannot be written to; the run waits", extra={"run_id": claim.run.run_id}, exc_info=error
            )
            # The pause gets longer each time, because a step that is too large for the disk, and costs money, must not be repeated rapidly.
            # If the database is unreachable, that is not the step's fault.
            doublings = 0 if error.away else min(claim.run.attempt - 1, _MAX_DOUBLINGS)
            await attempt.until_stopped(min(_STORAGE_RETRY_S * 2**doublings, _LONGEST_RETRY_S))
            await self._keep_trying(lambda: queue.hand_back(lease, usage=attempt.usage))
        except asyncio.CancelledError:
            await queue.hand_back(lease, usage=attempt.usage)
            raise
        return None

    async def _finish(self, lease: Lease, outcome: RunOutcome) -> RunOutcome:
        """End the run. If its outcome can't be stored, end it with that error."""
        queue = self._persistence.queue
        try:
            await self._keep_trying(lambda: queue.finish(lease, outcome))
        except InfrastructureError:
            raise
        except Exception as error:
            logger.exception("the end of a run cannot be stored; ending it with an error", extra={"run_id": lease.run_id})
            outcome = describe_failure(error, usage=outcome.usage)
            await self._keep_trying(lambda: queue.finish(lease, outcome))
        return outcome

    async def _keep_trying(self, write: Callable[[], Awaitable[object]]) -> None:
        """Retry until the write succeeds: a run must not be lost because the disk is full, and someone will free space."""
        while True:
            try:
                await write()
                return
            except StorageUnavailableError:
                if self._draining.is_set():
                    raise
                await asyncio.sleep(_STORAGE_RETRY_S)

    async def _obey_cancellations(self, duty: Duty) -> None:
        async for wanted in self._persistence.queue.cancellations():
            if attempt := self._driving.get(wanted.run_id):
                attempt.stop(wanted.action)
            else:
                # The run is claimed but not driven yet. Or it has already ended, in which case this entry is deleted after a while.
                self._stop_early[wanted.run_id] = wanted.action
                asyncio.get_running_loop().call_later(_EARLY_S, self._stop_early.pop, wanted.run_id, None)
            duty.succeeded()


def _event_name(mode: str) -> str:
    return "messages" if mode == "messages-tuple" else mode


def _base_name(event: str) -> str:
    """`updates|tools:1` and `messages/partial` belong to the modes `updates` and `messages`."""
    return event.split("|", 1)[0].split("/", 1)[0]


def _from_caller(owner: str | None, order: RunOrder) -> RunOrder:
    """The order with what the project's auth handlers put into its metadata, and the headers that runs get in their configuration."""
    if not isinstance(owner, Caller):
        return order
    order = replace(order, metadata=stamped(owner, order.metadata))
    if not owner.configurable:
        return order
    if order.context:
        return replace(order, context={**order.context, **owner.configurable})
    configurable = {**(order.config.get("configurable") or {}), **owner.configurable}
    return replace(order, config={**order.config, "configurable": configurable})


def _signed(owner: str | None, admission: Admission) -> Admission:
    """The admission with its caller, who decides which thread is theirs, and with what graphs are told about the user."""
    if not isinstance(owner, Caller):
        return admission
    request = replace(admission.run.request, user=owner.user, stamp=owner.metadata or None)
    return replace(admission, run=replace(admission.run, request=request), caller=owner)
