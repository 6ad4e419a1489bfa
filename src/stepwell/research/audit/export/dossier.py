"""What a document says about a research, read from the research's bundle alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stepwell.errors import BundleError
from stepwell.research.audit.bundle import BundleReader
from stepwell.research.audit.demo import is_demo
from stepwell.research.audit.evidence import Claim, Quote, Source
from stepwell.research.audit.exchanges.receipt import egress_receipt
from stepwell.research.audit.judged import JudgedBy, judge_of
from stepwell.research.audit.ledger import Evidence
from stepwell.research.audit.story import Story, evidence_of, story_of
from stepwell.research.audit.trail import Entry, head
from stepwell.research.audit.verification import Verification

EXTRACTIVE = "extractive"

# Control characters except tab and newline, and those that change the direction of text: these documents quote strangers' pages.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Dossier:
    """Everything about a research that a reader may want to see."""

    question: str
    mode: str
    asked_at: str
    report: str
    head: str
    """The hash that stands for the whole trail."""
    policy: str = ""
    plan: dict[str, Any] = field(default_factory=dict)
    approvals: Sequence[Entry] = ()
    receipt: dict[str, Any] = field(default_factory=dict)
    evidence: Evidence = field(default_factory=Evidence)
    checked: Sequence[str] = ()
    """Sentences about what the check has shown (who made the bundle, what it is built on) and what it could not show."""
    elsewhere: Sequence[Entry] = ()
    """Questions, plans and answers of other branches of the thread: the report does not rest on them."""
    judge: JudgedBy | None = None
    """The model that judged the report."""
    is_demo: bool = False
    """Whether all requests were answered inside the server, and a script wrote the report."""

    @property
    def claims(self) -> list[Claim]:
        return list(self.evidence.claims.values())

    @property
    def sources(self) -> list[Source]:
        return list(self.evidence.sources.values())

    def cited(self, claim: Claim) -> list[tuple[Quote, Source]]:
        """The quotes that a claim cites, each with its source; leaves out those that the evidence lacks."""
        quotes = [self.evidence.quotes[each] for each in claim.evidence if each in self.evidence.quotes]
        sources = self.evidence.sources
        return [(quote, sources[quote.source_id]) for quote in quotes if quote.source_id in sources]

    @property
    def steps(self) -> list[dict[str, Any]]:
        return list(self.plan.get("steps") or ())


def read_dossier(bundle: Path, checked: Verification | None = None) -> Dossier:
    """Reads a dossier from a verified bundle, with the result of that check; `BundleError` if the research had not ended."""
    with BundleReader(bundle) as reader:
        if "report.md" not in reader.members:
            raise BundleError(f"The bundle '{bundle.name}' has no report: the research had not ended when it was packed.")
        entries = reader.entries()
        policy = reader.read("policy.md") if "policy.md" in reader.members else b""
        story = story_of(entries)
        evidence = evidence_of(entries, story)
        asked = story.last("question")
        plan = evidence.plan or {}
        return Dossier(
            question=clean(str(asked.data["query"])) if asked else "",
            mode=_find_mode(story),
            asked_at=asked.at if asked else "",
            report=reader.read("report.md").decode(),
            head=head(entries),
            policy=policy.decode(),
            plan=plan.get("plan", plan),
            approvals=[entry for entry in story.entries if entry.kind == "approval" and (not asked or entry.seq > asked.seq)],
            receipt=egress_receipt(entries),
            evidence=evidence,
            checked=_describe(checked) if checked else (),
            elsewhere=story.elsewhere,
            judge=judge_of(story.last("report")),
            is_demo=is_demo(entries),
        )


def _find_mode(story: Story) -> str:
    """What wrote the report. The entry of a deep research's question says so; for others, the report's entry does."""
    said = (entry.data.get("mode") for entry in (story.last("report"), story.last("question")) if entry)
    return next((str(mode) for mode in said if mode), "")


def _describe(checked: Verification) -> list[str]:
    signed = [f"Signed by {checked.signed_by}; whether that is who you think, only you can tell."] if checked.signed_by else []
    return [*signed, *checked.notes, *checked.lacks]


def clean(text: str) -> str:
    """Strangers' text without characters that a document cannot contain, or that would control how it is shown."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)
