"""Parts of A2A messages, and the content of ours."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from stepwell.server.bridges.a2a.faults import CONTENT_NOT_SUPPORTED, INVALID_PARAMS, A2AFault
from stepwell.server.bridges.content import text_of

Json = Mapping[str, Any]

_CONTENTS = ("text", "raw", "url", "data")
_BLOCKS = ("image", "audio", "video")


def check_message(message: Any) -> Json:
    """The message of a request. `A2AFault` says what is missing."""
    if not isinstance(message, Mapping):
        raise A2AFault(INVALID_PARAMS, "'message' is missing. Send an object with messageId, role and parts.")
    if not isinstance(message.get("messageId"), str) or not message["messageId"]:
        raise A2AFault(INVALID_PARAMS, "'message.messageId' is missing. Send an id of your own, such as a UUID.")
    if message.get("role") not in ("ROLE_USER", 1):
        raise A2AFault(INVALID_PARAMS, "'message.role' must be ROLE_USER: this server answers as the agent.")
    parts = message.get("parts")
    if not isinstance(parts, list) or not parts:
        raise A2AFault(INVALID_PARAMS, "'message.parts' must be a list with at least one part.")
    for number, part in enumerate(parts):
        if not isinstance(part, Mapping) or len([name for name in _CONTENTS if name in part]) != 1:
            raise A2AFault(INVALID_PARAMS, f"'message.parts[{number}]' must have one of text, raw, url and data.")
        if not isinstance(part.get("text", ""), str) or not isinstance(part.get("url", ""), str):
            raise A2AFault(INVALID_PARAMS, f"'message.parts[{number}]' must have text or url as a string.")
    for name in ("contextId", "taskId"):
        if not isinstance(message.get(name, ""), str):
            raise A2AFault(INVALID_PARAMS, f"'message.{name}' must be a string.")
    return message


def text_in(message: Json) -> str:
    """The words of a message, without its other parts."""
    return "\n".join(part["text"] for part in message["parts"] if "text" in part)


def data_in(message: Json) -> Any:
    """What the only data part has; None if there is no data part, or more than one."""
    found = [part["data"] for part in message["parts"] if "data" in part]
    return found[0] if len(found) == 1 else None


def content_of(message: Json) -> str | list[dict[str, Any]]:
    """The content of a message: its text if it has nothing else, or blocks."""
    blocks = [_block(part) for part in message["parts"]]
    plain = all(block["type"] == "text" for block in blocks)
    return "\n".join(block["text"] for block in blocks) if plain else blocks


def input_of(message: Json, fields: frozenset[str] | None, message_id: str) -> dict[str, Any]:
    """The input of a graph. `fields` are those it takes; None if it takes any. One that knows no messages gets the data part."""
    if fields is None or "messages" in fields:
        return {"messages": [{"role": "user", "content": content_of(message), "id": message_id}]}
    given = data_in(message)
    if not isinstance(given, Mapping):
        names = ", ".join(sorted(fields))
        raise A2AFault(
            CONTENT_NOT_SUPPORTED, f"This agent takes no text. Send one data part: an object with fields of {names}."
        )
    return dict(given)


def _block(part: Json) -> dict[str, Any]:
    if "text" in part:
        return {"type": "text", "text": part["text"]}
    if "data" in part:
        return {"type": "text", "text": orjson.dumps(part["data"]).decode()}
    media_type = str(part.get("mediaType") or "application/octet-stream")
    kind = media_type.partition("/")[0]
    block: dict[str, Any] = {"type": kind if kind in _BLOCKS else "file", "mime_type": media_type}
    if name := part.get("filename"):
        block["filename"] = str(name)
    if "url" in part:
        return {**block, "url": part["url"]}
    try:
        raw = base64.b64decode(part["raw"], validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise A2AFault(INVALID_PARAMS, "A part's 'raw' must be bytes in Base64.") from None
    return {**block, "base64": base64.b64encode(raw).decode()}


def parts_of(message: Json) -> list[dict[str, Any]]:
    """The parts of one of our messages: its text, then its pictures, sounds and files."""
    content, text = message.get("content"), text_of(message)
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    files = [part for block in blocks if (part := _file_part(block))]
    return [*([{"text": text, "mediaType": "text/plain"}] if text else []), *files]


def _file_part(block: Json) -> dict[str, Any] | None:
    if block.get("type") not in ("file", *_BLOCKS):
        return None
    part: dict[str, Any] = {"mediaType": str(block.get("mime_type") or "application/octet-stream")}
    if name := block.get("filename"):
        part["filename"] = str(name)
    if isinstance(block.get("base64"), str):
        return {"raw": block["base64"], **part}
    return {"url": block["url"], **part} if isinstance(block.get("url"), str) else None


def ids_in(values: Any) -> set[str]:
    """The ids of the messages in values, or in the input of a run."""
    messages = values.get("messages") if isinstance(values, Mapping) else None
    return {
        str(each["id"])
        for each in (messages if isinstance(messages, list) else ())
        if isinstance(each, Mapping) and each.get("id")
    }


def last_message(values: Any) -> Json | None:
    """The agent's newest message since the user's; None if it has said nothing."""
    messages = values.get("messages") if isinstance(values, Mapping) else None
    for message in reversed(messages if isinstance(messages, list) else []):
        if not isinstance(message, Mapping) or message.get("type") == "human":
            return None
        if message.get("type") == "ai" and parts_of(message):
            return message
    return None


def history_of(values: Any, begin: str | None, task_id: str, context_id: str) -> list[dict[str, Any]]:
    """What was said in a task, from the message with which it began."""
    messages = values.get("messages") if isinstance(values, Mapping) else None
    said: Sequence[Any] = messages if isinstance(messages, list) else ()
    first = next((number for number, each in enumerate(said) if isinstance(each, Mapping) and each.get("id") == begin), None)
    found = []
    for each in said[first:] if first is not None else ():
        role = {"human": "ROLE_USER", "ai": "ROLE_AGENT"}.get(str(each.get("type"))) if isinstance(each, Mapping) else None
        if role and (parts := parts_of(each)):
            names = {"messageId": str(each.get("id") or ""), "contextId": context_id, "taskId": task_id}
            found.append({**names, "role": role, "parts": parts})
    return found
