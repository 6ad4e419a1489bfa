"""The mode `lifecycle`: one event when a subgraph starts and one when it ends, derived from LangGraph's `tasks` mode.

```
first task in a namespace                  -> {event: started, namespace, graph_name, trigger_call_id, cause?}
result of the task whose id the namespace's
last part carries (`node:task_id`)         -> {event: completed | interrupted | failed, namespace, error?}
```

`cause` is `{type: toolCall, tool_call_id}` if the task that runs the subgraph was made for a tool call. Such a subgraph, a subagent, has
failed if its call returned an error result, even though the task succeeded. If the whole graph failed, a subgraph may have no ending of its
own; the run's `error` event is then its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import ToolMessage

from stepwell.runs.streaming.modes import Namespace
from stepwell.secrets.errors import words_of
from stepwell.secrets.text import hide_secrets


class LifecycleEvents:
    """The subgraphs of one attempt."""

    def __init__(self) -> None:
        self._open: set[Namespace] = set()
        self._tool_calls: dict[str, str] = {}

    def payloads(self, namespace: Namespace, task: Mapping[str, Any]) -> list[dict[str, Any]]:
        return self._end(namespace, task) if "result" in task else self._start(namespace, task)

    def _start(self, namespace: Namespace, task: Mapping[str, Any]) -> list[dict[str, Any]]:
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

    def _end(self, namespace: Namespace, task: Mapping[str, Any]) -> list[dict[str, Any]]:
        call_id = self._tool_calls.pop(task["id"], None)
        children = [each for each in self._open if each[:-1] == namespace and each[-1].partition(":")[2] == task["id"]]
        self._open.difference_update(children)
        ending = _ending(task, call_id) if children else {}
        return [{**ending, "namespace": list(child)} for child in children]


def _ending(task: Mapping[str, Any], call_id: str | None) -> dict[str, str]:
    if task.get("interrupts"):
        return {"event": "interrupted"}
    error = task.get("error") or _error_result(task["result"], call_id)
    return (
        {"event": "failed", "error": hide_secrets(words_of(error) if isinstance(error, BaseException) else str(error))}
        if error
        else {"event": "completed"}
    )


def _error_result(result: Any, call_id: str | None) -> str | None:
    """The error message of a tool call, if the call failed."""
    messages = result.get("messages") if isinstance(result, Mapping) and call_id else None
    for message in messages if isinstance(messages, Sequence) else ():
        if isinstance(message, ToolMessage) and message.tool_call_id == call_id and message.status == "error":
            return message.text
    return None


def _tool_call_id(task_input: Any) -> str | None:
    """An agent creates one task per call: its input is the call with the state around it, or a list with only that call."""
    call = task_input.get("tool_call") if isinstance(task_input, Mapping) else None
    if isinstance(task_input, list) and len(task_input) == 1:
        (call,) = task_input
    call_id = call.get("id") if isinstance(call, Mapping) else None
    return call_id if isinstance(call_id, str) else None
