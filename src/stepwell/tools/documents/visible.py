"""Text as a reader sees it: nothing hidden in it, one spelling for each character.

Applied once to every text from the web, so that offsets into it stay valid. With hidden characters a page can say something to a model
that its readers do not see.

Rule to keep: the time is linear in the length of the text, whatever it contains. So each character is judged once, not at each
place where it occurs, and nothing here looks ahead over a run that an attacker may have made very long.
"""

from __future__ import annotations

import re
import unicodedata

_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_BLANKS = re.compile(r"\n{3,}")
_SHOWN = "\n\t\u200c\u200d"  # the last two are joiners: they shape words in several scripts, and emoji
_TAGS = range(0xE0000, 0xE1000)  # tags and variation selectors that no font shows
_BLANK_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
"""Letters and marks that show nothing, by Unicode's property Default_Ignorable_Code_Point."""
_MAX_MARKS = 30
"""The maximum number of accents on one letter, as in Unicode's stream-safe format (UAX #15): sorting the marks of one letter takes
quadratic time, and no language comes near this number."""


def visible(text: str) -> tuple[str, int]:
    """The text without invisible characters, and how many there were. Line ends and tabs stay."""
    text = _LINE_ENDS.sub("\n", text)
    kept = _replace(text, {letter: "" for letter in set(text) if not _shows(letter)})
    return kept, len(text) - len(kept)


def normalise(text: str) -> str:
    """Visible text in Unicode's composed form (NFC), with plain spaces and at most one blank line at a time."""
    text = visible(text)[0]
    text = _replace(text, {letter: " " for letter in set(text) if unicodedata.category(letter) == "Zs"})
    # Twice: composing splits some letters, and the parts add to the marks behind them.
    composed = _without_towers(unicodedata.normalize("NFC", _without_towers(text)))
    lines = "\n".join(line.rstrip(" \t") for line in composed.split("\n"))
    return _BLANKS.sub("\n\n", lines).strip()


def one_line(text: str, most: int = 300) -> str:
    """For titles and excerpts: normalised, on one line, cut to a length."""
    line = " ".join(normalise(text).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def _shows(letter: str) -> bool:
    if letter in _SHOWN:
        return True
    # Cc control, Cf format (including marks that change the direction of text), Cs surrogates, Co private use, Cn unassigned.
    return not unicodedata.category(letter).startswith("C") and ord(letter) not in _TAGS and letter not in _BLANK_LETTERS


def _replace(text: str, changes: dict[str, str]) -> str:
    if all(old == new for old, new in changes.items()):
        return text
    # The table contains every character that occurs: for a missing one, `translate` would raise and catch an exception.
    return text.translate({ord(letter): changes.get(letter, letter) for letter in set(text)})


def _without_towers(text: str) -> str:
    """The text with at most `_MAX_MARKS` combining marks in a row; further marks are left out."""
    marks = "" if text.isascii() else "".join(letter for letter in set(text) if _is_mark(letter))
    if not marks:
        return text
    mark = f"[{re.escape(marks)}]"
    return re.sub(f"(?<!{mark})({mark}{{{_MAX_MARKS}}}){mark}+", r"\1", text)


def _is_mark(letter: str) -> bool:
    # A few characters count as letters but decompose into marks (U+0F73), so we check the first part.
    return unicodedata.combining(unicodedata.normalize("NFD", letter)[0]) != 0
