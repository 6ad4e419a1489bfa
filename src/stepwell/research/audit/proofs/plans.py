"""Checks whether plans are those that were made and approved: hashes, edits at the gate, models' answers, and the question that models
were asked.

`story.check_story` checks a branch's own order (question, plan, approval, report).
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stepwell.research.audit.asked_form import fit_titles, read_sections, read_words
from stepwell.research.audit.proofs.opened import OpenedBundle, Trail, text_at
from stepwell.research.audit.story import hash_plan
from stepwell.research.audit.trail import DEEP, Defect, Entry, scope_of
from stepwell.secrets.text import HIDDEN
from stepwell.validation import extract_json

TRAIL = "trail.jsonl"
_MAX_ANSWER = 200_000
_MAX_ASKED = 8_000_000
Outline = tuple[str, ...]
Answer = Mapping[str, Any]
_ASKED_THE_QUESTION = ("thinker", "auditor", "write", "critic")


def check_plans(opened: OpenedBundle, trail: Trail) -> Iterator[Defect]:
    made: dict[str, Entry] = {}
    edited: dict[str, Entry] = {}
    answers = _read_answers(opened, trail)
    asked = {scope_of(entry): entry.data for entry in trail.of_kind("question")}
    for entry in trail.of_kind("plan", "approval"):
        if entry.kind == "plan":
            yield from _check_plan(entry, edited, answers)
            if fact := _find_form_fault(entry, asked.get(scope_of(entry), {}), answers.get(_place(entry, "plan"), ())):
                yield Defect(TRAIL, f"entry {entry.seq} (plan) {fact}")
            made[entry.data["sha256"]] = entry
        elif "plan_sha256" in entry.data:
            if entry.data["plan_sha256"] not in made:
                yield Defect(TRAIL, f"entry {entry.seq} (approval) is for a plan that is not in the trail before it")
            edited[entry.key] = entry
    yield from _check_questions(opened, trail)


def _check_plan(entry: Entry, edited: Mapping[str, Entry], answers: Mapping[str, Sequence[Answer]]) -> Iterator[Defect]:
    plan, by = entry.data["plan"], entry.data["by"]
    if hash_plan(plan) != entry.data["sha256"]:
        yield Defect(TRAIL, f"entry {entry.seq} (plan) does not have the hash that is approved: it was changed")
    if (by == "person") != (":edited" in entry.key):
        yield Defect(TRAIL, f"entry {entry.seq} (plan) is said to be made by a {by}, and its name says something else")
    elif by == "person":
        said = edited.get(entry.data["after"])
        if said is None or said.data["edited_plan"] != plan:
            yield Defect(TRAIL, f"entry {entry.seq} (plan) is not what a person made of the plan before it")
    elif by == "model" and _outline(plan) not in map(_outline, answers.get(_place(entry, "plan"), ())):
        yield Defect(TRAIL, f"entry {entry.seq} (plan) is not what the model answered that made it")
    elif by == "rules" and _place(entry, "plan") in answers:
        yield Defect(TRAIL, f"entry {entry.seq} (plan) is said to be made by rules, and a model was asked for it")


def _find_form_fault(entry: Entry, question: Mapping[str, Any], answered: Sequence[Answer]) -> str:
    """What is wrong with the length and the sections of a plan that no person edited: they come from the question, or from a model that was
    to propose them."""
    plan, query = entry.data["plan"], text_at(dict(question), "query")
    if entry.data["by"] == "person":
        return ""
    lengths = {read_words(query), *(answer.get("words") for answer in answered if isinstance(answer.get("words"), int))}
    if plan.get("words") not in (None, *lengths):
        return "has a length that neither the question nor the model named"
    proposed = [answer.get("outline") for answer in answered] if question.get("outline") else []
    outlines = {read_sections(query), *(fit_titles(titles) for titles in proposed if isinstance(titles, list))}
    return "" if tuple(plan.get("outline", ())) in ((), *outlines) else "has sections that nobody asked for"


def _read_answers(opened: OpenedBundle, trail: Trail) -> dict[str, list[Answer]]:
    """Maps the question and number of a plan (`q1:2`) to the plans that models answered there."""
    found: dict[str, list[Answer]] = {}
    for answer in trail.of_kind("model_call"):
        if place := _place(answer, "thinker"):
            found.setdefault(place, []).append(_read_plan(opened.body(answer.data.get("body_sha256"))))
    return found


def _place(entry: Entry, role: str) -> str:
    """`q1:2` for the second plan of the first question, or for an answer to its request; empty for other entries."""
    scope, named, number, *_ = (*entry.key.split(":")[:3], "", "", "")
    return f"{scope}:{number}" if named == role and number else ""


def _read_plan(body: bytes | None) -> Mapping[str, Any]:
    try:
        said = extract_json((body or b"")[:_MAX_ANSWER].decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _outline(plan: Mapping[str, Any]) -> Outline:
    """A plan's objective and what its steps search for. Leaves out ids and defaults, which are added after the model has answered."""
    steps = plan.get("steps")
    inputs = [text_at(step, "input").strip() for step in steps] if isinstance(steps, list | tuple) else []
    return text_at(plan, "objective").strip(), *inputs


def _check_questions(opened: OpenedBundle, trail: Trail) -> Iterator[Defect]:
    """Models that plan, audit and write must have been shown the question. We look for it in what they were asked, which is stored."""
    asked = {scope_of(entry): entry.data["query"] for entry in trail.of_kind("question") if entry.data["mode"] != DEEP}
    for call in trail.of_kind("model_call"):
        opened.patience.go_on()
        query = asked.get(scope_of(call))
        if not query or HIDDEN in query or call.key.split(":")[1] not in _ASKED_THE_QUESTION:
            continue
        body = opened.body(call.data["asked_sha256"])
        if body is not None and not _holds(body, query):
            fact = f"entry {call.seq} (model_call) answers what was not asked about the question of its branch: one was changed"
            yield Defect(TRAIL, fact)


def _holds(body: bytes, query: str) -> bool:
    """Whether a body contains the question, compared by letters and digits alone, because marks and spaces may differ in a prompt."""
    try:
        asked = " ".join(text_at(message, "content") for message in json.loads(body[:_MAX_ASKED]))
    except (ValueError, TypeError, RecursionError):
        asked = ""
    return _bare(query) in _bare(asked)


def _bare(text: str) -> str:
    return "".join(character for character in unicodedata.normalize("NFKC", text).casefold() if character.isalnum())
