"""The thread that waits for an answer, named in the text of its question, where a client that knows nothing of threads sends it back."""

from __future__ import annotations

import re

_ID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_MARK = re.compile(rf"\[//\]: # \(thread ({_ID})\)")
_CHARS = len(f"[//]: # (thread {'0' * 36})")


def mark(thread_id: str) -> str:
    """What is added to a question. Markdown shows nothing of it."""
    return f"\n\n[//]: # (thread {thread_id})"


def marked_thread(text: str) -> str | None:
    """The thread that a text names at its end."""
    found = _MARK.fullmatch(text.rstrip()[-_CHARS:])
    return found[1] if found else None


def without_mark(text: str) -> str:
    return text.rstrip()[:-_CHARS].rstrip() if marked_thread(text) else text
