"""The trail: what happened, in order, each entry sealed by the hash of the one before.

```
entry 1   previous = 64 zeros     hash = sha256(canonical JSON of seq, kind, key, at, data, previous)
entry 2   previous = hash of 1    ...
```

Changing, removing or reordering an entry breaks every hash after it. The chain does not show who wrote it: anyone who rewrites the
whole trail can seal it again. To be able to notice that, a reader stores the hash of the last entry (the *head*) elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from stepwell.errors import EntryConflictError, EvidenceDamagedError, EvidenceError
from stepwell.research.audit.canonical import canonical, sha256

DEEP = "deep"
EntryKind = Literal[
    "question",
    "plan",
    "audit",
    "approval",
    "document_search",
    "follow_up",
    "request",
    "response",
    "source",
    "source_review",
    "quote",
    "claim",
    "writing",
    "report",
    "limit",
    "model_call",
    "refusal",
    "shown",
    "origin",
]
KINDS: tuple[str, ...] = get_args(EntryKind)
GENESIS = "0" * 64
_FIELDS = {"seq", "kind", "key", "at", "data", "previous", "hash"}


@dataclass(frozen=True, slots=True)
class NewEntry:
    """A new entry. Its `key` is unique: the same entry is not written again, and a different entry under the same key is refused."""

    kind: EntryKind
    key: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """A stored entry, with its place in the chain."""

    seq: int
    kind: EntryKind
    key: str
    at: str
    data: dict[str, Any]
    previous: str
    hash: str


@dataclass(frozen=True, slots=True)
class Defect:
    """A problem: where it is, and what it is."""

    where: str
    fact: str

    def __str__(self) -> str:
        return f"{self.where}: {self.fact}"


def seal(new: NewEntry, *, seq: int, at: str, previous: str) -> Entry:
    """Seals an entry at its place. Its data become what a reader will get back, so tuples become lists."""
    if new.kind not in KINDS:
        raise EvidenceError(f"A trail has no entries of kind '{new.kind}'. Use one of: {', '.join(KINDS)}.")
    if not new.key:
        raise EvidenceError(f"An entry of kind '{new.kind}' has no key. Give each a key, so that it is written once.")
    data = json.loads(canonical(new.data))
    return Entry(seq, new.kind, new.key, at, data, previous, _hash(seq, new.kind, new.key, at, data, previous))


def match_stored(known: Entry, new: NewEntry) -> Entry:
    """The stored entry, if the new one says the same, as when a step runs again. Raises `EntryConflictError` if the new one differs."""
    if known.kind != new.kind or canonical(known.data) != canonical(new.data):
        raise EntryConflictError(new.key)
    return known


def to_line(entry: Entry) -> bytes:
    """The entry as a line of `trail.jsonl`, with its line end."""
    return canonical({name: getattr(entry, name) for name in _FIELDS}) + b"\n"


def from_line(line: bytes) -> Entry:
    """The entry in a line; `EvidenceDamagedError` if the line is invalid. `check_chain` checks the hashes."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise EvidenceDamagedError("a line of the trail is not JSON") from error
    if not isinstance(fields, dict) or fields.keys() != _FIELDS or not _has_right_types(fields):
        raise EvidenceDamagedError("a line of the trail is not an entry")
    return Entry(**fields)


def head(entries: Sequence[Entry]) -> str:
    """The hash that stands for the whole trail."""
    return entries[-1].hash if entries else GENESIS


def check_chain(entries: Iterable[Entry]) -> list[Defect]:
    """Everything wrong with a trail; empty if it is intact."""
    problems: list[Defect] = []
    previous, keys = GENESIS, dict[str, int]()
    for position, entry in enumerate(entries, 1):
        problems += [Defect(f"entry {position}", fact) for fact in _faults(entry, position, previous)]
        if entry.key in keys:
            problems.append(Defect(f"entry {position}", f"has the key '{entry.key}' of entry {keys[entry.key]}"))
        keys.setdefault(entry.key, position)
        previous = entry.hash
    return problems


def _faults(entry: Entry, position: int, previous: str) -> list[str]:
    faults = []
    if entry.seq != position:
        faults.append(f"is numbered {entry.seq}")
    if entry.kind not in KINDS:
        faults.append(f"is of the unknown kind '{entry.kind}'")
    if entry.previous != previous:
        faults.append("does not follow the entry before it: that one was changed, dropped or moved")
    try:
        sealed = _hash(entry.seq, entry.kind, entry.key, entry.at, entry.data, entry.previous)
    except EvidenceError as error:
        return [*faults, f"cannot be hashed: {error}"]
    if sealed != entry.hash:
        faults.append("does not have the hash it was sealed with: it was changed")
    return faults


def _hash(seq: int, kind: str, key: str, at: str, data: dict[str, Any], previous: str) -> str:
    return sha256(canonical({"seq": seq, "kind": kind, "key": key, "at": at, "data": data, "previous": previous}))


def _has_right_types(fields: dict[str, Any]) -> bool:
    texts = all(isinstance(fields[name], str) for name in ("kind", "key", "at", "previous", "hash"))
    return texts and type(fields["seq"]) is int and isinstance(fields["data"], dict)


def scope_of(entry: Entry) -> str:
    """Which question an entry belongs to: `q1`, or `deep`."""
    return entry.key.partition(":")[0]
