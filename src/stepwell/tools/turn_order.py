"""Which file changes stand before a tool call in its own model turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, ToolMessage

from stepwell.backends import paths
from stepwell.backends.protocol import ErrorText
from stepwell.backends.turn import PlannedChange

EDITED_BY_A_PERSON = "hitl_edited_tool_calls"
"""Where LangChain's approvals keep what a person made of a call; the message still shows the model's own."""


def changes_before(runtime: ToolRuntime) -> list[PlannedChange]:
    """The changes asked for by earlier calls of the same turn; those that already have a result (rejected ones) do not count."""
    messages = runtime.state.get("messages", [])
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        if isinstance(message, AIMessage):
            return _planned(message, runtime.tool_call_id, answered, runtime.state.get(EDITED_BY_A_PERSON) or {})
    return []


def _planned(
    message: AIMessage, own_id: str | None, answered: set[str], edited: Mapping[str, Mapping[str, Any]]
) -> list[PlannedChange]:
    planned: list[PlannedChange] = []
    for call in message.tool_calls:
        if call["id"] == own_id:
            return planned
        runs: Mapping[str, Any] = edited.get(call["id"] or "", call)
        if call["id"] not in answered and (change := _change_of(runs["name"], runs["args"])):
            planned.append(change)
    return planned


def _change_of(name: str, args: Mapping[str, Any]) -> PlannedChange | None:
    path = paths.resolve_file(args.get("file_path"))
    if isinstance(path, ErrorText):
        return None
    if name == "write_file" and isinstance(args.get("content"), str):
        return PlannedChange(path, args["content"], overwrite=bool(args.get("overwrite")))
    if name == "edit_file" and isinstance(args.get("old_string"), str) and isinstance(args.get("new_string"), str):
        return PlannedChange(path, args["new_string"], args["old_string"], bool(args.get("replace_all")))
    return None
