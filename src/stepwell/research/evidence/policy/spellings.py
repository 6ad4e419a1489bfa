"""The ways to write one text in a query or an address. Rules about outgoing text must check all of them.

```
a%2540b  ─decode─>  a%40b  ─decode─>  a@b     percent signs, entities, escapes and plus signs, as many times as they were applied
a＠b     ─fold──────────────────────>  a@b     wide and styled letters, other digits, spaces and dashes; invisible and combining marks
```

Not covered, and not coverable by patterns: text that was enciphered (base64, rot13, reversed), spelled out ("ann at mail dot
example"), written in look-alike letters of another alphabet, or cut into pieces that are sent one by one. After private material was
read, `private_material.py` allows only words of the question.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from urllib.parse import unquote

from stepwell.errors import ToolUseError

MOST_LAYERS = 32
"""The most layers of encoding that we undo. No honest query has that many."""
_ESCAPE = re.compile(r"%u([0-9A-Fa-f]{4})|\\u([0-9A-Fa-f]{4})|\\x([0-9A-Fa-f]{2})")


def spellings(text: str) -> list[str]:
    """A text and everything it may stand for, each once. `ToolUseError` if it is encoded too many times."""
    found = dict.fromkeys(
        form for fold in (str, _fold, _bare) for spaces in (False, True) for form in _rounds(text, fold, spaces)
    )
    return list(found)


def _rounds(text: str, fold: Callable[[str], str], spaces: bool) -> Iterator[str]:
    """The text as it is, and after each round of decoding until nothing changes, because a rule may match any of these."""
    for _ in range(MOST_LAYERS):
        yield text
        decoded = fold(unquote(_ESCAPE.sub(_letter, html.unescape(text.replace("+", " ") if spaces else text))))
        if decoded == text:
            return
        text = decoded
    raise ToolUseError(f"The text is encoded more than {MOST_LAYERS} times over, so nobody can tell what it holds.")


def _letter(escape: re.Match[str]) -> str:
    return chr(int(escape[1] or escape[2] or escape[3], 16))


def _fold(text: str) -> str:
    """One form for equivalent letters."""
    return text if text.isascii() else "".join(map(_plain, unicodedata.normalize("NFKC", text)))


def _bare(text: str) -> str:
    """The same without combining marks: accents, and lines over, under and through letters."""
    marked = unicodedata.normalize("NFKD", _fold(text))
    return "".join(letter for letter in marked if not unicodedata.combining(letter))


def _plain(letter: str) -> str:
    if letter.isascii():
        return letter
    category = unicodedata.category(letter)
    if category == "Nd":
        return str(unicodedata.decimal(letter))
    return {"Cf": "", "Zs": " ", "Pd": "-"}.get(category, letter)
