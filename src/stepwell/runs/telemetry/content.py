"""Messages and values as the text of an attribute, cut to a size that collectors take, without keys and tokens of a known form. Used
only where content is asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from stepwell.secrets.text import hide_secrets

MAX_CHARS = 16_000
_ROLES = {"human": "user", "ai": "assistant"}


def messages_text(messages: Sequence[BaseMessage]) -> str:
    """The newest messages that fit, as JSON: a list of role and text."""
    kept: list[dict[str, str]] = []
    room = MAX_CHARS
    for message in reversed(messages):
        text = hide_secrets(message.text[:room])
        kept.append({"role": _ROLES.get(message.type, message.type), "content": text})
        room -= len(text)
        if room <= 0:
            break
    return json.dumps(kept[::-1], ensure_ascii=False)


def text_of(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_name_of)
    return hide_secrets(text[:MAX_CHARS])


def _name_of(value: Any) -> str:
    # A runtime or a store among a tool's inputs: its kind, not its inside.
    return f"<{type(value).__name__}>"
