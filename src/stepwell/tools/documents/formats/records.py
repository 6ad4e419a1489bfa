"""JSON and JSON lines: messages of a mail or chat export, and other records.

An object with a body and a sender or subject is a message; it begins with its `From: ...; To: ...; Date: ...; Subject: ...` line. Any other
object is a record of `key: value`. Exports often wrap an object in its type (`{"type": "post", "post": {...}}`); the wrapping is removed.
Passwords are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from stepwell.tools.documents.formats.mail import message_pieces
from stepwell.tools.documents.formats.tables import flatten
from stepwell.tools.documents.pieces import Document, Piece

MOST_RECORDS = 200_000
_MOST_DEPTH = 12
_MOST_VALUES = 500
_BODIES = ("body", "message", "text", "content", "msg", "body_text", "plain", "snippet")
_SENDERS = ("from", "sender", "user", "username", "author", "user_name", "name", "from_email", "role")
_SENDER_NAMES = ("from_name", "sender_name", "real_name", "display_name", "user_name", "author_name")
_RECEIVERS = ("to", "recipients", "recipient", "to_emails")
_COPIES = ("cc",)
_DATES = ("date", "timestamp", "create_at", "created_at", "sent_at", "sent", "time", "datetime", "ts", "created", "update_at")
_SUBJECTS = ("subject", "title")
_PLACES = ("channel", "channel_name", "room", "thread", "conversation")
_ATTACHED = ("attachments", "files")
_SECRET = re.compile(r"pass(?:word|wd|phrase)?|pwd|secret|token|api_?key|auth_?data", re.I)
_SECONDS, _MILLISECONDS, _MICROSECONDS = 1e8, 1e11, 1e14


def read_json(text: str) -> Document:
    """One JSON value. A list of objects, or an object with one, becomes records; anything else is shown key by key."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise
    except ValueError:
        if text.lstrip().startswith(("{", "[")) and "\n" in text.strip():
            return read_json_lines(text)
        return Document([Piece(text)], notes=["It is not valid JSON, so it was read as plain text."])
    document = Document(())
    document.pieces = _read_value(value, document.notes)
    return document


def read_json_lines(text: str) -> Document:
    """One JSON value on each line."""
    document = Document(())
    document.pieces = _record_pieces(_lines(text, document.notes), document.notes)
    return document


def _lines(text: str, notes: list[str]) -> Iterator[tuple[str, Any]]:
    broken = 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield f"line {number}", json.loads(line)
        except RecursionError:
            raise
        except ValueError:
            broken += 1
            yield f"line {number}", line
    if broken:
        notes.append(
            f"{broken:,} lines are not valid JSON and were read as they are." if broken > 1 else "One line is not valid JSON."
        )


def _read_value(value: Any, notes: list[str]) -> Iterator[Piece]:
    records = _records_in(value)
    if records is None:
        yield from (Piece(line) for line in _tree(value, 1))
        return
    if isinstance(value, Mapping):
        rest = {key: each for key, each in value.items() if each is not records}
        if about := record_text(rest):
            yield Piece(about)
    yield from _record_pieces(((f"record {number}", each) for number, each in enumerate(records, 1)), notes)


def _records_in(value: Any) -> Sequence[Any] | None:
    if _is_list_of_objects(value):
        return list(value)
    if isinstance(value, Mapping):
        lists = [each for each in value.values() if _is_list_of_objects(each)]
        if len(lists) == 1:
            return list(lists[0])
    return None


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _tree(value: Any, depth: int) -> Iterator[str]:
    """Any JSON value for a reader: objects inside an object under a heading with their key."""
    if depth > _MOST_DEPTH:
        yield flatten(json.dumps(value, ensure_ascii=False)[:2_000])
    elif isinstance(value, Mapping):
        flat = {key: each for key, each in value.items() if not isinstance(each, (Mapping, list)) or _is_flat_list(each)}
        if flat:
            yield record_text(flat)
        for key, each in value.items():
            if key not in flat and each:
                yield f"{'#' * min(6, depth)} {flatten(str(key))}"
                yield from _tree(each, depth + 1)
    elif isinstance(value, list):
        for each in value:
            if isinstance(each, Mapping):
                yield record_text(each)
            else:
                yield from _tree(each, depth + 1)
    elif value is not None:
        yield flatten(_scalar(value))


def _record_pieces(records: Iterator[tuple[str, Any]], notes: list[str]) -> Iterator[Piece]:
    """Messages are counted; other records keep the name of their line."""
    people: dict[str, str] = {}
    count = 0
    for number, (place, record) in enumerate(records):
        if number >= MOST_RECORDS:
            notes.append(f"Only the first {MOST_RECORDS:,} records were read.")
            return
        value, kind = _unwrap(record)
        if not isinstance(value, Mapping):
            yield Piece(flatten(_scalar(value)) if not isinstance(value, list) else _list_text(value), place)
            continue
        _remember_person(value, people)
        message = _message(value, people)
        if message is None:
            yield Piece(record_text(value, kind), place)
        else:
            count += 1
            yield from message_pieces(count, *message)


def _unwrap(record: Any) -> tuple[Any, str]:
    """The object in its wrapping, and its type."""
    if isinstance(record, Mapping):
        inner = [each for each in record.values() if isinstance(each, Mapping)]
        others = [key for key, each in record.items() if not isinstance(each, Mapping)]
        if len(inner) == 1 and set(others) <= {"type", "kind", "id"}:
            return inner[0], str(record.get("type") or record.get("kind") or "")
    return record, ""


