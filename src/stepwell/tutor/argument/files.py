"""argument.json, the authoritative form of an argument, and log.md, the list of its moves.

Users may have edited these files. We accept a file whole, or reject it with a line and a reason; we never guess.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, cast

from stepwell.tutor.argument import seminar
from stepwell.tutor.argument.document import PHASES, Argument, Move, Node, Phase, Version, from_data, to_data
from stepwell.tutor.argument.naming import TITLES, in_plain_words, name_of
from stepwell.tutor.argument.validity import FileRefusedError, faults

FORMAT = "stepwell-argument/1"
FOLDER = "tutor"
"""The tutor's notes have a folder of their own: whoever allows them allows nothing else in the project."""
ARGUMENT, SEMINAR, LOG = f"{FOLDER}/argument.json", f"{FOLDER}/seminar.md", f"{FOLDER}/log.md"
_FIELDS: Mapping[str, type] = {
    "question": str,
    "phase": str,
    "terms": list,
    "nodes": dict,
    "links": dict,
    "versions": list,
    "moves": list,
}


@dataclass(frozen=True, slots=True)
class Stored:
    """What argument.json says."""

    argument: Argument
    seminar_sha256: str
    """The hash of the seminar.md that was written together with this argument.json. It shows which of the two files was edited."""


def write_argument(argument: Argument) -> str:
    """The text of argument.json."""
    page = seminar.write_seminar(argument)
    data = {"format": FORMAT, **to_data(argument), "seminar_sha256": sha256(page)}
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def read_argument(text: str) -> Stored:
    """The argument in a text; `FileRefusedError` with line and reason if it is invalid."""
    data = _parse(text)
    if data.get("format") != FORMAT:
        raise FileRefusedError(ARGUMENT, line_of(text, "format"), f"the format is not '{FORMAT}'")
    for name, kind in _FIELDS.items():
        if not isinstance(data.get(name), kind):
            raise FileRefusedError(ARGUMENT, line_of(text, name), f"'{name}' is missing or not {_worded(kind)}")
    _check_parts(text, data)
    argument = from_data(data)
    for place, reason in faults(argument):
        raise FileRefusedError(ARGUMENT, line_of(text, *place), reason)
    return Stored(argument, str(data.get("seminar_sha256", "")))


def write_log(argument: Argument) -> str:
    """The text of log.md: one line per move, in words."""
    lines = [f"# Log: {argument.question or seminar.UNTITLED}", ""]
    lines += [f"{number}. {_told(argument, move)}" for number, move in enumerate(argument.moves, 1)]
    return "\n".join(lines) + "\n"


_SAID: Mapping[str, str] = {
    "ask": "asked: {text}",
    "answer": "answered: {text}",
    "question": "set the question: {text}",
    "propose": "wrote {about}: {text}",
    "update": "changed {about}: {text}",
    "link": "linked {about}: {text}",
    "terms": "named words to define: {text}",
    "hint": "gave hint {level}: {text}",
    "tell": "asked to be told",
    "leave": "left a question open",
    "lint": "marked something in {about}",
    "decide": "decided about {about}: {text}",
    "edit": "edited {file} by hand",
    "undo": "undid the last turn: {text}",
}


def _told(argument: Argument, move: Move) -> str:
    who = {"user": "You", "tutor": "The tutor", "file": "You"}[move.by]
    if move.move == "phase":
        return f"On to: {TITLES.get(cast('Phase', move.about), move.about)}."
    said = _SAID.get(move.move, move.move)
    about = name_of(argument, move.about)
    text = in_plain_words(argument, move.text)
    return f"{who} {said.format(about=about, text=text, level=move.level, file=move.about)}"


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _parse(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text, object_pairs_hook=_without_doubles)
    except json.JSONDecodeError as error:
        raise FileRefusedError(ARGUMENT, error.lineno, f"this is not JSON: {error.msg}") from error
    except _DoubleKeyError as error:
        raise FileRefusedError(ARGUMENT, line_of(text, error.key, last=True), f"'{error.key}' stands here twice") from error
    except RecursionError as error:
        raise FileRefusedError(ARGUMENT, 1, "this is nested too deeply") from error
    if not isinstance(data, dict):
        raise FileRefusedError(ARGUMENT, 1, "this is not an object")
    return data


class _DoubleKeyError(ValueError):
    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(key)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _DoubleKeyError(key)
        found[key] = value
    return found


def _check_parts(text: str, data: Mapping[str, Any]) -> None:
    """Checks the shapes inside before they become values."""
    if data["phase"] not in PHASES:
        raise FileRefusedError(ARGUMENT, line_of(text, "phase"), f"there is no such phase; there are: {', '.join(PHASES)}")
    if not all(isinstance(each, str) for each in [*data["terms"], *data["links"].values()]):
        raise FileRefusedError(ARGUMENT, line_of(text, "terms"), "a term and the reason of a link are texts")
    for place, value, kind in _parts(data):
        wrong = _shape_fault(value, kind)
        if wrong:
            raise FileRefusedError(ARGUMENT, line_of(text, *place), wrong)
    for key in data["links"]:
        if len(key.split(" ")) != 3:
            raise FileRefusedError(ARGUMENT, line_of(text, key), "a link reads like 'n1 supports t1'")


def _parts(data: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any, type[Any]]]:
    for name, value in data["nodes"].items():
        yield ("nodes", name), value, Node
    for value in data["versions"]:
        yield ("versions",), value, Version
    for value in data["moves"]:
        yield ("moves",), value, Move


def _shape_fault(value: Any, kind: type[Any]) -> str | None:
    """Why a JSON value cannot become one of our dataclasses; None if it can."""
    if not isinstance(value, dict):
        return "an object is needed here"
    known = [each.name for each in fields(kind) if each.name != "id"]
    strange = next((name for name in value if name not in known), None)
    if strange is not None:
        return f"there is no field '{strange}' here"
    for name in known:
        optional = name in ("confidence", "level", "about", "side", "term", "source") or (kind is Move and name == "text")
        if name not in value and not optional:
            return f"'{name}' is missing"
        given = value.get(name, "")
        number = name in ("confidence", "level")
        if number and not (given is None or given == "" or (isinstance(given, int) and not isinstance(given, bool))):
            return f"'{name}' is not a whole number"
        if not number and not isinstance(given, str):
            return f"'{name}' is not a text"
    return None


def line_of(text: str, *keys: str, last: bool = False) -> int:
    """The line of the last key, each key being searched after the one before; the line of the last one found if a key is missing."""
    place = 0
    for key in keys:
        quoted = json.dumps(key, ensure_ascii=False)
        found = text.rfind(quoted) if last else text.find(quoted, place)
        if found < 0:
            break
        place = found
    return text.count("\n", 0, place) + 1


def _worded(kind: type) -> str:
    return "a text" if kind is str else "a list" if kind is list else "an object"
