"""Checks what a plan allowed beyond its requests: searches of the user's own documents, and follow-ups.

```
question (only_documents?) ─> plan approved ─> its steps ─> follow-up 1 ─> follow-up 2 ...    no more than the approved plan allows
                                                  │              │
                                                  │              └─ from words of a page, or of the user's documents
                                                  └─ nobody reached: "documents" ─> from here on, no follow-up searches the web
```
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from stepwell.research.audit.evidence import Source
from stepwell.research.audit.exchanges.recording import is_web_request
from stepwell.research.audit.proofs.opened import OpenedBundle, Trail
from stepwell.research.audit.quoting import locate
from stepwell.research.audit.story import KINDS
from stepwell.research.audit.trail import DEEP, Defect, Entry, scope_of

TRAIL = "trail.jsonl"
LOCAL = "search_documents"
NOTES = "notes"


@dataclass(frozen=True)
class _Way:
    """What holds at an entry of a branch: the question, the plan that was approved, and how many follow-ups came after that."""

    question: Mapping[str, Any] = field(default_factory=dict)
    plan: Mapping[str, Any] | None = None
    followed: int = 0
    documents: bool = False
    """Whether the user chose to write from their documents, after nobody could be reached."""

    @property
    def is_local(self) -> bool:
        return self.documents or self.question.get("only_documents", "no") != "no"

    @property
    def uses_web(self) -> bool:
        return self.plan is not None and any(step["tool"] != LOCAL for step in self.plan["steps"])


def check_rounds(opened: OpenedBundle, trail: Trail) -> Iterator[Defect]:
    """Every follow-up, search of own documents and request that the question, or the plan approved in its branch, does not allow."""
    if not trail.has_questions:
        return
    ways: dict[str, _Way] = {}
    plans: dict[str, Mapping[str, Any]] = {}
    questions: dict[str, Mapping[str, Any]] = {}
    steps: dict[str, set[tuple[str, str]]] = {}
    """The searches of own documents that were approved or followed, by question: the step's id and what it looks for."""
    pages: dict[str, Source] = {}
    """The pages that were read so far."""
    for entry in trail.entries:
        opened.patience.go_on()
        scope = scope_of(entry)
        if scope == DEEP:
            continue
        if entry.kind in KINDS:
            before = ways.get(entry.data["after"], _Way())
            way = ways[entry.key] = _go(before, entry, plans)
            if entry.kind == "question":
                questions[scope] = entry.data
            elif entry.kind == "approval" and way.plan is not before.plan and way.plan is not None:
                local = {(step["id"], step["input"]) for step in way.plan["steps"] if step["tool"] == LOCAL}
                steps.setdefault(scope, set()).update(local)
            elif entry.kind == "follow_up" and entry.data["tool"] == LOCAL:
                steps.setdefault(scope, set()).add((entry.data["step"], entry.data["query"]))
            for fact in _find_faults(opened, entry, way, pages):
                yield Defect(TRAIL, f"entry {entry.seq} ({entry.kind}) {fact}")
        elif entry.kind == "source" and entry.data["kind"] == "web":
            pages[entry.data["source_id"]] = trail.evidence.sources[entry.data["source_id"]]
        elif entry.kind == "document_search":
            for fact in _find_search_faults(entry.data, questions[scope], steps.get(scope, set())):
                yield Defect(TRAIL, f"entry {entry.seq} (document_search) {fact}")
        elif is_web_request(entry) and questions[scope]["only_documents"] != "no":
            yield Defect(TRAIL, f"entry {entry.seq} (request) went out, and only the user's documents were to be searched")


def _go(before: _Way, entry: Entry, plans: dict[str, Mapping[str, Any]]) -> _Way:
    data = entry.data
    if entry.kind == "question":
        return _Way(question=data)
    if entry.kind == "plan":
        plans[data["sha256"]] = data["plan"]
    elif entry.kind == "approval" and data["decision"] == "approve" and "plan_sha256" in data:
        return replace(before, plan=plans.get(data["plan_sha256"]), followed=0, documents=False)
    elif entry.kind == "approval" and data["decision"] == "documents":
        return replace(before, documents=True)
    elif entry.kind == "follow_up":
        return replace(before, followed=before.followed + 1)
    return before


def _find_faults(opened: OpenedBundle, entry: Entry, way: _Way, pages: Mapping[str, Source]) -> Iterator[str]:
    if entry.kind == "question" and way.question["only_documents"] != "no" and not read_texts(way.question):
        yield "is for the user's documents alone, and none came along"
    elif entry.kind == "approval" and entry.data["decision"] == "approve" and way.uses_web and way.is_local:
        yield "is for a plan that uses the web, and only the user's documents were to be searched"
    elif entry.kind == "approval" and entry.data["decision"] == "documents" and not read_texts(way.question):
        yield "chooses the user's documents, and none came along"
    elif entry.kind == "follow_up":
        yield from _find_follow_up_faults(opened, entry, way, pages)


def _find_follow_up_faults(opened: OpenedBundle, entry: Entry, way: _Way, pages: Mapping[str, Source]) -> Iterator[str]:
    data = entry.data
    if way.plan is None:
        yield "follows no approved plan of its branch"
        return
    if way.followed > way.plan["follow_ups"]:
        yield f"is number {way.followed}, and the approved plan allows {way.plan['follow_ups']}"
    if data["tool"] == LOCAL:
        text = read_texts(way.question).get(data["source"])
    else:
        if way.is_local or not way.uses_web:
            yield "searches the web, which the approved plan does not"
        page = pages.get(data["source"])  # never one of the user's documents
        text = (opened.body(page.text_sha256) or b"").decode("utf-8", "replace") if page else None
    if text is None:
        yield f"comes from '{data['source'][:40]}', which was not found before it"
    elif locate(text, data["because"]) is None:
        yield f"comes from words that {data['source'][:40]} does not have"
    if locate(data["query"], data["because"]) is None:
        yield "searches for something else than the words it comes from"


def read_texts(question: Mapping[str, Any]) -> dict[str, str]:
    """The texts that came with a question, by id. A caller may have used an id twice."""
    texts: dict[str, str] = {}
    for name, text in _list_texts(question):
        texts[name] = f"{texts[name]}\n{text}" if name in texts else text
    return texts


def _list_texts(question: Mapping[str, Any]) -> list[tuple[str, str]]:
    notes = question["knowledge_context"].strip()
    return [*((each["id"], each["text"]) for each in question["snippets"]), *([(NOTES, notes)] if notes else [])]


def _find_search_faults(data: Mapping[str, Any], question: Mapping[str, Any], steps: set[tuple[str, str]]) -> Iterator[str]:
    if (data["step"], data["query"]) not in steps:
        yield "belongs to no step of a plan that was approved before it"
    own = _list_texts(question)
    if Counter(data["found"]) - Counter(name for name, _ in own) or data["searched"] != len(own):
        yield "names documents that did not come with the question"