def _remember_person(value: Mapping[str, Any], people: dict[str, str]) -> None:
    """Exports name their users once, with the full name."""
    user = value.get("username") or value.get("user_name") or value.get("handle")
    full = value.get("real_name") or value.get("full_name") or value.get("display_name")
    full = full or " ".join(str(value[key]) for key in ("first_name", "last_name") if value.get(key))
    if isinstance(user, str) and isinstance(full, str) and full.strip() and len(people) < 10_000:
        for key in (user, value.get("email"), value.get("id")):
            if isinstance(key, str) and key:
                people[key] = flatten(full)


def _message(value: Mapping[str, Any], people: Mapping[str, str]) -> tuple[dict[str, str], str, str] | None:
    """The headers, the body and the sender's name of a message; None if the object is something else."""
    lowered = {str(key).lower(): each for key, each in value.items()}
    body = _first(lowered, _BODIES)
    if isinstance(body, list):  # parts of a chat message
        body = "\n".join(str(each.get("text", "")) if isinstance(each, Mapping) else str(each) for each in body)
    sender = _person(_first(lowered, _SENDERS), _first(lowered, _SENDER_NAMES), people)
    subject = _first(lowered, _SUBJECTS)
    if not isinstance(body, str) or not body.strip() or not (sender or (subject and _first(lowered, _RECEIVERS))):
        return None
    if not (_first(lowered, (*_DATES, *_RECEIVERS)) or subject or lowered.keys() & {"role", "user", "message"}):
        return None
    headers = {
        "From": sender,
        "To": _people(_first(lowered, _RECEIVERS), people),
        "Cc": _people(_first(lowered, _COPIES), people),
        "Date": _date(_first(lowered, _DATES)),
        "Subject": flatten(str(subject or "")),
        "Channel": flatten(_scalar(_first(lowered, _PLACES)))
        if not isinstance(_first(lowered, _PLACES), (Mapping, list))
        else "",
        "Attachments": _people(_first(lowered, _ATTACHED), {}),
    }
    return headers, body, sender.partition(" <")[0].partition(" (")[0]


def _first(value: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((value[key] for key in keys if value.get(key)), None)


def _person(value: Any, name: Any, people: Mapping[str, str]) -> str:
    if isinstance(value, Mapping):
        name = name or value.get("name") or value.get("real_name") or value.get("display_name")
        value = value.get("email") or value.get("address") or value.get("username") or value.get("id") or name or ""
    who = flatten(_scalar(value)) if not isinstance(value, list) else _people(value, people)
    full = flatten(str(name)) if isinstance(name, str) and name.strip() else people.get(who, "")
    if not full or full == who:
        return who
    return f"{full} <{who}>" if "@" in who else f"{full} ({who})" if who else full


def _people(value: Any, people: Mapping[str, str]) -> str:
    several = value if isinstance(value, list) else [value] if value else []
    return ", ".join(_person(each, None, people) for each in several[:100])


def _date(value: Any) -> str:
    if isinstance(value, str) and re.fullmatch(r"\d{9,17}(\.\d+)?", value):
        value = float(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        unit = 1e6 if value >= _MICROSECONDS else 1e3 if value >= _MILLISECONDS else 1 if value >= _SECONDS else 0
        if unit:
            try:
                return show_moment(datetime.fromtimestamp(value / unit, UTC))
            except (ValueError, OverflowError, OSError):
                return str(value)
    if isinstance(value, str):
        try:
            return show_moment(datetime.fromisoformat(value.strip().replace("Z", "+00:00")))
        except ValueError:
            return flatten(value)
    return _scalar(value)


def show_moment(moment: datetime) -> str:
    """`3 May 2025, 14:05`."""
    return f"{moment.day} {moment:%B %Y}, {moment:%H:%M}"


def record_text(value: Mapping[str, Any], kind: str = "") -> str:
    """An object as one paragraph: `key: value; key: value`."""
    pairs = [f"type: {kind}"] if kind else []
    for key, each in _flat(value, "", 0):
        if len(pairs) >= _MOST_VALUES:
            break
        pairs.append(f"{key}: {each}")
    return "; ".join(pairs)


def _flat(value: Mapping[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, str]]:
    for key, each in value.items():
        name = f"{prefix}{flatten(str(key))}"
        if _SECRET.fullmatch(str(key)) or each is None or each in ("", [], {}):
            continue
        if isinstance(each, Mapping):
            if depth >= _MOST_DEPTH:
                yield name, flatten(json.dumps(each, ensure_ascii=False)[:500])
            else:
                yield from _flat(each, f"{name}.", depth + 1)
        elif isinstance(each, list):
            yield name, _list_text(each)
        else:
            text = flatten(_scalar(each))
            if text:
                yield name, text


def _list_text(values: Sequence[Any]) -> str:
    shown = []
    for each in values[:_MOST_VALUES]:
        if isinstance(each, Mapping):
            name = next(
                (str(each[key]) for key in ("name", "title", "label", "id") if isinstance(each.get(key), (str, int))), ""
            )
            shown.append(name or json.dumps(each, ensure_ascii=False)[:300])
        elif isinstance(each, list):
            shown.append(json.dumps(each, ensure_ascii=False)[:300])
        else:
            shown.append(_scalar(each))
    return flatten(", ".join(shown))


def _is_flat_list(value: Any) -> bool:
    return isinstance(value, list) and not any(isinstance(each, (Mapping, list)) for each in value)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return "" if value is None else str(value)
