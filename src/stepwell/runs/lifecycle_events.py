"""The mode `lifecycle`: one event when a subgraph starts and one when it ends, read off LangGraph's `tasks` mode.

```
first task in a namespace                  -> {event: started, namespace, graph_name, trigger_call_id, cause?}
result of the task whose id the namespace's
last part carries (`node:task_id`)         -> {event: completed | interrupted | failed, namespace, error?}
```

`cause` is `{type: toolCall, tool_call_id}` when the task that runs the subgraph was made for a tool call. A subgraph whose
graph failed as a whole may have no ending of its own: the run's `error` event is its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepwell.runs.stream_modes import Namespace
from stepwell.secrets.text import hide_secrets


class LifecycleEvents:
    """The subgraphs of one drive."""

    def __init__(self) -> None:
        self._open: set[Namespace] = set()
        self._tool_calls: dict[str, str] = {}

    def payloads(self, namespace: Namespace, task: Mapping[str, Any]) -> list[dict[str, Any]]:
        return self._ended(namespace, task) if "result" in task else self._started(namespace, task)

    def _started(self, namespace: Namespace, task: Mapping[str, Any]) -> list[dict[str, Any]]:
        if (call_id := _tool_call_id(task.get("input"))) is not None:
            self._tool_calls[task["id"]] = call_id
        if not namespace or namespace in self._open:
            return []
        self._open.add(namespace)
        node, _, task_id = namespace[-1].partition(":")
        name = (task.get("metadata") or {}).get("lc_agent_name") or node
        started = {"event": "started", "namespace": list(namespace), "graph_name": name, "trigger_call_id": task_id}
        cause = self._tool_calls.get(task_id)
        return [started if cause is None else {**started, "cause": {"type": "toolCall", "tool_call_id": cause}}]

    def _ended(self, namespace: Namespace, task: Mapping[str, Any]) -> list[dict[str, Any]]:
        self._tool_calls.pop(task["id"], None)
        children = [each for each in self._open if each[:-1] == namespace and each[-1].partition(":")[2] == task["id"]]
        self._open.difference_update(children)
        return [{"event": _ending(task), "namespace": list(child), **_error(task)} for child in children]


def _ending(task: Mapping[str, Any]) -> str:
    if task.get("interrupts"):
        return "interrupted"
    return "failed" if task.get("error") else "completed"


def _error(task: Mapping[str, Any]) -> dict[str, str]:
    return {"error": hide_secrets(str(task["error"]))} if _ending(task) == "failed" else {}


def _tool_call_id(task_input: Any) -> str | None:
    """LangGraph's tool node makes one task for each call, with the call in its input."""
    call = task_input.get("tool_call") if isinstance(task_input, Mapping) else None
    call_id = call.get("id") if isinstance(call, Mapping) else None
    return call_id if isinstance(call_id, str) else None
