"""Check a bundle without trusting whoever made it: every byte, hash, link of the chain, quote and reference.

What this proves: nothing was changed since it was sealed; every quote stands where it says in the stored text; the report cites stored
sources only, and answers a question of its branch with a plan that was approved there; the receipt says of every request of the trail
whether it left. What it cannot: that the pages were online, or that the trail was not written anew as a whole. For the latter compare the
`head` with one you noted when the run ended.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from stepwell.audit.bundle import BODIES, FORMAT, FORMATS, BundleReader, derived_members, manifest_bytes, stored_members
from stepwell.audit.canonical import sha256
from stepwell.audit.ledger import Evidence, read_evidence
from stepwell.audit.sentences import cuts_a_word
from stepwell.audit.story import check_story, evidence_of, story_of
from stepwell.audit.trail import Defect, Entry, check_chain, head
from stepwell.audit.writing.references import check_references
from stepwell.errors import BundleError, EvidenceDamagedError, EvidenceError

Part = Literal["file", "bytes", "trail", "manifest", "members", "quotes", "claims", "report", "story"]


@dataclass(frozen=True, slots=True)
class CheckedPart:
    """One part of the check: how many things were looked at, and what is wrong with them."""

    part: Part
    checked: int
    problems: tuple[Defect, ...] = ()


@dataclass(frozen=True, slots=True)
class Verification:
    """What checking gave. `head` stands for the whole trail; the counts say how much there was to check."""

    ok: bool
    problems: tuple[Defect, ...] = ()
    head: str = ""
    sources: int = 0
    quotes: int = 0
    claims: int = 0
    elsewhere: int = 0
    """Questions, plans and answers that belong to other branches of the thread: the report does not rest on them."""
    parts: tuple[CheckedPart, ...] = field(default=(), compare=False)
    """The same problems by what was checked. A part that could not be reached is not among them."""


def verify_bundle(path: str | Path) -> Verification:
    """Check a bundle; each problem names the member and the fact. A file that is no bundle is one problem, not an exception."""
    try:
        with BundleReader(path) as bundle:
            return _verify(bundle)
    except BundleError as error:
        defect = Defect("the file", str(error))
        return Verification(False, (defect,), parts=(CheckedPart("file", 1, (defect,)),))


def _verify(bundle: BundleReader) -> Verification:
    contents = {name: bundle.read(name) for name in bundle.members if name.partition("/")[0] not in BODIES}
    hashes = {name: (sha256(bundle.read(name)), member.size) for name, member in bundle.members.items()}
    parts = [_check("bytes", len(hashes), [*_body_problems(hashes), *_sum_problems(bundle)])]
    entries, evidence, damage = _trail(bundle, contents)
    parts.append(_check("trail", len(entries or ()), damage))
    if entries is None:
        return _put_together(parts)
    parts.append(_check("manifest", len(hashes), _manifest_problems(contents, hashes, entries)))
    story = story_of(entries)
    if evidence is not None:
        told = evidence_of(entries, story)
        parts += [
            _check("members", len(bundle.members), _member_problems(bundle, contents, hashes, entries)),
            _check("quotes", len(evidence.quotes), _quote_problems(bundle, evidence)),
            _check("claims", len(evidence.claims), _claim_problems(evidence)),
            _check("report", int("report.md" in contents), _report_problems(contents, told)),
            _check("story", len(story.entries), check_story(story)),
        ]
    found = evidence or Evidence()
    counts = (len(found.sources), len(found.quotes), len(found.claims), len(story.elsewhere))
    return _put_together(parts, head(entries), *counts)


def _check(part: Part, checked: int, problems: Iterable[Defect]) -> CheckedPart:
    return CheckedPart(part, checked, tuple(dict.fromkeys(problems)))


def _put_together(parts: Sequence[CheckedPart], head_hash: str = "", *counts: int) -> Verification:
    problems = tuple(dict.fromkeys(problem for part in parts for problem in part.problems))
    sources, quotes, claims, elsewhere = counts or (0, 0, 0, 0)
    return Verification(not problems, problems, head_hash, sources, quotes, claims, elsewhere, tuple(parts))


def _body_problems(hashes: dict[str, tuple[str, int]]) -> Iterator[Defect]:
    for name, (digest, _) in hashes.items():
        folder, _, named = name.partition("/")
        if folder in BODIES and digest != named:
            yield Defect(name, "its bytes do not have the hash in its name: it was changed")


def _sum_problems(bundle: BundleReader) -> Iterator[Defect]:
    """Other software looks at these sums; they must not say something else than the hashes."""
    for name, member in bundle.members.items():
        if zlib.crc32(bundle.read(name)) != member.crc:
            yield Defect(name, "its bytes do not have the check sum in the file's directory: it was changed")


def _trail(bundle: BundleReader, contents: dict[str, bytes]) -> tuple[list[Entry] | None, Evidence | None, list[Defect]]:
    if "trail.jsonl" not in contents:
        return None, None, [Defect("trail.jsonl", "is missing")]
    try:
        entries = bundle.entries()
    except EvidenceDamagedError as error:
        return None, None, [Defect("trail.jsonl", str(error))]
    problems = [Defect("trail.jsonl", f"{problem.where} {problem.fact}") for problem in check_chain(entries)]
    try:
        return entries, read_evidence(entries), problems
    except EvidenceDamagedError as error:
        return entries, None, [*problems, Defect("trail.jsonl", str(error))]


def _manifest_problems(
    contents: dict[str, bytes], hashes: dict[str, tuple[str, int]], entries: list[Entry]
) -> Iterator[Defect]:
    if "manifest.json" not in contents:
        yield Defect("manifest.json", "is missing")
        return
    if (named := _named_format(contents)) not in FORMATS:
        yield Defect("manifest.json", f"names the format {str(named)[:40]!r}, which this version does not know")
    others = {name: value for name, value in hashes.items() if name != "manifest.json"}
    if contents["manifest.json"] != manifest_bytes(others, head(entries), _format(contents)):
        yield Defect("manifest.json", "does not list the members as they are: it or one of them was changed")
        for name, (digest, _) in others.items():
            if f'"{name}"'.encode() not in contents["manifest.json"] or digest.encode() not in contents["manifest.json"]:
                yield Defect(name, "is not in the manifest with the hash it has")


def _format(contents: dict[str, bytes]) -> str:
    """The format to check against: the one that is named, or else the newest, which it then is not."""
    named = _named_format(contents)
    return str(named) if named in FORMATS else FORMAT


def _named_format(contents: dict[str, bytes]) -> object:
    try:
        return json.loads(contents.get("manifest.json", b"")).get("format")
    except (ValueError, AttributeError, RecursionError):
        return None


def _member_problems(
    bundle: BundleReader,
    contents: dict[str, bytes],
    hashes: dict[str, tuple[str, int]],
    entries: list[Entry],
) -> Iterator[Defect]:
    try:
        derived, stored = derived_members(entries, _format(contents)), stored_members(entries)
    except (EvidenceError, ValueError, TypeError) as error:
        yield Defect("trail.jsonl", f"cannot be read through: {error}")
        return
    for name in sorted((derived.keys() | stored.keys()) - bundle.members.keys()):
        yield Defect(name, "is missing")
    for name in sorted(bundle.members.keys() - derived.keys() - stored.keys() - {"manifest.json"}):
        yield Defect(name, "is nothing that the trail speaks of")
    for name, content in derived.items():
        if name in contents and contents[name] != content:
            yield Defect(name, "does not follow from the trail: it was changed")
    for name, digest in stored.items():
        if name in hashes and hashes[name][0] != digest:
            yield Defect(name, "does not have the hash that the trail gives: it was changed")


def _quote_problems(bundle: BundleReader, evidence: Evidence) -> Iterator[Defect]:
    texts: dict[str, str | None] = {}
    for quote in evidence.quotes.values():
        source = evidence.sources.get(quote.source_id)
        if source is None:
            yield Defect("claims.json", f"quote {quote.quote_id} is of source {quote.source_id}, which is not there")
            continue
        name = f"texts/{source.text_sha256}"
        if name not in texts:
            texts[name] = _text(bundle, name)
        text = texts[name]
        if text is None:
            yield Defect(name, f"the text that quote {quote.quote_id} points into is missing or not UTF-8")
        elif not 0 <= quote.start < quote.end <= len(text) or text[quote.start : quote.end] != quote.text:
            yield Defect(name, f"quote {quote.quote_id} does not stand at {quote.start} to {quote.end}")
        elif cuts_a_word(text, quote.start) or cuts_a_word(text, quote.end):
            yield Defect(name, f"quote {quote.quote_id} begins or ends inside a word or a number")


def _text(bundle: BundleReader, name: str) -> str | None:
    try:
        return bundle.read(name).decode("utf-8")
    except (BundleError, UnicodeDecodeError):
        return None


def _claim_problems(evidence: Evidence) -> Iterator[Defect]:
    for claim in evidence.claims.values():
        known = [each for each in claim.evidence if each in evidence.quotes]
        unknown = sorted(set(claim.evidence) - set(known))
        if claim.verdict == "supported" and unknown:
            yield Defect(
                "claims.json", f"claim {claim.claim_id} is called supported by {', '.join(unknown)}, which is not there"
            )
        if claim.verdict in ("supported", "partial") and not known:
            yield Defect("claims.json", f"claim {claim.claim_id} is called {claim.verdict} and cites nothing that is there")


def _report_problems(contents: dict[str, bytes], evidence: Evidence) -> Iterator[Defect]:
    if "report.md" not in contents:
        return
    try:
        report = contents["report.md"].decode("utf-8")
    except UnicodeDecodeError:
        yield Defect("report.md", "is not UTF-8")
        return
    for fault in check_references(report, evidence.sources, evidence.quotes):
        yield Defect("report.md", fault)
