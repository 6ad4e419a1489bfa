"""Text that somebody else wrote, made fit to stand between tags in a prompt.

A file may contain anything, also text that imitates the end of its frame, another speaker or a tool call. Here it loses invisible
characters, and the `<` of tags that only a prompt has becomes `&lt;`: it stays readable, and cannot end the frame. Tags of HTML and of code
stay as they are.

Rule to keep: the time is linear in the length of the text, whatever it contains.
"""

from __future__ import annotations

import re
from functools import lru_cache

from stepwell.tools.documents.visible import one_line, visible

_NAMES = (
    "agent_memory",
    "skill",
    "skill_load_warnings",
    *("system", "system-reminder", "developer", "user", "human", "assistant"),
    *(
        "tool_call",
        "tool_calls",
        "tool_result",
        "tool_response",
        "function_call",
        "function_calls",
        "function_results",
        "invoke",
    ),
)
"""Our frames, and what models were trained to read as another speaker or as a call."""
_TAG = re.compile(rf"<(?=\||\s{{0,9}}/?\s{{0,9}}(?:\w{{1,20}}:)?(?:{'|'.join(_NAMES)})(?![\w-]))", re.IGNORECASE)
_COMMENT, _COMMENT_END = "<!--", "-->"


def framed(text: str, path: str, most: int) -> str:
    """A file's text for a frame, at most `most` characters; then it says where the rest is."""
    shown = visible(text)[0]
    cut = shown if len(shown) <= most else f"{shown[:most]}\n(cut here; read {path} for the rest)"
    return escape_tags(cut).strip()


# Every model call shows the same names and descriptions again. The result depends on nothing but the text.
@lru_cache(maxsize=2048)
def framed_line(text: str, most: int) -> str:
    """A short text from a file, on one line."""
    return escape_tags(one_line(text, most))


def escape_tags(text: str) -> str:
    return _TAG.sub("&lt;", text)


def without_comments(text: str) -> str:
    """Markdown without its HTML comments. A comment that does not end is no comment."""
    kept: list[str] = []
    start = 0
    while (opened := text.find(_COMMENT, start)) >= 0:
        closed = text.find(_COMMENT_END, opened + len(_COMMENT))
        if closed < 0:
            break
        kept.append(text[start:opened])
        start = closed + len(_COMMENT_END)
    return "".join([*kept, text[start:]])
