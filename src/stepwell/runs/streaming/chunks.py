"""Reads LangGraph's chunks, one by one, as `Progress`. `graph.stream_graph` drives the graph.

`modes` defines which mode becomes which event; `messages`, `steps`, `lifecycle` and `protocol` shape the payloads.

Rule: no event that shows an interrupt leaves before `Progress.interrupts` has named that interrupt. Otherwise a client could answer an
interrupt that is not stored yet. LangGraph reports an interrupt in `updates`, `values` and `tasks`, in this order and without a pause; only
`tasks` names the task, so the events before it are held back until then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stepwell.database.documents.book import DocumentBook
from stepwell.database.types import NewEvent, PendingInterrupt
from stepwell.runs.run_config import public_metadata
from stepwell.runs.streaming.lifecycle import LifecycleEvents
from stepwell.runs.streaming.message_blocks import CallIds
from stepwell.runs.streaming.messages import PARTIAL, RootAnswer, TupleMessages, WholeMessages
from stepwell.runs.streaming.modes import PROTOCOL, Namespace, StreamPlan, event_name
from stepwell.runs.streaming.progress import Progress
from stepwell.runs.streaming.protocol import ProtocolEvents
from stepwell.runs.streaming.steps import ToolEvents, checkpoint_payload, debug_payload, task_payload
from stepwell.state.wire import encode, plain

_INTERRUPT = "__interrupt__"

WatchTask = Callable[[Mapping[str, Any]], None]
"""Called with tasks of the root graph when they begin and when they have ended, as in LangGraph's `tasks` mode."""

_WITH_STATE = frozenset({"values", "checkpoints", "tasks", "debug", "events"})
"""Modes whose payloads may contain the state, complete or nearly so."""


