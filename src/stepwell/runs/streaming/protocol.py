"""The mode `protocol`: what LangGraph's thread streams (`client.threads.stream`) need beyond the other modes.

| event | data |
|---|---|
| `protocol/messages` | `{node, data}`, with the events of `message_blocks` as data |
| `protocol/input` | an interrupt: `{interrupt_id, value, payload}` |
| `protocol/tasks` | how a task ended: `{id, name, result, error, interrupts}` |

It is a mode of our own and not available to callers: the server requests it when a command in a thread stream starts a run. Each event
becomes exactly one event of the protocol, so that a position in the log is also a position in the stream. `value` and `payload` are the
same: Python's SDK reads one, JavaScript's the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepwell.database.types import NewEvent, PendingInterrupt
from stepwell.runs.streaming.message_blocks import MessageBlocks
from stepwell.runs.streaming.modes import Namespace, event_name
from stepwell.secrets.text import hide_secrets
from stepwell.state.wire import encode

MESSAGES = "protocol/messages"
INPUT = "protocol/input"
TASKS = "protocol/tasks"


class ProtocolEvents:
    """The events of one attempt."""

    def __init__(self) -> None:
        self._blocks = MessageBlocks()

    def message(self, namespace: Namespace, message: Any, metadata: Mapping[str, Any]) -> tuple[NewEvent, ...]:
        node = metadata.get("langgraph_node")
        name = event_name(MESSAGES, namespace)
        return tuple(NewEvent(name, encode({"node": node, "data": each})) for each in self._blocks.events(message, metadata))

    def task(self, namespace: Namespace, task: Mapping[str, Any]) -> tuple[NewEvent, ...]:
        if "result" not in task:
            return ()
        error = None if task.get("error") is None else hide_secrets(str(task["error"]))
        return (NewEvent(event_name(TASKS, namespace), encode({**task, "error": error})),)

    def interrupt(self, pending: PendingInterrupt) -> NewEvent:
        namespace = tuple(pending.namespace.split("|")) if pending.namespace else ()
        data = {"interrupt_id": pending.interrupt_id, "value": pending.value, "payload": pending.value}
        return NewEvent(event_name(INPUT, namespace), encode(data))
