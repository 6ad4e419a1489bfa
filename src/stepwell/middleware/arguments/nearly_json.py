"""Reads text that is nearly JSON, and says what was wrong with it.

| accepted | because models write it |
|---|---|
| a code fence around the whole | they are used to showing JSON in one |
| single quotes, keys without quotes, `True`, `False`, `None` | they think of Python or JavaScript |
| a comma before a closing bracket | the same |
| line breaks and tabs inside a string, `\\d` | they forget to escape them |
| missing closing brackets at the very end | only if the caller knows that the model finished its answer by itself |

Everything else is rejected: a text that could be read in two ways, a string without its end, two values for one key, text beside the JSON.
No word of the text is left out and none is added; only punctuation changes.
"""

from __future__ import annotations

import json
import re
from typing import Any

MAX_DEPTH = 60

_FENCE = re.compile(r"```[A-Za-z]{0,10}\n(.*)\n[ \t]{0,8}```", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SPACE = re.compile(r"[ \t\r\n]*")
_SPECIAL = {quote: re.compile(rf"[{quote}\\\x00-\x1f]") for quote in "\"'"}
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERALS = {"true": True, "false": False, "null": None}
_PYTHON_LITERALS = {"True": True, "False": False, "None": None}


class NotNearlyJsonError(ValueError):
    """The text cannot be read as JSON without guessing."""


def read_nearly_json(text: str, *, is_finished: bool) -> tuple[Any, list[str]]:
    """The value, and what had to be repaired; no repairs if it is JSON. `is_finished`: whether the model surely ended this text itself.

    Raises:
        NotNearlyJsonError: If reading it would need a guess.
    """
    try:
        return read_json(text), []
    except (ValueError, RecursionError):
        return _Reader(text, is_finished).read()


def read_json(text: str) -> Any:
    """The value of JSON text. Unlike Python's reader, it does not drop the first of two values for one key.

    Raises:
        ValueError: If it is not JSON, or has two values for one key.
    """
    return json.loads(text, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("A key is there twice.")
    return found


class _Reader:
    def __init__(self, text: str, is_finished: bool) -> None:
        self._text = text.strip()
        self._at = 0
        self._is_finished = is_finished
        self._ends_safely = False
        """Whether the last thing read could not be the beginning of something longer, as `12` could be of `123`."""
        self._repairs: dict[str, None] = {}

    def read(self) -> tuple[Any, list[str]]:
        if fenced := _FENCE.fullmatch(self._text):
            self._text = fenced[1].strip()
            self._note("a code fence was removed")
        value = self._value(0)
        if not self._is_at_end():
            raise NotNearlyJsonError(f"There is more text after the value, at character {self._at}.")
        return value, list(self._repairs)

    def _note(self, repair: str) -> None:
        self._repairs[repair] = None

    def _is_at_end(self) -> bool:
        self._skip_space()
        return self._at >= len(self._text)

    def _skip_space(self) -> None:
        if found := _SPACE.match(self._text, self._at):
            self._at = found.end()

    def _peek(self) -> str:
        self._skip_space()
        return self._text[self._at : self._at + 1]

    def _value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise NotNearlyJsonError(f"It is nested more than {MAX_DEPTH} levels deep.")
        first = self._peek()
        if first == "{":
            return self._object(depth)
        if first == "[":
            return self._array(depth)
        if first and first in _SPECIAL:
            return self._string()
        return self._scalar()

    def _scalar(self) -> Any:
        if word := _WORD.match(self._text, self._at):
            self._at, self._ends_safely = word.end(), True
            if word[0] in _LITERALS:
                return _LITERALS[word[0]]
            if word[0] in _PYTHON_LITERALS:
                self._note("Python's True, False or None became JSON's")
                return _PYTHON_LITERALS[word[0]]
        elif number := _NUMBER.match(self._text, self._at):
            self._at, self._ends_safely = number.end(), False
            return json.loads(number[0])
        raise NotNearlyJsonError(f"No value at character {self._at}.")

    def _object(self, depth: int) -> dict[str, Any]:
        self._at += 1
        found: dict[str, Any] = {}
        while not self._closes("}", after_comma=bool(found)):
            key = self._key()
            if key in found:
                raise NotNearlyJsonError(f"The key {key!r} is there twice.")
            if self._peek() != ":":
                raise NotNearlyJsonError(f"No colon at character {self._at}.")
            self._at += 1
            found[key] = self._value(depth + 1)
            if self._ends("}"):
                break
        return found

    def _array(self, depth: int) -> list[Any]:
        self._at += 1
        found: list[Any] = []
        while not self._closes("]", after_comma=bool(found)):
            found.append(self._value(depth + 1))
            if self._ends("]"):
                break
        return found

    def _closes(self, bracket: str, *, after_comma: bool) -> bool:
        """Whether the bracket closes here, where another item could begin."""
        if self._peek() != bracket:
            return False
        if after_comma:
            self._note("a trailing comma was removed")
        self._at, self._ends_safely = self._at + 1, True
        return True

    def _ends(self, bracket: str) -> bool:
        """Whether nothing more follows an item: its bracket closes, or the text ends and the bracket is added."""
        following = self._peek()
        if following == ",":
            self._at += 1
            return False
        if following == bracket:
            self._at, self._ends_safely = self._at + 1, True
            return True
        if not following and self._is_finished and self._ends_safely:
            self._note("missing closing brackets were added")
            return True
        raise NotNearlyJsonError(f"Neither a comma nor {bracket} at character {self._at}.")

    def _key(self) -> str:
        if self._peek() in _SPECIAL and self._peek():
            return self._string()
        word = _WORD.match(self._text, self._at)
        if word is None:
            raise NotNearlyJsonError(f"No key at character {self._at}.")
        self._at = word.end()
        self._note("keys were put in quotes")
        return word[0]

    def _string(self) -> str:
        quote = self._text[self._at]
        self._at += 1
        if quote == "'":
            self._note("single quotes became double quotes")
        pieces: list[str] = []
        while True:
            special = _SPECIAL[quote].search(self._text, self._at)
            if special is None:
                raise NotNearlyJsonError("A string has no end.")
            pieces.append(self._text[self._at : special.start()])
            self._at = special.end()
            if special[0] == quote:
                self._ends_safely = True
                return _join_surrogates("".join(pieces))
            pieces.append(self._escape() if special[0] == "\\" else self._raw(special[0]))

    def _raw(self, character: str) -> str:
        if character not in "\n\r\t":
            raise NotNearlyJsonError(f"A control character before character {self._at}.")
        self._note("line breaks and tabs inside a string were escaped")
        return character

    def _escape(self) -> str:
        letter = self._text[self._at : self._at + 1]
        self._at += 1
        if letter in _ESCAPES and letter:
            return _ESCAPES[letter]
        if letter == "u":
            code = _HEX.match(self._text, self._at)
            if code is None:
                raise NotNearlyJsonError(f"An incomplete \\u before character {self._at}.")
            self._at = code.end()
            return chr(int(code[0], 16))
        if not letter or letter in "\n\r":
            raise NotNearlyJsonError("A backslash at the end of a line.")
        self._note("a backslash was escaped")
        return f"\\{letter}"


def _join_surrogates(text: str) -> str:
    """Characters beyond the first 65,536, which JSON may write as two escapes, as one character each."""
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise NotNearlyJsonError("Half of a character.") from None
