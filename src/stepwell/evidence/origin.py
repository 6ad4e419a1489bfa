"""Going on from somebody's bundle: its sources become those of a new thread, before its first question.

The bundle is verified first. What is taken over are the sources that its report rests on, with the bytes that came and the times at which
they came; the trail says in an entry of its own which bundle they are from, by its head. Nothing was fetched for them here, so there are no
requests for them in this trail: they are in the first bundle, which is kept whole beside them, and which whoever verifies the second looks
into (`audit/proofs/origins.py`).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from stepwell.audit.bundle import BundleReader
from stepwell.audit.evidence import Source
from stepwell.audit.ledger import record_source
from stepwell.audit.story import evidence_of, story_of
from stepwell.audit.trail import Entry, NewEntry, head
from stepwell.audit.vault import EvidenceVault
from stepwell.audit.verify import verify_bundle
from stepwell.errors import BundleError

KEY = "origin"


@dataclass(frozen=True)
class Origin:
    """What a bundle was asked, and the sources to go on from."""

    bundle: Path
    question: Entry
    head: str
    sources: tuple[Source, ...]


def read_origin(bundle: Path) -> Origin:
    """Of a bundle that holds; `BundleError` if it does not, or if its research never began. Reads and computes: call it beside a loop."""
    checked = verify_bundle(bundle)
    if not checked.ok:
        raise BundleError(
            f"The bundle '{bundle.name}' does not hold ({checked.problems[0]}), so nothing is built on it. "
            "`stepwell verify` names everything that is wrong with it."
        )
    with BundleReader(bundle) as reader:
        entries = reader.entries()
    story = story_of(entries)
    question = story.last("question")
    if question is None:
        raise BundleError(f"The bundle '{bundle.name}' has no question: its research had not begun when it was packed.")
    return Origin(bundle, question, head(entries), tuple(evidence_of(entries, story).sources.values()))


async def take_over(vault: EvidenceVault, origin: Origin) -> None:
    """Once for a vault: a step that runs again after a crash finds what is there already."""
    with BundleReader(origin.bundle) as reader:
        for source in origin.sources:
            for digest in (source.bytes_sha256, source.text_sha256):
                await vault.put(await asyncio.to_thread(reader.body, digest))
            await record_source(vault, source)
    kept = await vault.put(await asyncio.to_thread(origin.bundle.read_bytes))
    asked = str(origin.question.data.get("query") or "")
    ids = [source.source_id for source in origin.sources]
    await vault.append(
        NewEntry(
            "origin",
            KEY,
            {
                "head": origin.head,
                "query": asked,
                "asked_at": origin.question.at,
                "sources": ids,
                "body_sha256": kept,
            },
        )
    )
