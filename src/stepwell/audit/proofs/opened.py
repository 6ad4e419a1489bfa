"""A bundle that is open, and what its trail says: read once, for every proof."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from stepwell.audit.bundle import BODIES, FORMAT, FORMATS, BundleReader
from stepwell.audit.canonical import sha256
from stepwell.audit.ledger import Evidence, read_evidence
from stepwell.audit.story import Story, evidence_of, story_of
from stepwell.audit.trail import Defect, Entry, check_chain
from stepwell.errors import BundleError, EvidenceDamagedError


class OpenedBundle:
    """The members of a bundle. Bodies are read when they are looked at; everything else is kept."""

    def __init__(self, bundle: BundleReader) -> None:
        self.bundle = bundle
        self.contents = {name: bundle.read(name) for name in bundle.members if name.partition("/")[0] not in BODIES}
        self.hashes = {name: (sha256(bundle.read(name)), member.size) for name, member in bundle.members.items()}

    @cached_property
    def named_form(self) -> object:
        """The format that the manifest names, whatever that is."""
        try:
            return json.loads(self.contents.get("manifest.json", b"")).get("format")
        except (ValueError, AttributeError, RecursionError):
            return None

    @property
    def form(self) -> str:
        """The format to check against: the one that is named, or else the newest, which it then is not."""
        return str(self.named_form) if self.named_form in FORMATS else FORMAT

    def body(self, digest: object) -> bytes | None:
        """Stored bytes by their hash; `None` where there are none, or others."""
        try:
            return self.bundle.body(str(digest))
        except BundleError:
            return None

    def read_trail(self) -> tuple[Trail | None, list[Defect]]:
        """What the trail says, and what is wrong with it; nothing where it cannot be read."""
        if "trail.jsonl" not in self.contents:
            return None, [Defect("trail.jsonl", "is missing")]
        try:
            entries = self.bundle.entries()
        except EvidenceDamagedError as error:
            return None, [Defect("trail.jsonl", str(error))]
        problems = [Defect("trail.jsonl", f"{problem.where} {problem.fact}") for problem in check_chain(entries)]
        story = story_of(entries)
        try:
            return Trail(entries, story, read_evidence(entries), evidence_of(entries, story)), problems
        except EvidenceDamagedError as error:
            return Trail(entries, story), [*problems, Defect("trail.jsonl", str(error))]


@dataclass(frozen=True)
class Trail:
    """The entries of a bundle and what they say."""

    entries: Sequence[Entry]
    story: Story
    evidence: Evidence | None = None
    """Of all branches; `None` where an entry does not have the form of one."""
    told: Evidence | None = None
    """Of the story: what the report rests on."""

    @cached_property
    def modes(self) -> dict[int, str]:
        """Report, by its place in the trail -> how its question was answered: `extractive`, `written` or `deep`."""
        asked: dict[str, str] = {}
        found: dict[int, str] = {}
        for entry in self.of_kind("question", "report"):
            scope = entry.key.partition(":")[0]
            if entry.kind == "question":
                asked[scope] = text_at(entry.data, "mode")
            else:
                found[entry.seq] = asked.get(scope, "")
        return found

    def of_kind(self, *kinds: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.kind in kinds]


def text_at(data: Any, *names: str) -> str:
    """The text at a place inside of data that somebody else wrote; empty where there is none."""
    for name in names:
        data = data.get(name) if isinstance(data, dict) else None
    return data if isinstance(data, str) else ""
