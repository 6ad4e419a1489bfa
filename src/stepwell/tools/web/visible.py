"""Text as a reader sees it: nothing hidden in it, one spelling for each character.

Applied once to every text that comes from the web, so that offsets into it stay true ever after. Hidden characters are how a
page says something to a model that its readers do not see.
"""

from __future__ import annotations

import re
import unicodedata

_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_BLANKS = re.compile(r"\n{3,}")
_TRAILING = re.compile(r"[ \t]+(?=\n)|[ \t]+\Z")
_JOINERS = "\u200c\u200d"  # they shape words in several scripts, and emoji
_TAGS = re.compile("[\U000e0000-\U000e0fff]")  # tags and variation selectors that no font shows


def visible(text: str) -> tuple[str, int]:
    """The text without characters that do not show, and how many there were. Line ends and tabs stay."""
    text = _LINE_ENDS.sub("\n", text)
    kept = "".join(letter for letter in text if _shows(letter))
    return kept, len(text) - len(kept)


def settled(text: str) -> str:
    """Visible, in Unicode's composed form (NFC), with plain spaces and at most one blank line at a time."""
    plain = "".join(" " if unicodedata.category(letter) == "Zs" else letter for letter in visible(text)[0])
    composed = unicodedata.normalize("NFC", plain)
    return _BLANKS.sub("\n\n", _TRAILING.sub("", composed)).strip()


def one_line(text: str, most: int = 300) -> str:
    """For titles and excerpts: settled, on one line, cut to a length."""
    line = " ".join(settled(text).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def _shows(letter: str) -> bool:
    if letter in "\n\t" or letter in _JOINERS:
        return True
    # Cc control, Cf format (with the marks that turn the direction of text), Cs halves of a character, Co private, Cn none.
    return not unicodedata.category(letter).startswith("C") and not _TAGS.match(letter)
