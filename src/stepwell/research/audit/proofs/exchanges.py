"""Checks whether answers belong to requests, pages to answers, and requests to steps of an approved plan."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from stepwell.errors import EvidenceError
from stepwell.research.audit.canonical import canonical, sha256
from stepwell.research.audit.evidence import Source
from stepwell.research.audit.excerpts import DeviceDocument, documents_of
from stepwell.research.audit.exchanges.recording import is_web_request
from stepwell.research.audit.exchanges.redaction import without_secrets_in_url
from stepwell.research.audit.ledger import Evidence
from stepwell.research.audit.proofs.opened import Trail, text_at
from stepwell.research.audit.proofs.origins import taken_over
from stepwell.research.audit.proofs.rounds import LOCAL
from stepwell.research.audit.story import hash_plan
from stepwell.research.audit.trail import DEEP, Defect, Entry, scope_of
from stepwell.secrets.text import hide_secrets
from stepwell.tools.documents.parts import Part

TRAIL = "trail.jsonl"
NO_REQUESTS = "Its trail holds no request, so nothing shows where its pages came from."
_STEP = re.compile(r"(q\d{1,9}):(.+?)(?::retry:\d+)?$")


def check_exchanges(trail: Trail, evidence: Evidence) -> Iterator[Defect]:
    yield from _check_answers(trail)
    yield from _check_steps(trail)
    yield from _check_done(trail)
    if not lacks_requests(trail, evidence):
        yield from _check_pages(trail, evidence)
    if trail.has_questions:
        yield from _check_devices(trail, evidence)


def count_exchanges(trail: Trail) -> int:
    return len(trail.of_kind("request", "response", "model_call"))


def lacks_requests(trail: Trail, evidence: Evidence) -> bool:
    """Whether there are pages but no requests for them, as in the trail of a program that stores sources itself and asks no question."""
    has_pages = any(source.kind == "web" for source in evidence.sources.values())
    return has_pages and not trail.has_questions and not any(map(is_web_request, trail.entries))


def _check_answers(trail: Trail) -> Iterator[Defect]:
    """Each answer names a request that was recorded before it and asked exactly what it answers. If several requests have that name, the
    newest counts. Only a model on the same machine can answer without a recorded request."""
    newest: dict[str, Entry] = {}
    for entry in trail.of_kind("request", "response", "model_call"):
        name = entry.data["request"]
        if entry.kind == "request":
            if fault := _find_request_fault(entry):
                yield Defect(TRAIL, f"entry {entry.seq} (request) {fault}")
            newest[name] = entry
            continue
        asked = newest.get(name)
        if entry.key != f"{name}:answer":
            yield Defect(TRAIL, f"entry {entry.seq} ({entry.kind}) answers '{name[:80]}', and its own name says something else")
        if asked is None:
            if entry.kind == "response" or entry.data["left"]:
                yield Defect(TRAIL, f"entry {entry.seq} ({entry.kind}) answers a request that is not in the trail before it")
        elif not _answers(entry, asked):
            yield Defect(
                TRAIL, f"entry {entry.seq} ({entry.kind}) does not answer what entry {asked.seq} asked: one was changed"
            )


def _find_request_fault(entry: Entry) -> str:
    """Where a request's fields contradict each other, as a sentence; empty if they agree."""
    data, name = entry.data, entry.data["request"]
    resend = f":resend:{data['resend']}" if data["resend"] else ""
    if entry.key not in (name, f"{name}{resend}"):
        return f"is called '{name[:80]}', and its own name says something else"
    if data["to"] == "web" and data["host"] != (urlsplit(data["url"]).hostname or ""):
        return f"went to '{data['url'][:80]}', and names another host"
    if data["to"] == "model" and data["url"] != f"model:{data['why']}":
        return f"asked '{data['url'][:80]}', and names another reason"
    if data["to"] == "model" and scope_of(entry) != DEEP and not name.startswith(f"{scope_of(entry)}:{data['step']}:"):
        return f"is called '{name[:80]}', and names another step"
    return ""


def _answers(answer: Entry, asked: Entry) -> bool:
    """Whether an answer belongs to this request. What an agent asked is not stored, so for its calls only the names are compared."""
    if (asked.data["to"] == "model") != (answer.kind == "model_call"):
        return False
    if "fingerprint" not in answer.data:
        return asked.data.get("body_sha256") is None
    is_asked = answer.kind == "response" or (answer.data["left"] and answer.data["asked_sha256"] == asked.data["body_sha256"])
    return bool(is_asked) and answer.data["fingerprint"] == _fingerprint(asked)


def _fingerprint(request: Entry) -> str:
    """The fingerprint that `Outgoing.fingerprint` makes, from a request in the trail."""
    named = {"to": "to", "method": "method", "url": "url", "body": "body_sha256"}
    return sha256(canonical({name: request.data[field] for name, field in named.items()}))


def _check_steps(trail: Trail) -> Iterator[Defect]:
    """Web requests of research must belong to steps of plans that a user approved, or to follow-ups, which `rounds.py` checks. Deep
    research has no plan."""
    plans: dict[str, set[str]] = {}
    approved: dict[str, set[str]] = {}
    for entry in trail.of_kind("plan", "approval", "follow_up", "request"):
        scope = scope_of(entry)
        if scope == DEEP or not trail.has_questions:
            continue
        if entry.kind == "plan":
            plans |= _steps_of(entry.data["plan"])
        elif entry.kind == "approval":
            plans |= _steps_of(entry.data.get("edited_plan"))
            if entry.data["decision"] == "approve":
                approved.setdefault(scope, set()).update(plans.get(entry.data["plan_sha256"], ()))
        elif entry.kind == "follow_up":
            approved.setdefault(scope, set()).add(entry.data["step"])
        elif is_web_request(entry):
            step = _STEP.fullmatch(entry.data["step"])
            for_all = step is not None and step[2] == entry.data["why"] == "robots" and scope in approved
            if step is None or step[1] != scope or not (for_all or step[2] in approved.get(scope, ())):
                yield Defect(TRAIL, f"entry {entry.seq} (request) belongs to no step of a plan that was approved before it")


