"""Finds and replaces the message of a tool's result, which may be a message, a command with messages, or a list of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.types import Command


def message_in(result: Any, call_id: str) -> ToolMessage | None:
    """The message that answers the call; None if the result has none."""
    if isinstance(result, ToolMessage):
        return result if result.tool_call_id == call_id else None
    if isinstance(result, Command):
        messages = result.update.get("messages") if isinstance(result.update, Mapping) else None
        return message_in(messages, call_id) if isinstance(messages, list) else None
    if isinstance(result, list):
        return next((found for each in result if (found := message_in(each, call_id)) is not None), None)
    return None


def with_message(result: Any, old: ToolMessage, new: ToolMessage) -> Any:
    """The result with another message in place of one that `message_in` found. Other updates of a command stay."""
    if result is old:
        return new
    if isinstance(result, list):
        return [with_message(each, old, new) for each in result]
    if isinstance(result, Command) and isinstance(result.update, Mapping):
        messages = result.update.get("messages")
        if isinstance(messages, list):
            return replace(result, update={**result.update, "messages": with_message(messages, old, new)})
    return result
