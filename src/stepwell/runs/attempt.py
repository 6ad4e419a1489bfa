"""One attempt at a run: it streams the graph, records the output, and returns how it ended. The engine ends the run.

```
run ─┬─ the graph ends ───────────> success      (the thread is interrupted if it waits for an answer)
     ├─ the graph raises ─────────> error        (anything, even if it is not an `Exception`)
     ├─ stop(action) ─────────────> interrupted  (text of an unfinished answer is kept, marked) | rolled back
     ├─ time is up ───────────────> timeout      (the text is kept, and paid for, as after a stop)
     └─ cancelled, storage, lease > raised: another worker drives the run again
```

A node that does not stop within a second of being cancelled is left behind: the fence refuses its writes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel
from langgraph.types import StateSnapshot

from stepwell.clock import Clock, SystemClock
from stepwell.database.documents.book import VALUES, DocumentBook
from stepwell.database.persistence import Persistence
from stepwell.database.queue.types import ClaimedRun
from stepwell.database.types import (
    CancelAction,
    Document,
    ModelUsage,
    NewEvent,
    PendingInterrupt,
    RunOutcome,
    RunStatus,
    ThreadStatus,
)
from stepwell.errors import (
    InfrastructureError,
    InterruptAnsweredError,
    InvalidRequestError,
    StorageUnavailableError,
    find_infrastructure,
)
from stepwell.models.connected import RunModels, using
from stepwell.runs.background import FindAssistant, ServerTasks
from stepwell.runs.driving import checkpoint_asked_for, keep_open_answers, make_config, make_input
from stepwell.runs.failures import describe_failure
from stepwell.runs.gates import Attendance, Gate
from stepwell.runs.graphs.inputs import input_fault, input_fields
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.interrupts import has_breakpoints, pending_interrupts
from stepwell.runs.steps import StepJournal, StepRecorder
from stepwell.runs.stopping import PartialText, close_open_calls, ended_by, stop_streaming
from stepwell.runs.streaming.graph import Progress, stream_graph
from stepwell.runs.streaming.journal import Journal
from stepwell.runs.threads.titles import changed_titles
from stepwell.runs.usage import RunMeter, model_usage
from stepwell.secrets.values import SECRETS_KEY
from stepwell.state import wire
from stepwell.state.steering import STEERING
from stepwell.tools.background import TASKS
from stepwell.tools.effect_journal import JOURNAL
from stepwell.tools.rewind.journal import FILE_JOURNAL
from stepwell.tools.shared_spending import SHARED

logger = logging.getLogger(__name__)

Graph = Pregel[Any, Any, Any, Any]

_INTERRUPT = "__interrupt__"


@dataclass(frozen=True)
class _Prepared:
    graph: Graph
    input: Any
    config: RunnableConfig


@dataclass
class _Seen:
    """What the stream has produced so far."""

    values: Any = None
    first: Any = None
    """The values from which the run began, with its input."""
    interrupts: dict[str, PendingInterrupt] = field(default_factory=dict)
    text: PartialText = field(default_factory=PartialText)


@dataclass(frozen=True)
class _Left:
    """How an unfinished attempt leaves the thread, according to the newest checkpoint. Fields are `None` if that could not be read."""

    values: Any = None
    interrupts: tuple[PendingInterrupt, ...] | None = None


class Attempt:
    """Drives one claim, once."""

    def __init__(
        self,
        persistence: Persistence,
        registry: GraphRegistry,
        claim: ClaimedRun,
        *,
        timeout_s: float | None = None,
        callbacks: Sequence[BaseCallbackHandler] = (),
        clock: Clock | None = None,
        gates: Sequence[Gate] = (),
        find_assistant: FindAssistant | None = None,
        max_active: int | None = None,
    ) -> None:
        self._persistence = persistence
        self._registry = registry
        self._run = claim.run
        self._lease = claim.lease
        own_limit = (claim.run.request.background or {}).get("timeout_s")
        timeout_s = min((limit for limit in (timeout_s, own_limit) if limit is not None), default=None)
        self._timeout_s = timeout_s
        self._find_assistant, self._max_active = find_assistant, max_active
        self._clock = clock or SystemClock()
        now = asyncio.get_running_loop().time()
        self._deadline = None if timeout_s is None else now + timeout_s
        self._steps = StepRecorder(self._clock)
        self._meter = RunMeter(self._steps)
        self._callbacks = [self._meter, self._steps, *callbacks]
        self._gates = tuple(gates)
        self.attending: list[Attendance] = []
        """The parts that products have in this attempt."""
        self._models: RunModels | None = None
        self._steering = persistence.steering(claim)
        self._stop: asyncio.Future[CancelAction] = asyncio.get_running_loop().create_future()
        self._timed_out = False
        self._documents: DocumentBook | None = None
        self._seen = _Seen()
        self._left = _Left()
        self._began = claim.run.attempt > 1
        """Whether a step of the graph has begun, here or possibly in an earlier attempt."""

    def stop(self, action: CancelAction) -> None:
        """Stop the run."""
        if not self._stop.done():
            self._stop.set_result(action)

    async def until_stopped(self, timeout_s: float) -> None:
        """Wait `timeout_s`, or until `stop` is called."""
        await asyncio.wait({self._stop}, timeout=timeout_s)

    @property
    def usage(self) -> Sequence[ModelUsage]:
        return model_usage(self._meter)

    async def run(self) -> RunOutcome:
        try:
            outcome = await self._drive()
            return replace(outcome, steps=self._steps.take(), titles=changed_titles(self._seen.first, self._seen.values))
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            if lost := find_infrastructure(error):
                raise lost from lost.__cause__
            # A graph is user code: whatever it raises ends its run, but not the process, and the run never stays without an end.
            with using(self._models):  # the error may repeat a key
                logger.info("run failed", extra={"run_id": self._run.run_id}, exc_info=error)
                outcome = self._fail(error)
                await self._about_to_end(outcome)
                return outcome

    async def _drive(self) -> RunOutcome:
        for gate in self._gates:
            if attendance := gate.attend(self._run, self._lease, self._said_until_stopped):
                self.attending.append(attendance)
        self._models = await self._find_models()
        with using(self._models), self._persistence.queue.reading_messages(self._run.run_id, self._steering.wake):
            try:
                return await self._drive_graph()
            finally:
                if self._models:
                    await self._models.settle()

    async def _drive_graph(self) -> RunOutcome:
        async with AsyncExitStack() as opened:
            graph = await self._open_graph(opened)
            if graph is None:
                return await self._end_stopped(None, self._stop.result())
            journal = await opened.enter_async_context(Journal(self._persistence.events, self._lease))
            steps = await opened.enter_async_context(StepJournal(self._steps, self._persistence.records, self._lease))
            prepared = await self._prepare(graph)
            await journal.add([self._metadata()])
            documents = self._documents = await self._persistence.events.documents(self._run.thread_id)
            if self._run.attempt > 1:
                await journal.add(await self._snapshot(graph, documents))
            streaming = asyncio.create_task(self._stream(prepared, journal, steps))
            try:
                ends: set[asyncio.Future[Any]] = {streaming, self._stop}
                done, _ = await asyncio.wait(ends, timeout=self._seconds_left(), return_when=asyncio.FIRST_COMPLETED)
                self._timed_out = not done
            finally:
                await stop_streaming(streaming)
            await journal.flush()
            documents.go_back_to(journal.newest_document)
            outcome = await self._outcome(prepared, streaming)
            await self._about_to_end(outcome)
            return outcome

    @property
    def _broken_off(self) -> bool:
        """Whether the caller or the time limit stopped the attempt. Whoever pays can cause both, so neither makes an answer free."""
        return self._stop.done() or self._timed_out

    def _said_until_stopped(self, namespace: str) -> tuple[int, int] | None:
        return self._meter.said_at(namespace) if self._broken_off else None

    async def _about_to_end(self, outcome: RunOutcome) -> None:
        # If the run was stopped or its time was up, the caller has still got its output up to that moment.
        delivered = outcome.status == "success" or self._broken_off
        for attendance in self.attending:
            try:
                await attendance.before_end(delivered=delivered)
            except InfrastructureError:
                raise
            except Exception:
                logger.exception(
                    "a product failed at the end of a run, which ends all the same", extra={"run_id": self._run.run_id}
                )

    async def _find_models(self) -> RunModels | None:
        for attendance in self.attending:
            if models := await attendance.find_models():
                return models
        return None

    async def _open_graph(self, opened: AsyncExitStack) -> Graph | None:
        """The graph, or `None` if the run was stopped while the graph was being built."""
        request = self._run.request
        saver, store = self._persistence.saver(self._lease, self._steering), self._persistence.store(self._run.owner)
        making = self._registry.graph(
            request.graph_id,
            config=self._caller_config(),
            saver=saver,
            store=store,
            purpose="run",
            context=request.context,
            owner=self._run.owner,
            models=self._models,
        )
        try:
            # Not in a separate task, because what a factory opens must be closed by the task that opened it.
            async with asyncio.timeout_at(self._deadline) as limit:
                with ended_by(self._stop, limit):
                    return await opened.enter_async_context(making)
        except TimeoutError:
            if not limit.expired():
                raise
            if self._stop.done():
                return None
            raise self._too_long() from None

    def _seconds_left(self) -> float | None:
        return None if self._deadline is None else max(self._deadline - asyncio.get_running_loop().time(), 0.0)

    def _too_long(self) -> TimeoutError:
        if self._timeout_s == (self._run.request.background or {}).get("timeout_s"):
            return TimeoutError(
                f"The background task took longer than {self._timeout_s:g} s, the limit of its subagent (timeout_s), and was stopped. "
                "Its thread keeps all finished steps: send it another message to go on."
            )
        return TimeoutError(
            f"The run took longer than {self._timeout_s:g} s, the limit on this server, and was stopped. "
            "The thread keeps all finished steps: send the rest as a new message, or ask the operator for a longer --run-timeout."
        )

    async def _prepare(self, graph: Graph) -> _Prepared:
        """What to pass to LangGraph, and what not to pass again."""
        run = self._run
        # Most invalid inputs are refused before admission. If the graph is built for each run, its input can only be checked now.
        if run.request.command is None and (fault := input_fault(run.request.graph_id, input_fields(graph), run.request.input)):
            raise InvalidRequestError(fault)
        traces = await self._persistence.run_wrote(run.thread_id, run.run_id) if run.attempt > 1 else None
        tasks = await self._persistence.interrupt_tasks(run.thread_id) if run.request.resume else {}
        if run.request.resume and not (traces and traces.checkpointed):
            try:
                run = keep_open_answers(run, tasks)
            except InterruptAnsweredError:
                await self._look_at_thread(graph)
                raise
        checkpoint = None if traces and traces.checkpointed else checkpoint_asked_for(run)
        given: dict[str, Any] = {
            JOURNAL: self._persistence.effects(self._lease),
            FILE_JOURNAL: self._persistence.files(run.thread_id, self._lease),
            SECRETS_KEY: run.request.secrets,
            STEERING: self._steering,
            SHARED: (shared := self._persistence.shared_spending(run)),
            TASKS: ServerTasks(
                self._persistence,
                run,
                self._lease,
                self._clock,
                graph=graph,
                find_assistant=self._find_assistant,
                max_active=self._max_active,
                shared=shared,
                passed_on=frozenset().union(*(gate.passed_on for gate in self._gates)),
            ),
        }
        for attendance in self.attending:
            given |= attendance.given
        config = make_config(run, given=given, callbacks=self._callbacks, checkpoint=checkpoint)
        return _Prepared(graph, make_input(run, traces, tasks), config)

    async def _stream(self, prepared: _Prepared, journal: Journal, steps: StepJournal) -> None:
        request = self._run.request
        progresses = stream_graph(
            prepared.graph, prepared.input, prepared.config, request, request.context, self._documents, self._watch_task
        )
        # The stream is closed here, so that nodes stop at once even if recording fails (lease lost, disk full).
        async with aclosing(progresses):
            async for progress in progresses:
                await self._record(progress, journal)
                steps.tick()

    def _watch_task(self, task: Mapping[str, Any]) -> None:
        self._began = True
        self._steps.watch_task(task)

    async def _record(self, progress: Progress, journal: Journal) -> None:
        """Record progress. Interrupts are stored before the events that show them, so that an answer always finds its interrupt."""
        known = self._seen.interrupts
        if new := [pending for pending in self._with_asker(progress.interrupts) if known.get(pending.interrupt_id) != pending]:
            known.update((pending.interrupt_id, pending) for pending in new)
            await self._persistence.queue.ask(self._lease, new)
        if progress.values is not None:
            self._seen.values = progress.values
            self._seen.first = self._seen.first or progress.values
        if progress.partial is not None:
            self._seen.text.note(progress.partial)
        if progress.events:
            await journal.add(progress.events)

    def _with_asker(self, interrupts: Sequence[PendingInterrupt]) -> tuple[PendingInterrupt, ...]:
        return tuple(each if each.asker else replace(each, asker=self._steps.asker(each)) for each in interrupts)

    async def _outcome(self, prepared: _Prepared, streaming: asyncio.Task[None]) -> RunOutcome:
        if streaming.done() and not streaming.cancelled():
            if error := streaming.exception():
                if self._began or self._run.request.resume:
                    await self._look_at_thread(prepared.graph, error)
                raise error
            return await self._end(prepared.graph)
        if self._stop.done():
            return await self._end_stopped(prepared.graph, self._stop.result())
        self._began = True  # a step may have begun although the stream has not shown it yet
        await self._keep_text(prepared.graph)
        await self._look_at_thread(prepared.graph)
        return self._fail(self._too_long())

    async def _end(self, graph: Graph) -> RunOutcome:
        request = self._run.request
        if not self._seen.interrupts and not has_breakpoints(graph, request):
            return self._make_outcome("success", "idle", self._seen.values)
        snapshot = await self._state(graph)
        interrupts = self._with_asker(pending_interrupts(snapshot, self._seen.interrupts))
        paused = bool(interrupts or snapshot.next)
        return self._make_outcome("success", "interrupted" if paused else "idle", snapshot.values, interrupts)

    async def _end_stopped(self, graph: Graph | None, action: CancelAction) -> RunOutcome:
        if action == "rollback":
            return await self._roll_back(graph)
        kept: Any = None
        if graph is not None:
            kept = await self._keep_text(graph)
            await self._look_at_thread(graph)
        newest = next((values for values in (kept, self._left.values, self._seen.values) if values is not None), None)
        return self._make_outcome("interrupted", "interrupted", newest, self._left.interrupts)

    async def _keep_text(self, graph: Graph) -> Any:
        """The thread's values with the text of an unfinished answer; `None` if there is none to keep."""
        # Writing the text ends the step, which would lose an interrupt of the same step.
        return None if self._seen.interrupts else await self._seen.text.keep(graph, self._run.thread_id)

    async def _roll_back(self, graph: Graph | None) -> RunOutcome:
        """Delete the run. If an effect requires its steps to be kept (`keeps_steps`), leave the thread as if the run had been stopped."""
        if graph is not None and await self._persistence.keeps_steps(self._run):
            await self._look_at_thread(graph)
            answered = self._run.request.resume or {}
            # Closing the calls ends the step, which would lose interrupts of other tasks in it.
            if all(pending.interrupt_id in answered for pending in self._left.interrupts or ()):
                await close_open_calls(graph, self._run.thread_id, self._persistence.effects(self._lease))
                await self._look_at_thread(graph)
        return RunOutcome(
            "interrupted",
            "interrupted",
            values=self._write_values(self._left.values),
            interrupts=self._left.interrupts,
            usage=self.usage,
            rolled_back=True,
        )

    async def _look_at_thread(self, graph: Graph, error: BaseException | None = None) -> None:
        """Read from the checkpoint how an unfinished run leaves the thread, including other runs' interrupts."""
        if error is not None and find_infrastructure(error):
            return
        try:
            snapshot = await self._state(graph)
            values = self._left.values if snapshot.created_at is None else snapshot.values
            self._left = _Left(values, self._with_asker(pending_interrupts(snapshot, self._seen.interrupts)))
        except StorageUnavailableError:
            raise
        except Exception:
            # If the thread can't be read at all, its record stays as it is.
            logger.warning("the state of a stopped run cannot be read", extra={"run_id": self._run.run_id}, exc_info=True)

    async def _state(self, graph: Graph) -> StateSnapshot:
        return await graph.aget_state({"configurable": {"thread_id": self._run.thread_id}}, subgraphs=True)

    def _fail(self, error: BaseException) -> RunOutcome:
        secrets, left = self._run.request.secrets, self._left.interrupts
        if not self._began and not self._run.request.resume:
            return describe_failure(error, secrets, usage=self.usage, nothing_ran=True)
        return describe_failure(error, secrets, values=self._values_if_any(), interrupts=left, usage=self.usage)

    def _make_outcome(
        self,
        status: RunStatus,
        thread_status: ThreadStatus,
        values: Any,
        interrupts: Sequence[PendingInterrupt] | None = (),
    ) -> RunOutcome:
        return RunOutcome(
            status,
            thread_status,
            values=self._write_values(values),
            interrupts=interrupts,
            usage=self.usage,
            # LangGraph streams interrupts one by one, each with its own values, so the last values would only show the last interrupt.
            result=None
            if "values" in self._run.request.stream_modes and not interrupts
            else self._write_values(_result(values, interrupts or ())),
        )

    def _write_values(self, values: Any) -> bytes | Document | None:
        if values is None:
            return None
        # Without a book the run has not begun, and the next free document number is not known yet.
        return wire.encode(values) if self._documents is None else self._documents.write_values(values)

    def _values_if_any(self) -> bytes | Document | None:
        """The newest values of a run that failed or ran out of time; `None` if they can't be encoded, because the run must still end."""
        try:
            return self._write_values(self._seen.values if self._left.values is None else self._left.values)
        except Exception:
            logger.info("the values of a failed run cannot be encoded", extra={"run_id": self._run.run_id}, exc_info=True)
            return None

    def _metadata(self) -> NewEvent:
        return NewEvent("metadata", wire.encode({"run_id": self._run.run_id, "attempt": self._run.attempt}))

    async def _snapshot(self, graph: Graph, documents: DocumentBook) -> list[NewEvent]:
        """Shows clients the state from which a repeated attempt starts, so that they discard text that is in no checkpoint."""
        snapshot = await graph.aget_state({"configurable": {"thread_id": self._run.thread_id}})
        return [documents.event("values", VALUES, snapshot.values)]

    def _caller_config(self) -> RunnableConfig:
        return make_config(self._run, given={})


def _result(values: Any, interrupts: Sequence[PendingInterrupt]) -> Any:
    """What a caller that waits for the run gets: the values, together with the interrupts."""
    if not interrupts:
        return values
    waiting = {_INTERRUPT: [_show_interrupt(pending) for pending in interrupts]}
    # A graph of one unnamed value has no place for interrupts.
    return {**values, **waiting} if isinstance(values, dict) else waiting


def _show_interrupt(pending: PendingInterrupt) -> dict[str, Any]:
    """The interrupt in the format that LangGraph's `Interrupt` has in streamed values."""
    return {"value": pending.value, "id": pending.interrupt_id, "response_schema": pending.response_schema}
