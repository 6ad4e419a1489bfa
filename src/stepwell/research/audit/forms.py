"""The form of a trail: which fields an entry of each kind has, under which key, and which question it belongs to.

```
question       qN:question            research: what was asked, and how it was to be answered (`mode`)
               deep:KEY               deep research
plan, audit, approval, follow_up, source_review, report     qN:...    each names the entry before it in its branch (`after`)
document_search    qN:...             what a step found in the user's own documents
request        SCOPE:...              what was about to be sent            response, model_call    SCOPE:...:answer
limit, refusal, shown                 what was not done, and what was shown
source, quote, claim                  source:sN, quote:eN, claim:cN        `evidence.py`
origin         origin                 the bundle that sources were copied from
```

There is one form, and all of it is required: a missing, unknown or wrongly typed field is a problem, and then a check judges nothing else
in the trail. If a field were optional, a forger would leave it out, and so avoid the check that rests on it. A trail without a question
holds evidence alone: it can have sources, quotes and claims, but no report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from stepwell.research.audit.evidence import ADDRESSES, parts_from
from stepwell.research.audit.excerpts import MAX_EXCERPT_CHARS, MAX_LABEL_CHARS, MAX_PLACE_CHARS, MOST_EXCERPTS
from stepwell.research.audit.trail import Defect, Entry, scope_of
from stepwell.validation import describe_first_fault

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Named = Annotated[str, StringConstraints(min_length=1)]
Count = Annotated[int, Field(ge=0)]
Thousandths = Annotated[int, Field(ge=0, le=1000)]
Ids = list[str]
MOST_SECTIONS = 6
"""The most sections that a plan may name."""
MOST_FOLLOW_UPS = 4
"""The most follow-ups that a plan may allow."""


def _check_parts(parts: list[Any]) -> list[Any]:
    parts_from(parts)
    return parts


Parts = Annotated[list[Any], AfterValidator(_check_parts)]
_MAX_NAMED = 20
"""How many problems of form are listed one by one."""


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class SnippetForm(_Form):
    id: Named
    document_id: Named
    label: Annotated[str, StringConstraints(min_length=1, max_length=MAX_LABEL_CHARS)]
    place: Annotated[str, StringConstraints(max_length=MAX_PLACE_CHARS)]
    text: Annotated[str, StringConstraints(min_length=1, max_length=MAX_EXCERPT_CHARS)]
    start: Count
    end: Count


class QuestionForm(_Form):
    query: Named
    knowledge_context: str
    snippets: Annotated[list[SnippetForm], Field(max_length=MOST_EXCERPTS)]
    context_urls: list[str]
    only_documents: Literal["no", "asked", "offline"]
    """Whether only the user's own documents were to be searched: because the user asked for it, or because there was no network."""
    mode: Literal["written", "extractive"]
    embedder: str
    outline: Literal[True] | None = None
    """Stored only if sections were to be proposed with the plan."""
    turn: str
    after: str


class DeepQuestionForm(_Form):
    query: str
    mode: Literal["deep"]
    policy_sha256: Sha256
    after: str


class StepForm(_Form):
    id: Named
    tool: Named
    input: Named
    rationale: str
    depends_on: list[str]
    output: str | None


class PlanForm(_Form):
    objective: Named
    steps: list[StepForm]
    estimated_token_budget: Count
    revision: Count
    follow_ups: Annotated[int, Field(ge=0, le=MOST_FOLLOW_UPS)]
    # Stored only if the plan has them; the hash covers them, so leaving one out is found.
    words: Annotated[int, Field(ge=1)] | None = None
    outline: Annotated[list[Named], Field(max_length=MOST_SECTIONS)] = []


class PlanEntryForm(_Form):
    plan: PlanForm
    sha256: Sha256
    by: Literal["model", "rules", "person"]
    after: Named


class ViolationForm(_Form):
    rule: str
    reason: str


