"""A thread's title, made of the first message of its user, so that lists of threads show what each one is about.

Clients that give a thread a title of their own (`metadata.title`) keep it. A title made of a message whose text a check changes or
withholds changes with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import HumanMessage

MAX_CHARS = 80
_USERS = frozenset({"user", "human"})
_PICTURES = frozenset({"image", "image_url"})


def title_of(given: Any) -> str | None:
    """The title that a run's input suggests; None if its user says nothing in it."""
    if not isinstance(given, Mapping):
        return None
    messages = given.get("messages")
    listed = messages if isinstance(messages, list) else [messages]
    said = next((text for message in listed if (text := _said(message))), "")
    if not said and isinstance(query := given.get("user_query"), str):
        said = query
    line = " ".join(said.strip().split("\n", 1)[0].split())
    if len(line) > MAX_CHARS:
        line = f"{line[: MAX_CHARS - 2].rsplit(' ', 1)[0]}…"
    return line or None


def changed_titles(before: Any, after: Any) -> dict[str, str | None]:
    """Title -> the one it becomes, or None, for the user's messages whose text was changed between two states of a thread."""
    said = _said_in(before)
    changed: dict[str, str | None] = {}
    for message in _user_messages(after):
        earlier = said.get(message.id or "")
        if earlier is None or earlier == message.content or not (title := _title_of_content(earlier)):
            continue
        from stepwell.middleware.moments.base import WITHHELD  # what changed the message has loaded it already

        changed[title] = None if message.additional_kwargs.get(WITHHELD) else _title_of_content(message.content)
    return changed


def _said_in(values: Any) -> dict[str, Any]:
    return {message.id: message.content for message in _user_messages(values) if message.id}


def _user_messages(values: Any) -> list[HumanMessage]:
    messages = values.get("messages") if isinstance(values, Mapping) else None
    return [message for message in messages if isinstance(message, HumanMessage)] if isinstance(messages, list) else []


def _title_of_content(content: Any) -> str | None:
    return title_of({"messages": [{"role": "user", "content": content}]})


def _said(message: Any) -> str:
    """What the user says in a message, in any of the forms that LangGraph takes; empty for other messages."""
    if isinstance(message, str):
        return message
    if isinstance(message, list) and len(message) == 2:
        role, content = message
    elif isinstance(message, Mapping):
        role, content = message.get("type") or message.get("role"), message.get("content")
    else:
        return ""
    return _text(content) if role in _USERS else ""


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    words = "".join(text for block in blocks if isinstance(text := block.get("text"), str))
    return words or ("Picture" if any(block.get("type") in _PICTURES for block in blocks) else "")
