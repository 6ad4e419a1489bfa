"""Text that somebody else wrote, made fit to stand between tags in a prompt.

A file may contain anything, also text that imitates the end of its frame, another speaker or a tool call. What is done does not depend on
the names of tags, of which there is always one more:

| in the file | in the frame |
|---|---|
| an invisible character | nothing; a joiner stays where it shapes a letter or an emoji |
| `<`, also in its wide and small forms | `&lt;`, so that no tag begins in a frame; a note at the end says so |
| `[WORD]`, `[/WORD]` in capitals, as some models mark who speaks | `[ WORD]` |
| a line that begins with a capitalised word and a colon, such as `Human:` | the same with a blank before it |

Rule to keep: the time is linear in the length of the text, whatever it contains.
"""

from __future__ import annotations

import re
from functools import lru_cache

from stepwell.tools.documents.visible import one_line, visible

_LESS_THAN = {ord(letter): "&lt;" for letter in "<\N{FULLWIDTH LESS-THAN SIGN}\N{SMALL LESS-THAN SIGN}"}
_BRACKET = re.compile(r"\[(?=/?[A-Z][A-Z_]{1,30}\])")
_SPEAKER = re.compile(r"^(?=#{0,6} {0,3}[^\W\da-z_]\w{0,30} {0,3}:)", re.MULTILINE)
_ESCAPED = "\n(In this text, &lt; stands for the less-than sign.)"
_SHAPING = r"\u200c\u200d\ufe00-\ufe0f"
_SHAPED = re.compile(rf"([^\x00-\x7f{_SHAPING}]?)([{_SHAPING}]+)")
_COMMENT, _COMMENT_END = "<!--", "-->"


def framed(text: str, path: str, most: int) -> str:
    """A file's text for a frame, at most `most` characters; then it says where the rest is."""
    shown = _seen(visible(text)[0]).strip()
    escaped = _SPEAKER.sub(" ", escape_tags(shown[:most]))
    if len(shown) > most or len(escaped) > most:
        escaped = f"{escaped[:most]}\n(cut here; read {escape_tags(path)} for the rest)"
    return escaped + _ESCAPED if _has_tags(shown[:most]) else escaped


# Every model call shows the same names and descriptions again. The result depends on nothing but the text.
@lru_cache(maxsize=2048)
def framed_line(text: str, most: int) -> str:
    """A short text from a file, on one line."""
    return escape_tags(_seen(one_line(text, most)))


def escape_tags(text: str) -> str:
    """The text without the beginning of a tag, in pointed or in square brackets."""
    return _BRACKET.sub("[ ", text.translate(_LESS_THAN))


def _has_tags(text: str) -> bool:
    return any(chr(letter) in text for letter in _LESS_THAN)


def _seen(text: str) -> str:
    """Without joiners that join nothing: they stay after a letter or a picture beyond ASCII, at most two at a time."""
    return _SHAPED.sub(lambda found: found[0] if found[1] and len(found[2]) <= 2 else found[1], text)


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