class AuditForm(_Form):
    verdict: Literal["approved", "rejected", "needs_revision"]
    violations: list[ViolationForm]
    suggestions: list[str]
    left_to_the_human: list[str]


class AuditEntryForm(_Form):
    audit: AuditForm
    policy_sha256: Sha256
    after: Named


class ApprovalForm(_Form):
    """A user's decision at the gate."""

    decision: Literal["approve", "edit", "reject"]
    reason: str
    stop: bool
    plan_sha256: Sha256
    edited_plan: PlanForm | None
    after: Named


class RetryForm(_Form):
    """A user's decision when nobody could be reached."""

    decision: Literal["retry", "reject", "documents"]
    reason: str
    stop: bool
    cause: Named
    steps: Ids
    after: Named


class FollowUpForm(_Form):
    """A search that follows from what was found: the source (or the excerpt) and the words it came from."""

    step: Named
    tool: Literal["web_search", "search_documents"]
    query: Named
    source: Named
    because: Named
    after: Named


class DocumentSearchForm(_Form):
    """What a step found in the user's own documents: the ids of excerpts, or `notes`."""

    step: Named
    query: Named
    found: Ids
    searched: Count


class AddressForm(_Form):
    """A user allowed deep research to fetch an address that had not been shown."""

    decision: Literal["approve"]
    reason: str
    after: Named


class ReviewForm(_Form):
    admit: Ids
    deny: Ids
    after: Named


class FiguresForm(_Form):
    """How well a judge judges (`judged.py`). Shares are in thousandths."""

    day: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    checks: Count
    prompt_sha256: Sha256
    sets: Annotated[list[Named], Field(min_length=1)]
    claims: Annotated[int, Field(ge=1)]
    precision: Thousandths
    precision_low: Thousandths
    precision_high: Thousandths
    recall: Thousandths
    rules_precision: Thousandths
    rules_recall: Thousandths
    unusable: Thousandths


class JudgeForm(_Form):
    model: str
    measured: FiguresForm | None
    """`None` if nobody had measured it with the rules and the prompt of that time."""


class WritingForm(_Form):
    """What models answered that a report is composed of: keys of their answers, and ids of claims."""

    draft: Annotated[Ids, Field(min_length=1)]
    critic: Named | None
    revision: Named | None
    before: Ids
    """The sentences that went back to the writer, as they were before."""
    after: Named


class ReportForm(_Form):
    sha256: Sha256
    sufficient: bool
    mode: Literal["written", "extractive"]
    """What wrote the report. The question's mode says what was available when the question was asked; a model may have come or gone
    since."""
    removed_links: Count
    judge: JudgeForm | None
    """`None` if no model was asked to judge."""
    claims: Ids
    quotes: Ids
    sources: Ids
    turn: str
    after: Named


class DeepReportForm(_Form):
    sha256: Sha256
    cited: Ids
    unknown: Ids
    removed_links: Count
    judge: JudgeForm | None
    """`None` if no model was asked to judge."""
    claims: Ids
    quotes: Ids
    sources: Ids
    after: Named


class RequestForm(_Form):
    to: Literal["web", "model"]
    method: Named
    url: Named
    host: str
    body_sha256: Sha256 | None
    """`None` for an agent's messages to a model, which are in its thread and are not stored again."""
    bytes: Count
    step: str
    why: str
    resend: Count
    request: Named
    model: str


class ResponseForm(_Form):
    request: Named
    fingerprint: Sha256
    answer: dict[str, Any]
    body_sha256: Sha256
    bytes: Count


class ModelCallForm(ResponseForm):
    asked_sha256: Sha256
    """What the model was asked, even if that did not leave the machine, because a judge's opinion means nothing without its question."""
    left: bool


class AgentCallForm(_Form):
    """An agent's model call: what it used, without its words."""

    request: Named
    answer: dict[str, Any]
    left: Literal[True]


