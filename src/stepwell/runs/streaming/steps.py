"""Payloads of the modes that show a graph's inner steps (`tasks`, `checkpoints`, `debug`, `tools`), cleaned for clients.

```
checkpoints  {config, parent_config, values, metadata, next, tasks: [{id, name, interrupts, state | error | result}]}
tasks        {id, name, input, triggers, metadata}  then  {id, name, error, result, interrupts}
debug        {step, timestamp, type: checkpoint | task | task_result, payload: one of the above}
```

In `debug` a checkpoint also has `checkpoint` and `parent_checkpoint`, and a task with a subgraph has `checkpoint` in place of `state`:
the same forms as in the state of a thread.

In `tools`, LangGraph's notes about tool calls are converted to what the SDKs describe (`ToolEvents`):

```
tool-started       -> {event: on_tool_start, toolCallId, name, input}
tool-output-delta  -> {event: on_tool_event, toolCallId, name, data}
tool-finished      -> {event: on_tool_end,   toolCallId, name, output}
tool-error         -> {event: on_tool_error, toolCallId, name, error}
```
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from langgraph.types import StateSnapshot

from stepwell.runs.failures import hide_in_error
from stepwell.runs.run_config import checkpoint_place, public_config, public_metadata

_TOOL_EVENTS = {
    "tool-started": ("on_tool_start", "input", "input"),
    "tool-output-delta": ("on_tool_event", "delta", "data"),
    "tool-finished": ("on_tool_end", "output", "output"),
    "tool-error": ("on_tool_error", "message", "error"),
}
_TOOL_ENDINGS = ("tool-finished", "tool-error")


def hide_in_errors(mode: str, payload: Any, secrets: Collection[str]) -> Any:
    """A chunk of any mode. If it contains the error of a node or tool, the secrets of the run's caller are removed from the error."""
    match mode:
        case "tasks" if payload.get("error"):
            return {**payload, "error": hide_in_error(payload["error"], secrets)}
        case "checkpoints":
            return {**payload, "tasks": [hide_in_errors("tasks", task, secrets) for task in payload.get("tasks") or ()]}
        case "debug":
            inner = "checkpoints" if payload["type"] == "checkpoint" else "tasks"
            return {**payload, "payload": hide_in_errors(inner, payload["payload"], secrets)}
        case "tools" if payload.get("event") == "tool-error":
            return {**payload, "message": hide_in_error(payload.get("message"), secrets)}
        case "events" if "error" in payload.get("data", ()):
            return {**payload, "data": {**payload["data"], "error": hide_in_error(payload["data"]["error"], secrets)}}
        case _:
            return payload


def task_payload(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    if "metadata" not in payload:
        return payload
    return {**payload, "metadata": public_metadata(payload["metadata"])}


def checkpoint_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **payload,
        "config": public_config(payload.get("config")),
        "parent_config": public_config(payload.get("parent_config")),
        "metadata": public_metadata(payload.get("metadata")),
        "tasks": [{**task, "state": _public_state(task.get("state"))} for task in payload.get("tasks") or ()],
    }


def debug_payload(wrapped: Mapping[str, Any]) -> dict[str, Any]:
    payload = wrapped["payload"]
    if wrapped["type"] != "checkpoint":
        return {**wrapped, "payload": task_payload(payload)}
    return {**wrapped, "payload": _debug_checkpoint(payload)}


def _debug_checkpoint(payload: Mapping[str, Any]) -> dict[str, Any]:
    parent = payload.get("parent_config")
    return {
        **checkpoint_payload(payload),
        "tasks": [_debug_task(task) for task in payload.get("tasks") or ()],
        "checkpoint": checkpoint_place(payload.get("config") or {}),
        "parent_checkpoint": checkpoint_place(parent) if parent else None,
    }


def _debug_task(task: Mapping[str, Any]) -> dict[str, Any]:
    state = task.get("state")
    if not isinstance(state, Mapping):
        return {**task, "state": _public_state(state)}
    rest = {name: value for name, value in task.items() if name != "state"}
    return {**rest, "checkpoint": checkpoint_place(state)}


def _public_state(state: Any) -> Any:
    if isinstance(state, StateSnapshot):
        cleaned = state._replace(
            config=public_config(state.config),  # type: ignore[arg-type]  # the same shape, with fewer keys
            parent_config=public_config(state.parent_config),  # type: ignore[arg-type]  # as above
            metadata=public_metadata(state.metadata),  # type: ignore[arg-type]  # as above
        )
        return cleaned._replace(tasks=tuple(task._replace(state=_public_state(task.state)) for task in state.tasks))
    return public_config(state) if isinstance(state, Mapping) else state


class ToolEvents:
    """The tool calls of one attempt. LangGraph names a tool only when it starts, so names are remembered while the call runs."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def payload(self, note: Mapping[str, Any]) -> dict[str, Any]:
        kind, call_id = note["event"], note["tool_call_id"]
        if kind not in _TOOL_EVENTS:
            return dict(note)
        event, theirs, ours = _TOOL_EVENTS[kind]
        name = self._names.setdefault(call_id, note.get("tool_name", ""))
        if kind in _TOOL_ENDINGS:
            del self._names[call_id]
        return {"event": event, "toolCallId": call_id, "name": name, ours: note.get(theirs)}
