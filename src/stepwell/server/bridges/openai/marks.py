"""The thread that waits for an answer, named in the text of its question, where a client that knows nothing of threads sends it back."""

from __future__ import annotations

import re

_MARK = re.compile(r"\s*\[//\]: # \(thread ([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\)\s*$")


def mark(thread_id: str) -> str:
    """What is added to a question. Markdown shows nothing of it."""
    return f"\n\n[//]: # (thread {thread_id})"


def marked_thread(text: str) -> str | None:
    """The thread that a text names at its end."""
    found = _MARK.search(text[-200:])
    return found[1] if found else None


def without_mark(text: str) -> str:
    return text[:-200] + _MARK.sub("", text[-200:])
