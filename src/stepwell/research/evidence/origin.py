"""Continues from an existing bundle: its sources become sources of a new thread, before that thread's first question.

The new bundle is signed by whoever builds on the old one, so a forgery must not get in. We first verify the old bundle strictly, and its
signer must be known: the installation itself, or the key that the caller names. Any other signer is refused, unless the caller insists
(`unvouched`); then the new bundle says so to everyone who verifies it.

We copy the sources that its report rests on, with their original bytes and times. An entry of the trail says which bundle they are
from, by its head, and who signed that. Nothing was fetched for them here, so this trail has no requests for them: those are in the
first bundle, which is stored whole beside them and checked by everyone who verifies the second (`audit/proofs/origins.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from stepwell.errors import BundleError
from stepwell.research.audit.bundle import BundleReader
from stepwell.research.audit.evidence import Source
from stepwell.research.audit.ledger import record_source
from stepwell.research.audit.story import evidence_of, story_of
from stepwell.research.audit.trail import Entry, NewEntry, head
from stepwell.research.audit.vault import EvidenceVault
from stepwell.research.audit.verification import Verification
from stepwell.research.audit.verify import verify_bundle

KEY = "origin"


@dataclass(frozen=True)
class Origin:
    """A bundle's question, the sources to continue from, and its signer."""

    bundle: Path
    question: Entry
    head: str
    sources: tuple[Source, ...]
    signed_by: str | None
    vouched: bool


def read_origin(bundle: Path, known: Collection[str], *, unvouched: bool = False) -> Origin:
    """Reads a bundle that verifies strictly and is signed by one of the `known` keys; `BundleError` otherwise, or if its research never
    began. `unvouched` accepts any signer and missing proofs. Blocking: call it outside the event loop."""
    checked = verify_bundle(bundle)
    if not checked.ok:
        raise BundleError(
            f"The bundle '{bundle.name}' does not verify ({checked.problems[0]}), so nothing is built on it. "
            "`stepwell verify` lists everything that is wrong with it."
        )
    vouched = checked.signed_by in known and not checked.lacks
    if not vouched and not unvouched:
        raise BundleError(_refuse(bundle.name, checked, known))
    with BundleReader(bundle) as reader:
        entries = reader.entries()
    story = story_of(entries)
    question = story.last("question")
    if question is None:
        raise BundleError(f"The bundle '{bundle.name}' has no question: its research had not begun when it was packed.")
    sources = tuple(evidence_of(entries, story).sources.values())
    return Origin(bundle, question, head(entries), sources, checked.signed_by, vouched)


def _refuse(name: str, checked: Verification, known: Collection[str]) -> str:
    if checked.signed_by is None:
        why = "Nobody has signed"
    elif checked.signed_by not in known:
        why = f"A key that you have not named, {checked.signed_by}, has signed"
    else:
        why = f"Something is not shown by ({checked.lacks[0]})"
    return (
        f"{why} the bundle '{name}', so nothing is built on it: what you make of it would be signed by you. If you know whose key it "
        "should be, name it with --key. To build on it anyway, add --unvouched; the new bundle will say so."
    )


async def take_over(vault: EvidenceVault, origin: Origin) -> None:
    """Copies the sources into a vault, only once: a step that runs again after a crash finds what is already there."""
    with BundleReader(origin.bundle) as reader:
        for source in origin.sources:
            for digest in (source.bytes_sha256, source.text_sha256):
                await vault.put(await asyncio.to_thread(reader.body, digest))
            await record_source(vault, source)
    kept = await vault.put(await asyncio.to_thread(origin.bundle.read_bytes))
    data = {
        "head": origin.head,
        "query": origin.question.data["query"],
        "asked_at": origin.question.at,
        "sources": [source.source_id for source in origin.sources],
        "body_sha256": kept,
        "signed_by": origin.signed_by,
        "vouched": origin.vouched,
    }
    await vault.append(NewEntry("origin", KEY, data))