class SourceForm(_Form):
    source_id: Named
    kind: Literal["web", "device"]
    url: str | None
    final_url: str | None
    title: str
    media_type: str
    status: int | None
    fetched_at: Named
    bytes_sha256: Sha256
    text_sha256: Sha256
    engine: str | None
    robots: Literal["allowed", "disallowed", "none", "unreachable", "n/a"]
    parts: Parts


class QuoteForm(_Form):
    quote_id: Named
    source_id: Named
    start: Count
    end: Count
    text: Named


class ClaimForm(_Form):
    claim_id: Named
    text: Named
    evidence: Ids
    verdict: Literal["verbatim", "supported", "partial", "unsupported", "contradicted"]
    reasons: list[str]
    checks: Count


class SkippedForm(_Form):
    step: str
    skipped: list[str]


class CeilingForm(_Form):
    rule: Named
    ceiling: Count


class RefusalForm(_Form):
    url: str | None
    host: str
    step: str
    rule: str
    reason: str


class ShownForm(_Form):
    by: Literal["question", "search", "page", "device", "agent"]
    addresses: Count
    body_sha256: Sha256


class OriginForm(_Form):
    head: Sha256
    query: str
    asked_at: Named
    sources: Ids
    body_sha256: Sha256
    signed_by: str | None
    """The key that signed that bundle; `None` if it was unsigned."""
    vouched: bool
    """Whether the user who built on it knew that key: it was the installation's own, or the one they named."""


@dataclass(frozen=True)
class _Key:
    """The keys that entries of a form may have: a pattern for the beginning, and optional texts inside and at the end. A trailing number
    marks a second entry at the same place, written by another branch of the thread."""

    begins: re.Pattern[str]
    has: str = ""
    ends: str = ""
    whole: bool = False
    """Whether the pattern must match the whole key, except for such a trailing number."""

    def fits(self, key: str) -> bool:
        begin = self.begins.match(key)
        bare = key.rstrip("0123456789").removesuffix(":")
        if begin is None or (self.whole and begin.end() not in (len(key), len(bare))):
            return False
        rest = key[begin.end() :]
        return self.has in rest and (rest.endswith(self.ends) or bare.endswith(self.ends)) and (self.whole or bool(rest))


_AGENT = re.compile(r"deep:")
_ANY = re.compile(r"")
_FORMS: dict[str, tuple[tuple[_Key, type[_Form]], ...]] = {
    "question": ((_Key(re.compile(r"q[1-9]\d{0,8}:question"), whole=True), QuestionForm), (_Key(_AGENT), DeepQuestionForm)),
    "plan": ((_Key(re.compile(r"q[1-9]\d{0,8}:plan:\d+(?::edited)?"), whole=True), PlanEntryForm),),
    "audit": ((_Key(re.compile(r"q[1-9]\d{0,8}:audit:")), AuditEntryForm),),
    "approval": (
        (_Key(re.compile(r"q[1-9]\d{0,8}:approval:")), ApprovalForm),
        (_Key(re.compile(r"q[1-9]\d{0,8}:retry:\d+"), whole=True), RetryForm),
        (_Key(_AGENT, ends=":address"), AddressForm),
    ),
    "follow_up": ((_Key(re.compile(r"q[1-9]\d{0,8}:follow_up:\d+"), whole=True), FollowUpForm),),
    "document_search": ((_Key(re.compile(r"q[1-9]\d{0,8}:document_search:")), DocumentSearchForm),),
    "source_review": ((_Key(re.compile(r"q[1-9]\d{0,8}:source_review"), whole=True), ReviewForm),),
    "writing": ((_Key(re.compile(r"q[1-9]\d{0,8}:writing"), whole=True), WritingForm),),
    "report": (
        (_Key(re.compile(r"q[1-9]\d{0,8}:report"), whole=True), ReportForm),
        (_Key(re.compile(r"deep:report:[0-9a-f]{64}"), whole=True), DeepReportForm),
    ),
    "request": ((_Key(_ANY), RequestForm),),
    "response": ((_Key(_ANY, ends=":answer"), ResponseForm),),
    "model_call": (
        (_Key(_AGENT, has=":model:", ends=":answer"), AgentCallForm),
        (_Key(_ANY, ends=":answer"), ModelCallForm),
    ),
    "source": ((_Key(re.compile(r"source:")), SourceForm),),
    "quote": ((_Key(re.compile(r"quote:")), QuoteForm),),
    "claim": ((_Key(re.compile(r"claim:")), ClaimForm),),
    "limit": ((_Key(_AGENT), CeilingForm), (_Key(_ANY), SkippedForm)),
    "refusal": ((_Key(_ANY), RefusalForm),),
    "shown": ((_Key(_AGENT), ShownForm),),
    "origin": ((_Key(re.compile(r"origin"), whole=True), OriginForm),),
}
_UNSCOPED = ("source", "quote", "claim", "origin")
_TOLD = ("plan", "audit", "approval", "follow_up", "source_review", "writing", "report")


