"""Checks whether sources copied from another bundle are really from that bundle, which is stored whole inside this one; and who vouched
for it. A bundle is worth no more than what it is built on, so its reader is told what that is."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from stepwell.errors import BundleError, EvidenceError
from stepwell.research.audit.bundle import BundleReader
from stepwell.research.audit.proofs.opened import OpenedBundle, Trail
from stepwell.research.audit.story import evidence_of, story_of
from stepwell.research.audit.trail import Defect, Entry, head

TRAIL = "trail.jsonl"


class Checked(Protocol):
    """The parts of a check's result that are needed here."""

    @property
    def ok(self) -> bool: ...
    @property
    def problems(self) -> Sequence[Defect]: ...
    @property
    def signed_by(self) -> str | None: ...
    @property
    def lacks(self) -> Sequence[str]: ...
    @property
    def notes(self) -> Sequence[str]: ...


@dataclass
class Origins:
    """The result: problems, what could not be shown because nobody vouched for it, and what else a reader should know."""

    problems: list[Defect] = field(default_factory=list)
    lacks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def taken_over(trail: Trail) -> set[str]:
    """The ids of sources that came from other bundles, not from requests of this trail."""
    return {each for entry in trail.of_kind("origin") for each in entry.data["sources"]}


def check_origins(opened: OpenedBundle, trail: Trail, verify: Callable[[Path], Checked]) -> Origins:
    """Checks that each named bundle is there, verifies by itself, has the recorded head and signer, and contains the sources said to be
    from it."""
    found = Origins()
    for entry in trail.of_kind("origin"):
        content = opened.body(entry.data["body_sha256"])
        if content is None:
            found.problems.append(Defect(TRAIL, f"entry {entry.seq} (origin) names a bundle that is not there"))
            continue
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "origin.zip"
            file.write_bytes(content)
            checked = verify(file)
            if checked.ok:
                found.problems += [*_find_signer_faults(entry, checked), *_find_differences(entry, trail, file)]
            else:
                fault = f"entry {entry.seq} (origin) names a bundle that does not hold: {checked.problems[0]}"
                found.problems.append(Defect(TRAIL, fault))
        _describe(entry, checked, found)
    return found


def _find_signer_faults(entry: Entry, checked: Checked) -> Iterator[Defect]:
    if entry.data["signed_by"] != checked.signed_by:
        yield Defect(TRAIL, f"entry {entry.seq} (origin) names another signer than the bundle has that is there")
    if entry.data["vouched"] and checked.signed_by is None:
        yield Defect(TRAIL, f"entry {entry.seq} (origin) is said to be vouched for, and nobody has signed that bundle")


def _find_differences(entry: Entry, trail: Trail, file: Path) -> Iterator[Defect]:
    try:
        with BundleReader(file) as bundle:
            entries = bundle.entries()
        known = evidence_of(entries, story_of(entries)).sources
    except (BundleError, EvidenceError) as error:
        yield Defect(TRAIL, f"entry {entry.seq} (origin) names a bundle that cannot be read: {error}")
        return
    if head(entries) != entry.data["head"]:
        yield Defect(TRAIL, f"entry {entry.seq} (origin) names the head of another bundle than the one that is there")
    own = trail.evidence.sources
    for each in entry.data["sources"]:
        if own.get(each) is None or own.get(each) != known.get(each):
            yield Defect(
                TRAIL, f"entry {entry.seq} (origin) says that source {each[:20]} is of another bundle, which has it otherwise"
            )


def _describe(entry: Entry, checked: Checked, found: Origins) -> None:
    """Adds sentences that tell the reader who signed the bundle that this one is built on, and whether anyone vouches for it."""
    signer = checked.signed_by
    by = f"signed by {signer}" if signer else "that nobody has signed"
    many = len(entry.data["sources"])
    built = f"It is built on a bundle {by} ({many} source{'s' if many != 1 else ''} taken over)"
    if entry.data["vouched"]:
        found.notes.append(f"{built}. Whoever made this one knew that key.")
    else:
        found.lacks.append(f"{built}, and nobody vouches for that one.")
    found.lacks += [
        f"Of the bundle it is built on: {each}" for each in checked.lacks if signer or not each.startswith("Nobody has signed")
    ]
    found.notes += [f"Of the bundle it is built on: {each}" for each in checked.notes]
