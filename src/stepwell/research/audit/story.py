"""The story of a report: which questions, plans, audits, users' answers, follow-ups and models' drafts led to it.

```
q1:question ◄─ q1:plan:1 ◄─ q1:approval:1 ◄─ q1:report        each entry names the one before it in its branch as `after`
     ▲
     └──────── q1:plan:1:2 ◄─ q1:approval:1:2 ◄─ ...             another branch: the thread went back to the question
```

A thread can go back to an earlier point and continue there (an edited message, a rollback, a copy). Its trail cannot go back: it only
grows, so it contains every branch. The story is the path back from the last report; everything else happened `elsewhere`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from stepwell.research.audit.canonical import canonical, sha256
from stepwell.research.audit.evidence import Claim
from stepwell.research.audit.excerpts import Excerpt
from stepwell.research.audit.ledger import Evidence, read_evidence
from stepwell.research.audit.trail import DEEP, Defect, Entry, scope_of

T = TypeVar("T")
KINDS = ("question", "plan", "audit", "approval", "follow_up", "source_review", "writing", "report")


_PLAN = ("objective", "steps", "estimated_token_budget", "revision", "follow_ups")
_FORM = ("words", "outline")
_STEP = ("id", "tool", "input", "rationale", "depends_on")


def hash_plan(plan: Mapping[str, Any]) -> str:
    """Hashes what is approved, namely a plan's steps without their results. The order of fields must not change, because running threads
    store these hashes. Raises `KeyError` or `TypeError` if `plan` is not a plan."""
    steps = [{**{name: step[name] for name in _STEP}, "output": None} for step in plan["steps"]]
    told = {name: steps if name == "steps" else plan[name] for name in _PLAN}
    told |= {name: plan[name] for name in _FORM if plan.get(name)}  # plans without them have the hash that they always had
    return sha256(json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode())


@dataclass(frozen=True, slots=True)
class Story:
    """The entries of `KINDS` that belong to the story, and those that do not, in the order of the trail."""

    entries: tuple[Entry, ...] = ()
    elsewhere: tuple[Entry, ...] = ()

    def last(self, kind: str) -> Entry | None:
        return next((entry for entry in reversed(self.entries) if entry.kind == kind), None)

    def to_bytes(self) -> bytes:
        """The member `story.json` of a bundle."""
        parts = {"story": self.entries, "elsewhere": self.elsewhere}
        told = {name: [{"key": each.key, "kind": each.kind, "seq": each.seq} for each in part] for name, part in parts.items()}
        return canonical(told) + b"\n"


def story_of(entries: Iterable[Entry]) -> Story:
    """The story of the last report, or of the last entry if there is none."""
    told = [entry for entry in entries if entry.kind in KINDS]
    end = next((entry for entry in reversed(told) if entry.kind == "report"), told[-1] if told else None)
    return _story_before(end, told)


def story_of_report(entries: Iterable[Entry], report_sha256: str) -> Story:
    """The story of the report whose Markdown has this hash; empty if the trail has none."""
    told = [entry for entry in entries if entry.kind in KINDS]
    reports = (entry for entry in reversed(told) if entry.kind == "report")
    end = next((entry for entry in reports if entry.data["sha256"] == report_sha256), None)
    return _story_before(end, told)


def _story_before(end: Entry | None, told: Sequence[Entry]) -> Story:
    own = _keys_before(end, told)
    return Story(tuple(entry for entry in told if entry.key in own), tuple(entry for entry in told if entry.key not in own))


def excerpts_before(entries: Iterable[Entry], key: str) -> list[Excerpt]:
    """The excerpts of a device that came with the questions of a branch, up to the entry with this key."""
    told = [entry for entry in entries if entry.kind in KINDS]
    own = _keys_before(next((entry for entry in told if entry.key == key), None), told)
    return [each for entry in told if entry.key in own and entry.kind == "question" for each in entry.data.get("snippets", ())]


def reports_before(entries: Iterable[Entry], key: str) -> list[Entry]:
    """The reports of a branch, in order, up to the entry with this key."""
    told = [entry for entry in entries if entry.kind in KINDS]
    own = _keys_before(next((entry for entry in told if entry.key == key), None), told)
    return [entry for entry in told if entry.key in own and entry.kind == "report"]


def evidence_of(entries: Sequence[Entry], story: Story) -> Evidence:
    """What the report of a story rests on: the claims, quotes and sources it lists. Without a report, those of the whole trail."""
    told = read_evidence(story.entries)
    whole = read_evidence(entry for entry in entries if entry.kind not in KINDS)
    report = story.last("report")
    listed = report.data if report else {}
    return replace(
        told,
        sources=_select_listed(whole.sources, listed.get("sources")),
        quotes=_select_listed(whole.quotes, listed.get("quotes")),
        claims=_select_listed(whole.claims, listed.get("claims")),
        policy_sha256=told.policy_sha256 or whole.policy_sha256,
    )


def corrected_claims(entries: Sequence[Entry], story: Story) -> list[Claim]:
    """The sentences of the story's report that went back to its writer, as they were before."""
    report, writing = story.last("report"), story.last("writing")
    if report is None or writing is None or report.data["after"] != writing.key:
        return []
    claims = read_evidence(entry for entry in entries if entry.kind == "claim").claims
    return [claims[each] for each in writing.data["before"] if each in claims]


