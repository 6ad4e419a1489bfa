"""An open bundle and its parsed trail: read once, for every proof."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from stepwell.errors import BundleError, EvidenceDamagedError
from stepwell.research.audit.bundle import BODIES, FORMAT, BundleReader
from stepwell.research.audit.canonical import sha256
from stepwell.research.audit.forms import check_forms
from stepwell.research.audit.ledger import Evidence, read_evidence
from stepwell.research.audit.limits import MAX_ENTRIES, MAX_REPORT_BYTES, MAX_TRAIL_BYTES, Patience
from stepwell.research.audit.story import Story, evidence_of, story_of
from stepwell.research.audit.trail import Defect, Entry, check_chain, scope_of

_SIZES: Mapping[str, int] = {"report.md": MAX_REPORT_BYTES, "policy.md": MAX_REPORT_BYTES}


class OpenedBundle:
    """The members of a bundle. Bodies are read when needed; everything else is kept in memory. `BundleError` if one is too large."""

    def __init__(self, bundle: BundleReader, patience: Patience) -> None:
        self.bundle = bundle
        self.patience = patience
        for name, member in bundle.members.items():
            most = _SIZES.get(name, MAX_TRAIL_BYTES)
            if name.partition("/")[0] not in BODIES and member.size > most:
                raise BundleError(
                    f"Member '{name}' has {member.size:,} bytes; at most {most:,} are checked, so it was not judged."
                )
        self.contents = {name: bundle.read(name) for name in bundle.members if name.partition("/")[0] not in BODIES}
        self.hashes = dict(self._hash_members())

    def _hash_members(self) -> Iterator[tuple[str, tuple[str, int]]]:
        for name, member in self.bundle.members.items():
            self.patience.go_on()
            yield name, (sha256(self.bundle.read(name)), member.size)

    @cached_property
    def form(self) -> str:
        """The format that the manifest names; empty if it names none."""
        try:
            named = json.loads(self.contents.get("manifest.json", b"")).get("format")
        except (ValueError, AttributeError, RecursionError):
            return ""
        return named if isinstance(named, str) else ""

    def check_form(self) -> Iterator[Defect]:
        """A problem if the bundle does not have the one supported format. Then nothing else can be said about it."""
        if "manifest.json" not in self.contents:
            yield Defect("manifest.json", "is missing, so the bundle was not judged")
        elif self.form != FORMAT:
            named = f"names the format '{self.form[:40]}'" if self.form else "names no format"
            yield Defect(
                "manifest.json", f"{named}; this version reads '{FORMAT}' and nothing else, so the bundle was not judged"
            )

    def body(self, digest: object) -> bytes | None:
        """Stored bytes by their hash; `None` if they are missing or changed."""
        try:
            return self.bundle.body(str(digest))
        except BundleError:
            return None

    def read_trail(self) -> tuple[Trail | None, list[Defect]]:
        """The trail, and what is wrong with it; `None` instead of the trail if it cannot be read, or an entry does not have the form of
        its kind."""
        if "trail.jsonl" not in self.contents:
            return None, [Defect("trail.jsonl", "is missing")]
        if (count := self.contents["trail.jsonl"].count(b"\n")) > MAX_ENTRIES:
            return None, [Defect("trail.jsonl", f"has {count:,} entries; at most {MAX_ENTRIES:,} are checked")]
        try:
            entries = self.bundle.entries()
        except EvidenceDamagedError as error:
            return None, [Defect("trail.jsonl", str(error))]
        self.patience.go_on()
        problems = [Defect("trail.jsonl", f"{problem.where} {problem.fact}") for problem in check_chain(entries)]
        if faults := list(check_forms(entries)):
            return None, [*problems, *faults]
        story = story_of(entries)
        try:
            return Trail(entries, story, read_evidence(entries), evidence_of(entries, story)), problems
        except EvidenceDamagedError as error:
            return None, [*problems, Defect("trail.jsonl", str(error))]


@dataclass(frozen=True)
class Trail:
    """The entries of a bundle and what they say. Each has the form of its kind (`forms.py`)."""

    entries: Sequence[Entry]
    story: Story
    evidence: Evidence
    """The evidence of all branches."""
    told: Evidence
    """The evidence of the story: what the report rests on."""

    @cached_property
    def modes(self) -> dict[int, str]:
        """Maps the number of each report and claim in the trail to what wrote it: `extractive`, `written` or `deep`. A claim gets the
        mode of the last question before it, which matters only if no report lists it; in a trail without questions its mode is empty."""
        asked: dict[str, str] = {}
        found: dict[int, str] = {}
        newest = ""
        for entry in self.of_kind("question", "report", "claim"):
            if entry.kind == "question":
                newest = asked[scope_of(entry)] = text_at(entry.data, "mode")
            else:
                found[entry.seq] = newest if entry.kind == "claim" else entry.data.get("mode", asked[scope_of(entry)])
        return found

    @property
    def has_questions(self) -> bool:
        return any(entry.kind == "question" for entry in self.entries)

    def of_kind(self, *kinds: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.kind in kinds]


def text_at(data: Any, *names: str) -> str:
    """The text at a place inside foreign data; empty if there is none."""
    for name in names:
        data = data.get(name) if isinstance(data, dict) else None
    return data if isinstance(data, str) else ""
