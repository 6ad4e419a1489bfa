"""The three files of a seminar, written together; and which of them a user has edited since.

```
argument.json  seminar.md      what is taken
as written     as written      argument.json
edited         as written      argument.json, as edited
as written     edited          seminar.md, with the log of argument.json
edited         edited          neither, unless they say the same
```
`merge` combines those edits with what the dialogue has changed since the files were last written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from stepwell.tutor.argument import moves
from stepwell.tutor.argument.document import PHASES, Argument, Phase, Version, changes
from stepwell.tutor.argument.files import ARGUMENT, LOG, SEMINAR, line_of, read_argument, sha256, write_argument, write_log
from stepwell.tutor.argument.seminar import read_seminar, write_seminar
from stepwell.tutor.argument.validity import FileRefusedError, faults, phase_by_hand_fault

Key = TypeVar("Key")
Part = TypeVar("Part")


def write_files(argument: Argument) -> dict[str, str]:
    """File name -> text, for one save."""
    return {ARGUMENT: write_argument(argument), SEMINAR: write_seminar(argument), LOG: write_log(argument)}


def read_files(texts: Mapping[str, str | None]) -> Argument:
    """The argument in the files. Its log records a manual edit. `FileRefusedError` with line and reason if a file is invalid."""
    written, page = texts.get(ARGUMENT), texts.get(SEMINAR)
    if written is None:
        return _by_hand(Argument(), read_seminar(page), SEMINAR) if page is not None else Argument()
    stored = read_argument(written)
    argument = stored.argument
    json_edited = sha256(write_seminar(argument)) != stored.seminar_sha256
    page_edited = page is not None and sha256(page) != stored.seminar_sha256
    if json_edited and page_edited and page is not None and read_seminar(page) != replace(argument, moves=()):
        raise FileRefusedError(SEMINAR, 1, f"this file and {ARGUMENT} were both edited and say different things")
    if json_edited:
        before = replace(argument, phase=recorded_phase(argument))
        return _by_hand(before, argument, ARGUMENT, line_of(written, "phase"))
    if page_edited and page is not None:
        return _by_hand(argument, read_seminar(page), SEMINAR)
    return argument


def recorded_phase(argument: Argument) -> Phase:
    """The phase that the log has reached."""
    reached = [move.about for move in argument.moves if move.move == "phase"]
    return next((phase for phase in PHASES if reached and phase == reached[-1]), PHASES[0])


def _by_hand(before: Argument, edited: Argument, file: str, phase_line: int = 2) -> Argument:
    """The edited argument with the earlier log, and a line about the edit."""
    if fault := phase_by_hand_fault(replace(edited, moves=before.moves), before.phase):
        raise FileRefusedError(file, phase_line, fault)
    kept = replace(edited, moves=before.moves)
    thesis = kept.thesis
    if thesis is not None and (thesis.text, thesis.confidence) != _last_version(kept):
        kept = replace(kept, versions=(*kept.versions, Version(thesis.text, thesis.confidence, kept.phase)))
    return moves.record(kept, "file", "edit", file, _summary(before, kept))


def _last_version(argument: Argument) -> tuple[str, int | None] | None:
    return (argument.versions[-1].text, argument.versions[-1].confidence) if argument.versions else None


def _summary(before: Argument, after: Argument) -> str:
    changed = changes(replace(before, moves=()), replace(after, moves=()))
    parts = changed.get("replace", changed)
    touched = [
        *parts.get("nodes", {}),
        *parts.get("links", {}),
        *(name for name in ("question", "phase", "terms") if name in parts),
    ]
    return f"edited by hand: {', '.join(touched) or 'nothing that counts'}"


def merge(base: Argument, ours: Argument, theirs: Argument) -> Argument:
    """Merges what a user changed in the files with what the dialogue changed meanwhile, both since `base`. If both changed the same
    clause, the user wins."""
    merged = replace(
        theirs,
        question=ours.question if theirs.question == base.question else theirs.question,
        phase=ours.phase if theirs.phase == base.phase else theirs.phase,
        terms=tuple(dict.fromkeys([*theirs.terms, *(term for term in ours.terms if term not in base.terms)])),
        nodes=_merge_parts(base.nodes, ours.nodes, theirs.nodes),
        links=_merge_parts(base.links, ours.links, theirs.links),
        versions=(*theirs.versions, *ours.versions[len(base.versions) :]),
        moves=(*ours.moves, *theirs.moves[len(base.moves) :]),
    )
    first = next(iter(faults(merged)), None)
    if first is None:
        return merged
    # The dialogue built on something that was removed: the user's files win.
    return moves.record(replace(theirs, moves=merged.moves), "file", "undo", text=f"the last turn no longer fits: {first[1]}")


def _merge_parts(base: Mapping[Key, Part], ours: Mapping[Key, Part], theirs: Mapping[Key, Part]) -> dict[Key, Part]:
    ours_alone = {key for key in {*base, *ours} if base.get(key) != ours.get(key) and theirs.get(key) == base.get(key)}
    kept = {key: value for key, value in theirs.items() if key not in ours_alone}
    return {**kept, **{key: value for key, value in ours.items() if key in ours_alone}}