class ChunkReader:
    """Turns chunks into progress; remembers what is needed from one chunk to the next."""

    def __init__(self, streams: StreamPlan, documents: DocumentBook | None = None, watch_task: WatchTask | None = None) -> None:
        self._streams = streams
        self._watch_task = watch_task
        self._documents = documents or DocumentBook()
        self._messages = _message_form(streams)
        self._protocol = ProtocolEvents() if PROTOCOL in streams.wanted else None
        self._call_ids = CallIds()
        self._answer = RootAnswer()
        self._tools = ToolEvents()
        self._lifecycle = LifecycleEvents()
        self._asked: set[str] = set()
        self._held: tuple[NewEvent, ...] = ()

    def read(self, namespace: Namespace, mode: str, payload: Any) -> Progress | None:
        progress = self._read(namespace, mode, payload)
        if not self._held and not self._shows_new_interrupt(mode, payload):
            return progress
        return self._hold(progress)

    def rest(self) -> Progress | None:
        """What is still held back when the graph has ended."""
        return Progress(self._held) if self._held else None

    def _hold(self, progress: Progress | None) -> Progress | None:
        if progress is None:
            return None
        held = self._held + progress.events
        self._held = () if progress.interrupts else held
        progress = progress._replace(events=held if progress.interrupts else ())
        worth_telling = progress.events or progress.interrupts or progress.partial or progress.values is not None
        return progress if worth_telling else None

    def _shows_new_interrupt(self, mode: str, payload: Any) -> bool:
        if mode not in ("values", "updates") or not isinstance(payload, dict) or _INTERRUPT not in payload:
            return False
        return any(each.id not in self._asked for each in payload[_INTERRUPT])

    def _read(self, namespace: Namespace, mode: str, payload: Any) -> Progress | None:
        match mode:
            case "values":
                return self._values(namespace, payload)
            case "tasks":
                return self._task(namespace, payload)
            case "messages":
                return self._message(namespace, *payload)
            case _:
                events = self._events(namespace, mode, payload)
                return Progress(events) if events else None

    def _events(self, namespace: Namespace, mode: str, payload: Any) -> tuple[NewEvent, ...]:
        if not self._streams.wants(mode, namespace):
            return ()
        name = event_name(mode, namespace)
        if mode not in _WITH_STATE:
            return (NewEvent(name, encode(self._public(mode, payload))),)
        return (self._documents.event(name, _chain(name, mode, payload), self._public(mode, payload)),)

    def _public(self, mode: str, payload: Any) -> Any:
        match mode:
            case "tasks":
                return task_payload(payload)
            case "checkpoints":
                return checkpoint_payload(payload)
            case "debug":
                return debug_payload(payload)
            case "tools":
                return self._tools.payload(payload)
            case "events":
                return {**payload, "metadata": public_metadata(payload.get("metadata"))}
            case _:
                return payload

    def _values(self, namespace: Namespace, payload: Any) -> Progress | None:
        events = self._events(namespace, "values", payload)
        values = None if namespace else _without_interrupts(payload)
        return Progress(events, values) if events or values is not None else None

    def _task(self, namespace: Namespace, payload: Mapping[str, Any]) -> Progress | None:
        if self._watch_task and not namespace:
            self._watch_task(payload)
        events = self._events(namespace, "tasks", payload)
        if "lifecycle" in self._streams.wanted:
            events += tuple(NewEvent("lifecycle", encode(each)) for each in self._lifecycle.payloads(namespace, payload))
        interrupts = tuple(
            self._pending(namespace, payload, each) for each in payload.get("interrupts") or () if each["id"] not in self._asked
        )
        if self._protocol:
            events += self._protocol.task(namespace, payload) + tuple(map(self._protocol.interrupt, interrupts))
        return Progress(events, interrupts=interrupts) if events or interrupts else None

    def _pending(self, namespace: Namespace, task: Mapping[str, Any], asked: Mapping[str, Any]) -> PendingInterrupt:
        self._asked.add(asked["id"])
        return PendingInterrupt(
            interrupt_id=asked["id"],
            value=plain(asked["value"]),
            namespace="|".join(namespace),
            task_id=task["id"],
            response_schema=plain(asked.get("response_schema")),
        )

    def _message(self, namespace: Namespace, message: Any, metadata: Mapping[str, Any]) -> Progress | None:
        if namespace and not self._streams.caller_subgraphs:
            return None
        events: list[NewEvent] = []
        partial = None
        for each in self._call_ids.settle(message, metadata):
            told = [*(self._messages.events(namespace, each, metadata) if self._messages else ())]
            told += self._protocol.message(namespace, each, metadata) if self._protocol else ()
            events += (self._keep_small(event, str(each.id)) for event in told)
            partial = self._answer.partial(namespace, each, metadata)
        return Progress(tuple(events), partial=partial)

    def _keep_small(self, event: NewEvent, message_id: str) -> NewEvent:
        if event.event == PARTIAL:
            return self._documents.event_grown(event, message_id)
        return self._documents.event_like(event, message_id)


def _message_form(streams: StreamPlan) -> TupleMessages | WholeMessages | None:
    match streams.message_form:
        case "messages-tuple":
            return TupleMessages()
        case "messages":
            return WholeMessages()
        case _:
            return None


def _chain(name: str, mode: str, payload: Any) -> str:
    """The chain of documents for a payload. Payloads of the same mode, task or kind of callback share a chain, because they have most in
    common."""
    if mode in ("values", "checkpoints"):
        return name
    shown = payload.get("payload", payload) if mode == "debug" else payload
    kind = payload.get("type") or payload.get("event") or ("result" if "result" in payload else "task")
    return f"{name} {kind} {shown.get('name', '')}"


def _without_interrupts(values: Any) -> Any | None:
    """The values without `__interrupt__`. A graph with one unnamed value streams interrupts in place of the value; the result is then
    `None`."""
    if not isinstance(values, dict) or _INTERRUPT not in values:
        return values
    return {name: value for name, value in values.items() if name != _INTERRUPT} or None
