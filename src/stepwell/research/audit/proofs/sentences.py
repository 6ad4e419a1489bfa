"""Checks whether a report says what its claims say: its sentences, its references, and the lists of what it rests on."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from stepwell.research.audit.evidence import KEPT, Claim
from stepwell.research.audit.ledger import Evidence
from stepwell.research.audit.proofs.composition import Recomposed, approved_outline, recompose
from stepwell.research.audit.proofs.opened import OpenedBundle, Trail
from stepwell.research.audit.trail import Defect, Entry, scope_of
from stepwell.research.audit.writing.compared import compare_marked, compare_numbered
from stepwell.research.audit.writing.numbers import order_earlier
from stepwell.research.audit.writing.quoted import quoted_sentences
from stepwell.research.audit.writing.references import check_references
from stepwell.research.audit.writing.report import QUOTES_NOTES, word_skipped

REPORT = "report.md"
_LISTS = ("claims", "quotes", "sources")


def check_report(opened: OpenedBundle, trail: Trail, evidence: Evidence, told: Evidence) -> Iterator[Defect]:
    """Checks the report of the story: each sentence must be a claim, worded by the writer that the report names."""
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
    opened.patience.go_on()
    yield from _check_lists(entry, trail, evidence)
    claims = [evidence.claims[each] for each in entry.data["claims"] if each in evidence.claims]
    mode = trail.modes[entry.seq]
    of_quotes = mode == "extractive" or (mode == "written" and not QUOTES_NOTES.isdisjoint(report.split("\n")))
    written = recompose(opened, trail, entry, claims) if mode == "written" and not of_quotes else Recomposed([])
    for fault in _compare(report, entry, trail, claims, told, of_quotes=of_quotes, not_found=written.not_found):
        yield Defect(REPORT, fault)
    opened.patience.go_on()
    yield from written.problems
    if of_quotes:
        yield from _check_quoted(trail, entry, claims, told)


def _check_quoted(trail: Trail, report: Entry, claims: list[Claim], told: Evidence) -> Iterator[Defect]:
    """In a report made of quotes, each sentence must be word for word in the quote it cites, and no model may have written it."""
    sentences: dict[str, set[tuple[str, tuple[str, ...]]]] = {}
    for claim in claims:
        quote = told.quotes.get(claim.evidence[0]) if claim.evidence else None
        if quote is not None and quote.quote_id not in sentences:
            sentences[quote.quote_id] = quoted_sentences(quote)
        if quote is None or (claim.text, claim.evidence) not in sentences[quote.quote_id]:
            yield Defect(
                "claims.json", f"claim {claim.claim_id} is no sentence of a quote, and the report is said to be made of quotes"
            )
    if trail.modes[report.seq] == "written":
        # A model could have written the report but was not asked to, because a ceiling was reached. Then the trail must say so.
        noted = f"{scope_of(report)}:limit:write"
        if not any(limit.key == noted or limit.key.startswith(f"{noted}:") for limit in trail.of_kind("limit")):
            yield Defect(
                "trail.jsonl", f"entry {report.seq} (report) is made of quotes, and nothing says why no model wrote it"
            )
    elif any(answer.key.startswith(f"{scope_of(report)}:write:") for answer in trail.of_kind("model_call")):
        yield Defect(
            "trail.jsonl", f"entry {report.seq} (report) is said to be made of quotes, and a model was asked to write it"
        )


def _check_lists(entry: Entry, trail: Trail, evidence: Evidence) -> Iterator[Defect]:
    known: dict[str, Container[str]] = {"claims": evidence.claims, "quotes": evidence.quotes, "sources": evidence.sources}
    for name in _LISTS:
        listed = entry.data[name]
        if len(set(listed)) != len(listed):
            yield Defect("trail.jsonl", f"entry {entry.seq} (report) lists some of its {name} twice")
        for each in listed:
            if each not in known[name]:
                yield Defect("trail.jsonl", f"entry {entry.seq} (report) rests on '{each[:40]}', which is not there")
    if "sufficient" in entry.data and entry.data["sufficient"] != any(
        evidence.claims[each].verdict in KEPT for each in entry.data["claims"] if each in evidence.claims
    ):
        yield Defect(
            "trail.jsonl", f"entry {entry.seq} (report) says otherwise than its claims whether the evidence is sufficient"
        )
    sources = set(entry.data["sources"])
    for quote in (evidence.quotes[each] for each in entry.data["quotes"] if each in evidence.quotes):
        if quote.source_id not in sources:
            yield Defect(
                "trail.jsonl", f"entry {entry.seq} (report) quotes source '{quote.source_id[:40]}', which it does not list"
            )
    review = trail.story.last("source_review")
    denied = review.data["deny"] if review and scope_of(review) == scope_of(entry) else ()
    for each in denied:
        if each in sources:
            yield Defect("trail.jsonl", f"entry {entry.seq} (report) rests on source '{each[:40]}', which a person denied")


def _compare(
    report: str,
    entry: Entry,
    trail: Trail,
    claims: list[Claim],
    told: Evidence,
    *,
    of_quotes: bool,
    not_found: Sequence[str],
) -> list[str]:
    if trail.modes[entry.seq] == "deep":
        return compare_marked(report, claims)
    skipped = {
        word_skipped(sentence)
        for limit in trail.of_kind("limit")
        for sentence in limit.data.get("skipped", ())
        if scope_of(limit) == scope_of(entry)
    }
    before = [each for each in trail.story.entries if each.kind == "report" and each.seq < entry.seq]
    return compare_numbered(
        report,
        claims,
        told.quotes,
        told.sources,
        skipped,
        of_quotes=of_quotes,
        not_found=not_found,
        outline=approved_outline(trail),
        earlier=order_earlier(before, trail.evidence),
    )