def check_forms(entries: Sequence[Entry]) -> Iterator[Defect]:
    """Every entry of a trail that does not have the form of its kind; empty if all do."""
    faults = [(entry, fault) for entry in entries if (fault := _find_fault(entry))]
    faults += list(_find_strays(entries))
    for entry, fault in faults[:_MAX_NAMED]:
        yield Defect("trail.jsonl", f"entry {entry.seq} ({entry.kind}) does not have the form of one: {fault}")
    if len(faults) > _MAX_NAMED:
        yield Defect("trail.jsonl", f"{len(faults) - _MAX_NAMED} more entries do not have the form of one")


def _find_fault(entry: Entry) -> str:
    """What is wrong with a single entry; empty if nothing is."""
    forms = [form for key, form in _FORMS.get(entry.kind, ()) if key.fits(entry.key)]
    if not forms:
        return f"no entry of this kind has the key '{entry.key[:80]}'"
    try:
        forms[0].model_validate(entry.data)
    except ValidationError as error:
        return describe_first_fault(error, "its data")[:300]
    if entry.kind in ("source", "quote", "claim") and entry.key != f"{entry.kind}:{entry.data[f'{entry.kind}_id']}":
        return f"its key is '{entry.key[:80]}', and its id another"
    if entry.kind == "source":
        return _find_address_fault(entry.data)
    if entry.kind == "approval" and "edited_plan" in entry.data:
        return (
            "" if (entry.data["decision"] == "edit") == (entry.data["edited_plan"] is not None) else "only an edit has a plan"
        )
    return ""


def _find_address_fault(data: dict[str, Any]) -> str:
    """A page has an address on the web. A source from a device has neither an address nor any trace of a fetch."""
    addresses = [data["url"], data["final_url"]]
    if data["kind"] == "web":
        is_web = all(isinstance(each, str) and each.lower().startswith(ADDRESSES) for each in addresses)
        return "" if is_web else "a page has an address that begins with http://, https:// or mcp://"
    fetched = [*addresses, data["status"], data["engine"]]
    plain = all(each is None for each in fetched) and data["robots"] == "n/a"
    return "" if plain else "what came from a device has no address on the web, and was not fetched"


def _find_strays(entries: Sequence[Entry]) -> Iterator[tuple[Entry, str]]:
    """Entries that belong to no earlier question. A trail without a question has no plan, approval or report either."""
    asked: set[str] = set()
    has_question = any(entry.kind == "question" for entry in entries)
    for entry in entries:
        if entry.kind == "question":
            asked.add(scope_of(entry))
        elif entry.kind not in _UNSCOPED and (has_question or entry.kind in _TOLD) and scope_of(entry) not in asked:
            yield entry, f"'{entry.key[:80]}' belongs to no question of the trail before it"
