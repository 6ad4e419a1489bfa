"""What must happen to files so that they are as they were when a turn began. Pure functions of the journal's entries.

```
entries:   mark t1 │ a: - → x │ mark t2 │ a: x → y │ b: - → z │ mark t3 │ a: y → w
back to t2:                   └─ a must be x, b must be gone; the journal left them as w and z
```
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stepwell.tools.rewind.journal import Entry

REWIND = "rewind"
"""The detail of a mark that is a rewind itself."""


@dataclass(frozen=True, slots=True)
class Step:
    """One file that has to change back."""

    path: str
    wanted: str
    """The hash of the content when the turn began."""
    left: tuple[str, ...]
    """The hashes that the file may have if nobody else changed it. There are two, because a crash may have prevented the last change."""
    whole: bool
    """Whether every change in between is known. If not, somebody else changed the file meanwhile."""
    mode: int | None = None
    """The permission bits with which a file that is gone comes back, if its backend knows some."""


def find_turn(entries: Iterable[Entry], turn_id: str) -> Entry | None:
    """The newest mark of a turn, by the turn's id or by the id of its run."""
    found = [each for each in entries if each.kind == "turn" and turn_id and turn_id in (each.name, each.run_id)]
    return found[-1] if found else None


def plan(entries: Sequence[Entry], mark: Entry) -> list[Step]:
    """How each file gets back to what it was at the mark."""
    first: dict[str, Entry] = {}
    last: dict[str, Entry] = {}
    broken: set[str] = set()
    modes: dict[str, int] = {}
    for entry in changes_since(entries, mark):
        first.setdefault(entry.name, entry)
        if entry.detail:
            modes.setdefault(entry.name, int(entry.detail, 8))
        earlier = last.get(entry.name)
        if earlier is not None and entry.before not in (earlier.after, earlier.before):
            broken.add(entry.name)
        last[entry.name] = entry
    return [
        Step(path, first[path].before, (last[path].after, last[path].before), path not in broken, modes.get(path))
        for path in sorted(first)
    ]


def changes_since(entries: Iterable[Entry], mark: Entry) -> list[Entry]:
    """The changes of files since the mark."""
    return [each for each in entries if each.kind == "change" and each.number > mark.number]


def notes_since(entries: Iterable[Entry], mark: Entry) -> list[Entry]:
    """What was done since the mark that cannot be undone."""
    return [each for each in entries if each.kind == "note" and each.number > mark.number]
