"""The mode `tools`: LangGraph's notes about tool calls, in the form that the SDKs describe.

```
tool-started       -> {event: on_tool_start, toolCallId, name, input}
tool-output-delta  -> {event: on_tool_event, toolCallId, name, data}
tool-finished      -> {event: on_tool_end,   toolCallId, name, output}
tool-error         -> {event: on_tool_error, toolCallId, name, error}
```

LangGraph says a tool's name only when it starts, so names are kept for as long as the call runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_FORMS = {
    "tool-started": ("on_tool_start", "input", "input"),
    "tool-output-delta": ("on_tool_event", "delta", "data"),
    "tool-finished": ("on_tool_end", "output", "output"),
    "tool-error": ("on_tool_error", "message", "error"),
}
_ENDINGS = ("tool-finished", "tool-error")


class ToolEvents:
    """The tool calls of one drive."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def payload(self, note: Mapping[str, Any]) -> dict[str, Any]:
        kind, call_id = note["event"], note["tool_call_id"]
        if kind not in _FORMS:
            return dict(note)
        event, theirs, ours = _FORMS[kind]
        name = self._names.setdefault(call_id, note.get("tool_name", ""))
        if kind in _ENDINGS:
            del self._names[call_id]
        return {"event": event, "toolCallId": call_id, "name": name, ours: note.get(theirs)}
