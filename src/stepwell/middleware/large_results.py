"""Tool results that are too large for the conversation: how we choose them, and what stays in the conversation.

| too large | when we notice | what happens |
|---|---|---|
| one result | after its call | it goes to a file, and its head and tail stay |
| the results of a turn together | before the model call | the largest go to files in the same way, until the rest fits |
| the conversation, though our estimate said it fits | when the provider refuses it | the last turn's largest, until half its text is left |

A file tool's result is not copied to another file; the model is told to ask for less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.types import Command

from stepwell.backends import paths, text
from stepwell.backends.protocol import WriteResult
from stepwell.middleware.request import ToolResult
from stepwell.models.token_count import CHARS_PER_TOKEN
from stepwell.tools.files.tools import FILE_TOOL_NAMES

LARGE_RESULTS = "/large_tool_results"
SHOWN_CHARS = 2_000
UNKNOWN_WINDOW_TOKENS = 200_000
TURN_SHARE = 0.5
"""The share of the window that one turn's results may fill. The rest of the conversation needs room, and token counts are estimates."""


@dataclass(frozen=True, slots=True)
class LargeResult:
    """A tool result on its way to a file."""

    message: ToolMessage
    text: str
    path: str

    def pointer(self, written: WriteResult) -> ToolMessage:
        """What stays in the conversation."""
        if self.message.name in FILE_TOOL_NAMES:
            where = "The middle is left out, because this turn's results are too large together. Ask again for a smaller part."
        elif written.error:
            where = "The middle was dropped, because it could not be saved."
        else:
            where = f"The whole is in {self.path}: page through it with read_file, or search it with grep."
        head, tail = self.text[:SHOWN_CHARS], self.text[-SHOWN_CHARS:]
        lines = self.text.count("\n") + 1
        content = f"{head}\n\n(… {len(self.text):,} characters in {lines:,} lines. {where} Its end:)\n\n{tail}"
        return self.message.model_copy(update={"content": content})


def places_for(message: ToolMessage, body: str, call_id: str, taken: Mapping[str, Any]) -> list[LargeResult]:
    """The possible places for a result, in order of preference.

    Some models reuse their call ids, in a later turn or in a subagent, so the last place is named by the text's hash.
    """
    path = f"{LARGE_RESULTS}/{paths.safe_name(call_id)}"
    own = f"{LARGE_RESULTS}/{text.version_of(body)}"
    return [LargeResult(message, body, place) for place in ([own] if path in taken else [path, own])]


def turn_room(model: object) -> int:
    """How many characters the results of one turn may have in total."""
    profile = getattr(model, "profile", None) or {}
    return int((profile.get("max_input_tokens") or UNKNOWN_WINDOW_TOKENS) * TURN_SHARE * CHARS_PER_TOKEN)


def crowding(messages: Sequence[AnyMessage], room: int | None = None) -> list[ToolMessage]:
    """The largest of the last turn's results, so many that the others fit into `room` (default: half of the total size of all)."""
    sizes: dict[int, tuple[int, ToolMessage]] = {}
    for message in reversed(messages):
        if not isinstance(message, ToolMessage):
            break
        sizes[id(message)] = (len(message_text(message)), message)
    total = sum(size for size, _ in sizes.values())
    room = total // 2 if room is None else room
    chosen = []
    for size, message in sorted(sizes.values(), key=lambda each: each[0], reverse=True):
        if total <= room or size <= 3 * SHOWN_CHARS:
            break
        chosen.append(message)
        total -= size - 2 * SHOWN_CHARS
    return chosen


def message_text(message: ToolMessage) -> str:
    """A result's text; empty if it contains images or other blocks, because those results are left as they are."""
    if isinstance(message.content, str):
        return message.content
    parts = [block["text"] for block in message.content if isinstance(block, dict) and block.get("type") == "text"]
    return "\n".join(parts) if len(parts) == len(message.content) else ""


def messages_in(result: ToolResult | list[ToolResult]) -> list[ToolMessage]:
    if isinstance(result, list):  # LangGraph lets a tool return several results
        return [message for item in result for message in messages_in(item)]
    if isinstance(result, ToolMessage):
        return [result]
    update = getattr(result, "update", None)
    found = update.get("messages", []) if isinstance(update, Mapping) else []
    return [message for message in found if isinstance(message, ToolMessage)]


def files_in(result: ToolResult | list[ToolResult]) -> Mapping[str, Any]:
    """The files that come with a result."""
    if isinstance(result, list):
        return {path: file for item in result for path, file in files_in(item).items()}
    update = getattr(result, "update", None)
    return (update.get("files") or {}) if isinstance(update, Mapping) else {}


def replace_message(result: ToolResult, large: LargeResult, written: WriteResult) -> ToolResult:
    """The result with the pointer in place of the message, and with the file itself if files live in the state."""
    if isinstance(result, list):
        # LangGraph accepts a list here, though its types do not say so.
        return cast(
            "ToolResult", [replace_message(item, large, written) if _holds(item, large.message) else item for item in result]
        )
    pointer = large.pointer(written)
    if isinstance(result, ToolMessage):
        if not written.files_update:
            return pointer
        return Command(update={"messages": [pointer], "files": written.files_update})
    update = dict(cast("Mapping[str, Any]", result.update))
    update["messages"] = [pointer if message is large.message else message for message in update["messages"]]
    if written.files_update:
        update["files"] = {**(update.get("files") or {}), **written.files_update}
    return Command(graph=result.graph, update=update, resume=result.resume, goto=result.goto)


def _holds(result: ToolResult, wanted: ToolMessage) -> bool:
    return any(message is wanted for message in messages_in(result))
