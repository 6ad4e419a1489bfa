"""Checks whether the bytes of a bundle are those that were sealed: hashes, manifest, signature, members derived from the trail, and the
place of every quote."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from stepwell.errors import BundleError, EvidenceError
from stepwell.research.audit.bundle import BODIES, derived_members, manifest_bytes, stored_members
from stepwell.research.audit.ledger import Evidence
from stepwell.research.audit.proofs.opened import OpenedBundle, Trail
from stepwell.research.audit.sentences import cuts_a_word
from stepwell.research.audit.signing import MEMBER as SIGNATURE
from stepwell.research.audit.signing import PURPOSE, Signature, read_signature
from stepwell.research.audit.trail import Defect, head

_OUTSIDE = {"manifest.json", SIGNATURE}
"""Members that no manifest lists."""


def check_bytes(opened: OpenedBundle) -> Iterator[Defect]:
    for name, (digest, _) in opened.hashes.items():
        folder, _, named = name.partition("/")
        if folder in BODIES and digest != named:
            yield Defect(name, "its bytes do not have the hash in its name: it was changed")
    # Other software relies on these checksums, so they must agree with the hashes.
    for name, member in opened.bundle.members.items():
        opened.patience.go_on()
        if zlib.crc32(opened.bundle.read(name)) != member.crc:
            yield Defect(name, "its bytes do not have the check sum in the file's directory: it was changed")


def check_manifest(opened: OpenedBundle, trail: Trail) -> Iterator[Defect]:
    others = {name: value for name, value in opened.hashes.items() if name not in _OUTSIDE}
    manifest = opened.contents["manifest.json"]
    if manifest != manifest_bytes(others, head(trail.entries)):
        yield Defect("manifest.json", "does not list the members as they are: it or one of them was changed")
        for name, (digest, _) in others.items():
            if f'"{name}"'.encode() not in manifest or digest.encode() not in manifest:
                yield Defect(name, "is not in the manifest with the hash it has")


def read_signer(opened: OpenedBundle) -> tuple[Signature | None, list[Defect]]:
    """The signature if it is valid, and the problems if it is not. `MissingExtraError` if we cannot check it."""
    if SIGNATURE not in opened.contents:
        return None, []
    try:
        signature = read_signature(opened.contents[SIGNATURE])
    except EvidenceError as error:
        return None, [Defect(SIGNATURE, str(error))]
    if not signature.fits(PURPOSE + opened.contents.get("manifest.json", b"")):
        return None, [Defect(SIGNATURE, f"is no signature of this bundle by {signature.key}: it or the manifest was changed")]
    return signature, []


def check_members(opened: OpenedBundle, trail: Trail) -> Iterator[Defect]:
    members = opened.bundle.members.keys()
    try:
        derived, stored = derived_members(trail.entries), stored_members(trail.entries)
    except (EvidenceError, ValueError, TypeError) as error:
        yield Defect("trail.jsonl", f"cannot be read through: {error}")
        return
    for name in sorted((derived.keys() | stored.keys()) - members):
        yield Defect(name, "is missing")
    for name in sorted(members - derived.keys() - stored.keys() - _OUTSIDE):
        yield Defect(name, "is nothing that the trail speaks of")
    for name, content in derived.items():
        if name in opened.contents and opened.contents[name] != content:
            yield Defect(name, "does not follow from the trail: it was changed")
    for name, digest in stored.items():
        if name in opened.hashes and opened.hashes[name][0] != digest:
            yield Defect(name, "does not have the hash that the trail gives: it was changed")


def check_quotes(opened: OpenedBundle, evidence: Evidence) -> Iterator[Defect]:
    texts: dict[str, str | None] = {}
    for quote in evidence.quotes.values():
        opened.patience.go_on()
        source = evidence.sources.get(quote.source_id)
        if source is None:
            yield Defect("claims.json", f"quote {quote.quote_id} is of source {quote.source_id}, which is not there")
            continue
        name = f"texts/{source.text_sha256}"
        if name not in texts:
            texts[name] = _text(opened, name)
        text = texts[name]
        if text is None:
            yield Defect(name, f"the text that quote {quote.quote_id} points into is missing or not UTF-8")
        elif not 0 <= quote.start < quote.end <= len(text) or text[quote.start : quote.end] != quote.text:
            yield Defect(name, f"quote {quote.quote_id} does not stand at {quote.start} to {quote.end}")
        elif cuts_a_word(text, quote.start) or cuts_a_word(text, quote.end):
            yield Defect(name, f"quote {quote.quote_id} begins or ends inside a word or a number")


def _text(opened: OpenedBundle, name: str) -> str | None:
    try:
        return opened.bundle.read(name).decode("utf-8")
    except (BundleError, UnicodeDecodeError):
        return None
