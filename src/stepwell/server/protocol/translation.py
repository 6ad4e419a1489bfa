"""Translates an event of the journal to one of the streaming protocol. Pure and stateless.

| journal | protocol |
|---|---|
| `metadata` | `lifecycle` running, of the root |
| `end` | `lifecycle` completed, also of a run that was stopped (`reason`); interrupted where the graph waits for an answer |
| `error` | `lifecycle` failed; the `end` after it says nothing more |
| `lifecycle` | the same, of a subgraph |
| `values` | `values`, without interrupts |
| `updates`, `custom` | the same, as `{node, values}` and `{name, payload}` |
| `tools` | `tools` |
| `protocol/messages`, `protocol/tasks` | `messages`, `tasks` |
| `protocol/input` | `input.requested` |
| all others | nothing |

Rule to keep: an event of the journal becomes at most one event of the protocol, and always the same one. Then its number in the journal
is also its position in the stream, for any filter, and a client that reconnects with this number gets neither gaps nor duplicates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from stepwell.database.types import RunEvent
from stepwell.runs.streaming import protocol
from stepwell.server.protocol.subscription import NAMED_CUSTOM, Namespace

_INTERRUPT = "__interrupt__"


@dataclass(frozen=True)
class ProtocolEvent:
    """An event of the protocol. `members` is JSON: the contents of `params` besides the namespace and the time."""

    seq: int
    method: str
    channel: str
    namespace: Namespace
    members: bytes

    def frame(self, now_ms: int) -> bytes:
        """The event as text/event-stream."""
        return b"id: %d\nevent: %b\ndata: %b\n\n" % (self.seq, self.method.encode(), self.json(now_ms))

    def json(self, now_ms: int) -> bytes:
        """`now_ms` is the time of sending, because the journal does not record the event's own time."""
        return b'{"type":"event","event_id":"%d","seq":%d,"method":"%b","params":{"namespace":%b,"timestamp":%d,%b}}' % (
            *(self.seq, self.seq, self.method.encode()),
            *(orjson.dumps(self.namespace), now_ms, self.members),
        )


def translate(event: RunEvent) -> ProtocolEvent | None:
    """The protocol's event for an event of the journal; `None` if there is no equivalent."""
    name, _, path = event.event.partition("|")
    read = _READINGS.get(name)
    return read(event, tuple(path.split("|")) if path else ()) if read else None


def _tell_running(event: RunEvent, namespace: Namespace) -> ProtocolEvent:
    return _lifecycle(event, "running")


def _tell_failed(event: RunEvent, namespace: Namespace) -> ProtocolEvent:
    data = orjson.loads(event.data)
    return _lifecycle(event, "failed", error=data.get("message") or data.get("error") or "The run failed.")


def _tell_ended(event: RunEvent, namespace: Namespace) -> ProtocolEvent | None:
    data = orjson.loads(event.data)
    match data.get("status"):
        case "success":
            return _lifecycle(event, "interrupted" if data.get("paused") else "completed")
        case "interrupted":
            # The Python SDK expects an interrupt after `interrupted`, and would wait forever for the end of a stopped run.
            return _lifecycle(event, "completed", reason="stopped")
        case _:
            return None


def _lifecycle(event: RunEvent, phase: str, **more: str) -> ProtocolEvent:
    return _make_event(event, "lifecycle", (), {"event": phase, "run_id": event.run_id, **more})


def _of_subgraph(event: RunEvent, namespace: Namespace) -> ProtocolEvent:
    data = orjson.loads(event.data)
    return ProtocolEvent(event.seq, "lifecycle", "lifecycle", tuple(data["namespace"]), b'"data":' + event.data)


def _values(event: RunEvent, namespace: Namespace) -> ProtocolEvent | None:
    if b'"__interrupt__"' not in event.data:
        return ProtocolEvent(event.seq, "values", "values", namespace, b'"data":' + event.data)
    values = orjson.loads(event.data)
    if not isinstance(values, dict) or _INTERRUPT not in values:
        return _make_event(event, "values", namespace, values)
    rest = {name: value for name, value in values.items() if name != _INTERRUPT}
    return _make_event(event, "values", namespace, rest) if rest else None


def _updates(event: RunEvent, namespace: Namespace) -> ProtocolEvent | None:
    updates = orjson.loads(event.data)
    if not isinstance(updates, dict) or _INTERRUPT in updates:
        return None
    if len(updates) != 1:
        return _make_event(event, "updates", namespace, {"values": updates})
    ((node, values),) = updates.items()
    return _make_event(event, "updates", namespace, {"node": node, "values": values})


def _custom(event: RunEvent, namespace: Namespace) -> ProtocolEvent:
    """A graph gives a custom event its name by sending an object with a `name`."""
    sent = orjson.loads(event.data)
    name = sent.get("name") if isinstance(sent, dict) else None
    if not isinstance(name, str) or not name:
        return _make_event(event, "custom", namespace, {"payload": sent})
    # One SDK reads the payload, the other passes on the whole event.
    data = {**sent, "name": name, "payload": sent.get("payload", sent)}
    return _make_event(event, "custom", namespace, data, channel=NAMED_CUSTOM + name)


_TOOLS = {
    "on_tool_start": ("tool-started", "input", "input"),
    "on_tool_event": ("tool-output-delta", "data", "delta"),
    "on_tool_end": ("tool-finished", "output", "output"),
    "on_tool_error": ("tool-error", "error", "message"),
}


def _tools(event: RunEvent, namespace: Namespace) -> ProtocolEvent | None:
    data = orjson.loads(event.data)
    if data.get("event") not in _TOOLS:
        return None
    kind, ours, theirs = _TOOLS[data["event"]]
    shown = {"event": kind, "tool_call_id": data["toolCallId"], "tool_name": data["name"], theirs: data[ours]}
    return _make_event(event, "tools", namespace, shown)


def _message(event: RunEvent, namespace: Namespace) -> ProtocolEvent:
    return ProtocolEvent(event.seq, "messages", "messages", namespace, event.data[1:-1])


def _task(event: RunEvent, namespace: Namespace) -> ProtocolEvent:
    return ProtocolEvent(event.seq, "tasks", "tasks", namespace, b'"data":' + event.data)


def _input_requested(event: RunEvent, namespace: Namespace) -> ProtocolEvent:
    return ProtocolEvent(event.seq, "input.requested", "input", namespace, b'"data":' + event.data)


def _make_event(event: RunEvent, method: str, namespace: Namespace, data: Any, *, channel: str | None = None) -> ProtocolEvent:
    return ProtocolEvent(event.seq, method, channel or method, namespace, b'"data":' + orjson.dumps(data))


_READINGS: Mapping[str, Callable[[RunEvent, Namespace], ProtocolEvent | None]] = {
    "metadata": _tell_running,
    "error": _tell_failed,
    "end": _tell_ended,
    "lifecycle": _of_subgraph,
    "values": _values,
    "updates": _updates,
    "custom": _custom,
    "tools": _tools,
    protocol.MESSAGES: _message,
    protocol.TASKS: _task,
    protocol.INPUT: _input_requested,
}