def _check_done(trail: Trail) -> Iterator[Defect]:
    """If there is a report, each step of its plan and each follow-up must have searched or fetched, or the trail must say why not."""
    report, made = trail.story.last("report"), trail.story.last("plan")
    if report is None or made is None:
        return
    scope, plan = scope_of(made), made.data["plan"]
    told = {f"{scope}:{text_at(entry.data, 'step')}" for entry in trail.of_kind("limit")}
    told |= {entry.data["step"] for entry in trail.of_kind("refusal")}
    asked = {
        (_STEP.sub(r"\1:\2", entry.data["step"]), "web_search" if entry.data["why"].startswith("search:") else "fetch_page")
        for entry in trail.of_kind("request")
    }
    asked |= {(f"{scope_of(entry)}:{entry.data['step']}", LOCAL) for entry in trail.of_kind("document_search")}
    followed = [entry for entry in trail.story.entries if entry.kind == "follow_up" and made.seq < entry.seq < report.seq]
    steps = [(made, step["id"], step["tool"]) for step in plan["steps"]]
    steps += [(entry, entry.data["step"], entry.data["tool"]) for entry in followed]
    for entry, step_id, tool in steps:
        name = f"{scope}:{step_id}"
        if name not in told and (name, tool) not in asked:
            yield Defect(
                TRAIL, f"entry {entry.seq} ({entry.kind}) has a step of which no request, and no reason against one, is there"
            )


def _steps_of(plan: object) -> dict[str, set[str]]:
    """The hash of a plan and the ids of its steps; empty for an invalid plan."""
    try:
        return {hash_plan(plan): {text_at(step, "id") for step in plan["steps"]}} if isinstance(plan, dict) else {}
    except (KeyError, TypeError, ValueError):
        return {}


def _check_pages(trail: Trail, evidence: Evidence) -> Iterator[Defect]:
    """Each page must be the body of an answer from its address, and there must be requests to the search engine that found it and for its
    host's robots.txt."""
    asked = {entry.data["request"]: entry for entry in trail.of_kind("request")}
    came: dict[tuple[str, str, int | None], int] = {}
    for answer in trail.of_kind("response"):
        request = asked.get(answer.data["request"])
        if request is not None:
            status = answer.data["answer"].get("status")
            came.setdefault((request.data["url"], answer.data["body_sha256"], status), answer.seq)
    reasons = {request.data["why"] for request in asked.values()}
    robots = {_origin(request.data["url"]) for request in asked.values() if request.data["why"] == "robots"}
    # An agent may have read a robots.txt in another thread, and other programs have their own rules.
    by_plan = any(question.data["mode"] != DEEP for question in trail.of_kind("question"))
    from_elsewhere = taken_over(trail)
    for entry in trail.of_kind("source"):
        source = evidence.sources[str(entry.data["source_id"])]
        if source.kind != "web" or source.source_id in from_elsewhere:
            continue
        if came.get((_address(source), source.bytes_sha256, source.status), entry.seq) >= entry.seq:
            yield Defect(TRAIL, f"entry {entry.seq} (source {source.source_id}) is no page that a request before it brought")
        if by_plan and source.engine and f"search:{source.engine}" not in reasons:
            yield Defect(
                TRAIL, f"entry {entry.seq} (source {source.source_id}) was found by {source.engine}, which was not asked"
            )
        if by_plan and source.robots in ("allowed", "none") and _origin(_address(source)) not in robots:
            yield Defect(TRAIL, f"entry {entry.seq} (source {source.source_id}) was fetched without asking for robots.txt")


def _check_devices(trail: Trail, evidence: Evidence) -> Iterator[Defect]:
    """Every source that is said to be from the user's device must have come with a question: as notes, or as excerpts of a document, under
    its label and with their places."""
    brought: dict[tuple[str, tuple[Part, ...]], list[DeviceDocument | None]] = {}
    from_elsewhere = taken_over(trail)
    for entry in trail.of_kind("question", "source"):
        if entry.kind == "question":
            notes = hide_secrets(text_at(entry.data, "knowledge_context").strip())
            brought.setdefault((sha256(notes.encode()), ()), []).append(None)
            for document in documents_of(entry.data.get("snippets", ())):
                brought.setdefault((sha256(document.text.encode()), document.parts), []).append(document)
            continue
        source = evidence.sources[entry.data["source_id"]]
        if source.kind != "device" or source.source_id in from_elsewhere:
            continue
        found = brought.get((source.text_sha256, source.parts), [])
        if not found or source.bytes_sha256 != source.text_sha256:
            yield Defect(TRAIL, f"entry {entry.seq} (source {source.source_id}) came along with no question before it")
        elif not any(document is None or document.may_be_called(source.title) for document in found):
            yield Defect(TRAIL, f"entry {entry.seq} (source {source.source_id}) came along under another name")


def _address(source: Source) -> str:
    try:
        return without_secrets_in_url(source.final_url or source.url or "")
    except EvidenceError:
        return ""


def _origin(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", ""
    return parts.scheme, parts.netloc