def check_story(story: Story, entries: Sequence[Entry]) -> Iterator[Defect]:
    """Checks that each entry names an earlier one that exists, and that the report rests on a question of its branch; in research, also
    on a plan that was audited and approved in that branch."""
    yield from _check_chain(entries)
    report = story.last("report")
    if report is None:
        return
    before = [entry for entry in story.entries if entry.seq < report.seq]
    question = next((entry for entry in reversed(before) if entry.kind == "question"), None)
    if question is None or scope_of(question) != scope_of(report):
        yield Defect("trail.jsonl", f"entry {report.seq} (report) answers no question of its branch")
    elif question.data["mode"] != DEEP:
        yield from _check_approved(report, [entry for entry in before if entry.seq > question.seq])


def _check_chain(entries: Sequence[Entry]) -> Iterator[Defect]:
    """Each entry must name an earlier one; only a question can be the first of its branch."""
    told: set[str] = set()
    for entry in entries:
        if entry.kind not in KINDS:
            continue
        after = entry.data["after"]
        if after not in told and (after or entry.kind != "question"):
            yield Defect(
                "trail.jsonl", f"entry {entry.seq} ({entry.kind}) follows '{after[:80]}', which is not in the trail before it"
            )
        told.add(entry.key)


def _check_approved(report: Entry, own: Sequence[Entry]) -> Iterator[Defect]:
    """Before the report must come the last plan, the audit that passed it, and the approval, in this order."""
    plan = next((entry for entry in reversed(own) if entry.kind == "plan"), None)
    said = next((entry for entry in reversed(own) if entry.kind == "approval" and "plan_sha256" in entry.data), None)
    if plan is None or said is None or said.data["decision"] != "approve":
        yield Defect("trail.jsonl", f"entry {report.seq} (report) follows no approved plan of its branch")
        return
    if said.data["plan_sha256"] != plan.data["sha256"]:
        yield Defect("trail.jsonl", f"entry {said.seq} (approval) is for another plan than the one of its branch")
    audits = [entry for entry in own if entry.kind == "audit" and plan.seq < entry.seq < said.seq]
    if not audits or audits[-1].data["audit"]["verdict"] != "approved":
        yield Defect("trail.jsonl", f"entry {said.seq} (approval) is for a plan that no audit of its branch let pass")
    if any(
        entry.kind in ("plan", "audit", "approval", "follow_up", "source_review", "writing")
        and scope_of(entry) != scope_of(report)
        for entry in own
    ):
        yield Defect("trail.jsonl", f"entry {report.seq} (report) follows entries of another question")


def _keys_before(end: Entry | None, told: Sequence[Entry]) -> set[str]:
    """The keys of an entry and of those before it in its branch."""
    by_key = {entry.key: entry for entry in told}
    keys = set()
    while end is not None:
        keys.add(end.key)
        before = by_key.get(str(end.data.get("after") or ""))
        # We follow links only backwards, because a trail written by a stranger could lead in a circle.
        end = before if before is not None and before.seq < end.seq else None
    return keys


def _select_listed(found: dict[str, T], names: object) -> dict[str, T]:
    if not isinstance(names, list):
        return found
    wanted = {name for name in names if isinstance(name, str)}
    return {name: value for name, value in found.items() if name in wanted}
