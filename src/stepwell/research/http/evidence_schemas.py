"""Research evidence as JSON: the report with its claims, quotes and sources, and the result of a verification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, Field

from stepwell.research.audit.canonical import sha256
from stepwell.research.audit.demo import is_demo
from stepwell.research.audit.evidence import Quote, Robots, Source, SourceKind, Verdict, to_data
from stepwell.research.audit.excerpts import DeviceDocument, documents_of
from stepwell.research.audit.exchanges.receipt import egress_receipt
from stepwell.research.audit.judged import judge_of
from stepwell.research.audit.ledger import Evidence
from stepwell.research.audit.story import Story, corrected_claims
from stepwell.research.audit.trail import Entry, head
from stepwell.research.audit.verification import Part, Verification
from stepwell.research.audit.writing.references import SOURCES_HEADING, named_line, reference_line, without_places
from stepwell.server.schemas.fields import JsonObject, WireModel

ExportFormat = Literal["md", "html", "pdf", "docx", "bib", "json", "zip"]
MEDIA_TYPES: dict[ExportFormat, str] = {
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "bib": "application/x-bibtex; charset=utf-8",
    "json": "application/vnd.citationstyles.csl+json",
    "zip": "application/zip",
}
TITLES: dict[Part, str] = {
    "file": "The file is a bundle that can be opened.",
    "bytes": "Every stored page, text and exchange has the hash in its name.",
    "trail": "Each entry of the trail has the hash of the one before, and every field of its kind.",
    "manifest": "The format is known, and the manifest lists every member with its size and hash.",
    "members": "The bundle contains everything that the trail mentions, unchanged, and nothing else.",
    "quotes": "Every quote appears word for word at its position in the stored text.",
    "claims": "Every supported sentence cites existing quotes.",
    "checks": "Every sentence has the verdict that follows from running the checks again and from its judge.",
    "report": "The report says what its claims say, and every reference leads to a stored source.",
    "story": "The report answers a question of its branch with a plan that was approved there.",
    "plans": "Every plan is the one that was made and approved, and models were asked about the question.",
    "requests": "Every answer belongs to a request, every page to an answer, every request to an approved step.",
    "origins": "Sources taken from another bundle match that bundle, which is included and passes its own checks.",
    "signature": "The signature matches this bundle, and the given key, if any.",
    "head": "The trail has the given head.",
    "strict": "The bundle proves who signed it and everything else that a bundle can prove.",
}
"""What is true if a part of the check passes."""


class ClaimResponse(WireModel):
    claim_id: str
    text: str
    verdict: Verdict
    reasons: list[str]
    evidence: list[str] = Field(description="Ids of quotes")
    in_report: bool


class CorrectedResponse(WireModel):
    """A sentence as it was before it went back to the writer."""

    claim_id: str
    text: str
    verdict: Verdict
    reasons: list[str]
    evidence: list[str] = Field(description="Ids of quotes")


class DevicePassage(WireModel):
    """Where the words of a quote are on the device that sent them, in offsets as that device counts them."""

    snippet_id: str
    document_id: str
    start: int
    end: int


class QuoteResponse(WireModel):
    quote_id: str
    source_id: str
    start: int = Field(description="Position in the stored text, in characters (code points)")
    end: int
    text: str
    place: str | None = Field(
        description="Where in the document it is: `page 3`, `slide 2`, `sheet Sales, A5:F9`; null if the document has no parts"
    )
    passage: DevicePassage | None = Field(description="For a quote from a document on a device: where it is there")


class SourceResponse(WireModel):
    source_id: str
    kind: SourceKind
    url: str | None
    final_url: str | None
    title: str
    media_type: str
    status: int | None
    fetched_at: str
    bytes_sha256: str
    text_sha256: str
    engine: str | None
    robots: Robots


class ApprovalResponse(WireModel):
    at: str
    data: JsonObject


class SentRequest(WireModel):
    seq: int = Field(description="Its place in the trail")
    at: str
    to: Literal["web", "model"]
    method: str
    url: str
    host: str
    bytes: int
    body_sha256: str | None
    step: str
    why: str
    resend: int = Field(description="0: sent for the first time")
    model: str = Field(description="Empty for a request to the web")
    answered: bool


class RefusedRequest(WireModel):
    seq: int = Field(description="Its place in the trail")
    at: str
    url: str | None
    host: str
    step: str
    rule: str
    reason: str


class EgressTotals(WireModel):
    requests: int
    resends: int
    bytes: int
    hosts: dict[str, int] = Field(description="Number of requests by host")
    refused: int


class EgressResponse(WireModel):
    requests: list[SentRequest]
    refused: list[RefusedRequest]
    totals: EgressTotals


class JudgeFigures(WireModel):
    """How well a judge judges, measured with `stepwell models judge`. Shares are in thousandths, for a writer who is right 60 % of the
    time."""

    day: str
    checks: int = Field(description="The version of the rules")
    prompt_sha256: str
    sets: list[str]
    claims: int
    precision: int = Field(description="How many of the sentences that rules and judge call supported are true")
    precision_low: int
    precision_high: int
    recall: int = Field(description="How many of the true sentences they call supported")
    rules_precision: int
    rules_recall: int
    unusable: int


class JudgeResponse(WireModel):
    model: str
    measured: JudgeFigures | None
    about: str = Field(description="The same as one to three sentences for a reader")


class ReportResponse(WireModel):
    """A report of a thread and its evidence."""

    question: str
    mode: str = Field(description="`extractive`: the report consists of quotes; no model wrote it")
    asked_at: str | None
    report: str = Field(description="Markdown")
    references: list[str] = Field(description="Ids of the sources [1], [2] ..., in that order")
    head: str = Field(description="The hash of the whole trail")
    judge: JudgeResponse | None = Field(description="The model that judged the sentences; null if none did")
    plan: JsonObject
    approvals: list[ApprovalResponse]
    elsewhere: int = Field(description="Number of entries on other branches of the thread, which the report does not use")
    claims: list[ClaimResponse]
    corrected: list[CorrectedResponse] = Field(
        default=[], description="Sentences that went back to the writer, as they were before"
    )
    quotes: list[QuoteResponse]
    sources: list[SourceResponse]
    egress: EgressResponse = Field(description="What was sent to other hosts, and what was refused")


class SourceTextResponse(WireModel):
    source_id: str
    text: str
    text_sha256: str


class DefectResponse(WireModel):
    where: str
    fact: str


class CheckedPartResponse(WireModel):
    part: Part
    title: str = Field(description="What was checked, as a sentence that is true if `ok`")
    ok: bool
    checked: int = Field(description="How many items were checked")
    problems: list[DefectResponse]


class VerificationCounts(WireModel):
    sources: int
    quotes: int
    claims: int
    elsewhere: int


class VerificationResponse(WireModel):
    ok: bool
    head: str
    parts: list[CheckedPartResponse]
    counts: VerificationCounts
    format: str = Field(default="", description="The bundle's format; the newest is `stepwell-bundle-6`")
    signed_by: str | None = Field(default=None, description="The public key of its signature, if that is valid")
    vouched: bool | None = Field(default=None, description="Whether that is the given `key`; null if none was given")
    lacks: list[str] = Field(
        default=[], description="What the bundle does not prove, as sentences; with `strict`, these are problems"
    )
    notes: list[str] = Field(default=[], description="Other things a reader should know, such as which bundle it builds on")
    marked_today: list[DefectResponse] = Field(
        default=[], description="Claims that passed older checks and do not pass today's"
    )


class VerifyQuery(BaseModel):
    """What the reader already knows; the same as the options of `stepwell verify`."""

    head: str | None = Field(default=None, max_length=200, description="The expected head, or at least its first 16 digits")
    key: str | None = Field(default=None, max_length=2000, description="The expected signer's public key, `ed25519:...`")
    strict: bool = Field(
        default=False,
        description="Report what the bundle does not prove as a problem, such as who signed it or where its pages came from",
    )


def report_wire(entries: list[Entry], story: Story, evidence: Evidence, report: str) -> dict[str, Any]:
    """The report of a story, with its evidence."""
    asked = story.last("question")
    told = evidence.plan or {}
    documents = _find_documents(story)
    question = asked.data["query"] if asked else ""
    from stepwell.research.audit.writing.report import stands_in  # loads the checks, which few servers need

    return {
        "question": question,
        "mode": asked.data.get("mode", "") if asked else "",
        "asked_at": asked.at if asked else None,
        "report": report,
        "references": _references(report, evidence),
        "head": head(entries),
        "judge": _judge_wire(entries, story),
        "plan": told.get("plan", told),
        "approvals": [
            {"at": entry.at, "data": entry.data}
            for entry in story.entries
            if entry.kind == "approval" and (asked is None or entry.seq > asked.seq)
        ],
        "elsewhere": len(story.elsewhere),
        "claims": [{**to_data(claim), "in_report": stands_in(claim, report)} for claim in evidence.claims.values()],
        "corrected": [to_data(claim) for claim in corrected_claims(entries, story)],
        "quotes": [_quote_wire(quote, evidence.sources.get(quote.source_id), documents) for quote in evidence.quotes.values()],
        "sources": [_source_wire(source) for source in evidence.sources.values()],
        "egress": egress_receipt(entries),
    }


def _judge_wire(entries: list[Entry], story: Story) -> dict[str, Any] | None:
    """Nothing for a demo, whose judge is a script."""
    judge = judge_of(story.last("report"))
    return {**judge.to_data(), "about": judge.describe()} if judge and not is_demo(entries) else None


def _find_documents(story: Story) -> dict[str, DeviceDocument]:
    """The documents on a device that came with the story's questions, by the hash of their text, which is also the source's."""
    asked = [entry for entry in story.entries if entry.kind == "question"]
    found = [document for entry in asked for document in documents_of(entry.data.get("snippets") or ())]
    return {sha256(document.text.encode()): document for document in found}


def _quote_wire(quote: Quote, source: Source | None, documents: Mapping[str, DeviceDocument]) -> dict[str, Any]:
    document = documents.get(source.text_sha256) if source and source.kind == "device" else None
    passage = document.passage_at(quote.start, quote.end) if document else None
    place = source.place_at(quote.start, quote.end) if source else ""
    return {**to_data(quote), "place": place or None, "passage": asdict(passage) if passage else None}


def _source_wire(source: Source) -> dict[str, Any]:
    """Without its parts, of which a spreadsheet has thousands: each quote says its place."""
    return {name: value for name, value in to_data(source).items() if name != "parts"}


def verification_wire(checked: Verification) -> dict[str, Any]:
    return {
        "ok": checked.ok,
        "head": checked.head,
        "parts": [
            {
                "part": part.part,
                "title": TITLES[part.part],
                "ok": not part.problems,
                "checked": part.checked,
                "problems": [{"where": problem.where, "fact": problem.fact} for problem in part.problems],
            }
            for part in checked.parts
        ],
        "counts": {
            "sources": checked.sources,
            "quotes": checked.quotes,
            "claims": checked.claims,
            "elsewhere": checked.elsewhere,
        },
        "format": checked.form,
        "signed_by": checked.signed_by,
        "vouched": checked.vouched,
        "lacks": list(checked.lacks),
        "notes": list(checked.notes),
        "marked_today": [{"where": problem.where, "fact": problem.fact} for problem in checked.marked_today],
    }


def _references(report: str, evidence: Evidence) -> list[str]:
    """The ids of the sources listed at the report's end, in either of its two formats."""
    listed = report.rpartition(f"\n{SOURCES_HEADING}\n")[2].splitlines() if SOURCES_HEADING in report else []
    known = {reference_line(1, source).removeprefix("1. "): source.source_id for source in evidence.sources.values()}
    known |= {named_line(source): source.source_id for source in evidence.sources.values()}
    lines = [without_places(line) for line in listed if line]
    found = (known.get(line) or known.get(line.partition(". ")[2]) for line in lines)
    return [source_id for source_id in found if source_id]
