"""Whether what came back belongs to what was asked: answers to requests, pages to answers, requests to steps of an approved plan."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from stepwell.audit.canonical import canonical, sha256
from stepwell.audit.evidence import Source
from stepwell.audit.exchanges.recording import is_web_request
from stepwell.audit.exchanges.redaction import without_secrets
from stepwell.audit.ledger import Evidence
from stepwell.audit.proofs.opened import Trail, text_at
from stepwell.audit.proofs.origins import taken_over
from stepwell.audit.story import hash_plan
from stepwell.audit.trail import Defect, Entry
from stepwell.errors import EvidenceError

TRAIL = "trail.jsonl"
NO_REQUESTS = "Its trail holds no request, so nothing shows where its pages came from."
_SCOPE = re.compile(r"q\d{1,9}")
_STEP = re.compile(r"(q\d{1,9}):(.+?)(?::retry:\d+)?$")


def check_exchanges(trail: Trail, evidence: Evidence) -> Iterator[Defect]:
    yield from _check_answers(trail)
    yield from _check_steps(trail)
    yield from _check_done(trail)
    if any(map(is_web_request, trail.entries)):
        yield from _check_pages(trail, evidence)


def count_exchanges(trail: Trail) -> int:
    return len(trail.of_kind("request", "response", "model_call"))


def lacks_requests(trail: Trail, evidence: Evidence) -> bool:
    """Whether there are pages and nothing that asked for them, as of a program that keeps sources by itself."""
    return any(source.kind == "web" for source in evidence.sources.values()) and not any(map(is_web_request, trail.entries))


def _check_answers(trail: Trail) -> Iterator[Defect]:
    """Each answer names a request that was written down before it, and asked just this. Of several under one name, the newest counts."""
    newest: dict[str, Entry] = {}
    for entry in trail.of_kind("request", "response", "model_call"):
        if entry.kind == "request":
            newest[text_at(entry.data, "request") or entry.key] = entry
            continue
        name = text_at(entry.data, "request")
        asked = newest.get(name)
        if entry.key != f"{name}:answer":
            yield Defect(TRAIL, f"entry {entry.seq} ({entry.kind}) answers '{name[:80]}', and its own name says something else")
        if asked is None:
            if entry.kind == "response" or entry.data.get("left") is True or "fingerprint" not in entry.data:
                yield Defect(TRAIL, f"entry {entry.seq} ({entry.kind}) answers a request that is not in the trail before it")
        elif "fingerprint" in entry.data and entry.data["fingerprint"] != _fingerprint(asked):
            yield Defect(
                TRAIL, f"entry {entry.seq} ({entry.kind}) does not answer what entry {asked.seq} asked: one was changed"
            )


def _fingerprint(request: Entry) -> str:
    """As `Outgoing.fingerprint` makes it, from what the trail holds of a request."""
    named = {"to": "to", "method": "method", "url": "url", "body": "body_sha256"}
    return sha256(canonical({name: request.data.get(field) for name, field in named.items()}))


def _check_steps(trail: Trail) -> Iterator[Defect]:
    """Research asks the web for steps of plans that a person approved, and for nothing else."""
    plans: dict[str, set[str]] = {}
    approved: dict[str, set[str]] = {}
    for entry in trail.of_kind("plan", "approval", "request"):
        scope = entry.key.partition(":")[0]
        if not _SCOPE.fullmatch(scope):
            continue
        if entry.kind == "plan":
            plans |= _steps_of(entry.data.get("plan"))
        elif entry.kind == "approval":
            plans |= _steps_of(entry.data.get("edited_plan"))
            if entry.data.get("decision") == "approve":
                approved.setdefault(scope, set()).update(plans.get(text_at(entry.data, "plan_sha256"), ()))
        elif is_web_request(entry):
            step = _STEP.fullmatch(text_at(entry.data, "step"))
            for_all = step is not None and step[2] == entry.data.get("why") == "robots" and scope in approved
            if step is None or step[1] != scope or not (for_all or step[2] in approved.get(scope, ())):
                yield Defect(TRAIL, f"entry {entry.seq} (request) belongs to no step of a plan that was approved before it")


def _check_done(trail: Trail) -> Iterator[Defect]:
    """Where there is a report, each step of its plan has searched or fetched, or it is written down why not."""
    report, made = trail.story.last("report"), trail.story.last("plan")
    if report is None or made is None or "after" not in report.data or not _SCOPE.fullmatch(made.key.partition(":")[0]):
        return
    scope, plan = made.key.partition(":")[0], made.data.get("plan")
    told = {f"{scope}:{text_at(entry.data, 'step')}" for entry in trail.of_kind("limit")}
    told |= {text_at(entry.data, "step") for entry in trail.of_kind("refusal")}
    asked = {
        (_STEP.sub(r"\1:\2", text_at(entry.data, "step")), text_at(entry.data, "why").startswith("search:"))
        for entry in trail.of_kind("request")
    }
    for step in plan["steps"] if isinstance(plan, dict) and _steps_of(plan) else ():
        name = f"{scope}:{text_at(step, 'id')}"
        if name not in told and (name, text_at(step, "tool") == "web_search") not in asked:
            yield Defect(TRAIL, f"entry {made.seq} (plan) has a step of which no request, and no reason against one, is there")


def _steps_of(plan: object) -> dict[str, set[str]]:
    """The hash of a plan and the ids of its steps; nothing for what is none."""
    try:
        return {hash_plan(plan): {text_at(step, "id") for step in plan["steps"]}} if isinstance(plan, dict) else {}
    except (KeyError, TypeError, ValueError):
        return {}


def _check_pages(trail: Trail, evidence: Evidence) -> Iterator[Defect]:
    """Each page is the body of an answer from its address; a search engine that found it, and robots.txt of its host, were asked."""
    asked = {text_at(entry.data, "request") or entry.key: entry for entry in trail.of_kind("request")}
    came: dict[tuple[str, str], int] = {}
    for answer in trail.of_kind("response"):
        request = asked.get(text_at(answer.data, "request"))
        if request is not None:
            came.setdefault((text_at(request.data, "url"), text_at(answer.data, "body_sha256")), answer.seq)
    reasons = {text_at(request.data, "why") for request in asked.values()}
    robots = {_origin(text_at(request.data, "url")) for request in asked.values() if request.data.get("why") == "robots"}
    # An agent's robots.txt may have been read for another thread, and other programs keep rules of their own.
    by_plan = any("after" in question.data for question in trail.of_kind("question"))
    from_elsewhere = taken_over(trail)
    for entry in trail.of_kind("source"):
        source = evidence.sources[str(entry.data["source_id"])]
        if source.kind != "web" or source.source_id in from_elsewhere:
            continue
        if came.get((_address(source), source.bytes_sha256), entry.seq) >= entry.seq:
            yield Defect(TRAIL, f"entry {entry.seq} (source {source.source_id}) is no page that a request before it brought")
        if by_plan and source.engine and f"search:{source.engine}" not in reasons:
            yield Defect(
                TRAIL, f"entry {entry.seq} (source {source.source_id}) was found by {source.engine}, which was not asked"
            )
        if by_plan and source.robots in ("allowed", "none") and _origin(_address(source)) not in robots:
            yield Defect(TRAIL, f"entry {entry.seq} (source {source.source_id}) was fetched without asking for robots.txt")


def _address(source: Source) -> str:
    try:
        return without_secrets(source.final_url or source.url or "")
    except EvidenceError:
        return ""


def _origin(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", ""
    return parts.scheme, parts.netloc
