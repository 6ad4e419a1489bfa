"""Messages that other programs send: whether LangChain can read them, before a run is started that would fail in its words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_FORM = 'Each is an object with \'role\' ("user", "assistant", "system" or "tool") and \'content\', a text or a list of parts'


def messages_fault(given: Any) -> str | None:
    """Why messages cannot be read, as a sentence; None if they can. What was sent is not repeated."""
    listed = [given] if isinstance(given, str | Mapping) else given
    if not isinstance(listed, list):
        return f"'messages' is a list. {_FORM}."
    for number, message in enumerate(listed):
        if not _is_readable(message):
            return f"messages[{number}] cannot be read. {_FORM}."
        parts = message.get("content") if isinstance(message, Mapping) else None
        for place, part in enumerate(parts if isinstance(parts, list) else ()):
            if fault := _part_fault(part):
                return f"messages[{number}].content[{place}] cannot be read. {fault}"
    return None


def _is_readable(message: Any) -> bool:
    from langchain_core.messages import convert_to_messages

    try:
        convert_to_messages([message])
    except Exception:  # it raises whatever its parts raise
        return False
    return True


def _part_fault(part: Any) -> str | None:
    if isinstance(part, str):
        return None
    if not isinstance(part.get("type"), str):
        return 'A part has a \'type\', such as "text" or "image_url".'
    if part["type"] == "text" and not isinstance(part.get("text"), str):
        return "A part of the type \"text\" has a 'text'."
    if part["type"] == "image_url":
        image = part.get("image_url")
        address = image.get("url") if isinstance(image, Mapping) else image
        if not isinstance(address, str):
            return "A part of the type \"image_url\" has an 'image_url' with a 'url', which is a text."
    return None
