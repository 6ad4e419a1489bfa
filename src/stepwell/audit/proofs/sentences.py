"""Whether a report says what its claims say: its sentences, its references, and the lists of what it rests on."""

from __future__ import annotations

from collections.abc import Container, Iterator

from stepwell.audit.evidence import Claim
from stepwell.audit.ledger import Evidence
from stepwell.audit.proofs.opened import OpenedBundle, Trail
from stepwell.audit.trail import Defect, Entry
from stepwell.audit.writing.compared import compare_marked, compare_numbered
from stepwell.audit.writing.draft import read_draft
from stepwell.audit.writing.references import check_references
from stepwell.audit.writing.report import word_skipped

UNLISTED = "Its report does not list the claims it rests on, so its sentences were not compared with them."
REPORT = "report.md"
_LONGEST_DRAFT = 1_000_000
_LISTS = ("claims", "quotes", "sources")


def check_report(opened: OpenedBundle, trail: Trail, evidence: Evidence, told: Evidence) -> Iterator[Defect]:
    """The report of the story. What it lists and the trail does not have is a problem even where there is nothing to compare."""
    entry = trail.story.last("report")
    if entry is None or REPORT not in opened.contents:
        return
    try:
        report = opened.contents[REPORT].decode("utf-8")
    except UnicodeDecodeError:
        yield Defect(REPORT, "is not UTF-8")
        return
    for fault in check_references(report, told.sources, told.quotes):
        yield Defect(REPORT, fault)
    yield from _check_lists(entry, trail, evidence)
    if not is_unlisted(trail):
        claims = [evidence.claims[each] for each in entry.data["claims"] if each in evidence.claims]
        for fault in _compare(report, entry, trail, claims, told):
            yield Defect(REPORT, fault)
        if trail.modes[entry.seq] == "written" and not _was_drafted(opened, trail, entry, claims):
            yield Defect("trail.jsonl", f"entry {entry.seq} (report) does not rest on what the model answered that wrote it")


def is_unlisted(trail: Trail) -> bool:
    """Whether there is a report that does not say which claims are its own."""
    entry = trail.story.last("report")
    return entry is not None and not isinstance(entry.data.get("claims"), list)


def _check_lists(entry: Entry, trail: Trail, evidence: Evidence) -> Iterator[Defect]:
    known: dict[str, Container[str]] = {"claims": evidence.claims, "quotes": evidence.quotes, "sources": evidence.sources}
    for name in _LISTS:
        listed = entry.data.get(name)
        if not isinstance(listed, list):
            if "after" in entry.data:
                yield Defect("trail.jsonl", f"entry {entry.seq} (report) does not list the {name} it rests on")
            continue
        for each in listed:
            if each not in known[name]:
                yield Defect("trail.jsonl", f"entry {entry.seq} (report) rests on '{str(each)[:40]}', which is not there")
    review = trail.story.last("source_review")
    denied = review.data.get("deny") if review and review.key.partition(":")[0] == entry.key.partition(":")[0] else None
    for each in denied if isinstance(denied, list) else ():
        if each in (entry.data.get("sources") or ()):
            yield Defect("trail.jsonl", f"entry {entry.seq} (report) rests on source '{str(each)[:40]}', which a person denied")


def _was_drafted(opened: OpenedBundle, trail: Trail, entry: Entry, claims: list[Claim]) -> bool:
    """Whether a recorded answer has these sentences with these citations; or no model was asked to write, which is then said."""
    scope = entry.key.partition(":")[0]
    if not claims or any(limit.key.startswith(f"{scope}:limit:write") for limit in trail.of_kind("limit")):
        return True
    stated = [(claim.text, claim.evidence) for claim in claims]
    drafts = [answer for answer in trail.of_kind("model_call") if answer.key.startswith(f"{scope}:write:")]
    bodies = [opened.body(answer.data.get("body_sha256")) for answer in drafts if answer.seq < entry.seq]
    if not bodies and all(claim.checks is None for claim in claims):
        return True  # a ceiling that was reached before it was noted in the trail
    return any(
        [(claim.text, claim.evidence) for claim in read_draft(body.decode("utf-8", "replace")).claims()] == stated
        for body in bodies
        if body is not None and len(body) <= _LONGEST_DRAFT
    )


def _compare(report: str, entry: Entry, trail: Trail, claims: list[Claim], told: Evidence) -> list[str]:
    if trail.modes[entry.seq] == "deep":
        return compare_marked(report, claims)
    skipped = {
        word_skipped(sentence)
        for limit in trail.of_kind("limit")
        for sentence in limit.data.get("skipped") or ()
        if isinstance(sentence, str)
    }
    return compare_numbered(report, claims, told.quotes, told.sources, skipped)
