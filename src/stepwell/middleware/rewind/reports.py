"""What a rewind will do, or has done, as a person reads it."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from typing_extensions import TypedDict  # pydantic cannot build a JSON schema from typing's own before Python 3.12

from stepwell.backends import text
from stepwell.tools.rewind.journal import Entry
from stepwell.tools.rewind.recorded import DEVICE, ELSEWHERE, NO_IMAGE

MAX_DIFFED_LINES = 4_000
"""Longer files are compared by counting lines, because a diff takes time with the product of both lengths."""

Cannot = Literal["command", "effect", "device", "file", "money"]


class FileChange(TypedDict):
    """One file that goes back."""

    path: str
    change: Literal["created", "changed", "deleted"]
    """What the rewind does to it."""
    insertions: int
    deletions: int


class NotUndone(TypedDict):
    """Something that stays as it is."""

    kind: Cannot
    what: str
    """The tool, with what it was called with if that is known."""
    times: int


class RewindReport(TypedDict):
    """What a rewind does, or would do."""

    turn_id: str
    can_rewind: bool
    problem: str | None
    """Why it cannot be done; None if it can."""
    files_changed: list[str]
    insertions: int
    deletions: int
    files: list[FileChange]
    conflicts: list[str]
    """Files that somebody else has changed since."""
    messages_removed: int
    not_undone: list[NotUndone]
    rewind_id: str | None
    """The turn that the rewind itself is: go back to it to undo it, or what it did until it stopped. None if nothing was done."""


def describe_change(path: str, before: bytes | None, after: bytes | None) -> FileChange:
    """What happens to a file, in lines."""
    more, fewer = count_lines(_lines(before), _lines(after))
    change: Literal["created", "changed", "deleted"] = (
        "created" if before is None else "deleted" if after is None else "changed"
    )
    return {"path": path, "change": change, "insertions": more, "deletions": fewer}


def count_lines(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """How many lines are added and taken away."""
    if len(before) + len(after) > MAX_DIFFED_LINES:
        had, has = Counter(before), Counter(after)
        counted = (has - had).total(), (had - has).total()
        return counted if any(counted) else _count_between(before, after)
    more = fewer = 0
    for kind, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            fewer += b - a
            more += d - c
    return more, fewer


def _count_between(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """The same for lines that only changed places: all from the first to the last that is not where it was."""
    shorter = min(len(before), len(after))
    start = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    rest = shorter - start
    end = next((at for at in range(rest) if before[-1 - at] != after[-1 - at]), rest)
    return len(after) - start - end, len(before) - start - end


def _lines(content: bytes | None) -> list[str]:
    return [] if content is None else content.decode(errors="replace").splitlines()


def state_changes(now: Mapping[str, Any], then: Mapping[str, Any]) -> list[FileChange]:
    """What happens to the files in the agent's state, which go back with the conversation."""
    present, past = _texts(now), _texts(then)
    return [
        describe_change(path, present.get(path), past.get(path))
        for path in sorted({*present, *past})
        if present.get(path) != past.get(path)
    ]


def _texts(files: Mapping[str, Any]) -> dict[str, bytes]:
    return {
        path: text.join_lines(data["content"]).encode("utf-8", "surrogatepass")
        for path, data in files.items()
        if isinstance(data, Mapping) and "content" in data
    }


def describe_notes(notes: Iterable[Entry]) -> list[NotUndone]:
    """What stays, each once, with how often it was done."""
    calls: dict[tuple[Cannot, str], set[str | int]] = {}
    for note in notes:
        calls.setdefault((_kind(note), note.detail), set()).add(note.checkpoint_id or note.number)
    return [{"kind": kind, "what": what, "times": len(done)} for (kind, what), done in calls.items()]


def _kind(note: Entry) -> Cannot:
    if note.name == DEVICE:
        return "device"
    if note.name in (NO_IMAGE, ELSEWHERE):
        return "file"
    return "command" if note.name in COMMANDS else "effect"


COMMANDS = frozenset({"execute", "shell", "bash"})
"""Tools that run commands."""
