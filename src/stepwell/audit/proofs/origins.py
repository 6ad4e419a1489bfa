"""Whether sources that were taken over from another bundle are those of that bundle, which is kept whole inside of this one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from stepwell.audit.bundle import BundleReader
from stepwell.audit.ledger import read_evidence
from stepwell.audit.proofs.opened import OpenedBundle, Trail, text_at
from stepwell.audit.trail import Defect, Entry, head
from stepwell.errors import BundleError, EvidenceError

TRAIL = "trail.jsonl"


class Checked(Protocol):
    """What checking a bundle gave, as far as it matters here."""

    @property
    def ok(self) -> bool: ...
    @property
    def problems(self) -> Sequence[Defect]: ...


def taken_over(trail: Trail) -> set[str]:
    """The ids of sources that other bundles brought: no request of this trail did."""
    return {str(each) for entry in trail.of_kind("origin") for each in _ids(entry)}


def check_origins(opened: OpenedBundle, trail: Trail, verify: Callable[[Path], Checked]) -> Iterator[Defect]:
    """Each bundle that is named is there, holds by itself, has the head that was written down, and the sources that are said to be its."""
    for entry in trail.of_kind("origin"):
        content = opened.body(entry.data.get("body_sha256"))
        if content is None:
            yield Defect(TRAIL, f"entry {entry.seq} (origin) names a bundle that is not there")
            continue
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "origin.zip"
            file.write_bytes(content)
            checked = verify(file)
            if not checked.ok:
                yield Defect(TRAIL, f"entry {entry.seq} (origin) names a bundle that does not hold: {checked.problems[0]}")
            else:
                yield from _differences(entry, trail, file)


def _differences(entry: Entry, trail: Trail, file: Path) -> Iterator[Defect]:
    try:
        with BundleReader(file) as bundle:
            entries = bundle.entries()
            known = read_evidence(entries).sources
    except (BundleError, EvidenceError) as error:
        yield Defect(TRAIL, f"entry {entry.seq} (origin) names a bundle that cannot be read: {error}")
        return
    if head(entries) != text_at(entry.data, "head"):
        yield Defect(TRAIL, f"entry {entry.seq} (origin) names the head of another bundle than the one that is there")
    own = trail.evidence.sources if trail.evidence else {}
    for each in _ids(entry):
        if own.get(each) is None or own.get(each) != known.get(each):
            yield Defect(
                TRAIL, f"entry {entry.seq} (origin) says that source {each[:20]} is of another bundle, which has it otherwise"
            )


def _ids(entry: Entry) -> list[str]:
    listed = entry.data.get("sources")
    return [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
